"""Publicly reported faults of memory engines, retold with inputs of our own, end to end.

Here what is stored: names, facts, causes, states.
"""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from graphmem.extractors import SpacyExtractor
from graphmem.memory import Memory
from graphmem.model.items import State
from graphmem.model.operations import Annotate, SetState
from graphmem.model.results import CausalEdge
from graphmem.settings import Settings
from graphmem.vocabulary import Direction, Polarity, StateKind
from tests.cases.vaults import (
    NOW,
    Told,
    all_facts,
    causal_links,
    entity,
    entity_names,
    facts,
    mentions_of,
    told,
    vault,
    write,
)

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
        mentions = [m for found in mentions_of(memory).values() for m in found]
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
    memory.engine._extractor = extractor
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
