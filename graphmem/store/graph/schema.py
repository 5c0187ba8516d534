"""The graph's tables as data: DDL, write statements and dumps are all derived from these lists.

Every node has ``id`` (primary key), every relation ``key``; both have ``seq`` (the journal row
that last wrote the row, states aside) and ``recorded_at`` (its time). Times are naive UTC.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from enum import Enum
from typing import Literal

from graphmem.errors import InvalidInputError
from graphmem.model.ids import FACT_PREFIX, PASSAGE_PREFIX, SOURCE_PREFIX, STATEMENT_PREFIX
from graphmem.store.graph.base import Row, Value
from graphmem.vocabulary import CAUSAL_KINDS, LinkKind, Stance, StateKind

ColumnType = Literal["STRING", "INT64", "DOUBLE", "BOOL", "TIMESTAMP"]

# Raised whenever a table or column changes; a file of another version is built anew.
SCHEMA_VERSION = 1


@dataclass(frozen=True, slots=True)
class Column:
    """One column; every type is nullable."""

    name: str
    type: ColumnType = "STRING"


@dataclass(frozen=True, slots=True)
class NodeTable:
    """A node table; its first column is the primary key ``id``."""

    name: str
    columns: tuple[Column, ...]


@dataclass(frozen=True, slots=True)
class RelTable:
    """A relation; its first column is ``key``, unique within the label."""

    name: str
    ends: tuple[tuple[str, str], ...]
    columns: tuple[Column, ...]


def _columns(names: str, type: ColumnType = "STRING") -> tuple[Column, ...]:
    return tuple(Column(name, type) for name in names.split())


STATE_COLUMNS: dict[StateKind, str] = {
    StateKind.FORGOTTEN: "forgotten_at",
    StateKind.ARCHIVED: "archived_at",
    StateKind.ABSENT: "absent_since",
    StateKind.SNOOZED: "snoozed_until",
}
_STATES = _columns(" ".join(STATE_COLUMNS.values()), "TIMESTAMP")
_WRITTEN = (Column("seq", "INT64"), Column("recorded_at", "TIMESTAMP"))
_SPAN = _columns("start end", "INT64")
_REVISION = (Column("revision", "INT64"), Column("confidence", "DOUBLE"))
_ID = _columns("id")
_KEY = _columns("key")
_LINK = (
    *_KEY,
    *_columns("kind connective quote passage_id extractor"),
    *_SPAN,
    *_REVISION,
    Column("seen_at", "TIMESTAMP"),
    *_WRITTEN,
)

_NODES = (
    NodeTable(
        "Source",
        (
            *_ID,
            *_columns("kind uri title content_hash project root_id session_kind record"),
            *_columns("authored_at file_modified_at", "TIMESTAMP"),
            *_STATES,
            *_WRITTEN,
        ),
    ),
    NodeTable(
        "Passage",
        (
            *_ID,
            *_columns("source_id text text_hash heading_path role speaker origin audience"),
            Column("authored_at", "TIMESTAMP"),
            *_STATES,
            *_WRITTEN,
        ),
    ),
    NodeTable(
        "Statement",
        (
            *_ID,
            *_columns("passage_id text kind polarity modality event_key extractor"),
            *_SPAN,
            *_columns("time_start time_end", "TIMESTAMP"),
            Column("time_granularity"),
            *_REVISION,
            *_STATES,
            *_WRITTEN,
        ),
    ),
    NodeTable("Entity", (*_ID, *_columns("name name_key bucket"), *_STATES, *_WRITTEN)),
    NodeTable("Alias", (*_ID, *_columns("key value kind origin"), *_WRITTEN)),
    NodeTable(
        "Fact",
        (
            *_ID,
            *_columns("subject_id predicate object_id literal polarity"),
            *_columns("valid_from valid_to", "TIMESTAMP"),
            *_STATES,
            *_WRITTEN,
        ),
    ),
    NodeTable("Meta", (*_ID, Column("value"), *_WRITTEN)),
)

_AMONG_STATEMENTS = (("Statement", "Statement"),)
_RELATIONS = (
    RelTable("CONTAINS", (("Source", "Passage"), ("Passage", "Statement")), (*_KEY, *_WRITTEN)),
    RelTable("NEXT", (("Passage", "Passage"),), (*_KEY, Column("source_id"), *_WRITTEN)),
    RelTable(
        "MENTIONS",
        (("Passage", "Entity"), ("Statement", "Entity")),
        (
            *_KEY,
            *_columns("surface extractor type_vote"),
            *_SPAN,
            Column("vote_weight", "DOUBLE"),
            Column("seen_at", "TIMESTAMP"),
            *_WRITTEN,
        ),
    ),
    RelTable("NAMES", (("Alias", "Entity"),), (*_KEY, Column("kind"), *_WRITTEN)),
    RelTable("SAME_AS", (("Entity", "Entity"),), (*_KEY, Column("reason"), *_WRITTEN)),
    RelTable("SUBJECT", (("Fact", "Entity"),), (*_KEY, Column("surface"), *_WRITTEN)),
    RelTable("OBJECT", (("Fact", "Entity"),), (*_KEY, Column("surface"), *_WRITTEN)),
    RelTable(
        "EVIDENCE",
        (("Fact", "Statement"), ("Fact", "Passage")),
        (
            *_KEY,
            *_columns("stance quote passage_id extractor origin audience"),
            *_SPAN,
            *_REVISION,
            Column("declared_project", "BOOL"),
            Column("seen_at", "TIMESTAMP"),
            *_WRITTEN,
        ),
    ),
    RelTable("CAUSES", _AMONG_STATEMENTS, _LINK),
    RelTable("SAME_EVENT", _AMONG_STATEMENTS, _LINK),
    RelTable("SUPERSEDES", _AMONG_STATEMENTS, _LINK),
    RelTable("CONTRADICTS", _AMONG_STATEMENTS, _LINK),
)

NODE_TABLES: dict[str, NodeTable] = {table.name: table for table in _NODES}
REL_TABLES: dict[str, RelTable] = {table.name: table for table in _RELATIONS}
COLUMN_TYPES: dict[str, dict[str, ColumnType]] = {
    table.name: {column.name: column.type for column in table.columns}
    for table in (*_NODES, *_RELATIONS)
}
DUMP_ORDER: tuple[str, ...] = (*NODE_TABLES, *REL_TABLES)

# What traversal needs; sources only decide visibility, facts and aliases are no places to stand.
WALKED_TABLES: tuple[str, ...] = ("Source", "Passage", "Statement", "Entity", "Fact")
WALKED_LABELS: tuple[str, ...] = (
    "CONTAINS",
    "NEXT",
    "MENTIONS",
    "SAME_AS",
    "SUBJECT",
    "OBJECT",
    "EVIDENCE",
    "CAUSES",
    "SAME_EVENT",
    "SUPERSEDES",
)

_PREFIX_TABLES = {
    SOURCE_PREFIX: "Source",
    PASSAGE_PREFIX: "Passage",
    STATEMENT_PREFIX: "Statement",
    FACT_PREFIX: "Fact",
}
_EDGE_PREFIXES = frozenset({"mnt", "evd", "lnk"})


def label_of(kind: LinkKind) -> str:
    """The relation that holds links of a kind; the four causal kinds share ``CAUSES``."""
    return "CAUSES" if kind in CAUSAL_KINDS else kind.value.upper()


def table_of(item_id: str) -> str | None:
    """The node table of an id by its prefix; None for mentions, evidence and links.

    >>> table_of("psg:0a"), table_of("tool:redis"), table_of("lnk:0a")
    ('Passage', 'Entity', None)
    """
    prefix = item_id.partition(":")[0]
    return None if prefix in _EDGE_PREFIXES else _PREFIX_TABLES.get(prefix, "Entity")


def cell(value: object) -> Value:
    """A value as an engine stores it: naive UTC times, plain strings without lone surrogates.

    Raises InvalidInputError for anything that is no scalar.
    """
    if isinstance(value, Enum):
        value = value.value
    if isinstance(value, str):
        return clean_text(value)
    if isinstance(value, datetime):
        return value if value.tzinfo is None else value.astimezone(UTC).replace(tzinfo=None)
    if value is None or isinstance(value, bool | int | float):
        return value
    raise InvalidInputError(f"a graph column holds scalars, not {type(value).__name__}")


def clean_text(text: str) -> str:
    """The text with every lone surrogate replaced by U+FFFD; no engine can store those."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return str(text)


def edge_weight(row: Row) -> float:
    """What an edge counts in traversal: its confidence, 0 for evidence that contradicts."""
    if row.get("stance") not in (None, Stance.SUPPORTS.value):
        return 0.0
    confidence = row.get("confidence")
    return float(confidence) if isinstance(confidence, int | float) else 1.0
