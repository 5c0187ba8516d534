"""The adjacency protocol that every traversal runs over, and its in-memory CSR implementation.

Edge types are opaque strings: this package knows them only as keys of tables passed in.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import NDArray

Nodes: TypeAlias = NDArray[np.int32]
EdgeHandles: TypeAlias = NDArray[np.int64]
Weights: TypeAlias = NDArray[np.float32]
Mask: TypeAlias = NDArray[np.bool_]
EdgeArrays: TypeAlias = tuple[Nodes, Nodes, Weights, EdgeHandles]
EdgeFilter: TypeAlias = Callable[[str, EdgeHandles], Mask]

NO_EDGE = -1  # edge handle of an edge that no witness stands behind


@dataclass(frozen=True, slots=True, eq=False)
class Hop:
    """The edges leaving some nodes: aligned arrays, one entry per edge."""

    origin: Nodes
    """Position in the `nodes` argument of `expand`."""
    target: Nodes
    """Node handle the edge leads to."""
    weight: Weights
    """Greater than 0."""
    edge: EdgeHandles
    """Opaque handle that the caller resolves to a witness; -1 when there is none."""

    def __len__(self) -> int:
        return len(self.target)

    def take(self, index: NDArray[np.intp] | Mask) -> "Hop":
        """The entries at `index` (positions or a mask), in that order."""
        return Hop(self.origin[index], self.target[index], self.weight[index], self.edge[index])


class Adjacency(Protocol):
    """A typed, weighted, directed graph whose nodes are handles 0 .. node_count - 1.

    `expand` returns entries grouped by ascending origin and, within one origin, by descending
    weight, then ascending key of the target, then ascending edge handle: traversals cut rows by
    position. `order_hop` brings a hop into this order. An unknown type gives an empty hop.
    """

    @property
    def node_count(self) -> int: ...

    @property
    def edge_types(self) -> tuple[str, ...]: ...

    def expand(self, nodes: Nodes, edge_type: str) -> Hop: ...

    def key(self, node: int) -> str: ...


@runtime_checkable
class CapsRows(Protocol):
    """Optional: an adjacency that can cut rows without reading them whole."""

    def expand_heaviest(self, nodes: Nodes, edge_type: str, limit: int) -> Hop: ...


@runtime_checkable
class HidesNodes(Protocol):
    """Optional: an adjacency some of whose handles are hidden, so that seeds can be checked."""

    def is_visible(self, nodes: Nodes) -> Mask: ...


def empty_hop() -> Hop:
    """A hop over no edges.

    >>> len(empty_hop())
    0
    """
    return Hop(
        np.empty(0, np.int32), np.empty(0, np.int32), np.empty(0, np.float32), np.empty(0, np.int64)
    )


def order_hop(hop: Hop, key: Callable[[int], str]) -> Hop:
    """`hop` in the order that `Adjacency.expand` promises; O(n log n)."""
    targets = [key(int(node)) for node in hop.target]
    order = sorted(
        range(len(hop)),
        key=lambda i: (hop.origin[i], -hop.weight[i], targets[i], hop.edge[i]),
    )
    return hop.take(np.asarray(order, np.intp))


def visible(adjacency: Adjacency, nodes: Nodes) -> Mask:
    """Which of `nodes` may be seen; all of them when the adjacency hides none."""
    if isinstance(adjacency, HidesNodes):
        return adjacency.is_visible(nodes)
    return np.ones(len(nodes), np.bool_)


def expand_heaviest(adjacency: Adjacency, nodes: Nodes, edge_type: str, limit: int) -> Hop:
    """The `limit` heaviest distinct neighbours of each node, in row order.

    Of parallel edges only the heaviest counts (ties: lowest handle). O(nodes * limit) when the
    adjacency caps rows itself, else O(e log e) in the edges read.
    """
    if isinstance(adjacency, CapsRows):
        return adjacency.expand_heaviest(nodes, edge_type, limit)
    hop = adjacency.expand(nodes, edge_type)
    hop = hop.take(_first_of_pair(hop.origin, hop.target, adjacency.node_count))
    starts = np.searchsorted(hop.origin, hop.origin)
    return hop.take(np.arange(len(hop)) - starts < limit)


def _first_of_pair(source: Nodes, target: Nodes, node_count: int) -> NDArray[np.intp]:
    """Positions of the first entry of each (source, target), ascending."""
    pair = source.astype(np.int64) * max(node_count, 1) + target
    return np.sort(np.unique(pair, return_index=True)[1])


def ranges(start: NDArray[np.int64], length: NDArray[np.int64]) -> NDArray[np.int64]:
    """The concatenation of `start[i] .. start[i] + length[i] - 1`.

    >>> ranges(np.array([5, 0]), np.array([2, 3])).tolist()
    [5, 6, 0, 1, 2]
    """
    shift = np.repeat(start - (np.cumsum(length) - length), length)
    return shift + np.arange(int(length.sum()), dtype=np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class _Rows:
    """The edges of one type in compressed sparse rows."""

    indptr: NDArray[np.int64]
    target: Nodes
    weight: Weights
    edge: EdgeHandles

    @classmethod
    def build(cls, node_count: int, source: Nodes, edges: EdgeArrays) -> "_Rows":
        indptr = np.zeros(node_count + 1, np.int64)
        np.cumsum(np.bincount(source, minlength=node_count), out=indptr[1:])
        rows = cls(indptr, *edges[1:])
        for array in (rows.indptr, rows.target, rows.weight, rows.edge):
            array.setflags(write=False)
        return rows

    def sources(self) -> Nodes:
        return np.repeat(np.arange(len(self.indptr) - 1, dtype=np.int32), np.diff(self.indptr))

    def subset(self, index: NDArray[np.intp] | Mask) -> "_Rows":
        source = self.sources()[index]
        edges = (source, self.target[index], self.weight[index], self.edge[index])
        return _Rows.build(len(self.indptr) - 1, source, edges)

    def distinct(self) -> "_Rows":
        """Only the first (heaviest) edge of each pair; itself when no edges are parallel."""
        first = _first_of_pair(self.sources(), self.target, len(self.indptr) - 1)
        return self if len(first) == len(self.target) else self.subset(first)

    def read(self, nodes: Nodes, limit: int | None) -> Hop:
        start = self.indptr[nodes]
        length = self.indptr[nodes.astype(np.int64) + 1] - start
        if limit is not None:
            length = np.minimum(length, limit)
        index = ranges(start, length)
        origin = np.repeat(np.arange(len(nodes), dtype=np.int32), length)
        return Hop(origin, self.target[index], self.weight[index], self.edge[index])


class CsrAdjacency:
    """An immutable in-memory graph: one compressed sparse row table per edge type.

    Rows are sorted by (descending weight, key, edge handle), so that a cut is repeatable.
    Hidden nodes keep their handle and nothing else: no edge leads to or from them.

    >>> graph = CsrAdjacency.from_edges(
    ...     ["a", "b", "c"], {"likes": ([0, 0], [1, 2], [0.5, 1.0], [10, 11])})
    >>> graph.expand(np.array([0], np.int32), "likes").target.tolist()
    [2, 1]
    """

    __slots__ = ("_distinct", "_keys", "_rows", "_visible")

    def __init__(
        self,
        keys: tuple[str, ...],
        rows: Mapping[str, _Rows],
        distinct: Mapping[str, _Rows],
        shown: Mask,
    ) -> None:
        self._keys, self._rows, self._distinct, self._visible = keys, rows, distinct, shown

    @classmethod
    def from_edges(
        cls,
        keys: Sequence[str],
        edges: Mapping[str, tuple[object, object, object, object]],
        visible: Mask | None = None,
    ) -> "CsrAdjacency":
        """The graph of `edges`: per type aligned (source, target, weight, edge) array-likes.

        `keys[handle]` is the stable unique id of a node; `visible[handle]` False removes it, with
        its edges, before anything else. Edges of weight 0 are dropped. O(e log e).

        Raises ValueError for unaligned arrays, unknown handles, repeated keys, and weights of
        visible edges that are negative or not finite.
        """
        names = tuple(keys)
        if len(set(names)) != len(names):
            raise ValueError("node keys must be unique")
        shown = _shown(len(names), visible)
        rank = np.empty(len(names), np.int64)
        rank[sorted(range(len(names)), key=names.__getitem__)] = np.arange(len(names))
        rows = {
            name: _sorted_rows(_aligned(name, edges[name], len(names)), name, rank, shown)
            for name in sorted(edges)
        }
        return cls(names, rows, {name: row.distinct() for name, row in rows.items()}, shown)

    def restricted(
        self, visible: Mask | None = None, keep_edge: EdgeFilter | None = None
    ) -> "CsrAdjacency":
        """This graph without hidden nodes and refused edges, as if they had never been there.

        `keep_edge(edge_type, edge_handles)` returns which edges stay. O(e), without sorting.
        """
        shown = self._visible & _shown(len(self._keys), visible)
        rows: dict[str, _Rows] = {}
        distinct: dict[str, _Rows] = {}
        for name, row in self._rows.items():
            keep = shown[row.sources()] & shown[row.target]
            if keep_edge is not None:
                keep &= keep_edge(name, row.edge)
            rows[name] = row if keep.all() else row.subset(keep)
            had_parallel = self._distinct[name] is not row
            distinct[name] = rows[name].distinct() if had_parallel else rows[name]
        return CsrAdjacency(self._keys, rows, distinct, shown)

    @property
    def node_count(self) -> int:
        """The number of handles, hidden ones included: a size for arrays, not a statistic."""
        return len(self._keys)

    @property
    def edge_types(self) -> tuple[str, ...]:
        """The edge types given, sorted."""
        return tuple(self._rows)

    def edge_count(self, edge_type: str) -> int:
        """The number of visible edges of this type; 0 for an unknown one."""
        rows = self._rows.get(edge_type)
        return 0 if rows is None else len(rows.target)

    def key(self, node: int) -> str:
        """The stable id of a node."""
        return self._keys[node]

    def is_visible(self, nodes: Nodes) -> Mask:
        """Which of `nodes` are not hidden."""
        return self._visible[nodes]

    def expand(self, nodes: Nodes, edge_type: str) -> Hop:
        """Every edge of this type leaving `nodes`; O(edges returned)."""
        rows = self._rows.get(edge_type)
        return empty_hop() if rows is None else rows.read(np.asarray(nodes, np.int32), None)

    def expand_heaviest(self, nodes: Nodes, edge_type: str, limit: int) -> Hop:
        """The `limit` heaviest distinct neighbours of each node; O(nodes * limit)."""
        rows = self._distinct.get(edge_type)
        return empty_hop() if rows is None else rows.read(np.asarray(nodes, np.int32), limit)

    def __repr__(self) -> str:
        sizes = ", ".join(f"{name}={len(row.target)}" for name, row in self._rows.items())
        return f"CsrAdjacency({int(self._visible.sum())} nodes; {sizes})"


def _shown(node_count: int, mask: Mask | None) -> Mask:
    shown = np.ones(node_count, np.bool_) if mask is None else np.array(mask, np.bool_)
    if shown.shape != (node_count,):
        raise ValueError(f"visible has {shown.shape} entries for {node_count} nodes")
    shown.setflags(write=False)
    return shown


def _aligned(
    name: str, arrays: tuple[object, object, object, object], node_count: int
) -> EdgeArrays:
    source, target, edge = (np.asarray(arrays[i], np.int64).ravel() for i in (0, 1, 3))
    with np.errstate(over="ignore"):
        weight = np.asarray(arrays[2], np.float32).ravel()
    if not len(source) == len(target) == len(weight) == len(edge):
        raise ValueError(f"arrays of edge type {name!r} differ in length")
    ends = np.concatenate([source, target])
    if len(ends) and (ends.min() < 0 or ends.max() >= node_count):
        raise ValueError(f"edge type {name!r} names a node outside 0..{node_count - 1}")
    return source.astype(np.int32), target.astype(np.int32), weight, edge


def _sorted_rows(edges: EdgeArrays, name: str, rank: NDArray[np.int64], shown: Mask) -> _Rows:
    source, target, weight, edge = edges
    keep = shown[source] & shown[target]
    if not np.isfinite(weight[keep]).all() or (weight[keep] < 0).any():
        raise ValueError(f"weights of edge type {name!r} must be finite and not negative")
    kept = np.flatnonzero(keep & (weight > 0))
    order = kept[np.lexsort((edge[kept], rank[target[kept]], -weight[kept], source[kept]))]
    ordered = (source[order], target[order], weight[order], edge[order])
    return _Rows.build(len(rank), ordered[0], ordered)
