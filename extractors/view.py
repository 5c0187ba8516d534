"""From a passage to sentences a parser can read: one string each, with names as stand-ins.

The small parser reads "Microsoft runs on Microsoft" right and "q4_k_m runs on VS-7" wrong
(measured on 17 patterns: right with a plain company name, wrong in a third with odd spellings).
Each sentence is parsed by itself, so that an edit elsewhere never changes what it gives.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from graphmem.extractors.names import ShapeName, find_shape_names
from graphmem.extractors.words import ABBREVIATIONS

# Longer sentences are tables or minified data; parsing them costs time and gives nothing.
MAX_SENTENCE_CHARS: Final = 1200

_GAPS: Final = re.compile(
    r"(?<![\w*])(?:\*{1,3}|_{1,3})(?=\S)|(?<=[\w.,!?)])(?:\*{1,3}|_{1,3})(?!\w)"
    r"|<!--.*?-->|</?[A-Za-z][^<>\n]{0,80}>",
    re.DOTALL,
)
_LINK: Final = re.compile(r"(!?\[)([^\[\]\n]{1,200})(\]\([^()\s]{1,500}\))")
_FENCE: Final = re.compile(r"^[ \t]*(```|~~~).*?(?:^[ \t]*\1|\Z)", re.DOTALL | re.MULTILINE)
_PREFIX: Final = re.compile(
    r"[ \t]*(?P<quote>(?:>[ \t]?)+)?[ \t]*(?P<head>\#{1,6}[ \t]+)?"
    r"(?P<bullet>(?:[-*+]|\d{1,3}[.)])[ \t]+)?"
    r"(?:\[(?P<mark>[^\[\]\n]{1,20})\](?=\s|$)[-+]?[ \t]*)?"
)
_CATEGORY: Final = re.compile(r"[a-z][a-z_-]{1,19}")
_BREAK: Final = re.compile(r"[.!?…][\"'”’)\]]*\s+(?=[\"'“‘(\[]?[^\W_a-zß-ÿ])|[。！？]+\s*")
_LAST_WORD: Final = re.compile(r"[\w.]+$")
_SURROGATE: Final = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Piece:
    """Part of a view: ``view`` and ``start`` are where it begins there and in the passage."""

    view: int
    start: int
    name: int = -1


@dataclass(slots=True)
class SentenceView:
    """A sentence as the parser gets it. ``quiet`` ones (tasks, time codes) give no triples."""

    start: int
    end: int
    text: str
    pieces: list[Piece] = field(default_factory=list)
    block: int = 0
    quiet: bool = False
    heading: bool = False
    category: str = ""


@dataclass(slots=True)
class PassageView:
    """All sentences of a passage and the shape names they refer to by position."""

    names: list[ShapeName]
    sentences: list[SentenceView]


@dataclass(frozen=True, slots=True)
class _Block:
    start: int
    end: int
    quiet: bool
    heading: bool
    item: bool
    category: str


def view_of(text: str, masked: Sequence[tuple[int, int]] = ()) -> PassageView:
    """Cut ``text`` into sentences; masked spans and markup never reach the parser as prose."""
    spans = [(max(0, a), min(len(text), b)) for a, b in masked if a < b]
    spans += [found.span() for found in _FENCE.finditer(text)]
    spans += [found.span(group) for found in _LINK.finditer(text) for group in (1, 3)]
    names = find_shape_names(text, spans)
    flat = _flatten(text, names, spans)
    sentences: list[SentenceView] = []
    for number, block in enumerate(_blocks(flat)):
        for start, end in _sentences(flat, block):
            made = _sentence(flat, names, start, end)
            if made is not None:
                made.block, made.quiet = number, block.quiet
                made.heading, made.category = block.heading, block.category
                sentences.append(made)
    return PassageView(names, sentences)


def _flatten(text: str, names: list[ShapeName], spans: list[tuple[int, int]]) -> str:
    """Equal length text: names as capital letters, markup and masked spans as blanks."""
    if _SURROGATE.search(text):
        text = _SURROGATE.sub("\ufffd", text)
    chars = list(text)
    held = bytearray(len(text))
    for name in names:
        held[name.start : name.end] = b"\1" * (name.end - name.start)
    gaps = [found.span() for found in _GAPS.finditer(text)]
    for start, end in [*spans, *gaps]:
        for at in range(start, end):
            if not held[at] and chars[at] != "\n":
                chars[at] = " "
    for name in names:
        chars[name.start : name.end] = "X" * (name.end - name.start)
    return "".join(chars)


def _blocks(flat: str) -> Iterator[_Block]:
    """Paragraphs, list items, headings; a plain line continues the block before it."""
    current: _Block | None = None
    at = 0
    for line in flat.split("\n"):
        end = at + len(line)
        found = _PREFIX.match(line)
        assert found is not None
        opens = found.end() > 0 and (found["bullet"] or found["head"] or found["mark"])
        apart = found["quote"] or line.lstrip().startswith("|")
        after_item = current is not None and current.item and not line[:1].isspace()
        if not line.strip() or opens or apart or after_item:
            if current is not None:
                yield current
            current = None
        if line.strip():
            if current is None:
                current = _opened(found, at, end, line)
            else:
                current = replace(current, end=end)
            if current.heading:
                yield current
                current = None
        at = end + 1
    if current is not None:
        yield current


def _opened(found: re.Match[str], at: int, end: int, line: str) -> _Block:
    mark = found["mark"] or ""
    category = mark if _CATEGORY.fullmatch(mark) and mark != "x" else ""
    quiet = bool(mark and not category) or line.lstrip().startswith("|")
    return _Block(
        at + found.end(), end, quiet, bool(found["head"]), bool(found["bullet"]), category
    )


def _sentences(flat: str, block: _Block) -> Iterator[tuple[int, int]]:
    start = block.start
    for found in _BREAK.finditer(flat, block.start, block.end):
        word = _LAST_WORD.search(flat, max(start, found.start() - 12), found.start())
        stem = word.group().rstrip(".").casefold() if word else ""
        initial = len(stem) == 1 and stem.isalpha() and word is not None and word.group().isupper()
        if found.group()[0] == "." and (stem in ABBREVIATIONS or initial):
            continue
        yield start, found.end()
        start = found.end()
    yield start, block.end


def _sentence(flat: str, names: list[ShapeName], start: int, end: int) -> SentenceView | None:
    while start < end and flat[start].isspace():
        start += 1
    while end > start and flat[end - 1].isspace():
        end -= 1
    if start >= end:
        return None
    builder = _Builder(flat)
    at = start
    for index, name in enumerate(names):
        if name.end > start and name.start < end:
            builder.prose(at, name.start)
            builder.name(index, name)
            at = name.end
    builder.prose(at, end)
    if not builder.pieces or end - start > MAX_SENTENCE_CHARS:
        return None
    return SentenceView(start, end, "".join(builder.out), builder.pieces)


class _Builder:
    """Puts words together with single spaces and remembers where each came from."""

    def __init__(self, flat: str) -> None:
        self.flat = flat
        self.out: list[str] = []
        self.pieces: list[Piece] = []
        self._length = 0
        self._end = -1

    def prose(self, start: int, end: int) -> None:
        for found in re.compile(r"\S+").finditer(self.flat, start, end):
            self._emit(found.group(), found.start(), found.end(), -1)

    def name(self, index: int, name: ShapeName) -> None:
        self._emit(name.stand_in, name.start, name.end, index)

    def _emit(self, word: str, start: int, end: int, name: int) -> None:
        joined = start == self._end
        if joined and (name >= 0 or self.pieces[-1].name >= 0):
            joined = not (self.out[-1][-1].isalnum() and word[0].isalnum())
        if self.out and not joined:
            self.out.append(" ")
            self._length += 1
        self.pieces.append(Piece(self._length, start, name))
        self.out.append(word)
        self._length += len(word)
        self._end = end


def merged_view(
    view: SentenceView, regions: Sequence[tuple[int, int, int]], names: Sequence[ShapeName]
) -> SentenceView:
    """The same sentence with further regions (view start, view end, name) as one stand-in each."""
    out: list[str] = []
    pieces: list[Piece] = []
    length = at = 0
    for start, end, name in [*regions, (len(view.text), len(view.text), -1)]:
        pieces += [
            Piece(length + p.view - at, p.start, p.name)
            for p in view.pieces
            if at <= p.view < start
        ]
        out.append(view.text[at:start])
        length += start - at
        if end > start:
            pieces.append(Piece(length, origin_of(view, start), name))
            out.append(names[name].stand_in)
            length += len(out[-1])
        at = end
    return replace(view, text="".join(out), pieces=pieces)


def origin_of(view: SentenceView, at: int) -> int:
    """Where a character of the view stands in the passage."""
    piece = next(p for p in reversed(view.pieces) if p.view <= at)
    return piece.start if piece.name >= 0 else piece.start + at - piece.view
