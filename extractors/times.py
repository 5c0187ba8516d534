"""Explicit times in a clause: ISO dates, months, quarters and years as half-open intervals.

Relative words ("yesterday") need a reference time and a time zone and are not read here.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from graphmem.extractors.words import MONTHS
from graphmem.model.items import TimeInterval
from graphmem.vocabulary import Granularity

_MONTH_NAMES: Final = "|".join(name.capitalize() for name in MONTHS)
_DATE: Final = (
    r"\d{4}-\d{2}-\d{2}(?:T\d{2}:\d{2}(?::\d{2})?Z)?"
    rf"|\d{{1,2}}\s(?:{_MONTH_NAMES})\s\d{{4}}"
    rf"|(?:{_MONTH_NAMES})\s\d{{1,2}},?\s\d{{4}}"
    rf"|(?:{_MONTH_NAMES})\s\d{{4}}"
    r"|Q[1-4]\s\d{4}"
    r"|(?:19|20|21)\d{2}"
)
# A bare year may be followed by the end, punctuation, or a word that cannot be what it counts.
_AFTER: Final = (
    r"(?![\w-])(?!\s(?!(?:and|or|but|because|so|we|i|it|he|she|they|the|a|an|by|with|for|as|at|on|"
    r"in|to|from|until|till|through|when|after|before|since|our|this|that|is|was|were|has|had)\b)"
    r"[a-z])"
)
_TIME: Final = re.compile(
    rf"\b(?P<prep>[Ff]rom|[Bb]etween|[Ss]ince|[Uu]ntil|[Tt]ill|[Tt]hrough|[Ii]n|[Oo]n|[Dd]uring|"
    rf"[Bb]efore|[Aa]fter)\s"
    rf"(?P<first>{_DATE})(?:\s?(?:to|until|till|and|–|through)\s(?P<second>{_DATE}))?{_AFTER}"
)
_PART_MONTH: Final = re.compile(
    rf"\b(?P<prep>[Ff]rom|[Bb]etween)\s(?P<first>{_MONTH_NAMES})\s(?:to|and|until|through)\s"
    rf"(?P<month>{_MONTH_NAMES})\s(?P<year>\d{{4}})"
)


@dataclass(frozen=True, slots=True)
class ClauseTime:
    """A time a clause states; ``at`` when it says when something was, not since or until when."""

    interval: TimeInterval
    at: bool


def find_time(text: str) -> ClauseTime | None:
    """The one explicit time in ``text``; None when there is none, or more than one.

    Raises ``ValueError`` when the text states an interval that ends before it starts.

    >>> found = find_time("Arm 6 uses it from 2031-03-01 to 2031-04-10")
    >>> found.interval.start.isoformat(), found.interval.end.isoformat()
    ('2031-03-01T00:00:00+00:00', '2031-04-10T00:00:00+00:00')
    """
    if not any(char.isdigit() for char in text):
        return None
    months = _PART_MONTH.search(text)
    if months is not None:
        year = months["year"]
        return _range(f"{months['first']} {year}", f"{months['month']} {year}")
    found = list(_TIME.finditer(text))
    if len(found) == 2:
        return _since_until(found[0], found[1])
    return _single(found[0]) if len(found) == 1 else None


def _since_until(first: re.Match[str], second: re.Match[str]) -> ClauseTime | None:
    words = first["prep"].lower(), second["prep"].lower()
    if words[0] in {"since", "from"} and words[1] in {"until", "till"}:
        return _range(first["first"], second["first"])
    return None


def _single(found: re.Match[str]) -> ClauseTime | None:
    prep = found["prep"].lower()
    if found["second"] is not None:
        return _range(found["first"], found["second"]) if prep in {"from", "between"} else None
    parsed = _parse(found["first"])
    if parsed is None or prep == "between":
        return None
    start, end, granularity = parsed
    match prep:
        case "since" | "from":
            return _interval(start, None, granularity, at=False)
        case "after":
            return _interval(end, None, granularity, at=False)
        case "until" | "till" | "before":
            return _interval(None, start, granularity, at=False)
        case "through":
            return _interval(None, end, granularity, at=False)
        case _:
            return _interval(start, end, granularity, at=True)


def _interval(
    start: datetime | None, end: datetime | None, granularity: Granularity, *, at: bool
) -> ClauseTime:
    return ClauseTime(TimeInterval(start=start, end=end, granularity=granularity), at)


def _range(first: str, second: str) -> ClauseTime | None:
    """From ``first`` to ``second``: a day ends the range, a month or year is part of it."""
    begins, ends = _parse(first), _parse(second)
    if begins is None or ends is None:
        return None
    exact = ends[2] in {Granularity.DAY, Granularity.INSTANT}
    end = ends[0] if exact else ends[1]
    if end <= begins[0]:
        raise ValueError("the interval ends before it starts")
    return _interval(begins[0], end, Granularity.RANGE, at=False)


def _parse(text: str) -> tuple[datetime, datetime, Granularity] | None:
    try:
        return _parse_valid(text.replace(",", " ").split())
    except (ValueError, OverflowError):
        return None


def _parse_valid(parts: list[str]) -> tuple[datetime, datetime, Granularity] | None:
    match parts:
        case [iso] if "T" in iso:
            moment = datetime.fromisoformat(iso.replace("Z", "+00:00"))
            return moment, moment + timedelta(seconds=1), Granularity.INSTANT
        case [iso] if "-" in iso:
            return _day(datetime.fromisoformat(iso).replace(tzinfo=UTC))
        case [year]:
            return _months(int(year), 1, 12, Granularity.YEAR)
        case [quarter, year] if quarter.startswith("Q"):
            return _months(int(year), 3 * int(quarter[1]) - 2, 3, Granularity.QUARTER)
        case [month, year]:
            return _months(int(year), _month(month), 1, Granularity.MONTH)
        case [first, second, year]:
            name, day = (second, first) if first.isdigit() else (first, second)
            return _day(datetime(int(year), _month(name), int(day), tzinfo=UTC))
    return None


def _month(name: str) -> int:
    return MONTHS.index(name.lower()) + 1


def _day(start: datetime) -> tuple[datetime, datetime, Granularity]:
    return start, start + timedelta(days=1), Granularity.DAY


def _months(
    year: int, month: int, count: int, granularity: Granularity
) -> tuple[datetime, datetime, Granularity]:
    last = month - 1 + count
    end = datetime(year + last // 12, last % 12 + 1, 1, tzinfo=UTC)
    return datetime(year, month, 1, tzinfo=UTC), end, granularity
