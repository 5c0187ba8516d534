"""Publicly reported faults of memory engines, retold with inputs of our own, end to end.

Here how text is read and found: identifiers, operators, scripts, markup.
"""

from __future__ import annotations

import unicodedata
from pathlib import Path

import pytest

from graphmem.errors import UsageError
from graphmem.memory import Memory
from graphmem.model.scope import Scope
from tests.cases.vaults import Told, all_facts, causal_links, entity, entity_names, facts, write

# BR-16: identifiers


READINGS = (
    "sensor b5 offline",
    "sensor b7 offline",
    "ticket OPS-1042 closed",
    "ticket OPS-2077 open",
    "build v0.8.2 passed",
    "build v0.8.20 passed",
    "a model q4_k_m loads",
    "a model q5_k_m loads",
    "written in C++",
    "written in C#",
)


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("b7", "sensor b7 offline"),
        ("sensor b7", "sensor b7 offline"),
        ("b5", "sensor b5 offline"),
        ("OPS-2077", "ticket OPS-2077 open"),
        ("ops-2077", "ticket OPS-2077 open"),
        ("1042", "ticket OPS-1042 closed"),
        ("ticket 2077", "ticket OPS-2077 open"),
        ("v0.8.2", "build v0.8.2 passed"),
        ("build v0.8.20", "build v0.8.20 passed"),
        ("q4_k_m", "a model q4_k_m loads"),
        ("C++", "written in C++"),
        ("what is written in C#?", "written in C#"),
    ],
)
@pytest.mark.parametrize("recipe", ["default", "lexical"])
def test_br16_the_named_identifier_is_first_without_a_tie(
    tell: Told, query: str, first: str, recipe: str
) -> None:
    hits = tell(*READINGS).search(query, recipe=recipe).hits
    assert hits[0].text == first
    assert all(hit.score < hits[0].score for hit in hits[1:])


def test_br16_an_identifier_that_is_not_stored_is_not_answered_by_its_neighbour(
    tell: Told,
) -> None:
    memory = tell(*READINGS)
    for query in ("b6", "OPS-2078", "2042"):
        assert not memory.search(query).supported


# BR-17: no string is an operator


STRANGE = (
    "O'Dell's relay failed in the north-yard. Don't reset it.",
    "The relay status is unknown.",
    "The a/b ratio is written to logs\\pump\\main.txt.",
    "An unbalanced load stopped the fan.",
)
PROJECTS = ("north-yard", "6f1b2c3d-0a4e-4f5b-8c7d-9e0f1a2b3c4d", "a/b:c", "O'Dell")


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("north-yard", STRANGE[0]),
        ("don't", STRANGE[0]),
        ("don’t", STRANGE[0]),
        ("O'Dell's relay", STRANGE[0]),
        ("a/b ratio", STRANGE[2]),
        ("logs\\pump\\main.txt", STRANGE[2]),
        ("relay: status?", STRANGE[1]),
        ('"unbalanced', STRANGE[3]),
        ("unbalanced*", STRANGE[3]),
        ("unbalanced AND load (", STRANGE[3]),
        ("NEAR(unbalanced load, fan", STRANGE[3]),
        ("load: unbalanced", STRANGE[3]),
        ("-unbalanced", STRANGE[3]),
        ("^unbalanced", STRANGE[3]),
    ],
)
def test_br17_content_with_those_words_is_found(tell: Told, query: str, text: str) -> None:
    answer = tell(*STRANGE).search(query)
    assert answer.supported, answer.reason
    assert answer.hits[0].text == text


@pytest.mark.parametrize("query", ["", "   ", "(", "\t\n", '"', "***", "?!", "\x00", "''"])
def test_br17_a_query_of_nothing_is_empty_and_says_why(tell: Told, query: str) -> None:
    answer = tell(*STRANGE).search(query)
    assert (answer.supported, answer.hits) == (False, ())
    assert "empty" in answer.reason


@pytest.mark.parametrize(
    "query",
    [
        "' OR 1=1 --",
        "a\x00b",
        "\ud800",
        "NOT",
        "{whole} : x",
        "x" * 20_000,
        "(" * 300,
        "é̂" * 50,
        "$name `DETACH DELETE n`",
        "%_%",
        "🔥",
        "-",
        "--help",
    ],
)
def test_br17_no_string_breaks_any_read(tell: Told, query: str) -> None:
    memory = tell(*STRANGE)
    memory.search(query)
    memory.kg_query(query)
    memory.find_causal_links(query)
    assert memory.get(query).items == ()
    assert memory.search("north-yard").supported


@pytest.mark.parametrize("query", ["", "   "])
def test_br17_an_empty_name_or_start_is_refused_with_what_is_needed(
    memory: Memory, query: str
) -> None:
    with pytest.raises(UsageError, match="needed"):
        memory.kg_query(query)
    with pytest.raises(UsageError, match="needed"):
        memory.find_causal_links(query)


@pytest.mark.parametrize("project", PROJECTS)
def test_br17_any_project_that_can_be_written_can_be_searched(
    memory: Memory, tmp_path: Path, project: str
) -> None:
    told_of = write(tmp_path, STRANGE[0])
    for name in PROJECTS:
        memory.remember(f"The fan of {name} stopped.", project=name)
    memory.ingest(told_of, project=project)
    scope = Scope(projects=frozenset({project}))
    texts = {hit.text for hit in memory.search("fan stopped", scope=scope).hits}
    assert {text for text in texts if "fan" in text} == {f"The fan of {project} stopped."}
    assert memory.search("relay failed", scope=scope).supported
    others = Scope(projects=frozenset(set(PROJECTS) - {project}))
    assert not memory.search("relay failed", scope=others).supported


@pytest.mark.parametrize("name", ["O'Dell's relay", "O’Dell’s relay", "o'dell's  RELAY", "Q\\x:y?"])
def test_br17_any_name_that_can_be_written_can_be_asked_for(memory: Memory, name: str) -> None:
    memory.remember("It stands outside.", facts=[f"{name}|located_in|north-yard"])
    memory.remember("It hums.", facts=["O'Dell's relay|uses|Basalt"])
    found = entity(memory, name)
    assert ("located_in", "north-yard") in {(f.predicate, f.object) for f in found.facts}
    assert {item.id for item in memory.get([found.id]).items} == {found.id}
    assert found.id in memory.search(f"where is {name}?").entities


# BR-18: scripts and accents


SCRIPTS = (
    "北京仓库的水泵坏了",
    "第三倉庫でポンプが故障した",
    "P-17水泵已更换",
    "Zoé Lindqvist checked the pump.",
    "펌프가 고장났다",
    "Łukasz Żółć wrote the naïve parser.",
    "Насос сломался в Москве",
)


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("水泵", {0, 2}),
        ("仓库", {0}),
        ("北京仓库", {0}),
        ("北京仓库的水泵坏了", {0}),
        ("泵", {0, 2}),
        ("ポンプ", {1}),
        ("ﾎﾟﾝﾌﾟ", {1}),
        ("倉庫", {1}),
        ("P-17", {2}),
        ("P-17水泵", {2}),
        ("更换", {2}),
        ("Zoé", {3}),
        ("zoe", {3}),
        ("ZOÉ lindqvist", {3}),
        (unicodedata.normalize("NFD", "Zoé"), {3}),
        ("펌프", {4}),
        ("zolc", {5}),
        ("naive parser", {5}),
        ("насос", {6}),
    ],
)
def test_br18_each_part_of_a_text_is_found(tell: Told, query: str, found: set[int]) -> None:
    answer = tell(*SCRIPTS).search(query)
    assert answer.supported, answer.reason
    hits = {SCRIPTS.index(hit.text) for hit in answer.hits}
    assert found <= hits
    assert {SCRIPTS.index(hit.text) for hit in answer.hits[: len(found)]} == found


@pytest.mark.parametrize(
    "name", ["Zoé", "zoe", "Zoé Lindqvist", "zoe lindqvist", unicodedata.normalize("NFD", "Zoé")]
)
def test_br18_an_accented_name_is_an_entity_with_and_without_accents(tell: Told, name: str) -> None:
    (found,) = tell(*SCRIPTS).kg_query(name).entities
    assert found.name == "Zoé Lindqvist"


def test_br18_accents_do_not_join_two_names(memory: Memory) -> None:
    memory.remember("Two people.", facts=["Jose Marin|uses|Basalt", "José Marín|uses|Lathe"])
    assert facts(entity(memory, "Jose Marin").facts) == {("Jose Marin", "uses", "Basalt")}
    assert facts(entity(memory, "José Marín").facts) == {("José Marín", "uses", "Lathe")}


# BR-21: what only looks like structure


LOOKALIKE = """\
- [/] repaint valve
- [00:01:12] Speaker: hello

> [!warning] Hot surface

Write `- part_of [[Template]]` as a pattern.

```
relates_to [[Fenced]]
```

- [fact] Valve V-3 feeds [[Tank 2]]
"""


def test_br21_one_triple_and_no_lookalikes(tell: Told) -> None:
    memory = tell(LOOKALIKE)
    (fact,) = all_facts(memory)
    assert (fact[0].removeprefix("Valve "), *fact[1:]) == ("V-3", "feed", "Tank 2")
    assert memory.kg_query("Template").entities == memory.kg_query("Fenced").entities == ()
    names = {name.casefold() for name in entity_names(memory)}
    assert not names & {"/", "00:01:12", "!warning", "warning", "fact", "template", "fenced"}


@pytest.mark.parametrize(
    "query",
    ["repaint valve", "hello", "hot surface", "Template", "part_of", "Fenced", "relates_to", "V-3"],
)
def test_br21_every_line_is_found(tell: Told, query: str) -> None:
    answer = tell(LOOKALIKE).search(query)
    assert answer.supported, answer.reason
    assert query.casefold() in answer.hits[0].text.casefold()


@pytest.mark.parametrize(
    "text",
    [
        "Use `[[Template]] uses [[Fenced]]` in notes.",
        "~~~yaml\nTemplate: uses Fenced\n~~~",
        "    Template uses Fenced.\n",
        "<!-- Template uses Fenced. -->\n\nNothing else.",
        "```python\n# Template uses Fenced because Fenced is fast.\n```",
    ],
)
def test_br21_code_and_comments_state_nothing(tell: Told, text: str) -> None:
    memory = tell(text)
    assert all_facts(memory) == set()
    assert causal_links(memory) == []
    assert not {"Template", "Fenced"} & entity_names(memory)
