"""Dates that a source states of itself: whole strings only, never a date inside prose."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone, tzinfo

# How many of a text's first non-blank lines may be its date line.
HEAD_LINES = 6

_ISO = re.compile(
    r"(?P<year>\d{4})(?P<sep>[-/.])(?P<month>\d{1,2})(?P=sep)(?P<day>\d{1,2})"
    r"(?:[T ]+(?P<hour>\d{1,2}):(?P<minute>\d{2})(?::(?P<second>\d{2})(?:[.,]\d+)?)?"
    r"\s*(?P<zone>Z|UTC|GMT|[+-]\d{2}:?\d{2})?)?"
)
_MONTHS = (
    "january february march april may june july august september october november december"
).split()
_MONTH = r"(?P<month>[A-Za-z]{3,9})\.?"
_DAY = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?"
_YEAR = r"(?P<year>\d{4})"
_WORDED = (
    re.compile(rf"{_DAY}\s+{_MONTH},?\s+{_YEAR}"),
    re.compile(rf"{_MONTH}\s+{_DAY},?\s+{_YEAR}"),
)
_WEEKDAY = re.compile(
    r"(?:mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?\.?,?\s+", re.I
)
_DATE_LINE = re.compile(
    r"[-*+>\s]*[*_]{0,2}(?:(?:date|created|written|decided)[*_]{0,2}\s*:\s*)?[*_]{0,2}"
    r"(?P<value>[^*_]{6,40}?)[*_]{0,2}\s*",
    re.I,
)


def parse_date(text: str, zone: tzinfo = UTC) -> datetime | None:
    """The UTC time a string states as a whole, or None; a stamp without zone is in ``zone``.

    >>> parse_date("2031-04-05"), parse_date("on 2031-04-05")
    (datetime.datetime(2031, 4, 5, 0, 0, tzinfo=datetime.timezone.utc), None)
    """
    text = text.strip()
    found = _ISO.fullmatch(text)
    if found is not None:
        return _from_iso(found, zone)
    text = _WEEKDAY.sub("", text, count=1)
    for pattern in _WORDED:
        worded = pattern.fullmatch(text)
        if worded is not None:
            return _from_words(worded, zone)
    return None


def head_date(text: str, zone: tzinfo = UTC) -> datetime | None:
    """The date of a date line among the first lines of a text, or None."""
    lines = (line for line in text[:2000].split("\n") if line.strip())
    for line, _ in zip(lines, range(HEAD_LINES), strict=False):
        found = _DATE_LINE.fullmatch(line)
        when = parse_date(found["value"], zone) if found else None
        if when is not None:
            return when
    return None


def _from_iso(found: re.Match[str], zone: tzinfo) -> datetime | None:
    return _moment(
        (int(found["year"]), int(found["month"]), int(found["day"])),
        (int(found["hour"] or 0), int(found["minute"] or 0), int(found["second"] or 0)),
        _zone(found["zone"]) or zone,
    )


def _from_words(found: re.Match[str], zone: tzinfo) -> datetime | None:
    word = found["month"].lower()
    months = [number for number, name in enumerate(_MONTHS, 1) if name.startswith(word)]
    if len(months) != 1:
        return None
    return _moment((int(found["year"]), months[0], int(found["day"])), (0, 0, 0), zone)


def _zone(text: str | None) -> tzinfo | None:
    if not text:
        return None
    if text[0] not in "+-":
        return UTC
    digits = text[1:].replace(":", "")
    offset = timedelta(hours=int(digits[:2]), minutes=int(digits[2:]))
    return timezone(-offset if text[0] == "-" else offset) if offset < timedelta(days=1) else None


def _moment(
    date: tuple[int, int, int], time: tuple[int, int, int], zone: tzinfo
) -> datetime | None:
    try:
        return datetime(*date, *time, tzinfo=zone).astimezone(UTC)
    except (ValueError, OverflowError):
        return None
