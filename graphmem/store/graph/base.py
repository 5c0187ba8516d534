"""The graph store's protocol: rows in, rows out; operations and items are unknown to an engine.

Tables and columns are in ``schema.py``; ``changes.py`` turns journal rows into ``GraphChanges``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

# A column value: plain scalars only, times naive UTC, lists never.
Value = str | int | float | bool | datetime | None
Row = Mapping[str, Value]
# Runs inside the transaction of an ``apply``, after all its changes and before they are committed.
BeforeCommit = Callable[[], None]


def nothing() -> None:
    """What runs before a commit in normal operation."""


@dataclass(frozen=True, slots=True)
class EdgeRow:
    """One relation: its label, end tables and keys, its own key, its columns."""

    label: str
    source_table: str
    source: str
    target_table: str
    target: str
    key: str
    row: Row = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class GraphChanges:
    """What one commit changes; applied in the order gone edges, gone nodes, nodes, edges.

    ``nodes``: table → key → row. A row with ``seq`` is whole: the node is created, or the given
    columns of the existing one are set, keeping its edges and its other columns. A row without
    ``seq`` holds states only: it changes an existing node and never creates one. A node in both
    ``gone_nodes`` and ``nodes`` loses its edges and begins anew.
    ``edges`` are new ones (their keys are known not to exist, or stand in ``gone_edges``); an edge
    whose end does not exist is left out. An edge is removed by (label, source, key) whatever its
    target; a removed node takes its edges with it. What is to be removed may be missing.
    """

    nodes: Mapping[str, Mapping[str, Row]] = field(default_factory=dict)
    edges: tuple[EdgeRow, ...] = ()
    gone_edges: tuple[EdgeRow, ...] = ()
    gone_nodes: Mapping[str, frozenset[str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class EdgeColumns:
    """All edges of one label as aligned columns (ends as positions in ``AdjacencyRows.keys``).

    ``passage`` is the position of the witness passage, -1 where the label has none. ``weight`` is
    the confidence of links and supporting evidence, 0 for contradicting evidence, else 1.
    """

    source: NDArray[np.int32]
    target: NDArray[np.int32]
    key: tuple[str, ...]
    weight: NDArray[np.float32]
    passage: NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class AdjacencyRows:
    """Everything a traversal snapshot is built from: node keys with their tables, and edges.

    Nodes are those of ``schema.WALKED_TABLES``, edges those of ``schema.WALKED_LABELS``.
    """

    keys: tuple[str, ...]
    tables: tuple[str, ...]
    edges: Mapping[str, EdgeColumns]


class GraphStore(Protocol):
    """A disposable projection of the journal with its own ``applied_seq``."""

    @property
    def engine(self) -> str:
        """Name and version of the engine."""
        ...

    @property
    def applied_seq(self) -> int:
        """The last journal row whose effects are in the graph; 0 when empty."""
        ...

    def apply(self, changes: GraphChanges, seq: int, before_commit: BeforeCommit = nothing) -> None:
        """One transaction: all changes and ``applied_seq``, or nothing.

        What ``before_commit`` raises ends the transaction: nothing is changed.
        """
        ...

    def load(self, changes: GraphChanges, seq: int) -> None:
        """Fills an empty graph in bulk; the same result as ``apply``."""
        ...

    def adjacency(self) -> AdjacencyRows:
        """All nodes and edges that traversal walks."""
        ...

    def facts_about(self, entity_ids: list[str], max_seq: int) -> list[str]:
        """Ids of facts with one of the entities at either end, sorted."""
        ...

    def evidence_of(self, fact_ids: list[str], max_seq: int) -> dict[str, list[str]]:
        """Evidence ids of each fact, sorted."""
        ...

    def links_of(self, statement_ids: list[str], labels: list[str], max_seq: int) -> list[str]:
        """Keys of relations among statements with either end among the ids, sorted."""
        ...

    def tables(self) -> tuple[str, ...]:
        """Node tables and relation labels in dump order."""
        ...

    def rows(self, table: str) -> Iterator[Row]:
        """All rows of a table (relations with ``_source`` and ``_target``), sorted by key.

        Every column is present; ``applied_seq`` and the schema version are no rows.
        """
        ...

    def counts(self) -> dict[str, int]:
        """Rows per table."""
        ...

    def log_bytes(self) -> int:
        """Size of the log that opening replays; grows until a fresh file is built."""
        ...

    def close(self) -> None:
        """Releases the files; further calls raise VaultError. A second close does nothing."""
        ...
