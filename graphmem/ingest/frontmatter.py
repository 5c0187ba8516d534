"""Front matter of a note: bounded, read as plain data, and left as text when it is broken."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, tzinfo

import yaml

from graphmem.ingest.dates import parse_date
from graphmem.ingest.document import MetaValue
from graphmem.model.base import iso
from graphmem.model.results import Problem

# Characters in which the closing fence must stand; real front matter has under 4 KiB.
MAX_FRONT_MATTER_CHARS = 64 * 1024
# Keys whose empty value is an empty list and whose single value is a list of one.
LIST_KEYS = frozenset({"tags", "aliases", "keywords", "categories", "deciders", "authors"})

_OPENING = re.compile(r"---[ \t]*\n")
_CLOSING = re.compile(r"^(?:---|\.\.\.)[ \t]*$", re.MULTILINE)
_KEY_LINE = re.compile(r"[\w.\-]+[ \t]*:(?:[ \t]|$)")
_KEY = re.compile(r"[\w.\-]{1,60}")
_STAMP = re.compile(r"\d{4}-\d{2}-\d{2}[T ]\d{1,2}:\d{2}.*")


@dataclass(frozen=True, slots=True)
class FrontMatter:
    """The metadata and where the body begins; no front matter: nothing and 0."""

    values: Mapping[str, MetaValue] = field(default_factory=dict)
    body_start: int = 0
    warning: Problem | None = None


class _BrokenError(Exception):
    def __init__(self, reason: str, line: int) -> None:
        super().__init__(reason)
        self.reason = reason
        self.line = line


def read_front_matter(text: str, uri: str, zone: tzinfo = UTC) -> FrontMatter:
    """The front matter at the very start of a decoded text.

    All scalars stay strings, so ``0007`` keeps its zeros. A block that is no mapping is two
    rulers; one that looks like metadata and cannot be read stays in the body, with a warning.
    """
    opening = _OPENING.match(text)
    if opening is None or _KEY_LINE.match(text, opening.end()) is None:
        return FrontMatter()
    try:
        closing = _closing(text, opening.end())
        values = _parse(text[opening.end() : closing.start()])
    except _BrokenError as broken:
        reason = f"front matter ignored and kept as text: {broken.reason}"
        return FrontMatter(warning=Problem(path=uri, reason=reason, line=broken.line, fatal=False))
    if values is None:
        return FrontMatter()
    cleaned = {key: _clean(key, value, zone) for key, value in values.items()}
    return FrontMatter(cleaned, min(closing.end() + 1, len(text)))


def _closing(text: str, start: int) -> re.Match[str]:
    limit = start + MAX_FRONT_MATTER_CHARS
    found = _CLOSING.search(text, start, limit)
    if found is None or (found.end() < len(text) and text[found.end()] != "\n"):
        raise _BrokenError(f"no closing fence within {MAX_FRONT_MATTER_CHARS} characters", 1)
    return found


def _parse(block: str) -> dict[str, object] | None:
    try:
        for event in yaml.parse(block, Loader=yaml.BaseLoader):
            if getattr(event, "anchor", None) is not None:
                line = event.start_mark.line if event.start_mark else 0
                raise _BrokenError("anchors and aliases are not read", line + 2)
        loaded = yaml.load(block, Loader=yaml.BaseLoader)  # strings, lists and maps only
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise _BrokenError(error.problem or "not YAML", mark.line + 2 if mark else 1) from error
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        raise _BrokenError(str(error).split("\n", 1)[0] or "too deeply nested", 1) from error
    if not isinstance(loaded, dict):
        return None
    if not all(isinstance(key, str) and _KEY.fullmatch(key) for key in loaded):
        return None
    return loaded


def _clean(key: str, value: object, zone: tzinfo) -> MetaValue:
    if isinstance(value, dict):
        return {str(name): _clean(str(name), part, zone) for name, part in value.items()}
    if isinstance(value, list):
        return [_clean("", part, zone) for part in value]
    text = str(value).strip()
    if key.lower() in LIST_KEYS:
        return [part.strip() for part in text.split(",") if part.strip()]
    stamp = parse_date(text, zone) if _STAMP.fullmatch(text) else None
    return iso(stamp) if stamp is not None else text or None


def strings(value: MetaValue) -> list[str]:
    """The strings of a value that may be one string, a list or nothing."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, list):
        return [part for item in value for part in strings(item)]
    return []
