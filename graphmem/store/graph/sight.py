"""What one reader sees of the graph at one sequence, as arrays for a traversal adjacency.

Pure numpy over the builder's tables; rows are positions there, handles those of the result.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphmem.store.graph.columns import Ints, Mask, TableView
from graphmem.store.graph.schema import WALKED_TABLES
from graphmem.traversal import NO_EDGE
from graphmem.vocabulary import EdgeType

PASSAGE, STATEMENT, ENTITY, FACT = (
    WALKED_TABLES.index(name) for name in ("Passage", "Statement", "Entity", "Fact")
)
# Doublings of a pointer chase: enough for chains of any length, and an end for a cycle.
MAX_DOUBLINGS = 40

EdgeArrays = tuple[Any, Any, Any, Any]  # source, target, weight, edge handle


@dataclass(frozen=True, slots=True, eq=False)
class GraphView:
    """The builder's tables when they were pinned."""

    seq: int
    nodes: TableView
    edges: Mapping[str, TableView]
    passage_mentions: bool


class Witnesses:
    """Edge handles and the ids behind them: per label a block, in it the order of keys.

    Handles thus depend on what is stored, not on the order in which it came.
    """

    def __init__(self, edges: Mapping[str, TableView]) -> None:
        self._views = list(edges.values())
        self._order = [view.by_key() for view in self._views]
        lengths = [view.length for view in self._views]
        self._starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64).tolist()
        self._block = {label: index for index, label in enumerate(edges)}

    def handles(self, label: str) -> Ints:
        """The handle of each row of a label."""
        block = self._block[label]
        handles = np.empty(self._views[block].length, np.int64)
        order = self._order[block]
        handles[order] = np.arange(len(order)) + self._starts[block]
        return handles

    def key(self, handle: int) -> str | None:
        """The key behind a handle; None for NO_EDGE and unknown ones."""
        if not 0 <= handle < self._starts[-1]:
            return None
        block = bisect_right(self._starts, handle) - 1
        row = int(self._order[block][handle - self._starts[block]])
        return self._views[block].keys[row]


@dataclass(frozen=True, slots=True, eq=False)
class Seen:
    """A visible graph: node ids in order, their passages, edges by type, and their witnesses."""

    keys: list[str]
    passage_of: NDArray[np.int32]
    edges: dict[str, EdgeArrays]
    witnesses: Witnesses


@dataclass(frozen=True, slots=True, eq=False)
class _Edges:
    """Visible edges of one label by rows, with weights and witness handles."""

    source: Ints
    target: Ints
    weight: NDArray[np.float64]
    handle: Ints


class _Sight:
    """The nodes that are visible and the edges among rows."""

    def __init__(self, view: GraphView, hidden: frozenset[str]) -> None:
        self.view, self.hidden = view, hidden
        self.size = view.nodes.length
        self.kind = view.nodes.columns[0]
        self.alive = view.nodes.alive(view.seq)
        self.witnesses = Witnesses(view.edges)
        self.parent = self.pointers("CONTAINS")
        self.shown = self._shown()
        self.survivor = _chase(self.pointers("SAME_AS"), np.ones(self.size, np.bool_))
        kept = self.shown & self.shown[self.survivor]
        self.entity: Mask = kept & (self.kind == ENTITY)

    def pointers(self, label: str) -> Ints:
        """For labels with one edge per node: contained → container, else source → target.

        Where there is none: -1.
        """
        edges = self.view.edges[label]
        source, target = edges.columns[0], edges.columns[1]
        keep = edges.alive(self.view.seq) & self.alive[source] & self.alive[target]
        if label == "CONTAINS":
            source, target = target, source
        found = np.full(self.size, -1, np.int64)
        found[source[keep]] = target[keep]
        return found

    def _shown(self) -> Mask:
        shown = self.alive & ~self.view.nodes.named(self.hidden)
        passage, statement = self.kind == PASSAGE, self.kind == STATEMENT
        has_parent = self.parent >= 0
        shown[passage] &= (~has_parent | shown[self.parent])[passage]
        shown[statement] &= (has_parent & shown[self.parent])[statement]
        return shown

    def edges(self, label: str, ends: Mask | None = None) -> _Edges:
        """Edges that are not hidden, with visible witness passage and ends."""
        view = self.view.edges[label]
        source, target, weight, passage = view.columns
        ends = self.shown if ends is None else ends
        keep = view.alive(self.view.seq) & self.shown[source] & ends[target]
        keep &= (passage < 0) | self.shown[passage]
        if label not in ("CONTAINS", "SAME_AS", "SUBJECT", "OBJECT"):  # those reuse node ids
            keep &= ~view.named(self.hidden)
        handle = self.witnesses.handles(label)
        return _Edges(
            source[keep].astype(np.int64),
            target[keep].astype(np.int64),
            weight[keep].astype(np.float64),
            handle[keep],
        )


def _chase(pointer: Ints, follow: Mask) -> Ints:
    """The end of each row's chain of pointers, stepping on from rows in ``follow`` only.

    A row without a pointer is its own end.
    """
    own = np.arange(len(pointer))
    step = np.where(follow & (pointer >= 0), pointer, own)
    for _ in range(MAX_DOUBLINGS):
        further = step[step]
        if np.array_equal(further, step):
            break
        step = further
    return step


def see(view: GraphView, hidden: frozenset[str]) -> Seen:
    """The visible part of the graph; O(n log n) in nodes and edges."""
    sight = _Sight(view, hidden)
    mentions = sight.edges("MENTIONS", sight.entity)
    facts, with_fact = _facts(sight)
    by_rows = _text_edges(sight)
    by_rows |= _mention_edges(sight, mentions)
    by_rows |= _both(EdgeType.FACT, EdgeType.FACT, facts)
    for label, there, back in _LINKS:
        by_rows |= _both(there, back, sight.edges(label))
    node = sight.shown & ((sight.kind == PASSAGE) | (sight.kind == STATEMENT))
    node[sight.survivor[mentions.target]] = True
    node[with_fact] = True
    return _compact(sight, node, by_rows)


_LINKS = (
    ("CAUSES", EdgeType.CAUSES, EdgeType.CAUSED_BY),
    ("SAME_EVENT", EdgeType.SAME_EVENT, EdgeType.SAME_EVENT),
    ("SUPERSEDES", EdgeType.SUPERSEDES, EdgeType.SUPERSEDED_BY),
)


def _both(there: EdgeType, back: EdgeType, edges: _Edges) -> dict[EdgeType, _Edges]:
    """The edges under one name, and turned round under the other."""
    turned = _Edges(edges.target, edges.source, edges.weight, edges.handle)
    return {there: _joined(edges, turned)} if there == back else {there: edges, back: turned}


def _joined(one: _Edges, two: _Edges) -> _Edges:
    return _Edges(
        np.concatenate([one.source, two.source]),
        np.concatenate([one.target, two.target]),
        np.concatenate([one.weight, two.weight]),
        np.concatenate([one.handle, two.handle]),
    )


def _unwitnessed(source: Ints, target: Ints) -> _Edges:
    return _Edges(source, target, np.ones(len(source)), np.full(len(source), NO_EDGE))


def _text_edges(sight: _Sight) -> dict[EdgeType, _Edges]:
    """A passage contains statements; the next visible passage follows it over hidden ones."""
    statement = np.flatnonzero(sight.shown & (sight.kind == STATEMENT))
    contains = _unwitnessed(sight.parent[statement], statement)
    following = sight.pointers("NEXT")
    end = _chase(following, ~sight.shown)
    passage = np.flatnonzero(sight.shown & (following >= 0))
    target = end[following[passage]]
    keep = sight.shown[target] & (target != passage)
    after = _unwitnessed(passage[keep], target[keep])
    return _both(EdgeType.CONTAINS, EdgeType.PART_OF, contains) | _both(
        EdgeType.NEXT, EdgeType.PREVIOUS, after
    )


def _mention_edges(sight: _Sight, mentions: _Edges) -> dict[EdgeType, _Edges]:
    """Mentions with the damper 1 / log2(2 + n), n the entity's visible mentions."""
    entity = sight.survivor[mentions.target]
    counts = np.bincount(entity, minlength=sight.size)
    weight = 1.0 / np.log2(2.0 + counts[entity])
    edges = _Edges(mentions.source, entity, weight, mentions.handle)
    if sight.view.passage_mentions:
        inner = sight.kind[edges.source] == STATEMENT
        passage = sight.parent[edges.source[inner]]
        lifted = _Edges(passage, entity[inner], weight[inner], edges.handle[inner])
        edges = _joined(edges, lifted)
    return _both(EdgeType.MENTIONS, EdgeType.MENTIONED_IN, edges)


def _facts(sight: _Sight) -> tuple[_Edges, Ints]:
    """Entity to entity by each fact with visible support, and all entities of such facts.

    The handle is that of the strongest evidence, the least id among equals.
    """
    evidence = sight.edges("EVIDENCE")
    order = np.lexsort((evidence.handle, -evidence.weight, evidence.source))
    order = order[evidence.weight[order] > 0]
    fact, first = np.unique(evidence.source[order], return_index=True)
    best = order[first]
    subject, end = sight.pointers("SUBJECT")[fact], sight.pointers("OBJECT")[fact]
    sound = (subject >= 0) & sight.entity[subject] & ((end < 0) | sight.entity[end])
    subject, end, best = subject[sound], end[sound], best[sound]
    subject = sight.survivor[subject]
    joined = end >= 0
    target = sight.survivor[end[joined]]
    source, best = subject[joined], best[joined]
    apart = source != target
    edges = _Edges(
        source[apart], target[apart], evidence.weight[best][apart], evidence.handle[best][apart]
    )
    return edges, np.concatenate([subject, target])


def _compact(sight: _Sight, node: Mask, by_rows: Mapping[EdgeType, _Edges]) -> Seen:
    """Rows become handles: visible nodes only, in the order of their ids."""
    nodes = sight.view.nodes
    order = nodes.by_key()
    rows = order[node[order]]
    handle = np.full(sight.size + 1, -1, np.int32)  # the last entry answers for row -1
    handle[rows] = np.arange(len(rows))
    passage = np.where(sight.kind[rows] == PASSAGE, rows, sight.parent[rows])
    edges = {
        kind.value: (handle[part.source], handle[part.target], part.weight, part.handle)
        for kind, part in by_rows.items()
    }
    keys = [nodes.keys[row] for row in rows.tolist()]
    return Seen(keys, handle[passage], edges, sight.witnesses)
