"""The comparators: one-hop link expansion and personalised PageRank."""

import math
import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphmem.traversal import (
    LinkTypes,
    link_expansion,
    path_edges,
    personalised_pagerank,
)
from tests.traversal.graphs import (
    KEYS,
    MAX_NODES,
    SEEDS,
    CountingAdjacency,
    Numbered,
    from_numbered,
    graph,
    hub,
    random_edges,
    without,
)

LINKS = LinkTypes("mentions", "mentioned_in", ("similar",), ("causes", "caused_by"))
RANDOM_LINKS = LinkTypes("p", "q", ("r",), ("p",), per_entity=2)
WEIGHTS = {"p": 1.0, "q": 0.5, "r": 2.0}


def test_shared_entities_similarity_and_cause_add_up() -> None:
    edges = {
        "mentions": [("s", "E", 1.0), ("s", "F", 1.0), ("t", "E", 1.0)],
        "mentioned_in": [("E", "n", 1.0), ("F", "n", 1.0), ("E", "m", 1.0), ("E", "s", 1.0)],
        "similar": [("s", "n", 0.4), ("t", "n", 0.6), ("s", "x", 0.9)],
        "causes": [("s", "n", 0.5)],
    }
    g = graph("stEFnmx", edges)
    hits = {g.key(hit.node): hit for hit in link_expansion(g, [0, 1], types=LINKS)}
    n = hits["n"]
    assert (n.shared_entities, n.semantic, n.causal) == (2, pytest.approx(0.6), 0.5)
    assert n.score == pytest.approx(0.761594 + 0.6 + 0.5)  # tanh(1)
    assert hits["m"].score == pytest.approx(0.462117)  # tanh(0.5)
    assert path_edges(hits["m"].path) == (0, 5)
    assert path_edges(n.path) == (0, 3)
    assert path_edges(hits["x"].path) == (9,)
    assert list(hits) == ["n", "x", "m"]


def test_an_entity_shared_with_two_seeds_counts_once() -> None:
    edges = {
        "mentions": [("s", "E", 1.0), ("t", "E", 1.0)],
        "mentioned_in": [("E", "n", 1.0)],
    }
    assert link_expansion(graph("stEn", edges), [0, 1], types=LINKS)[0].shared_entities == 1


def test_a_hub_entity_is_read_up_to_the_cap_in_key_order() -> None:
    g = CountingAdjacency(hub(15_000))
    hits = link_expansion(g, [0], types=LINKS)
    assert g.edges_read == 1 + 200
    assert [g.key(hit.node) for hit in hits] == [f"n{i:05}" for i in range(200)]
    assert len(link_expansion(g, [0], types=LINKS, limit=7)) == 7


def test_link_expansion_without_seeds_or_known_types_is_empty() -> None:
    g = graph("ab", {"other": [("a", "b", 1.0)]})
    assert link_expansion(g, [], types=LINKS) == []
    assert link_expansion(g, [0], types=LINKS) == []


@pytest.mark.parametrize(
    ("edges", "expected"),
    [
        # a = 1/2 + b/2 and b = a/2
        ([("a", "b", 1.0), ("b", "a", 1.0)], {"a": 2 / 3, "b": 1 / 3}),
        # b = 3a/8, c = a/8, and the walker at a dead end goes home: a = 1/2 + a/4
        ([("a", "b", 0.75), ("a", "c", 0.25)], {"a": 2 / 3, "b": 1 / 4, "c": 1 / 12}),
        # a = 1/2, b = a/2 + b/2
        ([("a", "b", 1.0), ("b", "b", 1.0)], {"a": 1 / 2, "b": 1 / 2}),
        ([], {"a": 1.0}),
    ],
)
def test_pagerank_finds_the_stationary_distribution(
    edges: list[tuple[str, str, float]], expected: dict[str, float]
) -> None:
    g = graph("abc", {"p": edges})
    found = personalised_pagerank(g, {0: 7.0}, type_weights={"p": 1.0})
    assert {g.key(hit.node): hit.score for hit in found} == pytest.approx(expected)


def test_pagerank_weighs_edge_types() -> None:
    g = graph("abc", {"p": [("a", "b", 1.0)], "q": [("a", "c", 1.0)]})
    found = personalised_pagerank(g, {0: 1.0}, type_weights={"p": 3.0, "q": 1.0, "nope": 1.0})
    assert [round(hit.score, 6) for hit in found] == [0.666667, 0.25, 0.083333]
    only = personalised_pagerank(g, {0: 1.0}, type_weights={"p": 0.0, "q": 1.0})
    assert {hit.node for hit in only} == {0, 2}


def test_pagerank_without_seeds_is_empty_and_without_value_is_uniform() -> None:
    g = graph("ab", {}, hidden="")
    assert personalised_pagerank(g, {}, type_weights={"p": 1.0}) == []
    scores = personalised_pagerank(g, {0: 0.0, 1: 0.0}, type_weights={"p": 1.0})
    assert [hit.score for hit in scores] == [0.5, 0.5]


def test_pagerank_refuses_a_walk_that_never_returns() -> None:
    with pytest.raises(ValueError, match="damping"):
        personalised_pagerank(graph("a", {}), {0: 1.0}, type_weights={}, damping=1.0)


@given(random_edges(), SEEDS, st.floats(0.0, 0.95))
def test_pagerank_is_a_distribution(
    edges: Numbered, seeds: dict[int, float], damping: float
) -> None:
    g = from_numbered(KEYS, edges)
    found = personalised_pagerank(g, seeds, type_weights=WEIGHTS, damping=damping)
    assert all(math.isfinite(hit.score) and hit.score >= 0 for hit in found)
    assert sum(hit.score for hit in found) == pytest.approx(1.0)


@given(random_edges(), SEEDS, st.sets(st.integers(0, MAX_NODES - 1)))
def test_hidden_nodes_are_like_absent_ones(
    edges: Numbered, seeds: dict[int, float], hidden: set[int]
) -> None:
    mask = np.array([i not in hidden for i in range(MAX_NODES)])
    left = {node: value for node, value in seeds.items() if node not in hidden}
    masked, absent = from_numbered(KEYS, edges, mask), from_numbered(KEYS, without(edges, hidden))
    assert link_expansion(masked, seeds, types=RANDOM_LINKS) == link_expansion(
        absent, left, types=RANDOM_LINKS
    )
    assert personalised_pagerank(masked, seeds, type_weights=WEIGHTS) == personalised_pagerank(
        absent, left, type_weights=WEIGHTS
    )


@given(random_edges(), SEEDS, st.randoms(use_true_random=False))
def test_the_order_of_edges_does_not_matter(
    edges: Numbered, seeds: dict[int, float], rng: random.Random
) -> None:
    shuffled = {name: rng.sample(group, len(group)) for name, group in edges.items()}
    one, other = from_numbered(KEYS, edges), from_numbered(KEYS, shuffled)
    assert link_expansion(one, seeds, types=RANDOM_LINKS) == link_expansion(
        other, seeds, types=RANDOM_LINKS
    )
    assert personalised_pagerank(one, seeds, type_weights=WEIGHTS) == personalised_pagerank(
        other, seeds, type_weights=WEIGHTS
    )
