"""Triples by construction: directed, never invented, and none where the text is in doubt."""

from __future__ import annotations

import pytest

from graphmem.extractors import SpacyExtractor
from graphmem.model.extraction import PassageInput
from graphmem.vocabulary import Modality, PassageRole, Polarity
from tests.extractors.reading import Reader, term

P = "<project>"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Kuzu replaced LanceDB.", [("Kuzu", "replaced", "LanceDB")]),
        ("LanceDB was replaced by Kuzu.", [("Kuzu", "replaced", "LanceDB")]),
        ("LanceDB replaced Kuzu.", [("LanceDB", "replaced", "Kuzu")]),
        ("Zephyr Depot supplies Anvil Works.", [("Zephyr Depot", "supply", "Anvil Works")]),
        ("Anvil Works audits Zephyr Depot.", [("Anvil Works", "audit", "Zephyr Depot")]),
        ("Atlas migrated to Kuzu.", [("Atlas", "migrated_to", "Kuzu")]),
        ("Node 200 runs on Ubuntu 22.04.", [("Node 200", "runs_on", "Ubuntu 22.04")]),
        ("Maren Toft works at Zephyr Depot.", [("Maren Toft", "works_at", "Zephyr Depot")]),
        ("Atlas was deployed to Fly.io.", [("Atlas", "deployed_to", "Fly.io")]),
        ("We deployed Atlas to Fly.io.", [("Atlas", "deployed_to", "Fly.io")]),
        ("Kuzu is an embedded graph database.", [("Kuzu", "is_a", "'embedded graph database'")]),
        ("Maren Toft is the owner of VS-7.", [("Maren Toft", "is_a", "'owner of VS-7'")]),
        ("Node 200 is in Room 101.", [("Node 200", "located_in", "Room 101")]),
        ("VS-7 is owned by Maren Toft.", [("VS-7", "owned_by", "Maren Toft")]),
        ("Maren Toft owns VS-7.", [("VS-7", "owned_by", "Maren Toft")]),
        ("Kuzu depends on SQLite.", [("Kuzu", "depends_on", "SQLite")]),
        (
            "Kuzu depends on SQLite and Python 3.11.",
            [("Kuzu", "depends_on", "SQLite"), ("Kuzu", "depends_on", "Python 3.11")],
        ),
        (
            "Kuzu stores the graph and supports Windows.",
            [("Kuzu", "stores", "'graph'"), ("Kuzu", "supports", "Windows")],
        ),
        ("Valve V-3 is connected to Tank 2.", [("V-3", "connect_to", "Tank 2")]),
        ("- [fact] Valve V-3 feeds [[Tank 2]]", [("V-3", "feed", "Tank 2")]),
        ("We replaced LanceDB with Kuzu.", [("Kuzu", "replaced", "LanceDB")]),
        ("Arm 6 uses firmware 4.1.", [("Arm 6", "uses", "'firmware 4.1'")]),
        ("The Kuzu database supports Windows.", [("Kuzu", "supports", "Windows")]),
        (
            "Tomas Weber, who leads Atlas, lives in Oslo.",
            [("Tomas Weber", "live_in", "Oslo"), ("Tomas Weber", "lead", "Atlas")],
        ),
        (
            "Kuzu, an embedded graph database, supports Windows.",
            [("Kuzu", "supports", "Windows"), ("Kuzu", "is_a", "'embedded graph database'")],
        ),
        ("Kuzu is archived.", [("Kuzu", "has_status", "'archived'")]),
        (
            "Kuzu is an embedded graph database. It supports Windows.",
            [("Kuzu", "is_a", "'embedded graph database'"), ("(Kuzu)", "supports", "Windows")],
        ),
        (
            "Maren Toft, Ivo Brandt and Sela Munk approved RFC 12.",
            [
                ("Maren Toft", "approved", "RFC 12"),
                ("Ivo Brandt", "approved", "RFC 12"),
                ("Sela Munk", "approved", "RFC 12"),
            ],
        ),
        (
            "Redis stores sessions, and Postgres stores orders.",
            [("Redis", "stores", "'sessions'"), ("Postgres", "stores", "'orders'")],
        ),
        ("`src/app.py` imports `numpy`.", [("src/app.py", "import", "numpy")]),
    ],
)
def test_a_construction_gives_its_triples(
    reader: Reader, text: str, expected: list[tuple[str, str, str]]
) -> None:
    assert reader.triples(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("We chose Kuzu over LanceDB.", [(P, "adopted", "Kuzu"), (P, "rejected", "LanceDB")]),
        (
            "We use SQLite instead of DuckDB.",
            [(P, "uses", "SQLite"), (P, "rejected", "DuckDB")],
        ),
        ("We picked Kuzu rather than Neo4j.", [(P, "adopted", "Kuzu"), (P, "rejected", "Neo4j")]),
        ("We prefer SQLite to DuckDB.", [(P, "prefers", "SQLite"), (P, "rejected", "DuckDB")]),
        (
            "We migrated from LanceDB to Kuzu.",
            [(P, "migrated_from", "LanceDB"), (P, "migrated_to", "Kuzu")],
        ),
        ("We decided to use Kuzu.", [(P, "adopted", "Kuzu")]),
        ("We chose Kuzu over ladybug.", [(P, "adopted", "Kuzu"), (P, "rejected", "(ladybug)")]),
        ("We chose speed over size.", [(P, "adopted", "'speed'")]),
        ("We embed Kuzu.", [(P, "uses", "Kuzu")]),
        ("We went with Kuzu.", [(P, "adopted", "Kuzu")]),
        ("Our team chose Kuzu.", [(P, "adopted", "Kuzu")]),
        ("We will use PostgreSQL.", [(P, "uses", "PostgreSQL")]),
        (
            "Use SQLite instead of DuckDB.",
            [(P, "uses", "SQLite"), (P, "rejected", "DuckDB")],
        ),
        ("LanceDB was rejected.", [(P, "rejected", "LanceDB")]),
    ],
)
def test_a_decision_speaks_for_the_project(
    reader: Reader, text: str, expected: list[tuple[str, str, str]]
) -> None:
    fields = {"role": PassageRole.DECISION, "project_name": "Atlas"}
    assert reader.triples(text, **fields) == expected
    assert {t.modality for t in reader.read(text, **fields).triples} == {Modality.ASSERTED}


@pytest.mark.parametrize(
    "text",
    [
        "We chose Kuzu over LanceDB.",
        "Use SQLite instead of DuckDB.",
        "I chose Kuzu.",
    ],
)
def test_without_a_project_nobody_is_we(reader: Reader, text: str) -> None:
    assert reader.triples(text, speaker="user") == []


@pytest.mark.parametrize(
    "text",
    [
        "It replaced LanceDB.",
        "He trained Sela Munk.",
        "They use SQLite.",
        "This uses SQLite.",
        "Users prefer Kuzu.",
        "Zephyr Depot uses Redis or Valkey.",
        "Kuzu can use SQLite.",
        "Replace Kuzu with Neo4j.",
        "Graphiti users report that facts end up with wrong dates.",
        "node: remove SQLite",
        "GitHub workflow security",
        "Pyenv startup commands",
        "Fix Kuzu build on macOS",
        "Install Python build dependencies",
        "A new API was added to Kuzu.",
        "Fix the code for Kuzu to support Windows",
        "Atlas uses SQLite when Redis is down.",
        "Every Kuzu client uses SQLite.",
        "Zephyr Depot asked Anvil Works to adopt Kuzu.",
        "Without Kuzu, nobody uses SQLite.",
        "Maren Toft worked at Zephyr Depot.",
        "Maren Toft used to use SQLite.",
        "Ivo Brandt met Sela Munk's brother. She works at Volvo. He left Volvo.",
        "- [/] repaint V-3 with SQLite",
        "- [00:01:12] Kuzu replaced LanceDB.",
        "> [!warning] Kuzu replaced LanceDB.",
        "| Kuzu | replaced | LanceDB |",
        "```\nKuzu replaced LanceDB.\n```",
        "The tests of Kuzu use SQLite.",
        "The Kuzu file uses SQLite.",
        "Kuzu and its log. Kuzu replaced it.",
        "Either Kuzu or Neo4j replaced LanceDB.",
    ],
)
def test_in_doubt_there_is_no_triple(reader: Reader, text: str) -> None:
    found = reader.triples(text)
    assert [t for t in found if t[0] not in {"Ivo Brandt"}] == []


@pytest.mark.parametrize(
    ("text", "polarity", "modality"),
    [
        ("Kuzu replaced LanceDB.", Polarity.POSITIVE, Modality.ASSERTED),
        ("Kuzu did not replace LanceDB.", Polarity.NEGATIVE, Modality.ASSERTED),
        ("Kuzu never replaced LanceDB.", Polarity.NEGATIVE, Modality.ASSERTED),
        ("Kuzu no longer supports Windows.", Polarity.NEGATIVE, Modality.ASSERTED),
        ("Kuzu has no user accounts.", Polarity.NEGATIVE, Modality.ASSERTED),
        ("Kuzu almost replaced LanceDB.", Polarity.POSITIVE, Modality.HEDGED),
        ("LanceDB is being replaced by Kuzu.", Polarity.POSITIVE, Modality.PLANNED),
        ("Kuzu might replace LanceDB.", Polarity.POSITIVE, Modality.HEDGED),
        ("Kuzu probably replaced LanceDB.", Polarity.POSITIVE, Modality.HEDGED),
        ("Perhaps Kuzu replaced LanceDB.", Polarity.POSITIVE, Modality.HEDGED),
        ("Kuzu will replace LanceDB.", Polarity.POSITIVE, Modality.PLANNED),
        ("Kuzu is going to replace LanceDB.", Polarity.POSITIVE, Modality.PLANNED),
        ("Kuzu should replace LanceDB.", Polarity.POSITIVE, Modality.PLANNED),
        ("Kuzu would replace LanceDB.", Polarity.POSITIVE, Modality.CONDITIONAL),
        ("If it works, Kuzu replaced LanceDB.", Polarity.POSITIVE, Modality.CONDITIONAL),
        ("Did Kuzu replace LanceDB?", Polarity.POSITIVE, Modality.QUESTION),
        ("Maren Toft said that Kuzu replaced LanceDB.", Polarity.POSITIVE, Modality.REPORTED),
        ("According to Maren Toft, Kuzu replaced LanceDB.", Polarity.POSITIVE, Modality.REPORTED),
        ("We found that Kuzu replaced LanceDB.", Polarity.POSITIVE, Modality.ASSERTED),
        ("I think Kuzu replaced LanceDB.", Polarity.POSITIVE, Modality.HEDGED),
    ],
)
def test_polarity_and_modality_stand_on_the_triple(
    reader: Reader, text: str, polarity: Polarity, modality: Modality
) -> None:
    made = reader.read(text)
    found = [t for t in made.triples if term(t.subject, made) == "Kuzu"]
    assert [(t.polarity, t.modality) for t in found] == [(polarity, modality)]


@pytest.mark.parametrize(
    ("text", "start", "end"),
    [
        ("Arm 6 uses firmware 4.1 from 2031-03-01 to 2031-04-10.", "2031-03-01", "2031-04-10"),
        ("Arm 6 uses firmware 4.2 since 2031-04-10.", "2031-04-10", None),
        ("Atlas used LanceDB until March 2026.", None, "2026-03-01"),
        ("Ivo Brandt worked at Zephyr Depot in 2024.", "2024-01-01", "2025-01-01"),
        ("Atlas migrated to Kuzu in March 2026.", "2026-03-01", None),
        ("Kuzu replaced LanceDB.", None, None),
    ],
)
def test_validity_comes_from_the_text_only(
    reader: Reader, text: str, start: str | None, end: str | None
) -> None:
    found = reader.read(text).triples[0]
    assert (found.valid_from and found.valid_from.date().isoformat()) == start
    assert (found.valid_to and found.valid_to.date().isoformat()) == end


def test_a_pronoun_finds_the_person_two_turns_back_and_never_the_speaker(reader: Reader) -> None:
    turns = [
        PassageInput("talk", "Ivo Brandt maintains the relay.", PassageRole.TURN, speaker="user"),
        PassageInput("talk", "Noted.", PassageRole.TURN, speaker="assistant"),
        PassageInput("talk", "He also trained Sela Munk.", PassageRole.TURN, speaker="user"),
    ]
    made = reader.extractor.extract(turns)[2]
    found = [(term(t.subject, made), t.predicate, term(t.object, made)) for t in made.triples]
    assert found == [("(Ivo Brandt)", "train", "Sela Munk")]


def test_two_people_leave_a_pronoun_open(reader: Reader) -> None:
    turns = [
        PassageInput("talk", "Ivo Brandt met Tomas Weber.", PassageRole.TURN, speaker="user"),
        PassageInput("talk", "He also trained Sela Munk.", PassageRole.TURN, speaker="user"),
    ]
    assert reader.extractor.extract(turns)[1].triples == ()


def test_a_pronoun_does_not_reach_into_another_source(reader: Reader) -> None:
    turns = [
        PassageInput("one", "Ivo Brandt maintains the relay.", PassageRole.TURN),
        PassageInput("two", "He also trained Sela Munk.", PassageRole.TURN),
    ]
    assert reader.extractor.extract(turns)[1].triples == ()


def test_a_note_that_only_looks_structured_gives_one_triple(reader: Reader) -> None:
    text = (
        "- [/] repaint valve\n- [00:01:12] Speaker: hello\n\n> [!warning] Hot surface\n\n"
        "Write `- part_of [[Template]]` as a pattern.\n\n```\nrelates_to [[Fenced]]\n```\n\n"
        "- [fact] Valve V-3 feeds [[Tank 2]]\n"
    )
    assert reader.triples(text) == [("V-3", "feed", "Tank 2")]
    names = {mention.surface for mention in reader.read(text).mentions}
    assert not names & {"Template", "Fenced"}


@pytest.mark.parametrize(
    "text",
    [
        "Previously we used Sidekiq.",
        "We formerly used Sidekiq.",
        "We have looked into using Basalt for the records, and using Sidekiq for the jobs.",
    ],
)
def test_what_was_only_before_or_only_looked_at_is_no_fact(text: str) -> None:
    passage = PassageInput(source_key="s", text=text, project_name="orion")
    [extraction] = SpacyExtractor().extract([passage])
    assert extraction.triples == ()
