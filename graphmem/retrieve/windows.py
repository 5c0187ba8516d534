"""The time window a question names, if it names one beyond doubt.

A number, a port, a version, a ticket, the verb "may" and the word "we" are no dates.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import pairwise

MONTHS = (
    "january february march april may june july august september october november december"
).split()
# Characters of a question that are searched for dates.
MAX_CHARS = 1000


@dataclass(frozen=True, slots=True)
class Window:
    """A half-open UTC interval [start, end) and the words that gave it; None is open."""

    start: datetime | None
    end: datetime | None
    text: str


@dataclass(frozen=True, slots=True)
class _Point:
    """A calendar unit; ``month`` is set when the text left out its year."""

    start: datetime
    end: datetime
    month: int | None = None


_MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?"
    r"|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\b\.?"
)
_YEAR = r"(?:19|20|21)\d\d"
# Nothing that makes a number part of a longer identifier, version, path or amount.
_HEAD = r"(?<![\w./:#$€@-])"
_TAIL = r"(?![\w/:%]|[.,:-]\d|-\w)"
_DAY = r"(?:[12]\d|3[01]|0?[1-9])(?:st|nd|rd|th)?"
_ORDINAL = {"first": 1, "second": 2, "third": 3, "fourth": 4}

_ISO = re.compile(
    rf"{_HEAD}({_YEAR})-(\d\d)(?:-(\d\d)(?:[T ]\d\d:\d\d(?::\d\d)?(?:Z|[+-]\d\d:?\d\d)?)?)?{_TAIL}"
)
_DAY_MONTH = re.compile(rf"{_HEAD}({_DAY})\s+(?:of\s+)?({_MONTH})(?:,?\s+({_YEAR}){_TAIL})?", re.I)
_MONTH_DAY = re.compile(
    rf"{_HEAD}({_MONTH})\s+({_DAY}){_TAIL}(?!\s+\d)(?:,?\s+({_YEAR}){_TAIL})?", re.I
)
_MONTH_YEAR = re.compile(rf"{_HEAD}({_MONTH}),?\s+(?:of\s+)?({_YEAR}){_TAIL}", re.I)
_BARE_MONTH = re.compile(rf"{_HEAD}({_MONTH})(?![\w/:-])", re.I)
_QUARTER = re.compile(
    rf"{_HEAD}(?:Q([1-4])|(?:the\s+)?(first|second|third|fourth)\s+quarter)"
    rf"(?:\s*(?:of\s+|/)?({_YEAR}))?{_TAIL}|{_HEAD}({_YEAR})[\s-]?Q([1-4]){_TAIL}",
    re.I,
)
_BARE_YEAR = re.compile(rf"{_HEAD}({_YEAR}){_TAIL}")
_RELATIVE = re.compile(
    rf"{_HEAD}(?:(yesterday|today)|(last|this)\s+(week|month|year|quarter))\b", re.I
)
# A number before one of these is an amount ("in 2000 rows"), not a year.
_UNIT = re.compile(
    r"\s*(?:ms|s|kb|mb|gb|tb|rows?|files?|tests?|passages?|tokens?|words?|characters?|bytes?"
    r"|nodes?|edges?|times?|notes?|runs?|units?|lines?|seconds?|minutes?|hours?|days?|people"
    r"|questions?|milliseconds?|requests?|users?|items?|documents?|euros?|dollars?)\b",
    re.I,
)
_SINGLE = re.compile(r"\b(in|during|since|until|till|of|before|after|by|from|on|for|through)\s+"
                     r"(?:the\s+)?(?:month\s+of\s+|year\s+|end\s+of\s+|early\s+|late\s+|mid-?\s*)?$",
                     re.I)  # fmt: skip
# Words before a month without a year, or before a lone year, that make it a time.
_MAKES_A_TIME = frozenset("in during since until till of before after by from through".split())
_RANGE = re.compile(r"^\s*(and|to|until|till|through|-|–|—)\s*(?:the\s+)?$", re.I)


def find_window(question: str, now: datetime) -> Window | None:
    """The window the question names, or None; ``now`` resolves a month without a year.

    "between", "from ... to" give ranges that hold their last unit; "since", "after", "before" and
    "until" leave one side open. A month without a year is the most recent one that has begun.

    >>> window = find_window("what changed in March 2026?", datetime(2026, 7, 1, tzinfo=UTC))
    >>> str(window.start.date()), str(window.end.date()), window.text
    ('2026-03-01', '2026-04-01', 'in March 2026')
    """
    text = question[:MAX_CHARS]
    found = _points(text, now.astimezone(UTC))
    if not found:
        return None
    for (start, end, first), (next_start, next_end, second) in pairwise(found):
        opener = re.search(r"\b(between|from)\s+(?:the\s+)?$", text[:start], re.I)
        if opener and _RANGE.match(text[end:next_start]):
            return _range(first, second, text[opener.start() : next_end])
    start, end, point = found[0]
    lead = _SINGLE.search(text[:start])
    word = lead.group(1).lower() if lead else ""
    phrase = text[lead.start() if lead else start : end]
    return _open_or_closed(point, word, " ".join(phrase.split()))


def _open_or_closed(point: _Point, word: str, phrase: str) -> Window:
    if word in ("since", "from"):
        return Window(point.start, None, phrase)
    if word == "after":
        return Window(point.end, None, phrase)
    if word == "before":
        return Window(None, point.start, phrase)
    if word in ("until", "till", "by", "through"):
        return Window(None, point.end, phrase)
    return Window(point.start, point.end, phrase)


def _range(first: _Point, second: _Point, phrase: str) -> Window | None:
    start = first.start
    if first.month is not None and second.month is None:
        year = second.start.year - (first.month > second.start.month)
        start = start.replace(year=year)
    elif first.month is not None and second.month is not None and start > second.start:
        start = start.replace(year=second.start.year - (first.month > second.month))
    return Window(start, second.end, " ".join(phrase.split())) if start < second.end else None


def _points(text: str, now: datetime) -> list[tuple[int, int, _Point]]:
    """Every calendar unit in the text with its span, in order, none overlapping another."""
    taken: list[tuple[int, int, _Point]] = []
    for pattern, read in _READERS:
        for found in pattern.finditer(text):
            if any(found.start() < end and start < found.end() for start, end, _ in taken):
                continue
            try:
                point = read(found, text, now)
            except (ValueError, OverflowError):
                continue
            if point is not None:
                taken.append((found.start(), found.end(), point))
    return sorted(taken, key=lambda item: item[0])


def _iso(found: re.Match[str], text: str, now: datetime) -> _Point | None:
    year, month, day = int(found[1]), int(found[2]), found[3]
    return _month(year, month) if day is None else _day(year, month, int(day))


def _day_month(found: re.Match[str], text: str, now: datetime) -> _Point | None:
    return _named_day(found[2], found[1], found[3], now)


def _month_day(found: re.Match[str], text: str, now: datetime) -> _Point | None:
    lead = _preposition(text, found.start())
    if found[3] is None and found[1].lower() == "may" and not lead:
        return None
    return _named_day(found[1], found[2], found[3], now)


def _named_day(month: str, day: str, year: str | None, now: datetime) -> _Point:
    number, date = _month_number(month), int(re.sub(r"\D", "", day))
    if year is not None:
        return _day(int(year), number, date)
    point = _day(now.year, number, date)
    return _day(now.year - 1, number, date) if point.start > now else point


def _month_year(found: re.Match[str], text: str, now: datetime) -> _Point | None:
    return _month(int(found[2]), _month_number(found[1]))


def _bare_month(found: re.Match[str], text: str, now: datetime) -> _Point | None:
    between = re.search(r"\b(?:between|from)\b[^.?!]*$", text[: found.start()], re.I)
    follows = re.match(r"\s+(?:i|we|you|he|she|they|it|not|be)\b", text[found.end() :], re.I)
    if follows and found[1].lower() == "may":
        return None
    if _preposition(text, found.start()) not in _MAKES_A_TIME and not between:
        return None
    number = _month_number(found[1])
    year = now.year if number <= now.month else now.year - 1
    point = _month(year, number)
    return _Point(point.start, point.end, number)


def _quarter(found: re.Match[str], text: str, now: datetime) -> _Point | None:
    number = int(found[1] or found[5] or 0) or _ORDINAL[found[2].lower()]
    year = found[3] or found[4]
    if year is None and _preposition(text, found.start()) not in _MAKES_A_TIME:
        return None
    start = _month(int(year) if year else now.year, 3 * number - 2).start
    if year is None and start > now:
        start = start.replace(year=start.year - 1)
    return _Point(start, _month(start.year, start.month + 2).end)


def _bare_year(found: re.Match[str], text: str, now: datetime) -> _Point | None:
    between = re.search(r"\b(?:between|from)\b[^.?!]*$", text[: found.start()], re.I)
    if _UNIT.match(text[found.end() :]):
        return None
    if _preposition(text, found.start()) not in _MAKES_A_TIME and not between:
        return None
    year = int(found[1])
    return _Point(datetime(year, 1, 1, tzinfo=UTC), datetime(year + 1, 1, 1, tzinfo=UTC))


def _relative(found: re.Match[str], text: str, now: datetime) -> _Point | None:
    midnight = now.replace(hour=0, minute=0, second=0, microsecond=0)
    if found[1]:
        start = midnight - timedelta(days=1 if found[1].lower() == "yesterday" else 0)
        return _Point(start, start + timedelta(days=1))
    unit, last = found[3].lower(), found[2].lower() == "last"
    if unit == "week":
        start = midnight - timedelta(days=midnight.weekday() + (7 if last else 0))
        return _Point(start, start + timedelta(days=7))
    length = {"month": 1, "quarter": 3, "year": 12}[unit]
    index = midnight.year * 12 + (midnight.month - 1) // length * length - length * last
    first = _month(index // 12, index % 12 + 1).start
    closing = index + length - 1
    return _Point(first, _month(closing // 12, closing % 12 + 1).end)


_READERS = (
    (_ISO, _iso),
    (_QUARTER, _quarter),
    (_DAY_MONTH, _day_month),
    (_MONTH_DAY, _month_day),
    (_MONTH_YEAR, _month_year),
    (_BARE_MONTH, _bare_month),
    (_BARE_YEAR, _bare_year),
    (_RELATIVE, _relative),
)


def _preposition(text: str, start: int) -> str:
    lead = _SINGLE.search(text[:start])
    return lead.group(1).lower() if lead else ""


def _month_number(name: str) -> int:
    short = name.lower().rstrip(".")[:3]
    return next(i for i, month in enumerate(MONTHS, 1) if month.startswith(short))


def _day(year: int, month: int, day: int) -> _Point:
    start = datetime(year, month, day, tzinfo=UTC)
    return _Point(start, start + timedelta(days=1))


def _month(year: int, month: int) -> _Point:
    start = datetime(year, month, 1, tzinfo=UTC)
    return _Point(start, datetime(year + month // 12, month % 12 + 1, 1, tzinfo=UTC))
