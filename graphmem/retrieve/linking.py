"""Entities that a question names: exact keys only, the longest name first, never fuzzy."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from graphmem.model.scope import Scope
from graphmem.resolve import is_nameable, name_key, parse_id
from graphmem.store.protocols import View
from graphmem.text.stopwords import STOP_WORDS

# Words of the longest name looked for.
MAX_WORDS = 8
# Words of a question that are looked at; the rest is pasted text.
MAX_QUESTION_WORDS = 120

_WORD = re.compile(r"\S+")
_LEADING = "\"'([{<“‘«`*_¿¡"
_TRAILING = "\"')]}>”’»`*_,;:!?."


@dataclass(frozen=True, slots=True)
class Linked:
    """An entity named at [start, end) of the question; ``way`` is "id", "name" or "possessive"."""

    entity_id: str
    surface: str
    start: int
    end: int
    way: str


@dataclass(frozen=True, slots=True)
class _Candidate:
    key: str
    start: int
    end: int
    way: str


def link(question: str, view: View, scope: Scope) -> tuple[Linked, ...]:
    """The entities of the question in order of their place; all homographs of a name.

    A canonical id is taken as it is. Among names the longest match wins its words, and only an
    exact name key, declared alias or external id matches, so that digits never differ.
    """
    candidates = list(_candidates(question))
    named = view.entities_named(dict.fromkeys(c.key for c in candidates if c.way != "id"), scope)
    ids = {c.key: view.survivor(c.key) for c in candidates if c.way == "id"}
    known = view.entities(dict.fromkeys(ids.values()), scope)
    found: list[Linked] = []
    for candidate in sorted(candidates, key=lambda c: (-(c.end - c.start), c.start, c.way)):
        if any(candidate.start < other.end and other.start < candidate.end for other in found):
            continue
        if candidate.way == "id":
            entity_ids = [ids[candidate.key]] if ids[candidate.key] in known else []
        else:
            entity_ids = named.get(candidate.key, [])
        surface = question[candidate.start : candidate.end]
        found += [
            Linked(entity_id, surface, candidate.start, candidate.end, candidate.way)
            for entity_id in entity_ids
        ]
    return tuple(sorted(found, key=lambda item: (item.start, item.entity_id)))


def _candidates(question: str) -> Iterator[_Candidate]:
    words = list(_WORD.finditer(question))[:MAX_QUESTION_WORDS]
    for first in range(len(words)):
        for last in range(first, min(first + MAX_WORDS, len(words))):
            yield from _readings(question, words[first].start(), words[last].end())


def _readings(question: str, start: int, end: int) -> Iterator[_Candidate]:
    """A span of words as an id, as a name, and as a name before a possessive."""
    while start < end and question[start] in _LEADING:
        start += 1
    bare = end
    while bare > start and question[bare - 1] in _TRAILING:
        bare -= 1
    text = question[start:bare]
    if not text:
        return
    parsed = parse_id(text)
    if parsed is not None and parsed.kind == "entity":
        yield _Candidate(text, start, bare, "id")
    # "C++." and "Inc." keep what the key keeps, so both readings of the end are tried.
    keys = {(question[start:end], end): "name", (text, bare): "name"}
    if text.endswith(("'s", "’s")):
        keys[(text[:-2], bare - 2)] = "possessive"
    for (surface, stop), way in keys.items():
        key = name_key(surface)
        if key and is_nameable(surface) and not _is_common(surface):
            yield _Candidate(key, start, stop, way)


def _is_common(surface: str) -> bool:
    """Whether the words are stop words only, as in "who" or "the what"; capitals may be names."""
    words = surface.split()
    return all(word.lower() in STOP_WORDS and not word.isupper() for word in words)
