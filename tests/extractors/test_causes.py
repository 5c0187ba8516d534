"""Causal claims: only from wording or record structure, in the right direction."""

from __future__ import annotations

import pytest

from graphmem.extractors import SpacyExtractor
from graphmem.model.extraction import PassageInput
from graphmem.vocabulary import LinkKind, Modality, PassageRole
from tests.extractors.reading import Reader, causes_of

SEAL = [("the coolant ran dry", "causes", "the seal cracked")]


@pytest.mark.parametrize(
    "text",
    [
        "The seal cracked because the coolant ran dry.",
        "Because the coolant ran dry, the seal cracked.",
        "The coolant ran dry, so the seal cracked.",
        "The coolant ran dry; therefore the seal cracked.",
        "The coolant ran dry. As a result, the seal cracked.",
        "The coolant ran dry. Therefore, the seal cracked.",
        "The coolant ran dry. That is why the seal cracked.",
        "The coolant ran dry. Because of this, the seal cracked.",
        "The coolant ran dry. Consequently, the seal cracked.",
        "The seal cracked. This is because the coolant ran dry.",
    ],
)
def test_cause_and_effect_keep_their_direction(reader: Reader, text: str) -> None:
    found = reader.causes(text)
    assert len(found) == 1
    cause, kind, effect = found[0]
    assert kind == "causes"
    assert "coolant ran dry" in cause.lower() and "seal" not in cause.lower()
    assert "seal cracked" in effect.lower() and "coolant" not in effect.lower()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The leak caused the crash.", ("The leak", "causes", "the crash")),
        ("The crash was caused by a memory leak.", ("a memory leak", "causes", "The crash")),
        ("The outage led to a rollback.", ("The outage", "causes", "a rollback")),
        ("The leak resulted in data loss.", ("The leak", "causes", "data loss")),
        ("The crash resulted from a leak.", ("a leak", "causes", "The crash")),
        ("The outage was due to a full disk.", ("a full disk", "causes", "The outage")),
        (
            "The pump was replaced, which led to fewer alarms.",
            ("The pump was replaced", "causes", "fewer alarms"),
        ),
        (
            "A process leaked memory, causing the crash.",
            ("A process leaked memory", "causes", "the crash"),
        ),
        (
            "The lock prevents two processes from opening the file.",
            ("The lock", "prevents", "two processes from opening the file"),
        ),
        (
            "Queries are built from tokens so that text never becomes syntax.",
            ("Queries are built from tokens", "enables", "text never becomes syntax"),
        ),
        ("We chose Kuzu because it is embedded.", ("it is embedded", "motivates", "We chose Kuzu")),
        (
            "We use Kuzu in order to avoid a server.",
            ("to avoid a server", "motivates", "We use Kuzu"),
        ),
        (
            "Since Kuzu is archived, the journal stays.",
            ("Kuzu is archived", "causes", "the journal stays"),
        ),
        ("The reason for the outage was a full disk.", ("a full disk", "causes", "the outage")),
        ("OPS-12 was caused by a leak.", ("a leak", "causes", "OPS-12")),
        (
            "We lost data; as a result, backups are hourly.",
            ("We lost data", "causes", "as a result, backups are hourly"),
        ),
        (
            "The index enabled a faster search.",
            ("The index", "enables", "a faster search"),
        ),
        (
            "The tests passed thanks to the new cache.",
            ("the new cache", "enables", "The tests passed thanks to the new cache"),
        ),
    ],
)
def test_a_wording_gives_its_causal_claim(
    reader: Reader, text: str, expected: tuple[str, str, str]
) -> None:
    assert reader.causes(text) == [expected]


def test_this_leak_is_what_was_said_before(reader: Reader) -> None:
    assert reader.causes("Oil leaked. This leak caused the outage.") == [
        ("Oil leaked", "causes", "the outage")
    ]


@pytest.mark.parametrize(
    "text",
    [
        "Opened ticket 88 before touching anything. Commit a1. Review of a1 started.",
        "After the deploy, the pump failed.",
        "The deploy ended. Then the pump failed.",
        "Since 2020 the pump has failed twice.",
        "Since we moved to Kuzu, errors rose.",
        "When the deploy ended, the pump failed.",
        "Did the pump fail because the seal cracked?",
        "The upgrade did not cause the slowdown.",
        "If the leak causes a crash, call Maren Toft.",
        "The pump failed, not because the seal cracked.",
        "The pump is so fast that nobody waits.",
        "Kuzu caused it.",
        "zlib: allow passing options to convenience methods",
        "Disallow null bytes",
        "So far the pump works. It is quiet.",
    ],
)
def test_sequence_questions_and_denials_are_no_cause(reader: Reader, text: str) -> None:
    assert reader.causes(text) == []


def test_a_guess_is_less_sure(reader: Reader) -> None:
    sure = reader.read("The seal cracked because the coolant ran dry.").causes[0]
    guess = reader.read("The seal might crack because the coolant ran dry.").causes[0]
    assert guess.confidence < sure.confidence


def test_the_witness_is_the_sentence_with_the_connective(reader: Reader) -> None:
    text = "It was hot. The seal cracked because the coolant ran dry. It rained."
    found = reader.read(text).causes[0]
    assert text[found.start : found.end] == "The seal cracked because the coolant ran dry."
    assert found.connective == "because"


def test_a_connective_reaches_back_into_the_passage_before(reader: Reader) -> None:
    passages = [
        PassageInput("log", "The disk filled up."),
        PassageInput("log", "As a result, writes failed."),
        PassageInput("other", "As a result, nobody knew."),
    ]
    made = reader.extractor.extract(passages)
    assert causes_of(passages, made) == [
        ("The disk filled up", "causes", "As a result, writes failed")
    ]


def record() -> list[PassageInput]:
    def part(role: PassageRole, text: str) -> PassageInput:
        return PassageInput("0001", text, role, project_name="Atlas")

    return [
        part(PassageRole.CONTEXT, "The server loses data. Backups take six hours."),
        part(PassageRole.OPTIONS, "Neo4j needs a server."),
        part(PassageRole.DECISION, "We chose Kuzu over Neo4j. The old data stays."),
        part(PassageRole.RATIONALE, "Kuzu is embedded."),
        part(PassageRole.CONSEQUENCES, "- Backups copy one file.\n- No server to run."),
    ]


def test_a_record_joins_its_reasons_and_consequences_to_the_main_decision(reader: Reader) -> None:
    passages = record()
    made = reader.extractor.extract(passages)
    decision = "We chose Kuzu over Neo4j"
    assert causes_of(passages, made) == [
        ("The server loses data", "motivates", decision),
        ("Backups take six hours", "motivates", decision),
        ("Kuzu is embedded", "motivates", decision),
        (decision, "causes", "Backups copy one file"),
        (decision, "causes", "No server to run"),
    ]
    assert {c.confidence for e in made for c in e.causes} == {0.6}
    assert {c.connective for e in made for c in e.causes} == {None}


def test_a_connective_is_not_repeated_by_structure(reader: Reader) -> None:
    passages = [
        PassageInput("0002", "The server loses data.", PassageRole.CONTEXT, project_name="Atlas"),
        PassageInput(
            "0002", "Therefore, we chose Kuzu.", PassageRole.DECISION, project_name="Atlas"
        ),
    ]
    found = [c for e in reader.extractor.extract(passages) for c in e.causes]
    assert [(c.kind, c.connective) for c in found] == [(LinkKind.MOTIVATES, "therefore")]


@pytest.mark.parametrize(
    ("text", "cause", "effect"),
    [
        ("The alarm rang because the boiler burst.", "the boiler burst", "The alarm rang"),
        (
            "A query for GPT-4 scored GPT-4 and GPT-5 equally because Kuzu's full-text index "
            "drops digits.",
            "Kuzu's full-text index drops digits",
            "A query for GPT-4 scored GPT-4 and GPT-5",
        ),
        ("The import failed because the disk was full.", "the disk was full", "The import failed"),
    ],
)
def test_both_ends_of_because_are_whole_clauses(text: str, cause: str, effect: str) -> None:
    [extraction] = SpacyExtractor().extract([PassageInput(source_key="s", text=text)])
    [claim] = extraction.causes
    spans = [text[s.start : s.end] for s in extraction.statements]
    assert (spans[claim.cause.statement], spans[claim.effect.statement]) == (cause, effect)


def test_a_verdict_in_a_list_of_pros_and_cons_explains_no_other_line() -> None:
    text = "* Good, because the API is small.\n* Bad, because it needs a server.\n"
    [extraction] = SpacyExtractor().extract([PassageInput(source_key="s", text=text)])
    assert extraction.causes == ()


def test_what_holds_once_something_else_does_is_not_asserted() -> None:
    text = "Once Python 3.8 is released, Orion supports Python 3.8."
    [extraction] = SpacyExtractor().extract([PassageInput(source_key="s", text=text)])
    assert all(triple.modality is not Modality.ASSERTED for triple in extraction.triples)
