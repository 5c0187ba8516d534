"""Markdown to sections: headings make the path, code is text but never prose, nothing is lost."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from itertools import pairwise
from pathlib import PurePosixPath
from typing import Final

from markdown_it import MarkdownIt
from markdown_it.token import Token

from graphmem.ingest.dates import head_date, parse_date
from graphmem.ingest.document import ReadDocument, Section, Spans, clip_spans, merge_spans
from graphmem.ingest.frontmatter import FrontMatter, read_front_matter, strings
from graphmem.ingest.records import as_record
from graphmem.vocabulary import PassageRole, SourceKind

# Longer "headings" are paragraphs that happen to stand above a ruler.
MAX_HEADING_CHARS: Final = 150
# Front matter that the reader uses; a block with other keys also stays findable as text.
KNOWN_KEYS: Final = frozenset(
    "title date created authored written status number id tags aliases layout draft".split()
)
# A date line stands at the head of a text; further down it is about something else.
HEAD_CHARS: Final = 4000
DATE_KEYS: Final = ("date", "authored", "authored_at", "created", "created_at", "written")

_CODE_BLOCKS: Final = frozenset({"fence", "code_block", "html_block"})
_TICKS: Final = re.compile(r"`+")
_DESTINATION: Final = re.compile(r"(?<=\])\([^()\s]{1,2000}(?:[ \t]+\"[^\"\n]{0,500}\")?\)")
_LINK: Final = re.compile(r"!?\[([^\[\]]*)\]\([^()]*\)")
_WIKI: Final = re.compile(r"\[\[(?:[^\[\]|]*\|)?([^\[\]|]*)\]\]")
_SENTENCE_END: Final = (".", "!", "?", ":", ";", ",")


@dataclass(frozen=True, slots=True)
class _Heading:
    line: int
    level: int
    title: str


@dataclass(slots=True)
class _Blocks:
    headings: list[_Heading]
    code: list[tuple[int, int]]
    prose: list[tuple[int, int]]


def read_markdown(
    text: str,
    uri: str,
    project: str,
    *,
    content_hash: str,
    modified: datetime | None = None,
    zone: tzinfo = UTC,
) -> ReadDocument:
    """A note or a decision record from decoded text (``\\n`` line ends, no byte-order mark).

    The title is the first level-1 heading, else the front matter's, else the file name.
    """
    front = read_front_matter(text, uri, zone)
    blocks = _parse(text[front.body_start :])
    title = _title(blocks, front, uri)
    document = ReadDocument(
        kind=SourceKind.NOTE,
        uri=uri,
        title=title,
        project=project,
        content_hash=content_hash,
        sections=tuple(_sections(text, front, blocks, title)),
        authored_at=_authored(front, blocks, text, zone),
        file_modified_at=modified,
        metadata=front.values,
        warnings=(front.warning,) if front.warning else (),
    )
    return as_record(document, zone)


def _parse(body: str) -> _Blocks:
    """The block structure only; inline parsing is slow on long lines and not needed."""
    parser = MarkdownIt("commonmark").disable("inline")
    blocks = _Blocks([], [], [])
    tokens = parser.parse(body)
    for at, token in enumerate(tokens):
        if token.map is None:
            continue
        start, end = token.map
        if token.type in _CODE_BLOCKS:
            blocks.code.append((start, end))
        elif token.type == "inline":
            blocks.prose.append((start, end))
        elif token.type == "heading_open" and token.level == 0:
            blocks.headings.extend(_heading(token, tokens[at + 1].content))
    return blocks


def _heading(token: Token, content: str) -> Iterator[_Heading]:
    assert token.map is not None
    is_atx = token.markup.startswith("#")
    is_line = "\n" not in content and len(content) <= MAX_HEADING_CHARS
    if is_line and (is_atx or not content.endswith(_SENTENCE_END)):
        yield _Heading(token.map[0], int(token.tag[1]), _plain(content))


def _plain(content: str) -> str:
    """A heading's words without inline markup."""
    content = _WIKI.sub(r"\1", _LINK.sub(r"\1", content))
    content = re.sub(r"\*{1,3}|`|(?<!\w)_{1,2}(?=\w)|(?<=\w)_{1,2}(?!\w)", "", content)
    return " ".join(content.split())


def _title(blocks: _Blocks, front: FrontMatter, uri: str) -> str:
    first = next((found.title for found in blocks.headings if found.level == 1), "")
    stated = next(iter(strings(front.values.get("title"))), "")
    return first or stated or PurePosixPath(uri).stem


def _authored(front: FrontMatter, blocks: _Blocks, text: str, zone: tzinfo) -> datetime | None:
    for key in DATE_KEYS:
        for value in strings(front.values.get(key)):
            when = parse_date(value, zone)
            if when is not None:
                return when
    lines = text[front.body_start : front.body_start + HEAD_CHARS].split("\n")
    code = {at for start, end in blocks.code for at in range(start, min(end, len(lines)))}
    return head_date("\n".join(line for at, line in enumerate(lines) if at not in code), zone)


def _sections(text: str, front: FrontMatter, blocks: _Blocks, title: str) -> Iterator[Section]:
    body = text[front.body_start :]
    if front.body_start and (not body.strip() or _is_worth_finding(front, text)):
        span = ((0, front.body_start),)
        yield Section(text[: front.body_start], 0, 1, role=PassageRole.CODE, masked=span)
    lines = _line_starts(body)
    first_line = text.count("\n", 0, front.body_start) + 1
    masked = _masked(body, blocks, lines)
    starts = [span[0] for span in masked]
    cuts = [(0, ()), *_paths(blocks, title), (len(lines) - 1, ())]
    for (line, path), (end_line, _) in pairwise(cuts):
        start, end = lines[line], lines[end_line]
        if body[start:end].strip():
            near = masked[max(0, bisect_right(starts, start) - 1) : bisect_left(starts, end)]
            yield Section(
                body[start:end],
                front.body_start + start,
                first_line + line,
                path,
                masked=clip_spans(near, start, end),
            )


def _is_worth_finding(front: FrontMatter, text: str) -> bool:
    """Whether front matter says more than title, date and tags, or quotes another record."""
    has_reference = re.search("supersed|replace", text[: front.body_start], re.IGNORECASE)
    return bool(has_reference or set(map(str.lower, front.values)) - KNOWN_KEYS)


def _line_starts(body: str) -> list[int]:
    """Where each line begins, and at last the end of the text."""
    starts = [0, *(found.end() for found in re.finditer("\n", body))]
    return [*starts, len(body)] if starts[-1] < len(body) or len(starts) == 1 else starts


def _paths(blocks: _Blocks, title: str) -> Iterator[tuple[int, tuple[str, ...]]]:
    stack: list[tuple[int, str]] = []
    titled = False
    for heading in blocks.headings:
        while stack and stack[-1][0] >= heading.level:
            stack.pop()
        is_title = not titled and heading.level == 1 and heading.title == title
        titled = titled or is_title
        if not is_title:
            stack.append((heading.level, heading.title))
        yield heading.line, tuple(name for _, name in stack)


def _masked(body: str, blocks: _Blocks, lines: list[int]) -> Spans:
    spans = [(lines[start], lines[min(end, len(lines) - 1)]) for start, end in blocks.code]
    for start, end in blocks.prose:
        at, stop = lines[start], lines[min(end, len(lines) - 1)]
        spans += code_spans(body, at, stop)
        spans += [found.span() for found in _DESTINATION.finditer(body, at, stop)]
    return merge_spans(spans)


def code_spans(text: str, start: int, end: int) -> list[tuple[int, int]]:
    """The inline code spans of a paragraph with their backticks (CommonMark 6.1), in linear time.

    >>> code_spans("a `b` ``c ` d``", 0, 15)
    [(2, 5), (6, 15)]
    """
    runs = [found.span() for found in _TICKS.finditer(text, start, end)]
    closing: dict[int, int] = {}
    following: list[int | None] = [None] * len(runs)
    for at in range(len(runs) - 1, -1, -1):
        length = runs[at][1] - runs[at][0]
        following[at] = closing.get(length)
        closing[length] = at
    spans: list[tuple[int, int]] = []
    at = 0
    while at < len(runs):
        close = following[at]
        if close is None or text[max(start, runs[at][0] - 1)] == "\\":
            at += 1
        else:
            spans.append((runs[at][0], runs[close][1]))
            at = close + 1
    return spans
