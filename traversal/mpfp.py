"""Meta-path forward push: seed mass pushed along fixed sequences of edge types (after Hindsight).

Mass is never lost at a dead end, paths keep their own scores, every node keeps a witness path.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ._select import TIE_DIGITS, clean_seeds, strongest
from .adjacency import Adjacency, EdgeHandles, Nodes, expand_heaviest, ranges
from .paths import Path, Step

Floats: TypeAlias = NDArray[np.float64]
Fusion: TypeAlias = Literal["rrf", "mass"]

RRF_K = 60  # Cormack et al. 2009; Hindsight and MAGMA use it too


@dataclass(frozen=True, slots=True)
class MetaPath:
    """A sequence of edge types to follow; `weight` > 0 is its say in the fusion."""

    name: str
    edge_types: tuple[str, ...]
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class PushParams:
    """The constants of the push; the start values are Hindsight's."""

    alpha: float = 0.15
    """Share of its mass that a node keeps before the rest moves on, in [0, 1)."""
    threshold: float = 1e-6
    """Mass below which a node is dropped, with its mass; 0 conserves all of it."""
    neighbours: int = 20
    """Heaviest distinct neighbours per node and edge type."""
    limit: int = 500
    """Nodes ranked per meta-path, and nodes returned."""

    def __post_init__(self) -> None:
        if not 0 <= self.alpha < 1:
            raise ValueError("alpha must lie in [0, 1)")
        if self.threshold < 0 or self.neighbours < 1 or self.limit < 1:
            raise ValueError("threshold starts at 0, neighbours and limit at 1")


@dataclass(frozen=True, slots=True)
class PathScore:
    """What one meta-path gave a node: `mass` in 0..1, `rank` from 1."""

    name: str
    mass: float
    rank: int


@dataclass(frozen=True, slots=True)
class Pushed:
    """A node reached by the push, with its share from each meta-path, in the order given."""

    node: int
    score: float
    by_path: tuple[PathScore, ...]
    witness: str
    """Name of the meta-path with the heaviest single route to the node."""
    path: Path
    """That route, empty for a seed that keeps more than it receives."""


@dataclass(slots=True, eq=False)
class _Level:
    """The mass of one meta-path after some hops, with the moves that brought it."""

    nodes: Nodes
    mass: Floats
    route: Floats
    """Mass that came over the heaviest single route."""
    credit: Floats
    """Share of the mass that stays here, per node."""
    indptr: NDArray[np.int64]
    """Moves into node i are entries indptr[i]..indptr[i+1]-1 of the arrays below."""
    parent: NDArray[np.int64]
    moved: Floats
    edge: EdgeHandles


@dataclass(frozen=True, slots=True, eq=False)
class _Ranking:
    """The strongest nodes of one meta-path, best first, and the levels that explain them."""

    nodes: Nodes
    mass: Floats
    levels: list[_Level]


class _EdgeCache:
    """Edges of one type, read once per node; `share` is normalised over a node's neighbours."""

    def __init__(self, adjacency: Adjacency, edge_type: str, neighbours: int) -> None:
        self._adjacency, self._type, self._neighbours = adjacency, edge_type, neighbours
        self._slot = np.full(adjacency.node_count, -1, np.int64)
        self._start = np.empty(0, np.int64)
        self._length = np.empty(0, np.int64)
        self.target = np.empty(0, np.int32)
        self.share = np.empty(0, np.float64)
        self.edge = np.empty(0, np.int64)

    def warm(self, nodes: Nodes) -> None:
        """Read the edges of those `nodes` that were not read before."""
        fresh = np.unique(nodes[self._slot[nodes] < 0])
        if not len(fresh):
            return
        hop = expand_heaviest(self._adjacency, fresh, self._type, self._neighbours)
        weight = hop.weight.astype(np.float64)
        length = np.bincount(hop.origin, minlength=len(fresh)).astype(np.int64)
        total = np.bincount(hop.origin, weights=weight, minlength=len(fresh))
        start = len(self.target) + np.cumsum(length) - length
        self._slot[fresh] = len(self._start) + np.arange(len(fresh))
        self._start = np.concatenate([self._start, start])
        self._length = np.concatenate([self._length, length])
        self.target = np.concatenate([self.target, hop.target])
        self.share = np.concatenate([self.share, weight / total[hop.origin]])
        self.edge = np.concatenate([self.edge, hop.edge])

    def rows(self, nodes: Nodes) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Start and length of the edges of each node, all warmed before."""
        slot = self._slot[nodes]
        return self._start[slot], self._length[slot]


def forward_push(
    adjacency: Adjacency,
    seeds: Mapping[int, float],
    paths: Sequence[MetaPath],
    *,
    params: PushParams = PushParams(),
    fusion: Fusion = "rrf",
    path_seeds: Mapping[str, Mapping[int, float]] | None = None,
) -> list[Pushed]:
    """The nodes that the meta-paths reach, best first, at most `params.limit`; ties by key.

    Each meta-path starts with the seeds scaled to sum 1 (or those that `path_seeds` has under its
    name). Per hop a node keeps `alpha` of its mass, and the rest moves to its heaviest neighbours
    of the hop's type in proportion to their weights; a node without any keeps all of it; the mass
    after the last hop stays. So the scores of one meta-path sum to 1 at threshold 0, and to less
    by what the threshold drops.

    Fusion: "rrf" sums weight / (60 + rank) over the meta-paths, which ignores how much mass stands
    behind a rank and so suits paths of different reach; "mass" is the weighted mean of the masses,
    at most 1, which keeps a strong single path strong. Both see the `limit` strongest per path.

    All meta-paths advance in lock step over one edge cache: each (node, type) is read at most
    once. O(paths * hops * frontier * neighbours).

    Reference: Hindsight's meta-path forward push (2025), there for hops of 2 and with mass lost
    at dead ends.

    >>> from graphmem.traversal import CsrAdjacency
    >>> graph = CsrAdjacency.from_edges(["a", "b"], {"next": ([0], [1], [1.0], [7])})
    >>> hits = forward_push(graph, {0: 5.0}, [MetaPath("on", ("next",))], fusion="mass")
    >>> [(hit.node, round(hit.score, 2)) for hit in hits]
    [(1, 0.85), (0, 0.15)]
    """
    _check(paths)
    rankings = _push_all(adjacency, seeds, path_seeds or {}, paths, params)
    fused, shares = _fuse(paths, rankings, fusion)
    nodes = np.array(list(fused), np.int32)
    scores = np.array(list(fused.values()), np.float64)
    hits: list[Pushed] = []
    for i in strongest(adjacency, nodes, scores, params.limit).tolist():
        node = int(nodes[i])
        witness, route = _witness(adjacency, paths, rankings, node)
        hits.append(Pushed(node, float(scores[i]), tuple(shares[node]), witness, route))
    return hits


def _check(paths: Sequence[MetaPath]) -> None:
    if len({path.name for path in paths}) != len(paths):
        raise ValueError("meta-paths must have different names")
    if not all(0 < path.weight < np.inf for path in paths):
        raise ValueError("weights of meta-paths must be positive and finite")


def _push_all(
    adjacency: Adjacency,
    seeds: Mapping[int, float],
    path_seeds: Mapping[str, Mapping[int, float]],
    paths: Sequence[MetaPath],
    params: PushParams,
) -> list[_Ranking]:
    runs = [[_seed_level(adjacency, path_seeds.get(path.name, seeds), params)] for path in paths]
    types = sorted({name for path in paths for name in path.edge_types})
    caches = {name: _EdgeCache(adjacency, name, params.neighbours) for name in types}
    for hop in range(max((len(path.edge_types) for path in paths), default=0)):
        moving = [
            (p.edge_types[hop], r)
            for p, r in zip(paths, runs, strict=True)
            if len(p.edge_types) > hop
        ]
        for name in sorted({name for name, _ in moving}):
            caches[name].warm(np.concatenate([run[-1].nodes for n, run in moving if n == name]))
        for name, run in moving:
            run.append(_advance(run[-1], caches[name], params))
    return [_rank(adjacency, run, params.limit) for run in runs]


def _seed_level(adjacency: Adjacency, seeds: Mapping[int, float], params: PushParams) -> _Level:
    nodes, mass = clean_seeds(adjacency, seeds)
    if len(nodes):
        mass = mass / mass.max()
        mass = mass / mass.sum()
    nodes, mass = nodes[mass >= params.threshold], mass[mass >= params.threshold]
    nothing = np.empty(0, np.int64)
    return _Level(
        nodes=nodes,
        mass=mass,
        route=mass,
        credit=np.ones(len(nodes)),
        indptr=np.zeros(len(nodes) + 1, np.int64),
        parent=nothing,
        moved=np.empty(0),
        edge=nothing,
    )


def _advance(level: _Level, cache: _EdgeCache, params: PushParams) -> _Level:
    """The level one hop on; sets what stays at `level`."""
    start, length = cache.rows(level.nodes)
    level.credit = np.where(length > 0, params.alpha, 1.0)
    index = ranges(start, length)
    parent = np.repeat(np.arange(len(level.nodes)), length)
    share = (1.0 - params.alpha) * cache.share[index]
    order = np.argsort(cache.target[index], kind="stable")
    index, parent, share = index[order], parent[order], share[order]
    nodes, first, inverse = np.unique(cache.target[index], return_index=True, return_inverse=True)
    mass = _sums(inverse, level.mass[parent] * share, len(nodes))
    moved = level.route[parent] * share
    route = np.maximum.reduceat(moved, first) if len(nodes) else np.empty(0)
    keep = mass >= params.threshold
    held = keep[inverse]
    counts = np.bincount(inverse, minlength=len(nodes))[keep]
    indptr = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    return _Level(
        nodes=nodes[keep],
        mass=mass[keep],
        route=route[keep],
        credit=np.ones(int(keep.sum())),
        indptr=indptr,
        parent=parent[held],
        moved=moved[held],
        edge=cache.edge[index[held]],
    )


def _sums(groups: NDArray[np.intp], values: Floats, count: int) -> Floats:
    return np.asarray(np.bincount(groups, weights=values, minlength=count), np.float64)


def _rank(adjacency: Adjacency, levels: list[_Level], limit: int) -> _Ranking:
    reached = np.concatenate([level.nodes for level in levels])
    credit = np.concatenate([level.mass * level.credit for level in levels])
    nodes, inverse = np.unique(reached, return_inverse=True)
    mass = _sums(inverse, credit, len(nodes))
    positive = mass > 0
    nodes, mass = nodes[positive], mass[positive]
    order = strongest(adjacency, nodes, mass, limit)
    return _Ranking(nodes[order], mass[order], levels)


def _fuse(
    paths: Sequence[MetaPath], rankings: list[_Ranking], fusion: Fusion
) -> tuple[dict[int, float], dict[int, list[PathScore]]]:
    fused: dict[int, float] = {}
    shares: dict[int, list[PathScore]] = {}
    total = sum(path.weight for path in paths)
    for path, ranking in zip(paths, rankings, strict=True):
        pairs = zip(ranking.nodes.tolist(), ranking.mass.tolist(), strict=True)
        for rank, (node, mass) in enumerate(pairs, 1):
            gain = path.weight / (RRF_K + rank) if fusion == "rrf" else path.weight * mass / total
            fused[node] = fused.get(node, 0.0) + gain
            shares.setdefault(node, []).append(PathScore(path.name, mass, rank))
    return fused, shares


def _witness(
    adjacency: Adjacency, paths: Sequence[MetaPath], rankings: list[_Ranking], node: int
) -> tuple[str, Path]:
    """The meta-path and route with the heaviest weighted credit; ties: first path, fewest hops."""
    best, found = -1.0, (0, 0, 0)
    for which, (path, ranking) in enumerate(zip(paths, rankings, strict=True)):
        for depth, level in enumerate(ranking.levels):
            at = int(np.searchsorted(level.nodes, node))
            if at < len(level.nodes) and level.nodes[at] == node:
                value = round(path.weight * float(level.route[at] * level.credit[at]), TIE_DIGITS)
                if value > best:
                    best, found = value, (which, depth, at)
    which, depth, at = found
    path = paths[which]
    return path.name, _trace(adjacency, path, rankings[which].levels[: depth + 1], at)


def _trace(adjacency: Adjacency, path: MetaPath, levels: list[_Level], at: int) -> Path:
    """The heaviest route to node `at` of the last level; ties by key of the parent."""
    steps: list[Step] = []
    for hop in range(len(levels) - 1, 0, -1):
        level, before = levels[hop], levels[hop - 1]
        moves = range(int(level.indptr[at]), int(level.indptr[at + 1]))

        def order(i: int, level: _Level = level, before: _Level = before) -> tuple[float, str, int]:
            parent = int(before.nodes[level.parent[i]])
            return (-round(level.moved[i], TIE_DIGITS), adjacency.key(parent), int(level.edge[i]))

        move = min(moves, key=order)
        source = int(before.nodes[level.parent[move]])
        edge_type = path.edge_types[hop - 1]
        steps.append(Step(source, int(level.nodes[at]), edge_type, int(level.edge[move])))
        at = int(level.parent[move])
    return tuple(reversed(steps))
