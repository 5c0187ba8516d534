"""Publicly reported faults of memory engines, retold with inputs of our own, end to end."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from graphmem.errors import UsageError
from graphmem.extractors import SpacyExtractor
from graphmem.memory import Memory
from graphmem.model.items import State
from graphmem.model.operations import Annotate, SetState
from graphmem.model.results import CausalEdge
from graphmem.model.scope import EVERYTHING, Scope
from graphmem.settings import Settings
from graphmem.vocabulary import CAUSAL_KINDS, Direction, Polarity, StateKind
from tests.cases.vaults import NOW, entity, facts, told, vault, write

Told = Callable[..., Memory]


@pytest.fixture
def memory(extractor: SpacyExtractor) -> Iterator[Memory]:
    with vault(extractor) as opened:
        yield opened


@pytest.fixture
def tell(memory: Memory, tmp_path: Path) -> Told:
    """Ingests one file per text and gives the vault."""

    def run(*texts: str) -> Memory:
        told(memory, tmp_path / "notes", *texts)
        return memory

    return run


def entity_names(memory: Memory) -> set[str]:
    view = memory._store.view()
    ids = {m.entity_id for found in _mentions(memory).values() for m in found}
    return {e.name for e in view.entities(ids, EVERYTHING).values()}


def _passage_ids(memory: Memory) -> list[str]:
    sources = memory._store.view().source_list()
    return [ref.passage_id for source in sources for ref in source.layout]


def _mentions(memory: Memory) -> dict[str, tuple]:  # type: ignore[type-arg]
    return dict(memory._store.view().mentions_of(_passage_ids(memory), EVERYTHING))


def causal_links(memory: Memory) -> list[str]:
    """The quotes of all causal links between any statements."""
    view = memory._store.view()
    found = view.statements_of(_passage_ids(memory), EVERYTHING)
    ids = [statement.id for group in found.values() for statement in group]
    return [link.quote for link in view.links_of(ids, CAUSAL_KINDS, EVERYTHING)]


def all_facts(memory: Memory) -> set[tuple[str, str, str]]:
    return {
        fact
        for name in entity_names(memory)
        for found in memory.kg_query(name).entities
        for fact in facts(view for view in found.facts if not view.derived)
    }


# BR-01: numbers and revision letters


ORDERS = (
    "Work order WO-2031-114 was approved by Maren Toft.",
    "Work order WO-2031-115 was rejected by Maren Toft.",
    "Valve sheet VS-7 Rev A lists brass.",
    "Valve sheet VS-7 Rev B lists steel.",
    "Firmware 1.9 is signed.",
    "Firmware 1.10 is unsigned.",
)


def test_br01_six_numbered_subjects_stay_six(tell: Told) -> None:
    memory = tell(*ORDERS)
    named = ("WO-2031-114", "WO-2031-115", "VS-7 Rev A", "VS-7 Rev B")
    found = [entity(memory, name) for name in (*named, "Firmware 1.9", "Firmware 1.10")]
    assert len({each.id for each in found}) == 6
    assert [len(each.facts) for each in found] == [1] * 6


def test_br01_the_rejected_order_was_only_rejected(tell: Told) -> None:
    memory = tell(*ORDERS)
    assert facts(entity(memory, "WO-2031-115").facts) == {
        ("WO-2031-115", "rejected_by", "Maren Toft")
    }
    assert facts(entity(memory, "Maren Toft").facts) == {
        ("Maren Toft", "approved", "WO-2031-114"),
        ("Maren Toft", "rejected", "WO-2031-115"),
    }


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("PLAN-77-1", "PLAN-77-11"),
        ("Node 20", "Node 200"),
        ("Kernel 6.1", "Kernel 6.10"),
        ("Drawing K-12 Rev C", "Drawing K-12 Rev D"),
        ("GPT-4", "GPT-5"),
        ("Route 0114", "Route 114"),
        ("Pump P-3a", "Pump P-3b"),
    ],
)
def test_br01_one_differing_digit_or_letter_is_another_thing(
    memory: Memory, one: str, other: str
) -> None:
    memory.remember("Two sheets.", facts=[f"{one}|uses|Brass", f"{other}|uses|Steel"])
    assert facts(entity(memory, one).facts) == {(one, "uses", "Brass")}
    assert facts(entity(memory, other).facts) == {(other, "uses", "Steel")}


def test_br01_a_number_that_nothing_has_finds_no_neighbour(tell: Told) -> None:
    memory = tell(*ORDERS)
    for name in ("WO-2031-116", "Firmware 1.1", "Firmware 19"):
        assert memory.kg_query(name).entities == ()


# BR-02: one name, many contexts


OFFICE = (
    "QHRB published the tide tables.",
    "The audit of QHRB starts Monday.",
    "QHRB hired two divers.",
    "Letters to QHRB go through the harbour master.",
    "The budget of QHRB was cut.",
    "Maren Toft visited QHRB.",
    "QHRB rejected Anvil Works.",
    "A lamp at QHRB was repaired.",
    "Zephyr Depot supplies QHRB.",
    "QHRB closed the south pier.",
)


@pytest.mark.parametrize("embedder", ["none", "hashing"])
def test_br02_one_name_in_ten_runs_is_one_entity(
    extractor: SpacyExtractor, tmp_path: Path, embedder: str
) -> None:
    with vault(extractor, embedder=embedder) as memory:
        for path in write(tmp_path, *OFFICE):
            assert memory.ingest(path, project="p").changed == 1
        office = entity(memory, "QHRB")
        assert office.mentions == 10
        mentions = [m for found in _mentions(memory).values() for m in found]
        passages = [m.passage_id for m in mentions if m.entity_id == office.id]
        assert len(passages) == len(set(passages)) == 10
        assert [name for name in entity_names(memory) if "qhrb" in name.casefold()] == ["QHRB"]


def test_br02_a_name_keeps_its_entity_whatever_type_it_is_taken_for(tell: Told) -> None:
    memory = tell(
        "Basalt was deployed to Hall 4.", "Dr. Basalt opened the meeting.", "We left for Basalt."
    )
    assert len({e.id for e in memory.kg_query("Basalt").entities}) == 1


# BR-05: direction


def test_br05_both_directions_are_kept(tell: Told) -> None:
    memory = tell("Zephyr Depot supplies Anvil Works.", "Anvil Works audits Zephyr Depot.")
    assert all_facts(memory) == {
        ("Zephyr Depot", "supply", "Anvil Works"),
        ("Anvil Works", "audit", "Zephyr Depot"),
    }
    depot = entity(memory, "Zephyr Depot")
    outgoing = [fact for fact in depot.facts if fact.subject_id == depot.id]
    assert facts(outgoing) == {("Zephyr Depot", "supply", "Anvil Works")}


@pytest.mark.parametrize(
    ("text", "fact"),
    [
        ("Orion uses Basalt.", ("Orion", "uses", "Basalt")),
        ("QHRB audits Basalt.", ("QHRB", "audit", "Basalt")),
        ("Anvil Works hosts QHRB.", ("Anvil Works", "host", "QHRB")),
        ("Zebra replaced Aardvark.", ("Zebra", "replaced", "Aardvark")),
        ("Node 200 powers Node 20.", ("Node 200", "power", "Node 20")),
        ("Zoé Lindqvist rejected OPS-2077.", ("Zoé Lindqvist", "rejected", "OPS-2077")),
    ],
)
def test_br05_short_sentences_of_odd_names_keep_their_direction(
    tell: Told, text: str, fact: tuple[str, str, str]
) -> None:
    assert all_facts(tell(text)) == {fact}


@pytest.mark.parametrize(
    "text", ["Retrieval uses Kuzu.", "Testing takes Maren Toft an hour.", "It uses Kuzu."]
)
def test_br05_a_common_noun_at_the_start_is_no_name(tell: Told, text: str) -> None:
    assert all_facts(tell(text)) == set()


def test_br05_the_same_relation_both_ways_is_two_facts(tell: Told) -> None:
    memory = tell("Zephyr Depot audits Anvil Works.", "Anvil Works audits Zephyr Depot.")
    assert all_facts(memory) == {
        ("Zephyr Depot", "audit", "Anvil Works"),
        ("Anvil Works", "audit", "Zephyr Depot"),
    }


def test_br05_the_passive_turns_the_ends_and_not_the_fact(tell: Told) -> None:
    memory = tell("Zephyr Depot audits Anvil Works.", "Anvil Works is audited by Zephyr Depot.")
    assert all_facts(memory) == {("Zephyr Depot", "audit", "Anvil Works")}
    (fact,) = entity(memory, "Zephyr Depot").facts
    assert len(fact.evidence) == 2


def test_br05_denied_and_asserted_are_two_facts(tell: Told) -> None:
    memory = tell("Zephyr Depot uses Basalt.", "Zephyr Depot does not use Basalt.")
    polarities = {fact.polarity for fact in entity(memory, "Zephyr Depot").facts}
    assert polarities == {Polarity.POSITIVE, Polarity.NEGATIVE}


# BR-12: a label or a state does not cost a cause


CRACK = "The seal cracked because the coolant ran dry."


def _edge(memory: Memory) -> CausalEdge | None:
    edges = memory.find_causal_links("seal cracked").edges
    assert len(edges) <= 1
    return edges[0] if edges else None


def _set(memory: Memory, target: str, kind: StateKind, on: bool) -> None:
    times = (NOW, None) if on else (None, NOW)
    after, before = (State(target_id=target, kind=kind, at=at) for at in times)
    memory._store.writer.commit([SetState(after=after, before=before)], actor="test")


def test_br12_a_label_leaves_the_cause_alone(memory: Memory) -> None:
    stored = memory.remember(CRACK)
    first = _edge(memory)
    assert first is not None
    assert (first.cause, first.effect) == ("the coolant ran dry", "The seal cracked")
    for target in (stored.passage_ids[0], stored.source_id, first.effect_id, first.cause_id):
        memory._store.writer.commit(
            [Annotate(target_id=target, label="tag", after="pump")], actor="test"
        )
        assert _edge(memory) == first


@pytest.mark.parametrize("kind", list(StateKind))
@pytest.mark.parametrize("on_source", [True, False])
def test_br12_a_state_hides_the_cause_and_gives_it_back(
    memory: Memory, kind: StateKind, on_source: bool
) -> None:
    stored = memory.remember(CRACK)
    first = _edge(memory)
    target = stored.source_id if on_source else stored.passage_ids[0]
    for _ in range(3):
        # A snooze hides until its time, which is now: it hides nothing.
        _set(memory, target, kind, True)
        assert _edge(memory) == (first if kind is StateKind.SNOOZED else None)
        _set(memory, target, kind, False)
        assert _edge(memory) == first
    memory.rebuild()
    assert _edge(memory) == first


def test_br12_a_snooze_hides_until_its_time_and_no_longer(
    extractor: SpacyExtractor,
) -> None:
    moment = [NOW]
    memory = Memory(None, Settings(engine="memory", embedder="none"), clock=lambda: moment[0])
    memory._extractor = extractor
    with memory:
        target = memory.remember(CRACK).source_id
        first = _edge(memory)
        until = State(target_id=target, kind=StateKind.SNOOZED, at=NOW + timedelta(days=1))
        before = until.model_copy(update={"at": None})
        memory._store.writer.commit([SetState(after=until, before=before)], actor="test")
        assert _edge(memory) is None
        assert not memory.search("seal cracked").supported
        moment[0] = NOW + timedelta(days=1)
        assert _edge(memory) == first
        assert memory.search("seal cracked").supported


def test_br12_an_edited_text_has_the_causes_it_now_states(
    extractor: SpacyExtractor, tmp_path: Path
) -> None:
    with vault(extractor) as memory:
        told(memory, tmp_path, CRACK)
        told(memory, tmp_path, "The seal cracked because the bolt was loose.")
        edge = _edge(memory)
        assert edge is not None and edge.cause == "the bolt was loose"
        told(memory, tmp_path, CRACK)
        edge = _edge(memory)
        assert edge is not None and edge.cause == "the coolant ran dry"


# BR-13: sequence is never cause


@pytest.mark.parametrize(
    "text",
    [
        "10:00 Opened ticket 88 before touching anything.\n10:00 Commit a1.\n"
        "10:05 Review of a1 started.",
        "- 10:00 Opened ticket 88 before touching anything.\n- 10:00 Commit a1.\n"
        "- 10:05 Review of a1 started.",
        "| time | event |\n|---|---|\n| 10:00 | Opened ticket 88 before touching anything. |\n"
        "| 10:00 | Commit a1. |\n| 10:05 | Review of a1 started. |",
        "The pump was opened. Then the alarm rang. After that, Maren Toft left.",
        "The alarm rang after the pump was opened.",
        "Since Monday the alarm has been ringing. The pump was opened on Sunday.",
        "When the pump was opened, the alarm rang. Later the relay failed.",
        "1. Deploy build 9.\n2. The relay failed.\n3. Roll back to build 8.",
    ],
)
def test_br13_rows_that_only_follow_each_other_are_no_causes(tell: Told, text: str) -> None:
    memory = tell(text)
    assert causal_links(memory) == []
    assert memory.find_causal_links("the alarm rang", direction=Direction.BOTH).edges == ()


def test_br13_a_causal_word_among_the_rows_gives_that_one_edge(tell: Told) -> None:
    memory = tell(
        "- 10:00 Opened ticket 88.\n- 10:05 The relay failed because the fuse blew.\n"
        "- 10:10 Commit a1."
    )
    (quote,) = causal_links(memory)
    assert "because the fuse blew" in quote


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
