"""Changes as an engine may take them: known tables and columns, scalars of the column's type."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from graphmem.errors import InvalidInputError
from graphmem.store.graph.base import EdgeRow, GraphChanges, Row, Value
from graphmem.store.graph.schema import (
    COLUMN_TYPES,
    NODE_TABLES,
    REL_TABLES,
    ColumnType,
    NodeTable,
    RelTable,
    cell,
    clean_text,
)

_TYPES: dict[ColumnType, tuple[type, ...]] = {
    "STRING": (str,),
    "INT64": (int,),
    "DOUBLE": (float, int),
    "BOOL": (bool,),
    "TIMESTAMP": (datetime,),
}


def normalise(changes: GraphChanges) -> GraphChanges:
    """The same changes with clean values, each edge once; the last of equal keys wins.

    Raises InvalidInputError for what the schema does not know; an engine has then done nothing.
    """
    nodes = {
        table: {
            clean_text(key): {**_row(_node_table(table), row), "id": clean_text(key)}
            for key, row in rows.items()
        }
        for table, rows in changes.nodes.items()
        if rows
    }
    gone = {
        _node_table(table).name: frozenset(clean_text(key) for key in keys)
        for table, keys in changes.gone_nodes.items()
        if keys
    }
    new = {(edge.label, edge.key): _edge(edge) for edge in changes.edges}
    removed = {(edge.label, edge.source, edge.key): _edge(edge) for edge in changes.gone_edges}
    return GraphChanges(nodes, tuple(new.values()), tuple(removed.values()), gone)


def full_row(table: NodeTable | RelTable, row: Row) -> dict[str, Value]:
    """The row with every column of the table, in the table's order."""
    return {column.name: row.get(column.name) for column in table.columns}


def is_whole(row: Row) -> bool:
    """Whether a node row may create its node; other rows hold states only."""
    return "seq" in row


def _node_table(name: str) -> NodeTable:
    if name not in NODE_TABLES:
        raise InvalidInputError(f"the graph has no node table {name!r}")
    return NODE_TABLES[name]


def _edge(edge: EdgeRow) -> EdgeRow:
    table = REL_TABLES.get(edge.label)
    if table is None or (edge.source_table, edge.target_table) not in table.ends:
        ends = f"{edge.source_table} to {edge.target_table}"
        raise InvalidInputError(f"the graph has no relation {edge.label!r} from {ends}")
    source, target, key = (clean_text(text) for text in (edge.source, edge.target, edge.key))
    row = {**_row(table, edge.row), "key": key}
    return EdgeRow(edge.label, edge.source_table, source, edge.target_table, target, key, row)


def _row(table: NodeTable | RelTable, row: Mapping[str, Value]) -> dict[str, Value]:
    types = COLUMN_TYPES[table.name]
    clean: dict[str, Value] = {}
    for name, value in row.items():
        if name not in types:
            raise InvalidInputError(f"{table.name} has no column {name!r}")
        value = cell(value)
        if value is not None and type(value) not in _TYPES[types[name]]:
            raise InvalidInputError(f"{table.name}.{name} holds {types[name]}, not {value!r:.80}")
        clean[name] = value
    return clean
