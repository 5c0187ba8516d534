"""How ids are made: content-anchored, so that the same input always gets the same id."""

from __future__ import annotations

from datetime import datetime

from graphmem.model.base import digest, iso

# Prefixes of ids other than entity ids (those begin with an entity type).
SOURCE_PREFIX = "src"
PASSAGE_PREFIX = "psg"
STATEMENT_PREFIX = "stm"
MENTION_PREFIX = "mnt"
FACT_PREFIX = "fct"
EVIDENCE_PREFIX = "evd"
LINK_PREFIX = "lnk"
OBJECT_PREFIXES = (
    SOURCE_PREFIX,
    PASSAGE_PREFIX,
    STATEMENT_PREFIX,
    MENTION_PREFIX,
    FACT_PREFIX,
    EVIDENCE_PREFIX,
    LINK_PREFIX,
)


def _time(value: datetime | None) -> str:
    return "" if value is None else iso(value)


def source_id(project: str, uri: str) -> str:
    """The id of a source: its project and its uri."""
    return f"{SOURCE_PREFIX}:{digest(project, uri)}"


def passage_id(source: str, heading_path: tuple[str, ...], text_hash: str, occurrence: int) -> str:
    """The id of a passage: its place and text, so an edit elsewhere does not shift it.

    ``occurrence`` counts passages of equal text under the same headings of the source, from 0.
    """
    return f"{PASSAGE_PREFIX}:{digest(source, *heading_path, text_hash, str(occurrence))}"


def statement_id(passage: str, start: int, end: int) -> str:
    """The id of a statement: the span of its passage."""
    return f"{STATEMENT_PREFIX}:{digest(passage, str(start), str(end))}"


def mention_id(passage: str, start: int, end: int, extractor: str) -> str:
    """The id of a mention: the span and who found it."""
    return f"{MENTION_PREFIX}:{digest(passage, str(start), str(end), extractor)}"


def fact_id(
    subject: str,
    predicate: str,
    object_key: str,
    polarity: str,
    valid_from: datetime | None,
    valid_to: datetime | None,
) -> str:
    """The id of a fact: all that was asserted, in order, so that direction is never lost."""
    parts = (subject, predicate, object_key, polarity, _time(valid_from), _time(valid_to))
    return f"{FACT_PREFIX}:{digest(*parts)}"


def evidence_id(fact: str, passage: str, start: int, end: int, extractor: str, stance: str) -> str:
    """The id of a piece of evidence: its fact, its span, who read it and what it does."""
    parts = (fact, passage, str(start), str(end), extractor, stance)
    return f"{EVIDENCE_PREFIX}:{digest(*parts)}"


def link_id(kind: str, source: str, target: str, passage: str, start: int, end: int) -> str:
    """The id of a link: its ends and its witness; symmetric kinds pass their ends sorted."""
    parts = (kind, source, target, passage, str(start), str(end))
    return f"{LINK_PREFIX}:{digest(*parts)}"
