"""The graph in a file of Kuzu or ladybug: one writer behind a lock, a connection per reader."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from itertools import groupby
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa

from graphmem.errors import (
    GraphmemError,
    InvalidInputError,
    ProjectionDamagedError,
    VaultError,
)
from graphmem.store.graph import cypher
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
from graphmem.store.graph.connections import CLOSED, Counted, Readers, fetch
from graphmem.store.graph.engines import Engine
from graphmem.store.graph.files import (
    FRESH_SUFFIX,
    close_database,
    log_bytes,
    move_into_place,
    open_database,
    remove_files,
)
from graphmem.store.graph.normal import full_row, is_whole, normalise
from graphmem.store.graph.schema import (
    COLUMN_TYPES,
    DUMP_ORDER,
    NODE_TABLES,
    REL_TABLES,
    SCHEMA_VERSION,
    WALKED_LABELS,
    WALKED_TABLES,
    Column,
    edge_weight,
)
from graphmem.store.trouble import told

# Rows per statement: the parameter list is converted in memory (5,000 passages are some 10 MB).
ROWS_PER_STATEMENT = 5_000
# Ids per read: an UNWIND of 2,000 look-ups takes about 40 ms.
IDS_PER_READ = 2_000

T = TypeVar("T")

_APPLIED = "applied_seq"
_VERSION = "schema_version"
_ENGINE_ROWS = frozenset({_APPLIED, _VERSION})
_ARROW = {
    "STRING": pa.string(),
    "INT64": pa.int64(),
    "DOUBLE": pa.float64(),
    "BOOL": pa.bool_(),
    "TIMESTAMP": pa.timestamp("us"),
}


class CypherGraph:
    """A ``GraphStore`` in one file of an engine that is never checkpointed while it lives.

    Opening makes the tables in a new file. Raises VaultLockedError when the path is open
    elsewhere, ProjectionDamagedError for a file that must be built anew, MissingExtraError when
    the engine is not installed.
    """

    def __init__(self, path: Path, engine: Engine) -> None:
        self._path, self._engine = path, engine
        self._module = engine.module()
        self._database = open_database(path, engine)
        self._lock = threading.RLock()
        self._readers = Readers(self._connect)
        self._closed = False
        self._writer: Any = None
        try:
            self._writer = Counted(self._connect())
            self._writer.execute("CALL force_checkpoint_on_close=false")
            self._prepare_tables()
            self._applied_seq = self._read_applied_seq()
        except BaseException as error:
            self.close()
            if isinstance(error, GraphmemError) or not isinstance(error, Exception):
                raise
            raise ProjectionDamagedError(f"{path} cannot be read: rebuild the graph") from error

    @classmethod
    def build(cls, path: Path, engine: Engine, changes: GraphChanges, seq: int) -> None:
        """Loads a fresh file beside ``path`` and puts it there; ``path`` must not be open.

        A crash leaves the old file, none, or the new one; the next open replays what is missing.
        """
        fresh = path.with_name(f"{path.name}{FRESH_SUFFIX}")
        remove_files(fresh)
        try:
            with closing(cls(fresh, engine)) as graph:
                graph.load(changes, seq)
                graph.checkpoint()
        except Exception as error:
            remove_files(fresh)  # a full disk gets back what the attempt took
            raise told(f"{path} cannot be built", error) from error
        move_into_place(fresh, path)

    def checkpoint(self) -> None:
        """Folds the log into the file; only for a file that no one relies on yet."""
        self._check_open()
        with self._lock:
            self._writer.execute("CHECKPOINT")

    def _connect(self) -> Any:
        return self._module.Connection(self._database)

    def _renew_writer(self) -> None:
        fresh = Counted(self._connect())
        self._writer.close()
        self._writer = fresh

    def _check_open(self) -> None:
        if self._closed:
            raise VaultError(CLOSED)

    def _prepare_tables(self) -> None:
        """Makes the tables of an empty file; raises for a file of another schema version."""
        names = {row[0] for row in fetch(self._writer, "CALL show_tables() RETURN name", {})}
        if not names:
            with self._lock:
                self._transaction(self._create_tables, committed=lambda: False)
            return
        found = fetch(self._writer, "MATCH (m:Meta {id: $id}) RETURN m.value", {"id": _VERSION})
        if not found or found[0][0] != str(SCHEMA_VERSION):
            raise ProjectionDamagedError(f"{self._path} has another schema: rebuild the graph")

    def _create_tables(self) -> None:
        for statement in cypher.create_tables():
            self._writer.execute(statement)
        self._put_nodes("Meta", {_VERSION: {"value": str(SCHEMA_VERSION), "seq": 0}})
        self._put_nodes("Meta", {_APPLIED: {"value": "0", "seq": 0}})

    def _read_applied_seq(self) -> int:
        found = fetch(self._writer, "MATCH (m:Meta {id: $id}) RETURN m.value", {"id": _APPLIED})
        return int(found[0][0])

    @property
    def engine(self) -> str:
        """The engine's name and version."""
        return f"{self._engine.name} {self._module.__version__}"

    @property
    def applied_seq(self) -> int:
        """The last journal row whose effects are in the graph."""
        return self._applied_seq

    def apply(self, changes: GraphChanges, seq: int, before_commit: BeforeCommit = nothing) -> None:
        """One transaction with all changes and ``applied_seq``; a failure leaves all as it was.

        Raises InvalidInputError for changes outside the schema, VaultError for a statement that
        failed, ProjectionDamagedError when the file cannot be read afterwards.
        """
        self._check_open()
        clean = normalise(changes)
        with self._lock:
            if self._writer.is_worn:
                self._renew_writer()
            self._commit(lambda: self._write(clean), seq, before_commit)

    def load(self, changes: GraphChanges, seq: int) -> None:
        """Fills an empty graph by COPY, about 100,000 edges in 0.3 s; otherwise as ``apply``.

        The commit checkpoints, so this belongs into a fresh file that no one relies on.
        Raises InvalidInputError when the graph is not empty.
        """
        self._check_open()
        clean = normalise(changes)
        with self._lock:
            if any(self.counts().values()):
                raise InvalidInputError("bulk loading needs an empty graph; open a fresh one")
            self._commit(lambda: self._copy(clean), seq)

    def _commit(
        self, write: Callable[[], None], seq: int, before_commit: BeforeCommit = nothing
    ) -> None:
        def work() -> None:
            write()
            self._put_nodes("Meta", {_APPLIED: {"value": str(seq), "seq": seq}})
            before_commit()

        try:
            self._transaction(work, committed=lambda: self._read_applied_seq() == seq)
        except BaseException as error:
            if not isinstance(error, Exception):  # Ctrl-C falls before the commit or after it
                self._applied_seq = self._read_applied_seq()
            raise
        self._applied_seq = seq

    def _transaction(self, work: Callable[[], None], *, committed: Callable[[], bool]) -> None:
        """Runs work in one write transaction; ``committed`` decides after a failed COMMIT."""
        self._writer.execute("BEGIN TRANSACTION")
        try:
            work()
        except BaseException as error:
            self._after_failure(error)
        try:
            self._writer.execute("COMMIT")
        except Exception as error:
            if not committed():
                self._after_failure(error)

    def _after_failure(self, error: BaseException) -> None:
        """Raises for a failed transaction, which a failed statement has rolled back by itself."""
        with suppress(RuntimeError):
            self._writer.execute("ROLLBACK")  # a parameter refused before it reached the engine
        if not isinstance(error, Exception):
            raise error
        try:
            stored = self._read_applied_seq()
        except Exception as second:
            raise ProjectionDamagedError(f"{self._path} is damaged: rebuild the graph") from second
        raise VaultError(
            f"the graph stays at row {stored}: {str(error)[:500]}; free space or rebuild the graph"
        ) from error

    def _write(self, changes: GraphChanges) -> None:
        for label, source, edges in _grouped(changes.gone_edges, _label_and_source):
            rows = [{"a": edge.source, "k": edge.key} for edge in edges]
            self._run(cypher.delete_edges(label, source), rows)
        for table, keys in changes.gone_nodes.items():
            rows = [{"id": key} for key in sorted(keys)]
            for statement in cypher.delete_nodes(table):
                self._run(statement, rows)
        for table, nodes in changes.nodes.items():
            self._put_nodes(table, nodes)
        for label, ends, edges in _grouped(changes.edges, _label_and_ends):
            columns = REL_TABLES[label].columns
            created = [
                {**_cells(columns, edge.row), "a": edge.source, "b": edge.target} for edge in edges
            ]
            self._run(cypher.create_edges(label, *ends), created)

    def _put_nodes(self, table: str, nodes: Mapping[str, Row]) -> None:
        """Writes rows in groups of equal columns, since one parameter list has one row type."""
        groups: dict[tuple[bool, tuple[Column, ...]], list[tuple[str, Row]]] = {}
        for key, row in nodes.items():
            columns = NODE_TABLES[table].columns
            given = tuple(item for item in columns if item.name in row and item.name != "id")
            groups.setdefault((is_whole(row), given), []).append((key, row))
        for (whole, given), members in groups.items():
            names = [column.name for column in given]
            rows = [{**_cells(given, row), "id": key} for key, row in members]
            if names:
                self._run(cypher.put_nodes(table, names, create=whole), rows)

    def _run(self, statement: str, rows: Sequence[Mapping[str, Value]]) -> None:
        for start in range(0, len(rows), ROWS_PER_STATEMENT):
            part = rows[start : start + ROWS_PER_STATEMENT]
            fetch(self._writer, statement, {"rows": part})

    def _copy(self, changes: GraphChanges) -> None:
        stored: dict[str, set[str]] = {name: set() for name in NODE_TABLES}
        for table, nodes in changes.nodes.items():
            whole = {key: row for key, row in nodes.items() if is_whole(row)}
            stored[table] = set(whole)
            self._copy_rows(
                table, "", [full_row(NODE_TABLES[table], row) for row in whole.values()]
            )
        for label, ends, edges in _grouped(changes.edges, _label_and_ends):
            source, target = ends
            rows = [
                {"a": edge.source, "b": edge.target, **full_row(REL_TABLES[label], edge.row)}
                for edge in edges
                if edge.source in stored[source] and edge.target in stored[target]
            ]
            self._copy_rows(label, f" (from='{source}', to='{target}')", rows)

    def _copy_rows(self, table: str, ends: str, rows: list[dict[str, Value]]) -> None:
        if not rows:
            return
        columns: dict[str, Any] = {"a": "STRING", "b": "STRING"} if ends else {}
        columns.update(COLUMN_TYPES[table])
        arrays = {
            name: pa.array([row[name] for row in rows], _ARROW[type_])
            for name, type_ in columns.items()
        }
        # A relation with one pair of tables takes no (from, to).
        single = table in REL_TABLES and len(REL_TABLES[table].ends) == 1
        statement = f"COPY {table} FROM $rows{'' if single else ends}"
        fetch(self._writer, statement, {"rows": pa.table(arrays)})

    def adjacency(self) -> AdjacencyRows:
        """All nodes and edges that traversal walks, read through Arrow, in key order."""
        self._check_open()
        with self._lock:
            keys: list[str] = []
            tables: list[str] = []
            for table in WALKED_TABLES:
                found = sorted(self._table(cypher.all_nodes(table, ["id"]))["v0"].to_pylist())
                keys += found
                tables += [table] * len(found)
            position = {key: index for index, key in enumerate(keys)}
            edges = {label: self._edge_columns(label, position) for label in WALKED_LABELS}
        return AdjacencyRows(tuple(keys), tuple(tables), edges)

    def _table(self, statement: str) -> Any:
        return self._writer.execute(statement).get_as_arrow()

    def _edge_columns(self, label: str, position: Mapping[str, int]) -> EdgeColumns:
        wanted = ["key", "passage_id", "confidence", "stance"]
        names = [name for name in wanted if name in COLUMN_TYPES[label]]
        rows = [
            row
            for source, target in REL_TABLES[label].ends
            for row in self._rows(cypher.all_edges(label, source, target, names), names)
        ]
        rows.sort(key=lambda row: row["key"])
        passages = (position.get(row.get("passage_id", ""), -1) for row in rows)
        return EdgeColumns(
            source=np.fromiter((position[row["_source"]] for row in rows), np.int32),
            target=np.fromiter((position[row["_target"]] for row in rows), np.int32),
            key=tuple(row["key"] for row in rows),
            weight=np.fromiter((edge_weight(row) for row in rows), np.float32),
            passage=np.fromiter(passages, np.int32),
        )

    def _rows(self, statement: str, names: Sequence[str]) -> list[dict[str, Any]]:
        """Rows of a full-table query with the columns' own names."""
        table = self._table(statement)
        labels = {f"v{i}": name for i, name in enumerate(names)}
        labels |= {"a": "_source", "b": "_target"}
        return list(table.rename_columns([labels[name] for name in table.column_names]).to_pylist())

    def facts_about(self, entity_ids: list[str], max_seq: int) -> list[str]:
        """Ids of facts with one of the entities at either end, sorted."""
        found: set[str] = set()
        for label in ("SUBJECT", "OBJECT"):
            found.update(row[0] for row in self._read(cypher.facts_at(label), entity_ids, max_seq))
        return sorted(found)

    def evidence_of(self, fact_ids: list[str], max_seq: int) -> dict[str, list[str]]:
        """Evidence ids of each fact that has any, sorted."""
        pairs: set[tuple[str, str]] = set()
        for _, target in REL_TABLES["EVIDENCE"].ends:
            rows = self._read(cypher.evidence_of(target), fact_ids, max_seq)
            pairs.update((fact, key) for fact, key in rows)
        grouped = groupby(sorted(pairs), key=lambda pair: pair[0])
        return {fact: [key for _, key in members] for fact, members in grouped}

    def links_of(self, statement_ids: list[str], labels: list[str], max_seq: int) -> list[str]:
        """Keys of relations among statements with either end among the ids, sorted."""
        found: set[str] = set()
        for label in labels:
            if label not in REL_TABLES:
                raise InvalidInputError(f"the graph has no relation {label!r}")
            for outgoing in (True, False):
                statement = cypher.links_at(label, outgoing=outgoing)
                rows = self._read(statement, statement_ids, max_seq)
                found.update(row[0] for row in rows)
        return sorted(found)

    def _read(self, statement: str, ids: Iterable[str], max_seq: int) -> list[list[Any]]:
        """All rows for distinct ids; raises VaultError when the query fails or takes too long."""
        self._check_open()
        wanted = sorted(set(ids))
        rows: list[list[Any]] = []
        try:
            with self._readers.connection() as connection:
                for start in range(0, len(wanted), IDS_PER_READ):
                    part = {"ids": wanted[start : start + IDS_PER_READ], "seq": max_seq}
                    rows += fetch(connection, statement, part)
        except RuntimeError as error:
            raise VaultError(f"the graph could not answer: {str(error)[:500]}") from error
        return rows

    def tables(self) -> tuple[str, ...]:
        """Node tables and relation labels in dump order."""
        return DUMP_ORDER

    def rows(self, table: str) -> Iterator[Row]:
        """All rows of a table with every column, sorted by key."""
        self._check_open()
        with self._lock:
            if table in NODE_TABLES:
                names = [column.name for column in NODE_TABLES[table].columns]
                found = self._rows(cypher.all_nodes(table, names), names)
            else:
                relation = REL_TABLES[table]
                names = [column.name for column in relation.columns]
                found = []
                for source, target in relation.ends:
                    found += self._rows(cypher.all_edges(table, source, target, names), names)
        hidden = _ENGINE_ROWS if table == "Meta" else frozenset()
        key = "id" if table in NODE_TABLES else "key"
        yield from sorted(
            (row for row in found if row[key] not in hidden), key=lambda row: row[key]
        )

    def counts(self) -> dict[str, int]:
        """Rows per table."""
        self._check_open()
        with self._lock:
            sizes = {name: self._count(cypher.count_nodes(name)) for name in NODE_TABLES}
            sizes["Meta"] -= len(_ENGINE_ROWS)
            return {**sizes, **{name: self._count(cypher.count_edges(name)) for name in REL_TABLES}}

    def _count(self, statement: str) -> int:
        return int(fetch(self._writer, statement, {})[0][0])

    def log_bytes(self) -> int:
        """Size of the log that opening replays; grows until ``build`` makes a fresh file."""
        return log_bytes(self._path)

    def close(self) -> None:
        """Closes every connection and the file; waits for a running write and running reads."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            self._readers.close()
            if self._writer is not None:
                self._writer.close()
            close_database(self._database, self._path)


def _label_and_source(edge: EdgeRow) -> tuple[str, str]:
    return edge.label, edge.source_table


def _label_and_ends(edge: EdgeRow) -> tuple[str, tuple[str, str]]:
    return edge.label, (edge.source_table, edge.target_table)


def _grouped(
    edges: Iterable[EdgeRow], key: Callable[[EdgeRow], tuple[str, T]]
) -> Iterator[tuple[str, T, list[EdgeRow]]]:
    """The edges of each label and kind of end."""
    groups: dict[tuple[str, T], list[EdgeRow]] = {}
    for edge in edges:
        groups.setdefault(key(edge), []).append(edge)
    for (label, ends), members in groups.items():
        yield label, ends, members


def _cells(columns: Sequence[Column], row: Row) -> dict[str, Value]:
    return {f"c{i}": row.get(column.name) for i, column in enumerate(columns)}
