"""Beam search along typed edges, steered by the intent of the question (after MAGMA)."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ._select import TIE_DIGITS, clean_seeds, strongest
from .adjacency import Adjacency, EdgeHandles, Nodes, expand_heaviest
from .paths import Reached, Step

Floats: TypeAlias = NDArray[np.float64]
Similarity: TypeAlias = Callable[[Nodes], NDArray[Any]] | NDArray[Any]


@dataclass(frozen=True, slots=True)
class BeamParams:
    """How far and how wide to search; the start values are those of MAGMA's descendants."""

    lambda_structure: float = 1.0
    """Weight of the edge term in the exponent."""
    lambda_similarity: float = 0.4
    """Weight of the cosine term in the exponent."""
    decay: float = 0.9
    """Factor per hop, in (0, 1]."""
    width: int = 15
    """Nodes expanded per depth."""
    max_visited: int = 500
    """Nodes returned at most, seeds included."""
    depth: int = 5
    """Hops from a seed at most."""
    fanout: int = 50
    """Heaviest distinct neighbours read per node and edge type: the bound on a hub."""

    def __post_init__(self) -> None:
        if not 0 < self.decay <= 1:
            raise ValueError("decay must lie in (0, 1]")
        if min(self.lambda_structure, self.lambda_similarity) < 0:
            raise ValueError("lambdas must not be negative")
        if min(self.width, self.max_visited, self.fanout) < 1 or self.depth < 0:
            raise ValueError("width, max_visited and fanout start at 1, depth at 0")


@dataclass(frozen=True, slots=True, eq=False)
class _Candidates:
    """Scored edges out of one frontier; `source` is a position in it."""

    source: NDArray[np.int32]
    target: Nodes
    kind: NDArray[np.int32]
    edge: EdgeHandles
    score: Floats

    def take(self, index: NDArray[np.intp]) -> "_Candidates":
        return _Candidates(
            self.source[index],
            self.target[index],
            self.kind[index],
            self.edge[index],
            self.score[index],
        )


def beam_search(
    adjacency: Adjacency,
    seeds: Mapping[int, float],
    *,
    affinity: Mapping[str, float],
    similarity: Similarity,
    params: BeamParams = BeamParams(),
) -> list[Reached]:
    """The nodes reached from `seeds`, best first, each with its best path; ties by key.

    A step over an edge of type t to node v is worth

        decay * exp(l1 * affinity[t] * weight + l2 * max(0, cos v)) / exp(l1 * max affinity + l2)

    at most 1, and a path is worth its seed (scaled so that the best is 1) times its steps, so a
    longer path never wins by length. `affinity` is the intent's weight per edge type; types
    without a positive one are not walked. `similarity` gives a cosine per node, as an array over
    all handles or as a function of handles; not-a-number counts as 0, as do weights and cosines
    above 1 as 1. Every scored node is returned, up to `max_visited`; `width` of them per depth
    are expanded. O(depth * width * types * fanout).

    Reference: MAGMA, arXiv 2601.03236, transition score; the normalisation, decay and kept paths
    are ours.

    >>> from graphmem.traversal import CsrAdjacency
    >>> graph = CsrAdjacency.from_edges(["a", "b"], {"causes": ([0], [1], [1.0], [7])})
    >>> found = beam_search(graph, {0: 2.0}, affinity={"causes": 1.0}, similarity=np.ones(2))
    >>> [(hit.node, round(hit.score, 3), len(hit.path)) for hit in found]
    [(0, 1.0, 0), (1, 0.9, 1)]
    """
    nodes, values = clean_seeds(adjacency, seeds)
    if not len(nodes):
        return []
    first = strongest(adjacency, nodes, values / values.max(), params.max_visited)
    frontier = [Reached(int(nodes[i]), float(values[i] / values.max()), ()) for i in first.tolist()]
    best = {hit.node: hit for hit in frontier}
    types = tuple(sorted(name for name, phi in affinity.items() if phi > 0))
    for _ in range(params.depth):
        frontier = frontier[: params.width]
        scored = _score(adjacency, frontier, types, affinity, similarity, params)
        frontier = _admit(adjacency, scored, frontier, types, best, params.max_visited)
        if not frontier:
            break
    return sorted(
        best.values(), key=lambda hit: (-round(hit.score, TIE_DIGITS), adjacency.key(hit.node))
    )


def _score(
    adjacency: Adjacency,
    frontier: list[Reached],
    types: tuple[str, ...],
    affinity: Mapping[str, float],
    similarity: Similarity,
    params: BeamParams,
) -> _Candidates:
    """Every edge out of the frontier with the score of the path that ends with it."""
    nodes = np.array([hit.node for hit in frontier], np.int32)
    base = np.array([hit.score for hit in frontier], np.float64)
    hops = [expand_heaviest(adjacency, nodes, name, params.fanout) for name in types]
    kind = np.repeat(np.arange(len(types), dtype=np.int32), [len(hop) for hop in hops])
    if not len(kind):
        nothing = np.empty(0, np.int32)
        return _Candidates(nothing, nothing, nothing, np.empty(0, np.int64), np.empty(0))
    source, target, weight, edge = (
        np.concatenate([getattr(hop, name) for hop in hops])
        for name in ("origin", "target", "weight", "edge")
    )
    phi = np.array([affinity[name] for name in types], np.float64)
    pull = phi[kind] * np.minimum(weight.astype(np.float64), 1.0) - phi.max()
    cosine = _cosines(similarity, target) - 1.0
    step = np.exp(params.lambda_structure * pull + params.lambda_similarity * cosine)
    return _Candidates(source, target, kind, edge, base[source] * params.decay * step)


def _cosines(similarity: Similarity, target: Nodes) -> Floats:
    unique, inverse = np.unique(target, return_inverse=True)
    raw = similarity(unique) if callable(similarity) else similarity[unique]
    clean = np.clip(np.nan_to_num(np.asarray(raw, np.float64), nan=0.0), 0.0, 1.0)
    return np.asarray(clean[inverse], np.float64)


def _admit(
    adjacency: Adjacency,
    scored: _Candidates,
    frontier: list[Reached],
    types: tuple[str, ...],
    best: dict[int, Reached],
    max_visited: int,
) -> list[Reached]:
    """Put new and improved nodes into `best`, strongest first; returns them."""
    scored = _best_per_target(scored)
    known = [best[node].score if node in best else 0.0 for node in scored.target.tolist()]
    scored = scored.take(np.flatnonzero(scored.score > np.array(known)))
    admitted: list[Reached] = []
    for i in strongest(adjacency, scored.target, scored.score, None).tolist():
        node = int(scored.target[i])
        if node not in best and len(best) >= max_visited:
            continue
        origin = frontier[int(scored.source[i])]
        step = Step(origin.node, node, types[int(scored.kind[i])], int(scored.edge[i]))
        best[node] = Reached(node, float(scored.score[i]), (*origin.path, step))
        admitted.append(best[node])
    return admitted


def _best_per_target(scored: _Candidates) -> _Candidates:
    """The best edge into each node; ties by rank of its source, then type, then handle."""
    order = np.lexsort((scored.edge, scored.kind, scored.source, -scored.score, scored.target))
    ordered = scored.target[order]
    first = np.ones(len(ordered), np.bool_)
    first[1:] = ordered[1:] != ordered[:-1]
    return scored.take(order[first])
