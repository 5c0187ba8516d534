"""Decision records: how they are told from notes, and what their headings and status say.

Known forms: Nygard, MADR (2 to 4), and free forms whose headings use the same words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, tzinfo
from pathlib import PurePosixPath
from typing import Final

from graphmem.ingest.dates import parse_date
from graphmem.ingest.document import ReadDocument, Section, slice_section
from graphmem.ingest.frontmatter import strings
from graphmem.model.items import RecordMeta
from graphmem.vocabulary import PassageRole, SourceKind

# A status is a word or a short phrase; what is longer is prose.
MAX_STATUS_CHARS: Final = 60

_ROLES: Final = tuple(
    (re.compile(pattern, re.IGNORECASE), role)
    for pattern, role in (
        (r"(?:decision )?(?:status|date|state)\b", PassageRole.STATUS),
        (
            r"(?:considered|possible|rejected|other|available)? ?(?:options|alternatives)\b"
            r"|pros and cons|positions\b",
            PassageRole.OPTIONS,
        ),
        (
            r"(?:decision )?drivers\b|(?:.* )?(?:rationale|justification)\b|reason|motivation\b"
            r"|arguments?\b|why\b",
            PassageRole.RATIONALE,
        ),
        (
            r"(?:positive|negative|neutral|good|bad)? ?(?:consequences?|implications?|impacts?)\b"
            r"|results?$|trade-?offs\b|drawbacks\b",
            PassageRole.CONSEQUENCES,
        ),
        (
            r"(?:the |our )?decisions?\b|(?:chosen|selected)\b|resolution\b|outcome$|proposal\b",
            PassageRole.DECISION,
        ),
        (
            r"context\b|(?:the )?problem\b|background\b|issue\b|forces\b|situation\b"
            r"|constraints\b|assumptions\b",
            PassageRole.CONTEXT,
        ),
    )
)
_HEADING_JUNK: Final = re.compile(r"^[\W\d_]+")
_NUMBERED_FILE: Final = re.compile(r"(?:adr[-_ ]?)?(\d{1,5})(?=[-_. ]|$)", re.IGNORECASE)
_NUMBERED_TITLE: Final = re.compile(r"(?:ADR|decision)[-_ ]?#?(\d{1,5})\b|(\d{1,5})[.:]\s", re.I)
_META_LINE: Final = re.compile(
    r"^[ \t]*(?:[-*+][ \t]+)?[*_]{0,2}"
    r"(?P<key>status|date|deciders?|decision[- ]makers?|technical story|supersedes"
    r"|superseded[- ]by|replaces|replaced[- ]by|amends|amended[- ]by)"
    r"[*_]{0,2}[ \t]*:[*_]{0,2}[ \t]*(?P<value>.*)$",
    re.IGNORECASE | re.MULTILINE,
)
# A clause opens with one of these words and runs to the next one or the end of the sentence.
_CLAUSE: Final = re.compile(
    r"(?P<by>(?:superseded|replaced|obsoleted)[- _]by)"
    r"|(?P<of>supersedes|superseded|replaces|obsoletes)"
    r"|(?P<other>amend(?:s|ed)|relate[sd]|extends|extended|clarifi(?:es|ed)|refines|see)\b",
    re.IGNORECASE,
)
_CLAUSE_END: Final = re.compile(r"[.;](?=\s|$)|\n[ \t]*\n|\n(?=[ \t]*[-*+] )")
_REFERENCE: Final = re.compile(
    r"\]\((?:[^()\s]*/)?(?P<link>[^()\s/#]+)(?:#[^()\s]*)?\)"
    r"|(?<![\w/])(?P<file>[\w.\-]*\d[\w.\-]*\.(?:md|markdown|rst|txt|adoc))\b"
    r"|(?<![\w.\-/])(?:(?:ADR|RFC|record|decision)[-_ #]*|#)?(?P<number>\d{1,5})"
    r"(?![\w/]|[.\-]\w)",
    re.IGNORECASE,
)
_LINK_TEXT: Final = re.compile(r"\[[^\[\]]*(?=\]\()")
_ISO_DATE: Final = re.compile(r"\d{4}-\d{2}-\d{2}")


def role_of_heading(heading: str) -> PassageRole | None:
    """The part of a record a heading opens, or None.

    >>> role_of_heading("2. Considered Options"), role_of_heading("Decision Drivers")
    (<PassageRole.OPTIONS: 'options'>, <PassageRole.RATIONALE: 'rationale'>)
    """
    words = _HEADING_JUNK.sub("", heading)
    return next((role for pattern, role in _ROLES if pattern.match(words)), None)


def as_record(document: ReadDocument, zone: tzinfo = UTC) -> ReadDocument:
    """The document as a decision record when it is one, else unchanged.

    A record has a heading for its decision or at least two other parts, and says that it is one
    by a number in file name or title, by a status, or by a second part.
    """
    number = _number(document)
    sections = tuple(part for section in document.sections for part in _with_roles(section))
    parts = {section.role for section in sections} - {PassageRole.BODY, PassageRole.CODE}
    if "status" in document.metadata:
        parts.add(PassageRole.STATUS)
    known = parts - {PassageRole.STATUS}
    is_record = PassageRole.DECISION in parts and (number is not None or len(parts) > 1)
    if not is_record and not (number is not None and len(parts) > 1 and known):
        return document
    record = _meta(document, sections, number)
    if record.supersedes or record.superseded_by:
        sections = tuple(_front_as_status(section) for section in sections)
    return replace(
        document,
        kind=SourceKind.RECORD,
        sections=sections,
        record=record,
        authored_at=document.authored_at or _date(sections, zone),
    )


def references(text: str) -> tuple[list[str], list[str]]:
    """What a status text says is superseded by this record, and what supersedes it.

    >>> references("Accepted. Supersedes 3 and [ADR-0004](0004-x.md). Amends 5.")
    (['3', '0004-x.md'], [])
    """
    older: list[str] = []
    newer: list[str] = []
    for kind, start, end in _clauses(text):
        found = [ref for ref, _, _ in reference_spans(text, start, end)]
        (newer if kind == "by" else older).extend(found)
    return list(dict.fromkeys(older)), list(dict.fromkeys(newer))


def reference_spans(text: str, start: int, end: int) -> Iterator[tuple[str, int, int]]:
    """Each reference in a clause with its span; of a link only its target counts."""
    plain = _ISO_DATE.sub(lambda found: " " * len(found[0]), text[start:end])
    plain = _LINK_TEXT.sub(lambda found: " " * len(found[0]), plain)
    for found in _REFERENCE.finditer(plain):
        reference = found["link"] or found["file"] or found["number"]
        if not (found["link"] and "://" in found[0]):
            yield reference, start + found.start(), start + found.end()


def witness_span(text: str, reference: str) -> tuple[int, int] | None:
    """The clause of a status text that names the reference, or None."""
    for _, start, end in _clauses(text):
        for found, _, _ in reference_spans(text, start, end):
            if found == reference:
                return start, start + len(text[start:end].rstrip())
    return None


def _clauses(text: str) -> Iterator[tuple[str, int, int]]:
    text = _LINK_TEXT.sub(lambda found: " " * len(found[0]), text)
    opened = list(_CLAUSE.finditer(text))
    for at, found in enumerate(opened):
        limit = opened[at + 1].start() if at + 1 < len(opened) else len(text)
        stop = _CLAUSE_END.search(text, found.end(), limit)
        if found.lastgroup != "other":
            yield str(found.lastgroup), found.start(), stop.start() if stop else limit


def _with_roles(section: Section) -> Iterator[Section]:
    """A section with its role; before the first part, lines like ``Status: …`` stand alone."""
    if section.role is not PassageRole.BODY:
        yield section
        return
    roles = (role_of_heading(name) for name in reversed(section.heading_path))
    role = next((role for role in roles if role is not None), None)
    if role is not None or len(section.heading_path) > 1:
        yield slice_section(section, 0, len(section.text), role)
        return
    at = 0
    for start, end in _meta_runs(section):
        if section.text[at:start].strip():
            yield slice_section(section, at, start)
        yield slice_section(section, start, end, PassageRole.STATUS)
        at = end
    if section.text[at:].strip():
        yield slice_section(section, at, len(section.text))


def _meta_runs(section: Section) -> list[tuple[int, int]]:
    """Spans of lines that tell of the record itself; an example in a code block tells nothing."""
    text = section.text
    runs: list[tuple[int, int]] = []
    for found in _META_LINE.finditer(text):
        if any(left <= found.start() < right for left, right in section.masked):
            continue
        if runs and not text[runs[-1][1] : found.start()].strip():
            runs[-1] = (runs[-1][0], found.end())
        else:
            runs.append(found.span())
    return runs


def _number(document: ReadDocument) -> str | None:
    stated = strings(document.metadata.get("number"))
    if stated and stated[0].isdecimal():
        return stated[0]
    named = _NUMBERED_FILE.match(PurePosixPath(document.uri).name)
    if named is not None and not _ISO_DATE.match(PurePosixPath(document.uri).name):
        return named[1]
    titled = _NUMBERED_TITLE.match(document.title)
    return (titled[1] or titled[2]) if titled else None


def _meta(document: ReadDocument, sections: tuple[Section, ...], number: str | None) -> RecordMeta:
    texts = [_body(section) for section in sections if section.role is PassageRole.STATUS]
    older, newer = references("\n\n".join(texts))
    for key, value in document.metadata.items():
        stated = " ".join(strings(value))
        word = key.lower().replace("-", "_")
        if word == "status":
            found = references(stated)
            older, newer = older + found[0], newer + found[1]
        elif word in {"supersedes", "replaces"}:
            older += [ref for ref, _, _ in reference_spans(stated, 0, len(stated))]
        elif word in {"superseded_by", "replaced_by"}:
            newer += [ref for ref, _, _ in reference_spans(stated, 0, len(stated))]
    return RecordMeta(
        number=number,
        status=_status(document, sections),
        supersedes=tuple(dict.fromkeys(older)),
        superseded_by=tuple(dict.fromkeys(newer)),
    )


def _status(document: ReadDocument, sections: tuple[Section, ...]) -> str | None:
    stated = strings(document.metadata.get("status"))
    lines = [
        found["value"]
        for section in sections
        if section.role is PassageRole.STATUS
        for found in _META_LINE.finditer(section.text)
        if found["key"].lower() == "status"
    ]
    headed = [
        _body(section).strip()
        for section in sections
        if section.heading_path
        and section.role is PassageRole.STATUS
        and not re.search("date", section.heading_path[-1], re.IGNORECASE)
    ]
    for text in (*stated, *lines, *headed):
        words = re.split(r"[.;,(\[\n]|\s+(?:by|on)\s", text.strip(" *_-\t"), maxsplit=1)[0]
        if words.strip():
            return words.strip(" *_").lower()[:MAX_STATUS_CHARS]
    return None


def _date(sections: tuple[Section, ...], zone: tzinfo) -> datetime | None:
    for section in sections:
        if section.role is not PassageRole.STATUS:
            continue
        for found in _META_LINE.finditer(section.text):
            when = parse_date(found["value"].strip(" *_"), zone)
            if found["key"].lower() == "date" and when is not None:
                return when
        if section.heading_path and section.heading_path[-1].lower().endswith("date"):
            when = parse_date(_body(section).strip().split("\n", 1)[0], zone)
            if when is not None:
                return when
    return None


def _body(section: Section) -> str:
    """A section's text without its heading line."""
    first, newline, rest = section.text.partition("\n")
    return rest if newline and first.lstrip().startswith("#") else section.text


def _front_as_status(section: Section) -> Section:
    is_front = section.start == 0 and section.role is PassageRole.CODE
    return replace(section, role=PassageRole.STATUS) if is_front else section
