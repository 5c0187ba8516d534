"""Steps, paths and orders that all traversals share."""

import heapq
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, TypeAlias


@dataclass(frozen=True, slots=True)
class Step:
    """One traversed edge: `edge` is the handle that its witness is found by (-1: none)."""

    source: int
    target: int
    edge_type: str
    edge: int


Path: TypeAlias = tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class Reached:
    """A node, its score in 0..1 and the path that earned it (empty for a seed)."""

    node: int
    score: float
    path: Path


def join(first: Path, second: Path) -> Path:
    """`first` followed by `second`; ValueError when one does not start where the other ends.

    >>> len(join((Step(0, 1, "a", 7),), (Step(1, 2, "b", 8),)))
    2
    """
    if first and second and first[-1].target != second[0].source:
        raise ValueError(f"path ends at {first[-1].target}, next starts at {second[0].source}")
    return first + second


def path_nodes(path: Path) -> tuple[int, ...]:
    """The nodes along `path` in order; empty for an empty path.

    >>> path_nodes((Step(0, 1, "a", 7), Step(1, 2, "b", 8)))
    (0, 1, 2)
    """
    return (path[0].source, *(step.target for step in path)) if path else ()


def path_edges(path: Path) -> tuple[int, ...]:
    """The edge handles along `path` in order.

    >>> path_edges((Step(0, 1, "a", 7), Step(1, 2, "b", 8)))
    (7, 8)
    """
    return tuple(step.edge for step in path)


def causal_order(
    edges: Iterable[tuple[int, int]], key: Callable[[int], Any] | None = None
) -> list[int]:
    """Every node of the (cause, effect) pairs, causes before effects.

    `key` orders nodes that the edges leave free (a time, an id; default: the handle). A cycle is
    broken at the edge into its least node; an edge that lies on no cycle is always respected.
    Self-loops and repeats are ignored. O((v + e) log v), plus O(v + e) for each cycle broken.
    Kahn, "Topological sorting of large networks" (1962), which MAGMA orders WHY answers by.

    >>> causal_order([(2, 1), (1, 0), (2, 0)])
    [2, 1, 0]
    >>> causal_order([(0, 1), (1, 2), (2, 0), (2, 3)])
    [0, 1, 2, 3]
    """
    rank = _rank(edges := list(edges), key)
    causes: dict[int, set[int]] = {node: set() for node in rank}
    effects: dict[int, set[int]] = {node: set() for node in rank}
    for cause, effect in edges:
        if cause != effect:
            causes[effect].add(cause)
            effects[cause].add(effect)
    return _kahn(causes, effects, rank)


def _rank(edges: list[tuple[int, int]], key: Callable[[int], Any] | None) -> dict[int, int]:
    nodes = sorted({node for edge in edges for node in edge})
    ordered = nodes if key is None else sorted(nodes, key=key)
    return {node: rank for rank, node in enumerate(ordered)}


def _kahn(
    causes: dict[int, set[int]], effects: dict[int, set[int]], rank: dict[int, int]
) -> list[int]:
    by_rank = list(rank)
    ready = [rank[node] for node in rank if not causes[node]]
    heapq.heapify(ready)
    order: list[int] = []
    done: set[int] = set()
    while len(order) < len(rank):
        if not ready:
            cause, effect = _cycle_edge(causes, rank, done)
            effects[cause].discard(effect)
            _release(cause, effect, causes, rank, ready)
            continue
        node = by_rank[heapq.heappop(ready)]
        order.append(node)
        done.add(node)
        for effect in effects[node]:
            _release(node, effect, causes, rank, ready)
    return order


def _release(
    cause: int,
    effect: int,
    causes: dict[int, set[int]],
    rank: dict[int, int],
    ready: list[int],
) -> None:
    causes[effect].discard(cause)
    if not causes[effect]:
        heapq.heappush(ready, rank[effect])


def _cycle_edge(
    causes: dict[int, set[int]], rank: dict[int, int], done: set[int]
) -> tuple[int, int]:
    """The edge into the least node of the cycle found by walking back along least causes."""
    node = next(node for node in rank if node not in done)
    position: dict[int, int] = {}
    walk: list[int] = []
    while node not in position:
        position[node] = len(walk)
        walk.append(node)
        node = min(causes[node], key=rank.__getitem__)
    cycle = walk[position[node] :]
    least = min(range(len(cycle)), key=lambda i: rank[cycle[i]])
    return cycle[(least + 1) % len(cycle)], cycle[least]
