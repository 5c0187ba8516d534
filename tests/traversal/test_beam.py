"""Beam search: scores worked out by hand, bounds, and what must never change a result."""

import math
import random
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphmem.traversal import BeamParams, Reached, beam_search, path_edges, path_nodes
from tests.traversal.graphs import (
    KEYS,
    MAX_NODES,
    SEEDS,
    TYPES,
    WEIGHTS,
    CountingAdjacency,
    Numbered,
    PlainAdjacency,
    from_numbered,
    graph,
    hub,
    random_edges,
    without,
)

AFFINITY = {"p": 1.0, "q": 0.5, "r": 0.25}
COSINES = np.linspace(-0.5, 1.0, MAX_NODES)
WIDE = BeamParams(width=100, max_visited=100, fanout=100, depth=4)


def by_node(hits: list[Reached]) -> dict[int, float]:
    return {hit.node: hit.score for hit in hits}


@pytest.mark.parametrize(
    ("weight", "cosine", "expected"),
    [
        (1.0, 1.0, 0.9),
        (0.5, 0.0, 0.365913),  # 0.9 * exp(0.5 - 1.4)
        (0.5, -0.7, 0.365913),
        (1.0, 0.5, 0.736858),  # 0.9 * exp(1.0 + 0.2 - 1.4)
        (3.0, 1.5, 0.9),
        (1.0, math.nan, 0.603288),  # 0.9 * exp(1.0 - 1.4)
    ],
)
def test_one_step_is_worth_the_normalised_transition_score(
    weight: float, cosine: float, expected: float
) -> None:
    g = graph("ab", {"p": [("a", "b", weight)]})
    hits = beam_search(g, {0: 1.0}, affinity={"p": 1.0}, similarity=np.array([0.0, cosine]))
    assert by_node(hits)[1] == pytest.approx(expected, abs=1e-6)


def test_a_type_of_less_affinity_is_measured_against_the_best_type() -> None:
    g = graph("ab", {"q": [("a", "b", 1.0)]})
    hits = beam_search(g, {0: 1.0}, affinity={"p": 1.0, "q": 0.2}, similarity=np.zeros(2))
    assert by_node(hits)[1] == pytest.approx(0.271075, abs=1e-6)  # 0.9 * exp(0.2 - 1.4)


@pytest.mark.parametrize("affinity", [0.3, 1.0, 7.0])
def test_a_perfect_step_costs_the_decay_whatever_the_scale_of_the_affinities(
    affinity: float,
) -> None:
    g = graph("ab", {"p": [("a", "b", 1.0)]})
    hits = beam_search(g, {0: 1.0}, affinity={"p": affinity}, similarity=np.ones(2))
    assert by_node(hits)[1] == pytest.approx(0.9)


@pytest.mark.parametrize(
    ("direct", "expected", "edges"),
    [
        (0.2, 0.363956, (0, 1)),  # two steps of 0.9 * exp(-0.4) beat 0.271075
        (0.5, 0.365913, (2,)),  # the direct edge beats them
    ],
)
def test_the_best_path_to_a_node_is_kept(
    direct: float, expected: float, edges: tuple[int, ...]
) -> None:
    g = graph("abc", {"p": [("a", "b", 1.0), ("b", "c", 1.0), ("a", "c", direct)]})
    hits = beam_search(g, {0: 1.0}, affinity={"p": 1.0}, similarity=np.zeros(3))
    hit = next(hit for hit in hits if hit.node == 2)
    assert hit.score == pytest.approx(expected, abs=1e-6)
    assert path_edges(hit.path) == edges
    assert path_nodes(hit.path)[0] == 0


def test_a_late_better_path_replaces_a_node_and_everything_after_it() -> None:
    edges = [("a", "c", 0.1), ("a", "b", 1.0), ("b", "c", 1.0), ("c", "d", 1.0)]
    g = graph("abcd", {"p": edges})
    hits = beam_search(g, {0: 1.0}, affinity={"p": 1.0}, similarity=np.zeros(4))
    assert {hit.node: path_edges(hit.path) for hit in hits}[3] == (1, 2, 3)
    assert by_node(hits)[3] == pytest.approx(0.603288**3, abs=1e-5)


def test_seeds_are_scaled_so_that_the_best_is_one() -> None:
    hits = beam_search(
        graph("abc", {}), {0: 0.2, 1: 0.1, 2: -1.0}, affinity={"p": 1.0}, similarity=np.zeros(3)
    )
    assert by_node(hits) == {0: 1.0, 1: 0.5}


def test_seeds_without_any_value_count_alike() -> None:
    hits = beam_search(graph("ba", {}), {0: 0.0, 1: 0.0}, affinity={}, similarity=np.zeros(2))
    assert [(hit.node, hit.score) for hit in hits] == [(1, 1.0), (0, 1.0)]


def test_a_cycle_ends_and_improves_nothing() -> None:
    g = graph("ab", {"p": [("a", "b", 1.0), ("b", "a", 1.0), ("a", "a", 1.0)]})
    params = BeamParams(decay=1.0, depth=50)
    hits = beam_search(g, {0: 1.0}, affinity={"p": 1.0}, similarity=np.ones(2), params=params)
    assert [(hit.node, hit.score, len(hit.path)) for hit in hits] == [(0, 1.0, 0), (1, 1.0, 1)]


@pytest.mark.parametrize("affinity", [{}, {"nope": 1.0}, {"p": 0.0}, {"p": -1.0}])
def test_types_that_are_unknown_or_without_affinity_are_not_walked(
    affinity: dict[str, float],
) -> None:
    g = graph("ab", {"p": [("a", "b", 1.0)]})
    hits = beam_search(g, {0: 1.0}, affinity=affinity, similarity=np.ones(2))
    assert [hit.node for hit in hits] == [0]


def test_no_seeds_no_result() -> None:
    g = graph("ab", {"p": [("a", "b", 1.0)]}, hidden="b")
    for seeds in ({}, {1: 1.0}):
        assert beam_search(g, seeds, affinity={"p": 1.0}, similarity=np.ones(2)) == []


@pytest.mark.parametrize("seeds", [{5: 1.0}, {-1: 1.0}, {0: math.nan}, {0: math.inf}])
def test_impossible_seeds_are_refused(seeds: dict[int, float]) -> None:
    with pytest.raises(ValueError, match="seed"):
        beam_search(graph("a", {}), seeds, affinity={}, similarity=np.ones(1))


def test_ties_go_by_key() -> None:
    g = graph("sba", {"p": [("s", "b", 1.0), ("s", "a", 1.0)]})
    params = BeamParams(max_visited=2)
    hits = beam_search(g, {0: 1.0}, affinity={"p": 1.0}, similarity=np.ones(3), params=params)
    assert [g.key(hit.node) for hit in hits] == ["s", "a"]


def test_width_bounds_what_is_expanded_and_depth_the_hops() -> None:
    edges = [("s", "a", 1.0), ("s", "b", 0.9), ("a", "x", 1.0), ("b", "y", 1.0), ("x", "z", 1.0)]
    g = graph("sabxyz", {"p": edges})
    params = BeamParams(width=1, depth=2)
    hits = beam_search(g, {0: 1.0}, affinity={"p": 1.0}, similarity=np.zeros(6), params=params)
    assert "".join(g.key(hit.node) for hit in hits) == "sabx"


def test_a_function_of_handles_serves_as_similarity() -> None:
    g = graph("ab", {"p": [("a", "b", 1.0)]})
    found = [
        beam_search(g, {0: 1.0}, affinity={"p": 1.0}, similarity=similarity)
        for similarity in (np.array([0.1, 0.6]), lambda nodes: np.array([0.1, 0.6])[nodes])
    ]
    assert found[0] == found[1]


@pytest.mark.parametrize(
    "wrong", [{"decay": 0.0}, {"decay": 1.1}, {"width": 0}, {"fanout": 0}, {"depth": -1},
              {"lambda_structure": -1.0}]
)  # fmt: skip
def test_impossible_parameters_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=r"must|start"):
        BeamParams(**wrong)  # type: ignore[arg-type]


HUB_AFFINITY = {"mentions": 1.0, "mentioned_in": 1.0}


def test_a_hub_of_15000_mentions_is_cut_at_the_fanout_in_key_order() -> None:
    g = CountingAdjacency(hub(15_000))
    params = BeamParams(fanout=30)
    similarity = np.zeros(g.node_count)
    hits = beam_search(g, {0: 1.0}, affinity=HUB_AFFINITY, similarity=similarity, params=params)
    assert g.edges_read == 1 + 30
    assert [g.key(hit.node) for hit in hits[2:]] == [f"n{i:05}" for i in range(30)]


def test_a_large_hub_costs_like_a_small_one() -> None:
    best = []
    for size in (60, 15_000):
        g, similarity = hub(size), np.zeros(size + 2)
        times = []
        for _ in range(15):
            start = time.perf_counter()
            beam_search(g, {0: 1.0}, affinity=HUB_AFFINITY, similarity=similarity)
            times.append(time.perf_counter() - start)
        best.append(min(times))
    assert best[1] < 5 * best[0]


@given(random_edges(), SEEDS, st.floats(0.1, 1.0), st.floats(0.0, 3.0), st.floats(0.0, 3.0))
def test_scores_lie_in_0_to_1_and_fall_along_the_path(
    edges: Numbered, seeds: dict[int, float], decay: float, structure: float, similarity: float
) -> None:
    params = BeamParams(structure, similarity, decay)
    g = from_numbered(KEYS, edges)
    hits = beam_search(g, seeds, affinity=AFFINITY, similarity=COSINES, params=params)
    scores = by_node(hits)
    assert len(scores) == len(hits)
    assert all(0 < score <= 1 for score in scores.values())
    for hit in hits:
        assert len(hit.path) <= params.depth
        assert all(hit.score <= scores[node] for node in path_nodes(hit.path))


@given(random_edges(), SEEDS, st.randoms(use_true_random=False))
def test_neither_the_order_of_edges_nor_the_kind_of_graph_matters(
    edges: Numbered, seeds: dict[int, float], rng: random.Random
) -> None:
    shuffled = {name: rng.sample(group, len(group)) for name, group in edges.items()}
    graphs = (from_numbered(KEYS, edges), from_numbered(KEYS, shuffled))
    graphs_and_plain = (*graphs, PlainAdjacency(graphs[0]))
    params = BeamParams(width=3, fanout=2, max_visited=6)
    first, *others = (
        beam_search(g, seeds, affinity=AFFINITY, similarity=COSINES, params=params)
        for g in graphs_and_plain
    )
    assert all(other == first for other in others)


@given(random_edges(), SEEDS, st.sets(st.integers(0, MAX_NODES - 1)))
def test_hidden_nodes_are_like_absent_ones(
    edges: Numbered, seeds: dict[int, float], hidden: set[int]
) -> None:
    mask = np.array([i not in hidden for i in range(MAX_NODES)])
    left = {node: value for node, value in seeds.items() if node not in hidden}
    params = BeamParams(width=3, fanout=2, max_visited=6)
    masked = beam_search(
        from_numbered(KEYS, edges, mask), seeds, affinity=AFFINITY, similarity=COSINES,
        params=params,
    )  # fmt: skip
    absent = beam_search(
        from_numbered(KEYS, without(edges, hidden)), left, affinity=AFFINITY,
        similarity=COSINES, params=params,
    )  # fmt: skip
    assert masked == absent


@given(random_edges(), SEEDS, st.data())
def test_a_heavier_edge_never_lowers_a_score(
    edges: Numbered, seeds: dict[int, float], data: st.DataObject
) -> None:
    name = data.draw(st.sampled_from(TYPES))
    if not edges[name]:
        return
    at = data.draw(st.integers(0, len(edges[name]) - 1))
    source, target, weight, edge = edges[name][at]
    heavier = max(weight, data.draw(WEIGHTS))
    raised = {**edges, name: [*edges[name]]}
    raised[name][at] = (source, target, heavier, edge)
    before, after = (
        by_node(
            beam_search(
                from_numbered(KEYS, e), seeds, affinity=AFFINITY, similarity=COSINES, params=WIDE
            )
        )
        for e in (edges, raised)
    )
    assert all(after[node] >= score for node, score in before.items())
