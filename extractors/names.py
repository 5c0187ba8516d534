"""Names that their shape gives away: code spans, wiki links, identifiers, tickets, paths, versions.

They are found before the parser sees the text, so that no digit is ever cut off a name.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from graphmem.extractors.words import NOT_A_NAME
from graphmem.model.items import MAX_NAME_CHARS
from graphmem.vocabulary import EntityType

# A shape says more about a type than the statistical tagger does.
SHAPE_WEIGHT: Final = 2.0

_EXT: Final = (
    "py|pyi|ts|tsx|js|jsx|md|json|jsonl|toml|yaml|yml|sql|sqlite|txt|csv|kuzu|rs|go|c|h|cpp|hpp|"
    "sh|html|css|lock|ini|cfg|db|xml|proto|java|rb|ipynb"
)
_SHAPES: Final = re.compile(
    r"(?<![A-Za-z0-9_@])(?:"
    r"(?P<url>https?://[^\s<>()\[\]\"'`]{1,180}[^\s<>()\[\]\"'`.,;:!?])"
    r"|(?P<mail>[\w.+-]{1,64}@[A-Za-z0-9-]{1,60}(?:\.[A-Za-z0-9-]{2,20}){1,4})"
    r"|(?P<lib>[A-Z][A-Za-z]{1,20}\.(?:js|io|ai|NET)|\.NET)"
    rf"|(?P<path>(?:~|\.{{1,2}})?/?(?:[A-Za-z0-9_.-]{{1,60}}/){{1,12}}[A-Za-z0-9_-][A-Za-z0-9_.-]{{0,60}}\.(?:{_EXT})"
    rf"|(?:~/|\./|\.\./)[A-Za-z0-9_./-]{{1,120}}[A-Za-z0-9_]|[A-Za-z0-9_-][A-Za-z0-9_.-]{{0,60}}\.(?:{_EXT}))"
    r"|(?P<plus>(?:C|g|F|G)\+\+|[CFJ]#)"
    r"|(?P<ticket>[A-Z][A-Z0-9]{1,9}-\d{2,7}(?:-\d{1,7}){0,3})"
    r"|(?P<version>v\d+(?:\.\d+){1,4}(?:-[a-z0-9.]{1,20})?|\d+(?:\.\d+){2,4}(?:-[a-z0-9.]{1,20})?)"
    r"|(?P<code>[A-Za-z]{1,12}\d{0,6}(?:[.-]\d{1,7}){1,3}[A-Za-z]{0,3}(?:\s[Rr]ev\.?\s[A-Z0-9]{1,2})?)"
    r"|(?P<snake>_{0,2}[A-Za-z0-9]{1,40}(?:_{1,2}[A-Za-z0-9]{1,40}){1,8}_{0,2})"
    r"|(?P<camel>[A-Za-z]{0,30}[a-z][A-Z][A-Za-z0-9]{0,40}|[A-Z]{2,20}[a-rt-z][A-Za-z0-9]{0,40}"
    r"|[A-Z]{2,20}s[A-Za-z0-9]{1,40})"
    r"|(?P<mixed>[A-Za-z]{2,12}\d{1,6}[A-Za-z0-9]{0,8}|[A-Z]\d{1,4})"
    r")(?![A-Za-z0-9_])"
)
_NUMBERED: Final = re.compile(
    r"(?<![A-Za-z0-9_.'’/-])(?P<words>(?:[^\W\d_a-zß-ÿ](?:[\w’-]|\.(?=\w)){1,30} ){1,4})"
    r"(?P<number>\d+(?:\.\d+){0,4}[a-z]?|[B-HJ-Z]|A(?= (?:and|is|was|has|lists|or)\b))"
    r"(?![A-Za-z0-9_%°€$]|[.,:-]\d|-[A-Za-z]|'s?\d)"
)
_ISO_DATE: Final = re.compile(r"(?<![\w-])\d{4}-\d{2}-\d{2}(?:T\d{2}:\d{2}(?::\d{2})?Z?)?(?![\w-])")
_VALUE: Final = re.compile(
    r"\b(?:version|firmware|release|build|revision|schema|protocol|driver|kernel) "
    r"v?\d+(?:\.\d+){0,4}(?![\w%]|\.\d)"
)
_LOWER_VERSION: Final = re.compile(
    r"(?<![\w.@/-])(?P<word>[a-z][\w-]{2,30}) \d+\.\d+\.\d+(?:-[a-z0-9.]{1,20})?(?![\w-]|\.\d)"
)
_WIKI: Final = re.compile(
    r"\[\[[ \t]?(?P<name>[^\s\[\]|#](?:[^\[\]|#\n]{0,198}[^\s\[\]|#])?)[ \t]?"
    r"(?:[#|][^\[\]\n]{0,200})?\]\]"
)
_TICKS: Final = re.compile(r"(?<!`)(`{1,2})(?!`)([^`\n]{1,300})\1(?!`)")
_CODE_NAME: Final = re.compile(r"[@.~/]?[\w+#@./:*-]{1,120}(?:\(\))?", re.ASCII)
_PATHLIKE: Final = re.compile(rf"(?:~|\.{{1,2}})?/[\w./-]+|[\w.-]+(?:/[\w.-]+)+|[\w-]+\.(?:{_EXT})")
_ACRONYM: Final = re.compile(r"[A-Z]{3,6}")
_QUARTER: Final = re.compile(r"[QH][1-4]")
# Prefixes that look like a ticket's but number a standard, a model or an algorithm.
_NOT_TICKETS: Final = frozenset(
    "UTF SHA ISO GPT BM RFC AES RSA IEEE MD HTTP COVID CVE BR PEP".split()
)


Part = Literal["name", "code", "date", "value", "verb"]
_STAND_INS: Final[dict[Part, str]] = {
    "name": "Microsoft",
    "code": "Microsoft",
    "value": "Microsoft",
    "date": "Monday",
    "verb": "uses",
}


@dataclass(frozen=True, slots=True)
class ShapeName:
    """A region of text that stands for one word; ``name_*`` is the name in it.

    Code that names nothing, dates and values hold their place in the sentence only.
    ``closed`` names (``OPS-2077``) are whole: the capitalised word before them is not part of it.
    ``made`` ones were added when a sentence was read a second time.
    """

    start: int
    end: int
    name_start: int
    name_end: int
    vote: EntityType | None = None
    part: Part = "name"
    closed: bool = False
    made: bool = False

    @property
    def is_name(self) -> bool:
        """Whether it can be a mention."""
        return self.part == "name"

    @property
    def stand_in(self) -> str:
        """The plain word the parser sees instead."""
        return _STAND_INS[self.part]


def find_shape_names(text: str, masked: Sequence[tuple[int, int]]) -> list[ShapeName]:
    """All shape names of ``text``, sorted, without overlaps; of masked spans only code names.

    >>> [found.name_end - found.name_start for found in find_shape_names("Node 200 is up", ())]
    [8]
    """
    taken: list[ShapeName] = []
    free = _Free(masked)
    for start, end in masked:
        _add(taken, free, _masked_code(text, start, end), check=False)
    for found in _TICKS.finditer(text):
        _add(taken, free, _ticked(text, found.start(), found.end()))
    for found in _WIKI.finditer(text):
        _add(taken, free, _wiki(found))
    for found in _ISO_DATE.finditer(text):
        _add(taken, free, ShapeName(*found.span(), *found.span(), None, "date"))
    for found in _VALUE.finditer(text):
        _add(taken, free, ShapeName(*found.span(), *found.span(), None, "value"))
    for found in _LOWER_VERSION.finditer(text):
        if not found["word"].endswith(("ed", "ing")) and found["word"] not in NOT_A_NAME:
            _add(taken, free, ShapeName(*found.span(), *found.span()))
    for found in _NUMBERED.finditer(text):
        _add(taken, free, _numbered(text, found))
    for found in _SHAPES.finditer(text):
        _add(taken, free, _shaped(found))
    return sorted(taken, key=lambda name: name.start)


def is_acronym(word: str) -> bool:
    """Whether a word is all capitals, as only names are in a sentence that is not shouted.

    >>> is_acronym("QHRB"), is_acronym("IT"), is_acronym("Basalt")
    (True, False, False)
    """
    return _ACRONYM.fullmatch(word) is not None


class _Free:
    """Which characters are still free."""

    def __init__(self, masked: Sequence[tuple[int, int]]) -> None:
        self._spans = [span for span in masked if span[0] < span[1]]

    def take(self, start: int, end: int) -> bool:
        if any(start < stop and begin < end for begin, stop in self._spans):
            return False
        self._spans.append((start, end))
        return True


def _add(taken: list[ShapeName], free: _Free, name: ShapeName | None, check: bool = True) -> None:
    if name is None or name.name_end - name.name_start > MAX_NAME_CHARS:
        return
    if not check or free.take(name.start, name.end):
        taken.append(name)


def _masked_code(text: str, start: int, end: int) -> ShapeName | None:
    piece = text[start:end]
    ticked = piece.startswith("`") or text[max(0, start - 1) : start] == "`"
    if not ticked or "\n" in piece or piece.startswith("```"):
        return None
    return _ticked(text, start, end)


def _ticked(text: str, start: int, end: int) -> ShapeName | None:
    piece = text[start:end]
    inner = piece.strip("` \t")
    if not inner:
        return None
    name_start = start + piece.index(inner)
    is_name = _CODE_NAME.fullmatch(inner) is not None and any(c.isalpha() for c in inner)
    part: Part = "name" if is_name else "code"
    return ShapeName(start, end, name_start, name_start + len(inner), _code_vote(inner), part)


def _code_vote(inner: str) -> EntityType | None:
    if _PATHLIKE.fullmatch(inner):
        return EntityType.PATH
    if re.fullmatch(r"[a-z][a-z0-9]*(-[a-z0-9]+)*", inner):
        return EntityType.TOOL
    shaped = _SHAPES.fullmatch(inner)
    return _shape_vote(shaped) if shaped else None


def _wiki(found: re.Match[str]) -> ShapeName | None:
    start, end = found.span("name")
    if not any(char.isalnum() for char in found["name"]):
        return None
    return ShapeName(found.start(), found.end(), start, end)


def _numbered(text: str, found: re.Match[str]) -> ShapeName | None:
    start, end = found.span()
    for word in re.finditer(r"\S+", found["words"]):
        if word.group().casefold() in NOT_A_NAME or _QUARTER.fullmatch(word.group()):
            start = found.start() + word.end() + 1
    if start >= found.start("number"):
        return None
    return ShapeName(start, end, start, end)


def _shaped(found: re.Match[str]) -> ShapeName | None:
    piece = found.group()
    if found.lastgroup == "mixed" and _QUARTER.fullmatch(piece):
        return None
    start, end = found.span()
    closed = found.lastgroup in {"ticket", "code", "path", "url", "mail"}
    return ShapeName(start, end, start, end, _shape_vote(found), closed=closed)


def _shape_vote(found: re.Match[str]) -> EntityType | None:
    match found.lastgroup:
        case "url":
            return EntityType.DOCUMENT
        case "path":
            return EntityType.PATH
        case "version":
            return EntityType.VERSION
        case "lib" | "plus":
            return EntityType.TOOL
        case "ticket":
            prefix = found.group().partition("-")[0]
            return None if prefix in _NOT_TICKETS else EntityType.TICKET
        case _:
            return None
