"""Statements: clause-sized, of the right kind, with keys that are equal for equal claims."""

from __future__ import annotations

import pytest

from graphmem.vocabulary import PassageRole, Polarity, Refusal, StatementKind
from tests.extractors.reading import Reader

K = StatementKind
R = PassageRole


@pytest.mark.parametrize(
    ("text", "role", "kind"),
    [
        ("We chose Kuzu over LanceDB.", R.BODY, K.DECISION),
        ("It was decided to drop LanceDB.", R.BODY, K.DECISION),
        ("I prefer short functions.", R.BODY, K.PREFERENCE),
        ("Never restart Node 7 during a backup.", R.BODY, K.INSTRUCTION),
        ("You should pin Pydantic.", R.BODY, K.INSTRUCTION),
        ("The pump failed on Monday.", R.BODY, K.PROBLEM),
        ("Kuzu cannot open the file twice.", R.BODY, K.PROBLEM),
        ("We released v0.8.2.", R.BODY, K.MILESTONE),
        ("Maren Toft checked the pump.", R.BODY, K.EVENT),
        ("Kuzu is an embedded graph database.", R.BODY, K.FACT),
        ("- [preference] Tabs are fine.", R.BODY, K.PREFERENCE),
        ("Kuzu stores the graph.", R.DECISION, K.DECISION),
        ("Kuzu stores the graph.", R.RATIONALE, K.RATIONALE),
        ("Kuzu stores the graph.", R.CONSEQUENCES, K.FACT),
        ("Kuzu stores the graph.", R.CONTEXT, K.FACT),
        ("The store crashes often.", R.CONTEXT, K.PROBLEM),
        ("No server to run.", R.CONSEQUENCES, K.FACT),
    ],
)
def test_the_kind_follows_wording_and_role(
    reader: Reader, text: str, role: PassageRole, kind: StatementKind
) -> None:
    assert reader.read(text, role=role).statements[0].kind is kind


@pytest.mark.parametrize(
    ("text", "spans"),
    [
        (
            "The seal cracked because the coolant ran dry.",
            ["The seal cracked", "the coolant ran dry"],
        ),
        (
            "Because the coolant ran dry, the seal cracked.",
            ["the coolant ran dry", "the seal cracked"],
        ),
        ("The pump failed, so we replaced the seal.", ["The pump failed", "we replaced the seal"]),
        (
            "Redis stores sessions, and Postgres stores orders.",
            ["Redis stores sessions", "Postgres stores orders"],
        ),
        (
            "Kuzu stores the graph and supports Windows.",
            ["Kuzu stores the graph and supports Windows"],
        ),
        ("# Embed Kuzu as engine", []),
        ("- one thing\n- Kuzu stores the graph.", ["Kuzu stores the graph"]),
        (
            "We met Dr. Weber, e.g. on v1.2. Kuzu is old.",
            ["We met Dr. Weber, e.g. on v1.2", "Kuzu is old"],
        ),
    ],
)
def test_a_statement_is_one_clause(reader: Reader, text: str, spans: list[str]) -> None:
    assert [text[s.start : s.end] for s in reader.read(text).statements] == spans


def key(reader: Reader, text: str, at: int = 0) -> str:
    return reader.read(text).statements[at].event_key


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("The coolant ran dry.", "the coolant ran dry!"),
        ("Kuzu replaced LanceDB.", "LanceDB was replaced by Kuzu."),
        ("We chose Kuzu.", "we have chosen Kuzu"),
        ("A pump leaked oil.", "The pump leaked oil"),
        ("As a result, the build failed.", "The build failed."),
        ("Maren Toft approved WO-2031-114.", "WO-2031-114 was approved by Maren Toft."),
        ("We decided to use Kuzu.", "We use Kuzu."),
    ],
)
def test_equal_claims_have_equal_keys(reader: Reader, first: str, second: str) -> None:
    assert key(reader, first) == key(reader, second) != ""


def test_a_clause_has_the_key_it_would_have_alone(reader: Reader) -> None:
    whole = "The seal cracked because the coolant ran dry."
    assert key(reader, whole, 1) == key(reader, "The coolant ran dry.")
    assert key(reader, whole, 0) == key(reader, "The seal cracked.")


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("Kuzu replaced LanceDB.", "LanceDB replaced Kuzu."),
        ("Node 200 failed at noon.", "Node 201 failed at noon."),
        ("Kuzu 0.11.3 leaked 40 messages.", "Kuzu 0.11.3 leaked 41 messages."),
        ("The pump leaked oil.", "The pump did not leak oil."),
        ("The pump leaked oil.", "The pump might leak oil."),
        ("We moved to Kuzu.", "We moved from Kuzu."),
        ("The red pump failed.", "The blue pump failed."),
        ("Redis stores sessions.", "Redis reads sessions."),
    ],
)
def test_different_claims_have_different_keys(reader: Reader, first: str, second: str) -> None:
    assert key(reader, first) != key(reader, second)


@pytest.mark.parametrize("text", ["It failed again.", "They broke it.", "This is it.", "He left."])
def test_a_vague_claim_has_no_key(reader: Reader, text: str) -> None:
    assert key(reader, text) == ""


def test_negation_is_polarity(reader: Reader) -> None:
    made = reader.read("No query uses Kuzu. The pump works.").statements
    assert [s.polarity for s in made] == [Polarity.NEGATIVE, Polarity.POSITIVE]


def test_a_reversed_interval_is_counted(reader: Reader) -> None:
    made = reader.read("Arm 6 used firmware 4.1 from 2031-04-10 to 2031-03-01.")
    assert made.dropped == {Refusal.REVERSED_INTERVAL: 1}
    assert made.statements[0].time is None
