"""The graph in dictionaries: for tests and ephemeral vaults, and the meaning of the contract."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator

import numpy as np

from graphmem.errors import InvalidInputError, VaultError
from graphmem.store.graph.base import (
    AdjacencyRows,
    BeforeCommit,
    EdgeColumns,
    EdgeRow,
    GraphChanges,
    Row,
    Value,
    nothing,
)
from graphmem.store.graph.normal import full_row, is_whole, normalise
from graphmem.store.graph.schema import (
    DUMP_ORDER,
    NODE_TABLES,
    REL_TABLES,
    WALKED_LABELS,
    WALKED_TABLES,
    edge_weight,
)

NodeKey = tuple[str, str]
EdgeKey = tuple[str, str]


class MemoryGraph:
    """A ``GraphStore`` without files; nothing outlives the process."""

    def __init__(self) -> None:
        self._nodes: dict[str, dict[str, dict[str, Value]]] = {name: {} for name in NODE_TABLES}
        self._edges: dict[str, dict[str, EdgeRow]] = {name: {} for name in REL_TABLES}
        self._incident: dict[NodeKey, set[EdgeKey]] = {}
        self._applied_seq = 0
        self._closed = False
        self._lock = threading.RLock()

    @property
    def engine(self) -> str:
        """``memory``."""
        return "memory"

    @property
    def applied_seq(self) -> int:
        """The last journal row whose effects are in the graph."""
        return self._applied_seq

    def apply(self, changes: GraphChanges, seq: int, before_commit: BeforeCommit = nothing) -> None:
        """Takes the changes in and sets ``applied_seq``; raises InvalidInputError untouched."""
        self._check_open()
        clean = normalise(changes)
        with self._lock:
            before_commit()
            self._take(clean)
            self._applied_seq = seq

    def _take(self, clean: GraphChanges) -> None:
        for edge in clean.gone_edges:
            self._remove_edge((edge.label, edge.key), edge.source)
        for table, keys in clean.gone_nodes.items():
            for key in keys:
                self._remove_node((table, key))
        for table, rows in clean.nodes.items():
            for key, row in rows.items():
                self._put_node(table, key, row)
        for edge in clean.edges:
            self._add_edge(edge)

    def load(self, changes: GraphChanges, seq: int) -> None:
        """As ``apply`` into an empty graph; raises InvalidInputError when it is not empty."""
        self._check_open()
        if any(self.counts().values()):
            raise InvalidInputError("bulk loading needs an empty graph; open a fresh one")
        self.apply(changes, seq)

    def _check_open(self) -> None:
        if self._closed:
            raise VaultError("the graph is closed; open the vault again")

    def _put_node(self, table: str, key: str, row: Row) -> None:
        stored = self._nodes[table].get(key)
        if stored is not None:
            stored.update(row)
        elif is_whole(row):
            self._nodes[table][key] = full_row(NODE_TABLES[table], row)

    def _remove_node(self, node: NodeKey) -> None:
        self._nodes[node[0]].pop(node[1], None)
        for edge_key in tuple(self._incident.pop(node, ())):
            self._remove_edge(edge_key, None)

    def _add_edge(self, edge: EdgeRow) -> None:
        if edge.source not in self._nodes[edge.source_table]:
            return
        if edge.target not in self._nodes[edge.target_table]:
            return
        self._edges[edge.label][edge.key] = edge
        for end in _ends(edge):
            self._incident.setdefault(end, set()).add((edge.label, edge.key))

    def _remove_edge(self, edge_key: EdgeKey, source: str | None) -> None:
        label, key = edge_key
        stored = self._edges[label].get(key)
        if stored is None or source not in (None, stored.source):
            return
        del self._edges[label][key]
        for end in _ends(stored):
            self._incident.get(end, set()).discard(edge_key)

    def adjacency(self) -> AdjacencyRows:
        """All nodes and edges that traversal walks, in key order."""
        self._check_open()
        with self._lock:
            return self._adjacency()

    def _adjacency(self) -> AdjacencyRows:
        nodes = [(table, key) for table in WALKED_TABLES for key in sorted(self._nodes[table])]
        position = {node: index for index, node in enumerate(nodes)}
        edges = {label: self._columns(label, position) for label in WALKED_LABELS}
        return AdjacencyRows(
            keys=tuple(key for _, key in nodes),
            tables=tuple(table for table, _ in nodes),
            edges=edges,
        )

    def _columns(self, label: str, position: dict[NodeKey, int]) -> EdgeColumns:
        edges = [self._edges[label][key] for key in sorted(self._edges[label])]
        witness = [("Passage", str(edge.row.get("passage_id"))) for edge in edges]
        return EdgeColumns(
            source=_int32(position[_ends(edge)[0]] for edge in edges),
            target=_int32(position[_ends(edge)[1]] for edge in edges),
            key=tuple(edge.key for edge in edges),
            weight=np.array([edge_weight(edge.row) for edge in edges], np.float32),
            passage=_int32(position.get(passage, -1) for passage in witness),
        )

    def facts_about(self, entity_ids: list[str], max_seq: int) -> list[str]:
        """Ids of facts with one of the entities at either end, sorted."""
        with self._lock:
            edges = self._around("Entity", entity_ids, ("SUBJECT", "OBJECT"))
            facts = self._nodes["Fact"]
            return sorted({edge.source for edge in edges if _seq(facts[edge.source]) <= max_seq})

    def evidence_of(self, fact_ids: list[str], max_seq: int) -> dict[str, list[str]]:
        """Evidence ids of each fact that has any, sorted."""
        found: dict[str, list[str]] = {}
        for edge in self._around("Fact", fact_ids, ("EVIDENCE",)):
            if _seq(edge.row) <= max_seq:
                found.setdefault(edge.source, []).append(edge.key)
        return {fact: sorted(found[fact]) for fact in sorted(found)}

    def links_of(self, statement_ids: list[str], labels: list[str], max_seq: int) -> list[str]:
        """Keys of relations among statements with either end among the ids, sorted."""
        edges = self._around("Statement", statement_ids, _known(labels))
        return sorted({edge.key for edge in edges if _seq(edge.row) <= max_seq})

    def _around(self, table: str, keys: Iterable[str], labels: tuple[str, ...]) -> list[EdgeRow]:
        self._check_open()
        with self._lock:
            return [
                self._edges[label][edge]
                for key in set(keys)
                for label, edge in self._incident.get((table, key), ())
                if label in labels
            ]

    def tables(self) -> tuple[str, ...]:
        """Node tables and relation labels in dump order."""
        return DUMP_ORDER

    def rows(self, table: str) -> Iterator[Row]:
        """All rows of a table with every column, sorted by key."""
        self._check_open()
        with self._lock:
            found = self._nodes_of(table) if table in self._nodes else self._edges_of(table)
        yield from found

    def _nodes_of(self, table: str) -> list[Row]:
        return [dict(self._nodes[table][key]) for key in sorted(self._nodes[table])]

    def _edges_of(self, label: str) -> list[Row]:
        edges = (self._edges[label][key] for key in sorted(self._edges[label]))
        return [
            {
                **full_row(REL_TABLES[label], edge.row),
                "_source": edge.source,
                "_target": edge.target,
            }
            for edge in edges
        ]

    def counts(self) -> dict[str, int]:
        """Rows per table."""
        self._check_open()
        with self._lock:
            sizes = {name: len(rows) for name, rows in self._nodes.items()}
            return {**sizes, **{name: len(rows) for name, rows in self._edges.items()}}

    def log_bytes(self) -> int:
        """0: nothing is logged."""
        return 0

    def close(self) -> None:
        """Forgets the graph; further calls raise VaultError."""
        self._closed = True


def _ends(edge: EdgeRow) -> tuple[NodeKey, NodeKey]:
    return (edge.source_table, edge.source), (edge.target_table, edge.target)


def _seq(row: Row) -> int:
    seq = row.get("seq")
    return seq if isinstance(seq, int) else 0


def _int32(values: Iterable[int]) -> np.ndarray[tuple[int], np.dtype[np.int32]]:
    return np.fromiter(values, np.int32)


def _known(labels: Iterable[str]) -> tuple[str, ...]:
    for label in labels:
        if label not in REL_TABLES:
            raise InvalidInputError(f"the graph has no relation {label!r}")
    return tuple(labels)
