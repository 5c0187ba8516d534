"""What every reader gives: a document in sections, verbatim, with nothing stored yet."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime

from graphmem.model.items import RecordMeta
from graphmem.model.results import Problem
from graphmem.vocabulary import PassageRole, SourceKind

# A front matter value as it may leave a reader: JSON-safe, dates as ISO strings.
MetaValue = str | None | list["MetaValue"] | dict[str, "MetaValue"]
Spans = tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Section:
    """A verbatim slice of the decoded source under one heading path.

    ``start`` counts characters of the decoded source, ``line`` counts from 1; ``masked`` are
    [start, end) spans of ``text`` that are code or markup. ``authored_at`` is a turn's own time.
    """

    text: str
    start: int
    line: int
    heading_path: tuple[str, ...] = ()
    role: PassageRole = PassageRole.BODY
    masked: Spans = ()
    speaker: str | None = None
    authored_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class ReadDocument:
    """One source as its reader saw it; ``title`` is no part of any heading path."""

    kind: SourceKind
    uri: str
    title: str
    project: str
    content_hash: str
    sections: tuple[Section, ...]
    authored_at: datetime | None = None
    file_modified_at: datetime | None = None
    session_kind: str | None = None
    record: RecordMeta | None = None
    metadata: Mapping[str, MetaValue] = field(default_factory=dict)
    warnings: tuple[Problem, ...] = ()


def slice_section(
    section: Section, start: int, end: int, role: PassageRole | None = None
) -> Section:
    """The part [start, end) of a section, its spans, offset and line moved along."""
    return replace(
        section,
        text=section.text[start:end],
        start=section.start + start,
        line=section.line + section.text.count("\n", 0, start),
        role=section.role if role is None else role,
        masked=clip_spans(section.masked, start, end),
    )


def clip_spans(spans: Spans, start: int, end: int) -> Spans:
    """The spans that meet [start, end), cut to it and counted from ``start``."""
    return tuple(
        (max(left, start) - start, min(right, end) - start)
        for left, right in spans
        if left < end and right > start
    )


def merge_spans(spans: list[tuple[int, int]]) -> Spans:
    """Sorted spans without overlap that cover the same characters."""
    merged: list[tuple[int, int]] = []
    for left, right in sorted(spans):
        if merged and left <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], right))
        else:
            merged.append((left, right))
    return tuple(merged)
