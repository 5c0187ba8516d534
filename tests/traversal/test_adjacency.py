"""The CSR graph: row order, caps, hidden nodes, and what it refuses."""

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphmem.traversal import CsrAdjacency, empty_hop, expand_heaviest, order_hop
from tests.traversal.graphs import (
    KEYS,
    MAX_NODES,
    TYPES,
    Numbered,
    PlainAdjacency,
    from_numbered,
    graph,
    handles,
    names,
    random_edges,
    without,
)

Row = tuple[int, int, float, int]


def everything(adjacency: CsrAdjacency) -> dict[str, list[Row]]:
    nodes = np.arange(adjacency.node_count, dtype=np.int32)
    found = {}
    for name in adjacency.edge_types:
        hop = adjacency.expand(nodes, name)
        columns = (hop.origin.tolist(), hop.target.tolist(), hop.weight.tolist(), hop.edge.tolist())
        found[name] = list(zip(*columns, strict=True))
    return found


def test_rows_run_from_heavy_to_light_then_by_key() -> None:
    g = graph("zbca", {"t": [("z", "c", 0.5), ("z", "b", 0.5), ("z", "a", 0.9)]})
    hop = g.expand(handles(0), "t")
    assert names(g, hop.target.tolist()) == "abc"
    assert hop.edge.tolist() == [2, 1, 0]


def test_origin_is_the_position_in_the_question_not_the_handle() -> None:
    g = graph("abc", {"t": [("a", "b", 1.0), ("c", "a", 1.0), ("c", "b", 0.5)]})
    hop = g.expand(handles(2, 1, 0, 2), "t")
    assert hop.origin.tolist() == [0, 0, 2, 3, 3]
    assert hop.target.tolist() == [0, 1, 1, 0, 1]


def test_an_unknown_type_and_no_nodes_give_an_empty_hop() -> None:
    g = graph("ab", {"t": [("a", "b", 1.0)]})
    for hop in (g.expand(handles(0), "nope"), g.expand(handles(), "t"), empty_hop()):
        assert len(hop) == 0
        assert hop.target.dtype == np.int32
        assert hop.edge.dtype == np.int64


def test_the_dtypes_are_those_of_the_protocol() -> None:
    hop = graph("ab", {"t": [("a", "b", 1.0)]}).expand(handles(0), "t")
    assert [a.dtype for a in (hop.origin, hop.target, hop.weight, hop.edge)] == [
        np.int32, np.int32, np.float32, np.int64
    ]  # fmt: skip


@pytest.mark.parametrize("wrap", [lambda g: g, PlainAdjacency], ids=["csr", "bare protocol"])
def test_a_cap_counts_neighbours_and_keeps_the_heaviest_of_parallel_edges(wrap) -> None:  # type: ignore[no-untyped-def]
    edges = [("a", "b", 0.9), ("a", "b", 1.0), ("a", "c", 0.8), ("a", "d", 0.7), ("b", "c", 0.1)]
    g = wrap(graph("abcd", {"t": edges}))
    hop = expand_heaviest(g, handles(0, 1), "t", 2)
    assert hop.origin.tolist() == [0, 0, 1]
    assert hop.target.tolist() == [1, 2, 2]
    assert hop.edge.tolist() == [1, 2, 4]


@given(random_edges(), st.integers(1, 4))
def test_a_graph_that_cannot_cap_rows_gives_the_same_cut(edges: Numbered, limit: int) -> None:
    g = from_numbered(KEYS, edges)
    nodes = np.arange(MAX_NODES, dtype=np.int32)
    for name in (*TYPES, "nope"):
        fast, slow = (expand_heaviest(a, nodes, name, limit) for a in (g, PlainAdjacency(g)))
        assert fast.origin.tolist() == slow.origin.tolist()
        assert fast.edge.tolist() == slow.edge.tolist()


@given(random_edges(), st.randoms(use_true_random=False))
def test_the_order_of_input_does_not_matter(edges: Numbered, rng: random.Random) -> None:
    shuffled = {name: rng.sample(group, len(group)) for name, group in reversed(edges.items())}
    assert everything(from_numbered(KEYS, edges)) == everything(from_numbered(KEYS, shuffled))


@given(random_edges(), st.sets(st.integers(0, MAX_NODES - 1)))
def test_a_hidden_node_is_like_an_absent_one(edges: Numbered, hidden: set[int]) -> None:
    mask = np.array([i not in hidden for i in range(MAX_NODES)])
    absent = everything(from_numbered(KEYS, without(edges, hidden)))
    assert everything(from_numbered(KEYS, edges, mask)) == absent
    assert everything(from_numbered(KEYS, edges).restricted(mask)) == absent


def test_a_restricted_graph_falls_back_to_a_lighter_parallel_edge() -> None:
    g = graph("ab", {"t": [("a", "b", 1.0), ("a", "b", 0.5)]})
    cut = g.restricted(keep_edge=lambda name, edge: edge != 0)
    assert expand_heaviest(cut, handles(0), "t", 5).edge.tolist() == [1]
    assert expand_heaviest(g, handles(0), "t", 5).edge.tolist() == [0]


def test_restrictions_add_up() -> None:
    g = graph("abc", {"t": [("a", "b", 1.0), ("a", "c", 1.0)]}, hidden="b")
    cut = g.restricted(np.array([True, True, False]))
    assert cut.edge_count("t") == 0
    assert g.edge_count("t") == 1
    assert cut.is_visible(handles(0, 1, 2)).tolist() == [True, False, False]


def test_edges_without_weight_are_dropped() -> None:
    assert graph("ab", {"t": [("a", "b", 0.0)]}).edge_count("t") == 0


@pytest.mark.parametrize("weight", [-0.1, float("nan"), float("inf"), 1e39])
def test_impossible_weights_are_refused_unless_hidden(weight: float) -> None:
    with pytest.raises(ValueError, match="'t' must be finite"):
        graph("ab", {"t": [("a", "b", weight)]})
    assert graph("ab", {"t": [("a", "b", weight)]}, hidden="b").edge_count("t") == 0


@pytest.mark.parametrize(
    ("keys", "edges", "mask", "message"),
    [
        (["a", "a"], {}, None, "unique"),
        (["a"], {"t": ([0], [1], [1.0], [0])}, None, "outside"),
        (["a"], {"t": ([-1], [0], [1.0], [0])}, None, "outside"),
        (["a"], {"t": ([0], [0], [1.0, 1.0], [0])}, None, "differ in length"),
        (["a"], {}, np.array([True, False]), "entries for 1 nodes"),
    ],
)
def test_malformed_input_is_refused(keys, edges, mask, message) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(ValueError, match=message):
        CsrAdjacency.from_edges(keys, edges, mask)


def test_nothing_handed_out_can_change_the_graph() -> None:
    g = graph("ab", {"t": [("a", "b", 1.0)]})
    g.expand(handles(0), "t").weight[:] = 9.0
    assert g.expand(handles(0), "t").weight.tolist() == [1.0]


def test_order_hop_restores_the_promised_order() -> None:
    g = graph("zbca", {"t": [("z", "c", 0.5), ("z", "b", 0.5), ("b", "a", 0.9), ("b", "z", 1.0)]})
    hop = g.expand(handles(0, 1), "t")
    mixed = hop.take(np.array([3, 1, 0, 2]))
    assert order_hop(mixed, g.key).edge.tolist() == hop.edge.tolist()


def test_an_empty_graph_works() -> None:
    g = CsrAdjacency.from_edges([], {"t": ([], [], [], [])})
    assert (g.node_count, g.edge_types, len(g.expand(handles(), "t"))) == (0, ("t",), 0)
    assert "0 nodes" in repr(g)
