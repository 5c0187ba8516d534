"""The traversal snapshot: an immutable adjacency of what one reader may see at one sequence.

``SnapshotBuilder`` follows the commits; a ``PinnedGraph`` is the graph at one sequence and makes
a ``GraphSnapshot`` per set of hidden ids when one is asked for.
"""

from __future__ import annotations

import threading
from collections import OrderedDict

import numpy as np
from numpy.typing import NDArray

from graphmem.store.graph.base import AdjacencyRows, EdgeRow, GraphChanges
from graphmem.store.graph.columns import Table
from graphmem.store.graph.normal import is_whole
from graphmem.store.graph.schema import WALKED_LABELS, WALKED_TABLES, edge_weight
from graphmem.store.graph.sight import GraphView, Seen, see
from graphmem.traversal import CsrAdjacency, Hop

# Snapshots kept per sequence: one per scope in use; a snapshot of 500,000 edges takes some 40 MB.
KEPT_SNAPSHOTS = 4


class GraphSnapshot:
    """A ``GraphAdjacency``: visible passages, statements and entities as handles in id order.

    A hidden item is absent from nodes, edges and weights. Merged entities are no nodes; their
    edges are the survivor's.
    """

    def __init__(self, seq: int, seen: Seen) -> None:
        self.seq = seq
        self._adjacency = CsrAdjacency.from_edges(seen.keys, seen.edges)
        self._handles = {key: handle for handle, key in enumerate(seen.keys)}
        self._passage_of = seen.passage_of
        self._witnesses = seen.witnesses

    @property
    def node_count(self) -> int:
        """The number of visible nodes."""
        return self._adjacency.node_count

    @property
    def edge_types(self) -> tuple[str, ...]:
        """The names of the edge types, sorted."""
        return self._adjacency.edge_types

    def edge_count(self, edge_type: str) -> int:
        """The number of edges of a type."""
        return self._adjacency.edge_count(edge_type)

    def expand(self, nodes: NDArray[np.int32], edge_type: str) -> Hop:
        """Every edge of a type leaving the nodes."""
        return self._adjacency.expand(nodes, edge_type)

    def expand_heaviest(self, nodes: NDArray[np.int32], edge_type: str, limit: int) -> Hop:
        """The heaviest distinct neighbours of each node."""
        return self._adjacency.expand_heaviest(nodes, edge_type, limit)

    def key(self, node: int) -> str:
        """The id of a node."""
        return self._adjacency.key(node)

    def handle(self, item_id: str) -> int | None:
        """The node of a visible id; None for hidden, merged and unknown ones."""
        return self._handles.get(item_id)

    def passage_of(self, nodes: NDArray[np.int32]) -> NDArray[np.int32]:
        """For each node its passage's handle (itself for passages), -1 for entities."""
        return self._passage_of[nodes]

    def witness(self, edge: int) -> str | None:
        """The id of the mention, evidence or link behind an edge; None for the text's own order."""
        return self._witnesses.key(edge)

    def __repr__(self) -> str:
        return f"GraphSnapshot(seq={self.seq}, {self._adjacency!r})"


class PinnedGraph:
    """The graph at one sequence; safe in any thread, unchanged by later commits."""

    def __init__(self, seq: int, view: GraphView) -> None:
        self.seq = seq
        self._view = view
        self._lock = threading.Lock()
        self._made: OrderedDict[frozenset[str], GraphSnapshot] = OrderedDict()

    def snapshot(self, hidden: frozenset[str] = frozenset()) -> GraphSnapshot:
        """The adjacency without the hidden ids (of any kind) and what hangs on them.

        A hidden source hides its passages; a passage its statements and mentions, and links and
        evidence it is the witness of. Made once per set and kept, O(n log n).
        """
        with self._lock:
            made = self._made.get(hidden)
            if made is None:
                made = self._made[hidden] = GraphSnapshot(self.seq, see(self._view, hidden))
                if len(self._made) > KEPT_SNAPSHOTS:
                    self._made.popitem(last=False)
            else:
                self._made.move_to_end(hidden)
            return made


class SnapshotBuilder:
    """Follows the graph commit by commit in one thread; ``pin`` may be called from any.

    ``passage_mentions`` also joins a passage itself to the entities its statements mention.
    """

    def __init__(self, rows: AdjacencyRows, seq: int, *, passage_mentions: bool = True) -> None:
        self._passage_mentions = passage_mentions
        self._nodes = Table(np.int8)
        self._edges = {
            label: Table(np.int32, np.int32, np.float32, np.int32) for label in WALKED_LABELS
        }
        self._lock = threading.Lock()
        self._fill(rows, seq)
        self._pinned = self._pin(seq)

    def _fill(self, rows: AdjacencyRows, seq: int) -> None:
        kinds = (WALKED_TABLES.index(table) for table in rows.tables)
        self._nodes.append({key: (kind,) for key, kind in zip(rows.keys, kinds, strict=True)}, seq)
        for label, edges in rows.edges.items():
            columns = (edges.source, edges.target, edges.weight, edges.passage)
            cells = zip(*(column.tolist() for column in columns), strict=True)
            self._edges[label].append(dict(zip(edges.key, cells, strict=True)), seq)

    @property
    def seq(self) -> int:
        """The sequence of the last commit taken in."""
        return self._pinned.seq

    def advance(self, changes: GraphChanges, seq: int) -> None:
        """Takes in one commit; what was pinned before stays as it was. O(changes)."""
        with self._lock:
            for edge in changes.gone_edges:
                self._end_edge(edge, seq)
            for table in WALKED_TABLES:
                for key in changes.gone_nodes.get(table, ()):
                    self._nodes.end(key, seq)
            self._add_nodes(changes, seq)
            self._add_edges(changes, seq)
            self._pinned = self._pin(seq)

    def _end_edge(self, edge: EdgeRow, seq: int) -> None:
        table = self._edges.get(edge.label)
        row = None if table is None else table.row(edge.key)
        if table is not None and row is not None:
            source = self._nodes.key(table.value(0, row))
            if source == edge.source:
                table.end(edge.key, seq)

    def _add_nodes(self, changes: GraphChanges, seq: int) -> None:
        for kind, table in enumerate(WALKED_TABLES):
            rows = changes.nodes.get(table, {})
            new = (key for key, row in rows.items() if is_whole(row))
            begun = {key: (kind,) for key in new if self._nodes.row(key) is None}
            self._nodes.append(begun, seq)

    def _add_edges(self, changes: GraphChanges, seq: int) -> None:
        added: dict[str, dict[str, tuple[float, ...]]] = {}
        for edge in changes.edges:
            source, target = self._nodes.row(edge.source), self._nodes.row(edge.target)
            if edge.label not in self._edges or source is None or target is None:
                continue
            witness = self._nodes.row(str(edge.row.get("passage_id")))
            passage = -1 if witness is None else witness
            cells = (source, target, edge_weight(edge.row), passage)
            added.setdefault(edge.label, {})[edge.key] = cells
        for label, edges in added.items():
            self._edges[label].append(edges, seq)

    def _pin(self, seq: int) -> PinnedGraph:
        edges = {label: table.view() for label, table in self._edges.items()}
        return PinnedGraph(seq, GraphView(seq, self._nodes.view(), edges, self._passage_mentions))

    def pin(self) -> PinnedGraph:
        """The graph as it is now; O(1), and the same object until the next commit."""
        return self._pinned

    def snapshot(self, hidden: frozenset[str] = frozenset()) -> GraphSnapshot:
        """The snapshot of the newest sequence; see ``PinnedGraph.snapshot``."""
        return self.pin().snapshot(hidden)
