"""Explicit times as half-open intervals; no guess from relative or ambiguous words."""

from __future__ import annotations

import pytest

from graphmem.extractors.times import find_time
from graphmem.vocabulary import Granularity


@pytest.mark.parametrize(
    ("text", "start", "end", "granularity"),
    [
        ("from 2031-03-01 to 2031-04-10", "2031-03-01", "2031-04-10", Granularity.RANGE),
        ("since March 2026", "2026-03-01", None, Granularity.MONTH),
        ("until 2031-04-10", None, "2031-04-10", Granularity.DAY),
        ("in 2024", "2024-01-01", "2025-01-01", Granularity.YEAR),
        ("in December 2024", "2024-12-01", "2025-01-01", Granularity.MONTH),
        ("in Q3 2025 we moved", "2025-07-01", "2025-10-01", Granularity.QUARTER),
        ("on 2026-02-28", "2026-02-28", "2026-03-01", Granularity.DAY),
        ("on 12 May 2026", "2026-05-12", "2026-05-13", Granularity.DAY),
        ("on May 12, 2026", "2026-05-12", "2026-05-13", Granularity.DAY),
        ("between March and May 2024", "2024-03-01", "2024-06-01", Granularity.RANGE),
        ("from 2010 to 2015", "2010-01-01", "2016-01-01", Granularity.RANGE),
        ("from March 2024 until May 2024", "2024-03-01", "2024-06-01", Granularity.RANGE),
        ("after March 2026", "2026-04-01", None, Granularity.MONTH),
        ("before 2020", None, "2020-01-01", Granularity.YEAR),
    ],
)
def test_an_explicit_time_becomes_a_half_open_interval(
    text: str, start: str | None, end: str | None, granularity: Granularity
) -> None:
    found = find_time(f"Arm 6 used it {text}")
    assert found is not None
    interval = found.interval
    assert (interval.start and interval.start.date().isoformat()) == start
    assert (interval.end and interval.end.date().isoformat()) == end
    assert interval.granularity is granularity


@pytest.mark.parametrize(
    "text",
    [
        "may I ask who approved the pump",
        "sensor 6005 and batch 123",
        "we upgraded to version 2.10 last week",
        "in 2000 passages",
        "port 2024 is open",
        "OPS-2077 in WO-2031-114",
        "on 2031-13-45",
        "on 31 February 2026",
        "yesterday",
        "in 2024 and in 2025",
        "",
    ],
)
def test_no_time_is_guessed(text: str) -> None:
    assert find_time(text) is None


def test_a_reversed_interval_is_refused() -> None:
    with pytest.raises(ValueError, match="ends before"):
        find_time("from 2031-04-10 to 2031-03-01")
