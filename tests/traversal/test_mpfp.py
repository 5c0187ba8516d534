"""Meta-path forward push: masses worked out by hand, conservation, cache, witnesses."""

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphmem.traversal import (
    MetaPath,
    PathScore,
    Pushed,
    PushParams,
    forward_push,
    path_edges,
    path_nodes,
)
from tests.traversal.graphs import (
    KEYS,
    MAX_NODES,
    SEEDS,
    TYPES,
    CountingAdjacency,
    Numbered,
    PlainAdjacency,
    from_numbered,
    graph,
    hub,
    random_edges,
    without,
)

EXACT = PushParams(threshold=0.0)
FORK = {"s": [("a", "b", 0.75), ("a", "c", 0.25)], "t": [("b", "d", 1.0)]}
PATHS = st.lists(
    st.tuples(
        st.lists(st.sampled_from((*TYPES, "nope")), max_size=4).map(tuple), st.floats(0.1, 3.0)
    ),
    min_size=1,
    max_size=4,
).map(lambda drawn: [MetaPath(f"m{i}", types, weight) for i, (types, weight) in enumerate(drawn)])


def masses(hits: list[Pushed], path: str) -> dict[int, float]:
    return {hit.node: s.mass for hit in hits for s in hit.by_path if s.name == path}


def test_mass_splits_by_weight_and_stays_at_a_dead_end() -> None:
    hits = forward_push(graph("abcd", FORK), {0: 3.0}, [MetaPath("m", ("s", "t"))], fusion="mass")
    # a keeps 0.15; b gets 0.6375 and keeps 0.095625; d gets 0.541875; c gets 0.2125, a dead end
    assert masses(hits, "m") == pytest.approx({0: 0.15, 1: 0.095625, 2: 0.2125, 3: 0.541875})
    assert [hit.node for hit in hits] == [3, 2, 0, 1]
    assert path_edges(hits[0].path) == (0, 2)


def test_a_path_of_no_hops_leaves_the_seeds_as_they_are() -> None:
    hits = forward_push(graph("ab", {}), {0: 3.0, 1: 1.0}, [MetaPath("m", ())], fusion="mass")
    assert masses(hits, "m") == pytest.approx({0: 0.75, 1: 0.25})
    assert [hit.path for hit in hits] == [(), ()]


def test_an_unknown_type_is_a_dead_end_for_all() -> None:
    hits = forward_push(graph("abcd", FORK), {0: 1.0}, [MetaPath("m", ("nope", "s"))])
    assert masses(hits, "m") == {0: 1.0}


def test_two_routes_into_a_node_add_up_and_the_heavier_is_the_witness() -> None:
    edges = {
        "s": [("a", "b", 0.6), ("a", "c", 0.4)],
        "t": [("b", "d", 0.5), ("b", "e", 0.5), ("c", "d", 1.0)],
    }
    hits = forward_push(graph("abcde", edges), {0: 1.0}, [MetaPath("m", ("s", "t"))], fusion="mass")
    # over b: 0.7225 * 0.6 * 0.5 = 0.21675; over c: 0.7225 * 0.4 = 0.289
    assert masses(hits, "m")[3] == pytest.approx(0.50575)
    assert path_edges(hits[0].path) == (1, 4)


def test_equal_routes_are_told_apart_by_key() -> None:
    edges = {"s": [("a", "z", 0.5), ("a", "b", 0.5)], "t": [("z", "d", 1.0), ("b", "d", 1.0)]}
    g = graph("azbd", edges)
    hit = forward_push(g, {0: 1.0}, [MetaPath("m", ("s", "t"))])[0]
    assert [g.key(node) for node in path_nodes(hit.path)] == ["a", "b", "d"]


def test_rank_fusion_adds_weighted_reciprocal_ranks() -> None:
    paths = [MetaPath("heavy", ("s",), 2.0), MetaPath("light", ("t",), 1.0)]
    hits = forward_push(graph("abcd", FORK), {0: 1.0}, paths)
    # heavy: b 0.6375, c 0.2125, a 0.15; light: a has no t, so it keeps 1
    scores = {hit.node: hit.score for hit in hits}
    assert scores == pytest.approx({1: 2 / 61, 2: 2 / 62, 0: 2 / 63 + 1 / 61})
    assert hits[0].node == 0
    assert [(s.name, s.rank) for s in hits[0].by_path] == [("heavy", 3), ("light", 1)]
    assert hits[0].witness == "light"


def test_mass_fusion_is_the_weighted_mean() -> None:
    paths = [MetaPath("heavy", ("s",), 3.0), MetaPath("light", ("t",), 1.0)]
    hits = forward_push(graph("abcd", FORK), {0: 1.0}, paths, fusion="mass")
    scores = {hit.node: hit.score for hit in hits}
    assert scores == pytest.approx({0: (3 * 0.15 + 1) / 4, 1: 0.478125, 2: 0.159375})


def test_a_meta_path_may_have_seeds_of_its_own() -> None:
    paths = [MetaPath("m", ()), MetaPath("timed", ())]
    hits = forward_push(graph("ab", {}), {0: 1.0}, paths, path_seeds={"timed": {1: 4.0}})
    assert {hit.node: hit.by_path for hit in hits} == {
        0: (PathScore("m", 1.0, 1),),
        1: (PathScore("timed", 1.0, 1),),
    }


def test_mass_below_the_threshold_is_dropped() -> None:
    params = PushParams(threshold=0.3)
    hits = forward_push(graph("abcd", FORK), {0: 1.0}, [MetaPath("m", ("s", "t"))], params=params)
    assert sum(masses(hits, "m").values()) == pytest.approx(1.0 - 0.2125)


def test_no_seeds_no_result() -> None:
    g = graph("abcd", FORK, hidden="a")
    for seeds in ({}, {0: 1.0}):
        assert forward_push(g, seeds, [MetaPath("m", ("s",))]) == []
    assert forward_push(g, {1: 1.0}, []) == []


@pytest.mark.parametrize(
    ("paths", "message"),
    [
        ([MetaPath("m", ()), MetaPath("m", ("s",))], "different names"),
        ([MetaPath("m", (), 0.0)], "positive"),
        ([MetaPath("m", (), float("nan"))], "positive"),
    ],
)
def test_impossible_meta_paths_are_refused(paths: list[MetaPath], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        forward_push(graph("abcd", FORK), {0: 1.0}, paths)


@pytest.mark.parametrize("wrong", [{"alpha": 1.0}, {"alpha": -0.1}, {"threshold": -1.0},
                                   {"neighbours": 0}, {"limit": 0}])  # fmt: skip
def test_impossible_parameters_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=r"must|start"):
        PushParams(**wrong)  # type: ignore[arg-type]


def test_a_hub_of_15000_mentions_is_cut_to_its_heaviest_neighbours() -> None:
    g = CountingAdjacency(hub(15_000))
    hits = forward_push(g, {0: 1.0}, [MetaPath("m", ("mentions", "mentioned_in"))], fusion="mass")
    assert g.edges_read == 1 + 20
    share = masses(hits, "m")[2]
    assert share == pytest.approx(0.85 * 0.85 / 20)
    assert sum(masses(hits, "m").values()) == pytest.approx(1.0)


@given(random_edges(), SEEDS, PATHS)
def test_each_node_and_type_is_read_at_most_once(
    edges: Numbered, seeds: dict[int, float], paths: list[MetaPath]
) -> None:
    g = CountingAdjacency(from_numbered(KEYS, edges))
    forward_push(g, seeds, paths)
    assert len(g.reads) == len(set(g.reads))


@given(random_edges(), SEEDS, PATHS)
def test_mass_is_conserved_per_meta_path(
    edges: Numbered, seeds: dict[int, float], paths: list[MetaPath]
) -> None:
    hits = forward_push(from_numbered(KEYS, edges), seeds, paths, params=EXACT, fusion="mass")
    for path in paths:
        assert sum(masses(hits, path.name).values()) == pytest.approx(1.0)
    assert sum(hit.score for hit in hits) == pytest.approx(1.0)


@given(random_edges(), SEEDS, PATHS)
def test_a_witness_is_a_real_path_of_its_meta_path(
    edges: Numbered, seeds: dict[int, float], paths: list[MetaPath]
) -> None:
    rows = {(name, row[3]): (row[0], row[1]) for name, group in edges.items() for row in group}
    types = {path.name: path.edge_types for path in paths}
    for hit in forward_push(from_numbered(KEYS, edges), seeds, paths):
        walked = tuple(step.edge_type for step in hit.path)
        assert walked == types[hit.witness][: len(walked)]
        assert hit.witness in {score.name for score in hit.by_path}
        for step in hit.path:
            assert rows[step.edge_type, step.edge] == (step.source, step.target)
        nodes = path_nodes(hit.path) or (hit.node,)
        assert nodes[0] in seeds
        assert nodes[-1] == hit.node


@given(random_edges(), SEEDS, PATHS, st.randoms(use_true_random=False))
def test_neither_the_order_of_edges_nor_the_kind_of_graph_matters(
    edges: Numbered, seeds: dict[int, float], paths: list[MetaPath], rng: random.Random
) -> None:
    shuffled = {name: rng.sample(group, len(group)) for name, group in edges.items()}
    g = from_numbered(KEYS, edges)
    params = PushParams(neighbours=2, limit=5)
    first = forward_push(g, seeds, paths, params=params)
    assert forward_push(from_numbered(KEYS, shuffled), seeds, paths, params=params) == first
    assert forward_push(PlainAdjacency(g), seeds, paths, params=params) == first


@given(random_edges(), SEEDS, PATHS, st.sets(st.integers(0, MAX_NODES - 1)))
def test_hidden_nodes_are_like_absent_ones(
    edges: Numbered, seeds: dict[int, float], paths: list[MetaPath], hidden: set[int]
) -> None:
    mask = np.array([i not in hidden for i in range(MAX_NODES)])
    left = {node: value for node, value in seeds.items() if node not in hidden}
    masked = forward_push(from_numbered(KEYS, edges, mask), seeds, paths)
    assert masked == forward_push(from_numbered(KEYS, without(edges, hidden)), left, paths)
