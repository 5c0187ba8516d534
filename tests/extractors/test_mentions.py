"""Names: whole, with digits, at exact offsets; code and markup only where they name something."""

from __future__ import annotations

import pytest

from graphmem.vocabulary import EntityType
from tests.extractors.reading import Reader


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Work order WO-2031-114 was approved by Maren Toft.", "WO-2031-114"),
        ("Work order WO-2031-114 was approved by Maren Toft.", "Maren Toft"),
        ("Valve sheet VS-7 Rev A lists brass.", "VS-7 Rev A"),
        ("Firmware 1.10 is unsigned.", "Firmware 1.10"),
        ("We moved Node 200 last week.", "Node 200"),
        ("The pump stands in Room 101.", "Room 101"),
        ("It needs Python 3.11 or later.", "Python 3.11"),
        ("The model q4_k_m is small.", "q4_k_m"),
        ("We released v0.8.2 today.", "v0.8.2"),
        ("See src/store.ts for details.", "src/store.ts"),
        ("OPS-2077 is open.", "OPS-2077"),
        ("It is written in C++ by Ivo.", "C++"),
        ("It is written in .NET by Ivo.", ".NET"),
        ("They compared GPT-4 with it.", "GPT-4"),
        ("Zoé Lindqvist checked the pump.", "Zoé Lindqvist"),
        ("Valve V-3 feeds [[Tank 2]]", "Tank 2"),
        ("Read [[Pump House|the house]] first.", "Pump House"),
        ("Zephyr Depot supplies Anvil Works.", "Anvil Works"),
        ("Anvil Works audits Zephyr Depot.", "Anvil Works"),
        ("P-17水泵已更换", "P-17"),
        ("We like DuckDB a lot.", "DuckDB"),
        ("They pinned ladybug 0.22.0 there.", "ladybug 0.22.0"),
        ("**Kuzu 0.11.3** is pinned.", "Kuzu 0.11.3"),
    ],
)
def test_a_name_is_found_whole(reader: Reader, text: str, name: str) -> None:
    assert name in [mention.surface for mention in reader.read(text).mentions]


@pytest.mark.parametrize(
    ("text", "name", "vote"),
    [
        ("Zoé Lindqvist checked the pump.", "Zoé Lindqvist", EntityType.PERSON),
        ("OPS-2077 is open.", "OPS-2077", EntityType.TICKET),
        ("See src/store.ts for details.", "src/store.ts", EntityType.PATH),
        ("We released v0.8.2 today.", "v0.8.2", EntityType.VERSION),
        ("The module `kuzu` is old.", "kuzu", EntityType.TOOL),
        ("They compared GPT-4 with it.", "GPT-4", None),
        ("Use UTF-16 here.", "UTF-16", None),
    ],
)
def test_a_type_is_a_vote(reader: Reader, text: str, name: str, vote: EntityType | None) -> None:
    votes = {mention.surface: mention.type_vote for mention in reader.read(text).mentions}
    assert votes[name] is vote


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("In May 2026 the pump failed.", "May 2026"),
        ("In Q3 2026 the pump failed.", "Q3"),
        ("We met on Tuesday.", "Tuesday"),
        ("Use 2 workers.", "Use 2"),
        ("There were 12 of 40.", "12"),
        ("Fuzzy matching runs late.", "Fuzzy"),
        ("Write `- part_of [[Template]]` as a pattern.", "Template"),
        ("```\nrelates_to [[Fenced]]\n```", "Fenced"),
        ("北京仓库的水泵坏了", "北京仓库的水泵坏了"),
        ("It is 2.5 times faster.", "2.5"),
    ],
)
def test_what_only_looks_like_a_name_is_none(reader: Reader, text: str, name: str) -> None:
    assert name not in [mention.surface for mention in reader.read(text).mentions]


def test_masked_code_names_things_but_is_no_prose(reader: Reader) -> None:
    text = "Call `store.flush` now. Kuzu replaced LanceDB."
    start = text.index("Kuzu")
    made = reader.read(text, masked=((5, 18), (start, len(text))))
    assert [mention.surface for mention in made.mentions] == ["store.flush"]
    assert made.triples == ()


def test_records_that_differ_in_one_character_keep_six_names(reader: Reader) -> None:
    lines = [
        "Work order WO-2031-114 was approved by Maren Toft.",
        "Work order WO-2031-115 was rejected by Maren Toft.",
        "Valve sheet VS-7 Rev A lists brass.",
        "Valve sheet VS-7 Rev B lists steel.",
        "Firmware 1.9 is signed.",
        "Firmware 1.10 is unsigned.",
    ]
    found = [reader.triples(line)[0] for line in lines]
    assert found == [
        ("Maren Toft", "approved", "WO-2031-114"),
        ("Maren Toft", "rejected", "WO-2031-115"),
        ("VS-7 Rev A", "list", "'brass'"),
        ("VS-7 Rev B", "list", "'steel'"),
        ("Firmware 1.9", "has_status", "'signed'"),
        ("Firmware 1.10", "has_status", "'unsigned'"),
    ]
