"""A question's window is half-open, and nothing but a time gives one."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphmem.retrieve.windows import find_window

NOW = datetime(2026, 7, 17, 12, tzinfo=UTC)

WINDOWS = [
    ("what did we discuss in May", "2026-05-01", "2026-06-01"),
    ("what changed between March and May 2024", "2024-03-01", "2024-06-01"),
    ("we upgraded to version 2.10 last week", "2026-07-06", "2026-07-13"),
    ("what happened on 2026-04-10?", "2026-04-10", "2026-04-11"),
    ("decisions of 2026-04", "2026-04-01", "2026-05-01"),
    ("what did we decide in March 2026", "2026-03-01", "2026-04-01"),
    ("notes of Sept. 2025", "2025-09-01", "2025-10-01"),
    ("in december", "2025-12-01", "2026-01-01"),
    ("in July", "2026-07-01", "2026-08-01"),
    ("in 2024", "2024-01-01", "2025-01-01"),
    ("during Q3 2025", "2025-07-01", "2025-10-01"),
    ("2025 Q4 incidents", "2025-10-01", "2026-01-01"),
    ("in the third quarter of 2025", "2025-07-01", "2025-10-01"),
    ("in Q4", "2025-10-01", "2026-01-01"),
    ("since March 2026", "2026-03-01", None),
    ("since 2025", "2025-01-01", None),
    ("after 2026-04-10", "2026-04-11", None),
    ("before May 2026", None, "2026-05-01"),
    ("until 2026-04-10", None, "2026-04-11"),
    ("from November to February 2026", "2025-11-01", "2026-03-01"),
    ("between November and February", "2025-11-01", "2026-03-01"),
    ("from 2026-01-05 to 2026-01-09", "2026-01-05", "2026-01-10"),
    ("between 2022 and 2024", "2022-01-01", "2025-01-01"),
    ("on 5 March 2026", "2026-03-05", "2026-03-06"),
    ("on March 5th, 2026", "2026-03-05", "2026-03-06"),
    ("on the 5th of August", "2025-08-05", "2025-08-06"),
    ("what broke yesterday", "2026-07-16", "2026-07-17"),
    ("last month", "2026-06-01", "2026-07-01"),
    ("last year", "2025-01-01", "2026-01-01"),
    ("this quarter", "2026-07-01", "2026-10-01"),
]
NO_WINDOW = [
    "may I ask who approved the pump",
    "sensor 6005 and batch 123",
    "what did we say",
    "what runs on port 2024",
    "who closed OPS-2024",
    "is version 2024.1 out",
    "in v2024 of the tool",
    "open http://localhost:2024/x",
    "what may happen in production",
    "how many files: 2026",
    "rows in 2000 files",
    "march on, said the sergeant",
    "in src/2024/notes.md",
    "GPT-4 and Python 3.11",
    "the 2 of us",
    "on 2026-13-40",
    "in 2024-beta",
    "",
]


@pytest.mark.parametrize(("question", "start", "end"), WINDOWS)
def test_a_time_phrase_gives_its_half_open_window(
    question: str, start: str | None, end: str | None
) -> None:
    window = find_window(question, NOW)
    assert window is not None
    days = [None if edge is None else str(edge.date()) for edge in (window.start, window.end)]
    assert days == [start, end]
    assert window.text in question


@pytest.mark.parametrize("question", NO_WINDOW)
def test_a_number_or_an_ordinary_word_gives_no_window(question: str) -> None:
    assert find_window(question, NOW) is None


@given(st.text(alphabet="0123456789-QqmayJune in of/.to and between", max_size=60))
def test_a_window_always_ends_after_it_starts(text: str) -> None:
    window = find_window(text, NOW)
    if window is not None and window.start is not None and window.end is not None:
        assert window.start < window.end
