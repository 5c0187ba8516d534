"""Causal closure by event, and causal order with cycles broken."""

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphmem.traversal import CausalTree, CsrAdjacency, causal_closure, causal_order
from tests.traversal.graphs import (
    KEYS,
    MAX_NODES,
    CountingAdjacency,
    Edge,
    Numbered,
    from_numbered,
    graph,
    random_edges,
    without,
)

PAIRS = st.lists(st.tuples(st.integers(0, 7), st.integers(0, 7)), max_size=25)


def same(*pairs: tuple[str, str]) -> list[Edge]:
    return [edge for a, b in pairs for edge in ((a, b, 1.0), (b, a, 1.0))]


def closure(g: CsrAdjacency, start: int, depth: int, **more: int) -> CausalTree:
    return causal_closure(
        g, [start], edge_types=["caused_by"], depth=depth, same_event="same", **more
    )


def drawn(g: CsrAdjacency, tree: CausalTree) -> list[str]:
    members = {e.number: "".join(g.key(node) for node in e.members) for e in tree.events}
    return [
        f"{members[link.source_event]}>{members[link.target_event]}@{link.depth}"
        for link in tree.links
    ]


@pytest.mark.parametrize(
    ("depth", "expected"),
    [(0, []), (1, ["a>b@1"]), (2, ["a>b@1", "b>c@2"]), (9, ["a>b@1", "b>c@2", "c>d@3"])],
)
def test_depth_counts_causal_hops(depth: int, expected: list[str]) -> None:
    g = graph("abcd", {"caused_by": [("a", "b", 0.9), ("b", "c", 0.9), ("c", "d", 0.9)]})
    assert drawn(g, closure(g, 0, depth)) == expected


def test_a_chain_crosses_documents_over_the_same_event_at_no_depth() -> None:
    edges = {
        "caused_by": [("a", "b", 0.9), ("x", "c", 0.5)],
        "same": same(("b", "w"), ("w", "x")),
    }
    g = graph("abwxc", edges)
    tree = closure(g, 0, 2)
    assert drawn(g, tree) == ["a>bwx@1", "bwx>c@2"]
    assert tree.links[1].strength == pytest.approx(0.45)
    via = tree.links[1].edges[0].via
    assert [(g.key(s.source), g.key(s.target), s.edge_type) for s in via] == [
        ("b", "w", "same"),
        ("w", "x", "same"),
    ]
    assert tree.links[0].edges[0].via == ()


def test_without_a_same_event_type_events_are_single_nodes() -> None:
    edges = {"caused_by": [("a", "b", 0.9), ("x", "c", 0.5)], "same": same(("b", "x"))}
    g = graph("abxc", edges)
    assert drawn(g, causal_closure(g, [0], edge_types=["caused_by"], depth=5)) == ["a>b@1"]


def test_several_witnesses_of_one_link_are_grouped_counted_and_cut() -> None:
    edges = {
        "caused_by": [("a", "b", 0.5), ("a", "b", 0.9), ("x", "y", 0.7), ("a", "y", 0.6)],
        "same": same(("a", "x"), ("b", "y")),
    }
    g = graph("abxy", edges)
    (link,) = closure(g, 0, 3).links
    assert [edge.step.edge for edge in link.edges] == [1, 2, 3]
    assert (link.edge_total, link.strength) == (4, pytest.approx(0.9))
    assert [edge.step.edge for edge in closure(g, 0, 3, witnesses=1).links[0].edges] == [1]


def test_a_cycle_ends_and_its_closing_link_is_marked() -> None:
    g = graph("abc", {"caused_by": [("a", "b", 0.9), ("b", "c", 0.9), ("c", "a", 0.9)]})
    tree = closure(g, 0, 50)
    assert drawn(g, tree) == ["a>b@1", "b>c@2", "c>a@3"]
    assert [link.repeats for link in tree.links] == [False, False, True]


def test_a_cause_inside_one_event_is_no_link() -> None:
    g = graph("ab", {"caused_by": [("a", "b", 1.0), ("a", "a", 1.0)], "same": same(("a", "b"))})
    tree = closure(g, 0, 3)
    assert (tree.links, len(tree.events)) == ((), 1)


def test_the_cut_keeps_the_strongest_and_tells_the_true_count() -> None:
    keys = ["s", *(f"n{i:03}" for i in range(80))]
    edges = [("s", key, 0.2 + 0.01 * (i % 40)) for i, key in enumerate(keys[1:])]
    g = graph(keys, {"caused_by": edges})
    tree = closure(g, 0, 1)
    strengths = [link.strength for link in tree.links]
    assert (len(tree.links), tree.link_total, len(tree.events)) == (50, 80, 51)
    assert strengths == sorted(strengths, reverse=True)
    first = [g.key(tree.event(link.target_event).members[0]) for link in tree.links[:2]]
    assert first == ["n039", "n079"]
    with pytest.raises(KeyError):
        tree.event(999)


def test_both_directions_are_two_walks() -> None:
    edges = {"caused_by": [("a", "b", 1.0), ("c", "b", 1.0)], "causes": [("b", "a", 1.0)]}
    g = graph("abc", edges)
    assert drawn(g, closure(g, 0, 5)) == ["a>b@1"]
    assert causal_closure(g, [0], edge_types=["causes"], depth=5).links == ()


@pytest.mark.parametrize("starts", [[], [1]])
def test_no_visible_start_gives_an_empty_tree(starts: list[int]) -> None:
    g = graph("ab", {"caused_by": [("a", "b", 1.0)]}, hidden="b")
    tree = causal_closure(g, starts, edge_types=["caused_by"], depth=3)
    assert tree == CausalTree((), (), 0)


def test_unknown_types_leave_the_start_alone() -> None:
    tree = causal_closure(graph("a", {}), [0], edge_types=["x"], depth=3, same_event="y")
    assert [event.members for event in tree.events] == [(0,)]


@pytest.mark.parametrize("wrong", [{"depth": -1}, {"witnesses": 0}, {"limit": -1}])
def test_impossible_parameters_are_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="start"):
        causal_closure(graph("a", {}), [0], edge_types=[], **{"depth": 1, **wrong})


def random_closure(g: CsrAdjacency, starts: set[int], limit: int | None) -> CausalTree:
    return causal_closure(g, starts, edge_types=["p", "q"], depth=4, same_event="r", limit=limit)


STARTS = st.sets(st.integers(0, MAX_NODES - 1), min_size=1, max_size=3)


def symmetric(edges: Numbered) -> Numbered:
    back = [(target, source, weight, edge) for source, target, weight, edge in edges["r"]]
    return {**edges, "r": edges["r"] + back}


@given(random_edges(), STARTS)
def test_each_node_has_one_event_and_is_read_once_for_its_causes(
    edges: Numbered, starts: set[int]
) -> None:
    counting = CountingAdjacency(from_numbered(KEYS, symmetric(edges)))
    tree = causal_closure(counting, starts, edge_types=["p", "q"], depth=4, same_event="r")
    members = [node for event in tree.events for node in event.members]
    assert len(members) == len(set(members))
    assert starts <= set(members)
    causal_reads = [read for read in counting.reads if read[1] != "r"]
    assert len(causal_reads) == len(set(causal_reads))


@given(random_edges(), STARTS, st.integers(0, 8))
def test_any_cut_is_connected_to_a_start(edges: Numbered, starts: set[int], limit: int) -> None:
    g = from_numbered(KEYS, symmetric(edges))
    whole, cut = random_closure(g, starts, None), random_closure(g, starts, limit)
    assert cut.links == whole.links[:limit]
    assert cut.link_total == len(whole.links)
    known = {event.number for event in cut.events if event.depth == 0}
    for link in cut.links:
        assert link.source_event in known
        known.add(link.target_event)


@given(random_edges(), STARTS, st.randoms(use_true_random=False))
def test_the_order_of_edges_does_not_matter(
    edges: Numbered, starts: set[int], rng: random.Random
) -> None:
    edges = symmetric(edges)
    shuffled = {name: rng.sample(group, len(group)) for name, group in edges.items()}
    one, other = from_numbered(KEYS, edges), from_numbered(KEYS, shuffled)
    assert random_closure(one, starts, 5) == random_closure(other, starts, 5)


@given(random_edges(), STARTS, st.sets(st.integers(0, MAX_NODES - 1)))
def test_hidden_nodes_are_like_absent_ones(
    edges: Numbered, starts: set[int], hidden: set[int]
) -> None:
    edges = symmetric(edges)
    mask = np.array([i not in hidden for i in range(MAX_NODES)])
    masked = random_closure(from_numbered(KEYS, edges, mask), starts, 5)
    absent = random_closure(from_numbered(KEYS, without(edges, hidden)), starts - hidden, 5)
    assert masked == absent


@pytest.mark.parametrize(
    ("edges", "expected"),
    [
        ([], []),
        ([(3, 1), (1, 2)], [3, 1, 2]),
        ([(0, 3), (1, 3), (2, 3)], [0, 1, 2, 3]),
        ([(2, 2)], [2]),
        ([(1, 0), (0, 1)], [0, 1]),  # broken at the edge into 0
        ([(9, 1), (1, 2), (2, 1), (2, 0)], [9, 1, 2, 0]),  # 0 hangs below the cycle
    ],
)
def test_causes_come_before_effects(edges: list[tuple[int, int]], expected: list[int]) -> None:
    assert causal_order(edges) == expected


def test_free_nodes_are_ordered_by_the_given_key() -> None:
    times = {0: "2026-03", 1: "2026-01", 2: "2026-02"}
    assert causal_order([(0, 3), (1, 3), (2, 3)], key=lambda n: times.get(n, "")) == [1, 2, 0, 3]


def reaches(edges: set[tuple[int, int]], start: int, goal: int) -> bool:
    seen, front = {start}, [start]
    while front:
        node = front.pop()
        fresh = {b for a, b in edges if a == node} - seen
        seen |= fresh
        front.extend(fresh)
    return goal in seen


@given(PAIRS, st.randoms(use_true_random=False))
def test_only_edges_on_a_cycle_are_ever_turned_round(
    edges: list[tuple[int, int]], rng: random.Random
) -> None:
    order = causal_order(edges)
    place = {node: i for i, node in enumerate(order)}
    assert set(order) == {node for edge in edges for node in edge}
    for cause, effect in edges:
        assert place[cause] <= place[effect] or reaches(set(edges), effect, cause)
    assert causal_order(rng.sample(edges, len(edges))) == order
