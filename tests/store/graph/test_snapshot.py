"""What traversal sees: edges, weights, witnesses, hiding, merging, and pins that stay."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from math import log2

import numpy as np
import pytest

from graphmem.model.items import SameAs
from graphmem.model.operations import (
    AddEvidence,
    MoveMention,
    Operation,
    PutEntity,
    PutFact,
    PutLink,
    PutPassage,
    PutSource,
    RedirectEntity,
)
from graphmem.store.graph.changes import NothingStored, project
from graphmem.store.graph.memory import MemoryGraph
from graphmem.store.graph.snapshot import GraphSnapshot, SnapshotBuilder
from graphmem.vocabulary import REVERSE, EdgeType, LinkKind, Stance
from tests.store.graph.edges import Edge, all_edges, edge_list
from tests.store.graph.world import (
    bundle,
    entity,
    evidence,
    fact,
    link,
    mention,
    source,
    statement,
    told,
)

A, B, C = "psg:0-0", "psg:0-1", "psg:0-2"
SAID, THEN, LAST = (statement(passage, 0) for passage in (A, B, C))
OPERATIONS: tuple[Operation, ...] = (
    PutSource(after=source(0, [A, B, C])),
    *(PutEntity(after=entity(name)) for name in "abc"),
    PutPassage(after=bundle(A, "src:0", [SAID], [mention(A, 0, "thing:a", SAID.id)])),
    PutPassage(
        after=bundle(
            B, "src:0", [THEN], [mention(B, 0, "thing:a"), mention(B, 1, "thing:b", THEN.id)]
        )
    ),
    PutPassage(after=bundle(C, "src:0", [LAST], [])),
    PutFact(after=fact(1, "thing:a", "thing:b")),
    AddEvidence(after=evidence(1, "fct:1", SAID, A, confidence=0.5)),
    AddEvidence(after=evidence(2, "fct:1", None, B, confidence=0.9)),
    PutFact(after=fact(2, "thing:c", None)),
    AddEvidence(after=evidence(3, "fct:2", LAST, C)),
    PutLink(after=link(1, LinkKind.PREVENTS, SAID.id, THEN.id, A, 0.5)),
    PutLink(after=link(2, LinkKind.SAME_EVENT, SAID.id, LAST.id, A)),
    PutLink(after=link(3, LinkKind.SUPERSEDES, LAST.id, SAID.id, C)),
    PutLink(after=link(4, LinkKind.CONTRADICTS, LAST.id, SAID.id, C)),
)


def built(operations: Iterable[Operation] = OPERATIONS, *, lift: bool = True) -> SnapshotBuilder:
    graph = MemoryGraph()
    rows = told(operations)
    graph.apply(project(rows, NothingStored()), len(rows))
    return SnapshotBuilder(graph.adjacency(), len(rows), passage_mentions=lift)


def edges(kind: EdgeType, *hidden: str, more: Iterable[Operation] = ()) -> list[Edge]:
    return all_edges(built([*OPERATIONS, *more]).snapshot(frozenset(hidden)), kind)


def damped(mentions: int) -> float:
    return round(float(np.float32(1 / log2(2 + mentions))), 6)


def test_nodes_are_passages_statements_and_entities_with_their_passages() -> None:
    snapshot = built().snapshot()
    nodes = np.arange(snapshot.node_count, dtype=np.int32)
    keys = [snapshot.key(node) for node in nodes.tolist()]
    assert keys == [A, B, C, SAID.id, THEN.id, LAST.id, "thing:a", "thing:b", "thing:c"]
    assert [snapshot.handle(key) for key in keys] == nodes.tolist()
    assert snapshot.passage_of(nodes).tolist() == [0, 1, 2, 0, 1, 2, -1, -1, -1]
    assert snapshot.handle("src:0") is None and snapshot.handle("fct:1") is None
    assert set(snapshot.edge_types) == set(EdgeType) - {EdgeType.SIMILAR}


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (EdgeType.CONTAINS, [(A, SAID.id, 1.0, None), (B, THEN.id, 1.0, None)]),
        (EdgeType.NEXT, [(A, B, 1.0, None), (B, C, 1.0, None)]),
        (EdgeType.CAUSES, [(SAID.id, THEN.id, 0.5, "lnk:1")]),
        (EdgeType.SUPERSEDES, [(LAST.id, SAID.id, 0.8, "lnk:3")]),
        (EdgeType.FACT, [("thing:a", "thing:b", 0.9, "evd:2")]),
        (EdgeType.SAME_EVENT, [(SAID.id, LAST.id, 0.8, "lnk:2"), (LAST.id, SAID.id, 0.8, "lnk:2")]),
        (
            EdgeType.MENTIONS,
            [
                (A, "thing:a", damped(2), "mnt:0-0.0"),
                (SAID.id, "thing:a", damped(2), "mnt:0-0.0"),
                (B, "thing:a", damped(2), "mnt:0-1.0"),
                (B, "thing:b", damped(1), "mnt:0-1.1"),
                (THEN.id, "thing:b", damped(1), "mnt:0-1.1"),
            ],
        ),
    ],
)
def test_edges_have_weights_and_witnesses(
    kind: EdgeType, expected: list[tuple[str, str, float, str | None]]
) -> None:
    found = edges(kind)
    assert {edge[1:] for edge in found} >= set(expected)


def test_every_edge_can_be_walked_back() -> None:
    found = set(all_edges(built().snapshot()))
    turned = {(REVERSE[EdgeType(kind)].value, b, a, w, by) for kind, a, b, w, by in found}
    assert found == turned


def test_passages_are_joined_to_entities_of_their_statements_only_on_request() -> None:
    snapshot = built(lift=False).snapshot()
    sources = sorted(edge[1] for edge in all_edges(snapshot, EdgeType.MENTIONS))
    assert sources == [B, SAID.id, THEN.id]


def without(*gone: str) -> list[Operation]:
    """The operations of a vault that was never told the passages."""
    kept: list[Operation] = []
    for operation in OPERATIONS:
        after = operation.after  # type: ignore[union-attr]
        if isinstance(operation, PutPassage) and operation.after is not None:
            if operation.after.passage.id in gone:
                continue
        elif isinstance(operation, PutSource):
            operation = PutSource(after=source(0, [p for p in (A, B, C) if p not in gone]))
        elif isinstance(operation, AddEvidence | PutLink) and after.passage_id in gone:  # type: ignore[union-attr]
            continue
        kept.append(operation)
    return kept


@pytest.mark.parametrize("gone", [(A,), (B,), (C,), (A, B), (B, C), (A, B, C)])
def test_hidden_passages_are_like_passages_never_told(gone: tuple[str, ...]) -> None:
    assert edge_list(built().snapshot(frozenset(gone))) == edge_list(
        built(without(*gone)).snapshot()
    )


def test_a_hidden_source_hides_all_its_passages() -> None:
    assert built().snapshot(frozenset({"src:0"})).node_count == 0


def test_the_next_visible_passage_follows_over_hidden_ones() -> None:
    assert edges(EdgeType.NEXT, B) == [("next", A, C, 1.0, None)]


@pytest.mark.parametrize(
    ("hidden", "kind", "left"),
    [
        (SAID.id, EdgeType.CAUSES, []),
        ("lnk:1", EdgeType.CAUSES, []),
        ("lnk:2", EdgeType.SAME_EVENT, []),
        ("fct:1", EdgeType.FACT, []),
        ("thing:b", EdgeType.FACT, []),
        ("evd:2", EdgeType.FACT, ["evd:1", "evd:1"]),
        ("evd:1", EdgeType.FACT, ["evd:2", "evd:2"]),
        ("mnt:0-0.0", EdgeType.MENTIONS, ["mnt:0-1.0", "mnt:0-1.1", "mnt:0-1.1"]),
        ("thing:a", EdgeType.MENTIONS, ["mnt:0-1.1", "mnt:0-1.1"]),
    ],
)
def test_a_hidden_item_takes_its_edges_along(hidden: str, kind: EdgeType, left: list[str]) -> None:
    assert sorted(str(edge[4]) for edge in edges(kind, hidden)) == left


def test_a_link_goes_with_its_witness_passage_though_its_ends_are_visible() -> None:
    told_in_a = [PutLink(after=link(9, LinkKind.CAUSES, THEN.id, LAST.id, A))]
    assert [edge[4] for edge in edges(EdgeType.CAUSES, B, more=told_in_a)] == []
    assert "lnk:9" in {edge[4] for edge in edges(EdgeType.CAUSES, more=told_in_a)}
    assert edges(EdgeType.CAUSES, A, more=told_in_a) == []


def test_a_hidden_mention_does_not_count_in_the_damper() -> None:
    weights = {edge[3] for edge in edges(EdgeType.MENTIONS, A) if edge[2] == "thing:a"}
    assert weights == {damped(1)}


def test_a_fact_that_is_only_contradicted_gives_no_edge() -> None:
    contradicted = [
        PutFact(after=fact(3, "thing:b", "thing:c")),
        AddEvidence(after=evidence(9, "fct:3", SAID, A, stance=Stance.CONTRADICTS)),
    ]
    assert len(edges(EdgeType.FACT, more=contradicted)) == len(edges(EdgeType.FACT))


def test_an_entity_without_visible_mention_or_fact_is_no_node() -> None:
    snapshot = built().snapshot(frozenset({C}))
    assert snapshot.handle("thing:c") is None and snapshot.handle("thing:a") is not None


def merge(loser: str, survivor: str) -> RedirectEntity:
    return RedirectEntity(after=SameAs(loser_id=loser, survivor_id=survivor, reason="alias"))


def test_a_merged_entity_gives_its_edges_and_counts_to_the_survivor() -> None:
    merged = [merge("thing:a", "thing:c")]
    assert {edge[2] for edge in edges(EdgeType.MENTIONS, more=merged)} == {"thing:b", "thing:c"}
    assert {edge[1:3] for edge in edges(EdgeType.FACT, more=merged)} == {
        ("thing:b", "thing:c"),
        ("thing:c", "thing:b"),
    }
    assert built([*OPERATIONS, *merged]).snapshot().handle("thing:a") is None


def test_merges_are_followed_to_their_end_and_taken_back() -> None:
    chain = [merge("thing:a", "thing:b"), merge("thing:b", "thing:c")]
    assert {edge[2] for edge in edges(EdgeType.MENTIONS, more=chain)} == {"thing:c"}
    back = [*chain, chain[1].inverse(), chain[0].inverse()]
    assert edge_list(built([*OPERATIONS, *back]).snapshot()) == edge_list(built().snapshot())


def test_a_fact_between_merged_entities_is_no_loop() -> None:
    assert edges(EdgeType.FACT, more=[merge("thing:a", "thing:b")]) == []


def test_redirects_in_a_ring_end() -> None:
    ring = [merge("thing:a", "thing:b"), merge("thing:b", "thing:a")]
    assert isinstance(built([*OPERATIONS, *ring]).snapshot(), GraphSnapshot)


def advanced(builder: SnapshotBuilder, *operations: Operation) -> None:
    rows = told(operations, builder.seq + 1)
    builder.advance(project(rows, NothingStored()), rows[-1].seq)


def test_commit_by_commit_equals_one_build() -> None:
    builder = SnapshotBuilder(MemoryGraph().adjacency(), 0)
    for operation in OPERATIONS:
        advanced(builder, operation)
    # the layout came before its passages: told again, as an ingest does in one batch
    before, after = source(0, [A, B, C]), source(0, [A, B, C])
    advanced(builder, PutSource(before=source(0), after=after))
    assert before == after and builder.seq == len(OPERATIONS) + 1
    assert edge_list(builder.snapshot()) == edge_list(built().snapshot())


def test_a_pinned_graph_stays_while_the_builder_goes_on() -> None:
    builder = built()
    pinned = builder.pin()  # nothing is read from it before the builder goes on
    advanced(builder, OPERATIONS[-4].inverse(), PutEntity(after=entity("d")))
    advanced(builder, PutLink(after=link(1, LinkKind.CAUSES, THEN.id, SAID.id, B)))
    assert edge_list(pinned.snapshot()) == edge_list(built().snapshot())
    assert all_edges(builder.snapshot(), "causes") == [("causes", THEN.id, SAID.id, 0.8, "lnk:1")]


def test_a_node_told_again_after_its_removal_has_only_its_new_edges() -> None:
    builder = built()
    removed = [operation.inverse() for operation in reversed(OPERATIONS[4:])]
    advanced(builder, *removed)
    assert builder.snapshot().node_count == 0
    advanced(builder, OPERATIONS[4])
    kept = built(OPERATIONS[:5]).snapshot()
    assert edge_list(builder.snapshot()) == edge_list(kept)


def test_a_moved_mention_moves_its_edge_and_its_count() -> None:
    move = MoveMention(mention_id="mnt:0-1.0", passage_id=B, before="thing:a", after="thing:b")
    found = edges(EdgeType.MENTIONED_IN, more=[move])
    assert (EdgeType.MENTIONED_IN, "thing:b", B, damped(2), "mnt:0-1.0") in found


def test_snapshots_are_kept_per_hidden_set_until_the_next_commit() -> None:
    builder = built()
    assert builder.snapshot(frozenset({A})) is builder.snapshot(frozenset([A]))
    assert builder.snapshot(frozenset({A})) is not builder.snapshot()
    old = builder.snapshot()
    advanced(builder, PutEntity(after=entity("d")))
    assert builder.snapshot() is not old


def test_readers_in_threads_get_whole_commits() -> None:
    builder = built()
    errors: list[BaseException] = []
    done = threading.Event()

    def read() -> None:
        try:
            while not done.is_set():
                pin = builder.pin()
                found = [edge for edge in all_edges(pin.snapshot(), "causes") if edge[4] != "lnk:1"]
                assert len(found) == pin.seq - len(OPERATIONS)
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=read)
    thread.start()
    for number in range(150):
        ends = (SAID.id, THEN.id) if number % 2 else (THEN.id, SAID.id)
        two = [link(100 + 2 * number + half, LinkKind.CAUSES, *ends, A) for half in range(2)]
        advanced(builder, *(PutLink(after=item) for item in two))
    done.set()
    thread.join()
    assert not errors
    assert len(all_edges(builder.snapshot(), "causes")) == 301
