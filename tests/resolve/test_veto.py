"""Vetoes: which differences forbid a merge, and which do not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphmem.resolve import VetoReason, name_key, veto

WORDS = st.sampled_from(
    "pump valve rev a b c++ c# .net ii iii v2 v3 7 07 1.9 1.10 first second may june north south"
    " 三 四 o'dell's j. p-17 m² The".split()
)
NAMES = st.lists(WORDS, min_size=1, max_size=4).map(" ".join) | st.text(max_size=20)


@pytest.mark.parametrize(
    ("left", "right", "reason"),
    [
        ("Work order WO-2031-114", "Work order WO-2031-115", VetoReason.DIGITS),
        ("Valve sheet VS-7 Rev A", "Valve sheet VS-7 Rev B", VetoReason.LETTERS),
        ("Firmware 1.9", "Firmware 1.10", VetoReason.DIGITS),
        ("Ticket 12-34", "Ticket 34-12", VetoReason.DIGITS),
        ("Agent 007", "Agent 7", VetoReason.DIGITS),
        ("Redis", "Redis 7", VetoReason.DIGITS),
        ("m²", "m³", VetoReason.DIGITS),
        ("Phase II", "Phase III", VetoReason.NUMERALS),
        ("Part I", "Part II", VetoReason.NUMERALS),
        ("sensor b5", "sensor c5", VetoReason.LETTERS),
        ("VS-7a", "VS-7b", VetoReason.LETTERS),
        ("J. Smith", "K. Smith", VetoReason.LETTERS),
        ("a record", "record", VetoReason.LETTERS),
        ("C code", "C++ code", VetoReason.SYMBOLS),
        ("C++ code", "C# code", VetoReason.SYMBOLS),
        ("NET runtime", ".NET runtime", VetoReason.SYMBOLS),
        ("first shift", "second shift", VetoReason.NUMBER_WORDS),
        ("team one", "team two", VetoReason.NUMBER_WORDS),
        ("第三倉庫", "第四倉庫", VetoReason.NUMBER_WORDS),
        ("March plan", "April plan", VetoReason.CALENDAR),
        ("Monday standup", "Tuesday standup", VetoReason.CALENDAR),
        ("north gate", "south gate", VetoReason.OPPOSITES),
        ("orders staging", "orders production", VetoReason.OPPOSITES),
    ],
)
def test_differences_that_forbid_a_merge(left: str, right: str, reason: VetoReason) -> None:
    assert veto(left, right) is reason
    assert veto(right, left) is reason


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("Tidal Pumps", "Tidal Pump"),
        ("O'Dell's relay", "O'Dell relay"),
        ("John F. Kennedy", "John Kennedy"),
        ("Jan report", "January report"),
        ("Python v3", "Python 3"),
        ("Maren Toft", "Maren Tofft"),
        ("mix station", "mixing station"),
        ("Acme Inc.", "Acme Inc"),
    ],
)
def test_differences_left_to_the_scores(left: str, right: str) -> None:
    assert name_key(left) != name_key(right)
    assert veto(left, right) is None


@given(NAMES, NAMES)
def test_veto_is_symmetric_and_implies_different_keys(left: str, right: str) -> None:
    reason = veto(left, right)
    assert veto(right, left) is reason
    if reason is not None:
        assert name_key(left) != name_key(right)


@given(NAMES)
def test_a_name_is_never_vetoed_against_another_spelling_of_itself(name: str) -> None:
    assert veto(name, name) is None
    assert veto(name, f"  {name_key(name)} ") is None
