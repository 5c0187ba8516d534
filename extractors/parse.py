"""A parsed sentence as plain data: what all rules read, so that none of them knows spaCy."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from graphmem.extractors.names import ShapeName
from graphmem.extractors.view import Piece, SentenceView


@dataclass(slots=True)
class Word:
    """A token; ``start`` and ``end`` are in the passage, ``name`` is a shape name or -1."""

    i: int
    text: str
    lower: str
    lemma: str
    tag: str
    dep: str
    head: int
    start: int
    end: int
    name: int = -1
    label: str = ""
    label_begins: bool = False
    children: list[int] = field(default_factory=list)
    mention: int = -1
    part: str = ""

    @property
    def is_verb(self) -> bool:
        """Whether the tagger takes it for a verb (not a modal)."""
        return self.tag.startswith("VB")

    @property
    def is_proper(self) -> bool:
        """Whether it is a name word."""
        return self.name >= 0 or self.tag in {"NNP", "NNPS"}


@dataclass(slots=True)
class Sentence:
    """A sentence: its words in order, where it stands, and how its block is marked.

    ``tagged`` is the first parse, whose entity tags still count, where this one is a repair.
    """

    view: SentenceView
    words: list[Word]
    tagged: Sentence | None = None

    def children(self, word: Word, *deps: str) -> list[Word]:
        """The children of ``word`` that have one of ``deps``, in order."""
        found = [self.words[i] for i in word.children]
        return [child for child in found if child.dep in deps] if deps else found

    def child(self, word: Word, *deps: str) -> Word | None:
        """The first such child."""
        return next(iter(self.children(word, *deps)), None)

    def head(self, word: Word) -> Word:
        """The head of ``word``; a root is its own head."""
        return self.words[word.head]

    def roots(self) -> list[Word]:
        """Words without a head."""
        return [word for word in self.words if word.head == word.i]

    def subtree(self, word: Word) -> list[Word]:
        """``word`` and all below it, in text order; safe on any head structure."""
        found: set[int] = set()
        stack = [word.i]
        while stack:
            at = stack.pop()
            if at not in found:
                found.add(at)
                stack.extend(self.words[at].children)
        return [self.words[i] for i in sorted(found)]

    def before(self, word: Word) -> Word | None:
        """The word left of ``word``."""
        return self.words[word.i - 1] if word.i > 0 else None

    def after(self, word: Word) -> Word | None:
        """The word right of ``word``."""
        return self.words[word.i + 1] if word.i + 1 < len(self.words) else None

    def entities(self) -> Iterator[list[Word]]:
        """Runs of words that the tagger takes for one entity."""
        run: list[Word] = []
        for word in self.words:
            if run and (not word.label or word.label_begins):
                yield run
                run = []
            if word.label:
                run.append(word)
        if run:
            yield run


def sentence_of(doc: Any, view: SentenceView, names: list[ShapeName], text: str) -> Sentence:
    """Read a spaCy ``Doc`` of ``view.text`` once; stand-ins get back the names they stand for."""
    words: list[Word] = []
    pieces = view.pieces
    at = 0
    for token in doc:
        begin = token.idx
        while at + 1 < len(pieces) and pieces[at + 1].view <= begin:
            at += 1
        piece = pieces[at]
        raw = token.text
        if piece.name >= 0 and begin == piece.view:
            name = piece.name
            shape = names[name]
            start, end = shape.start, shape.end
            shown = text[shape.name_start : shape.name_end]
            lemma = lower = shown.casefold()
            if shape.part == "verb":
                name, lemma = -1, _verb_lemma(lower)
            elif shape.part == "date":
                name = -1
        else:
            start, name = _plain_start(piece, begin, names), -1
            end = min(start + len(raw), view.end)
            shown, lower, lemma = raw, raw.lower(), token.lemma_.lower()
        words.append(
            Word(
                token.i,
                shown,
                lower,
                lemma or lower,
                token.tag_,
                token.dep_,
                token.head.i,
                start,
                end,
                name,
                token.ent_type_,
                token.ent_iob_ == "B",
            )
        )
        if name >= 0:
            words[-1].part = names[name].part
    for word in words:
        if word.head != word.i:
            words[word.head].children.append(word.i)
    return Sentence(view, words)


def _verb_lemma(lower: str) -> str:
    """The lemma of a third person verb by its spelling."""
    if lower.endswith("ies") and len(lower) > 4:
        return lower[:-3] + "y"
    if lower.endswith(("shes", "ches", "sses", "xes", "zes", "oes")):
        return lower[:-2]
    return lower[:-1]


def _plain_start(piece: Piece, begin: int, names: list[ShapeName]) -> int:
    if piece.name >= 0:
        return names[piece.name].end
    return piece.start + begin - piece.view
