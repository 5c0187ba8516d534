"""Dumps: everything the projections hold as sorted JSON lines, exact or by content alone.

The exact dump is equal for two replays of one journal. The content dump is equal for two vaults
that were told the same things: no sequence, no time of recording, no id or spelling that depends
on what came first. Vectors are in neither.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from graphmem.model.base import digest
from graphmem.store.graph.base import GraphStore
from graphmem.store.index_schema import NEVER
from graphmem.store.sqlite import Readers

# Columns that tell when something was recorded or in what order it came.
_ORDER_MADE = frozenset({"seq", "recorded_at", "file_modified_at", "subject_surface", "version"})

_TABLES = {
    "state": ("target_id", "kind", "at", "seq", "gone"),
    "redirect": ("loser_id", "survivor_id", "seq", "gone"),
    "name": ("key", "entity_id", "item_id", "kind", "seq", "gone"),
}


def _plain(value: Any) -> Any:
    return value.isoformat() if isinstance(value, datetime) else value


def _line(data: Mapping[str, Any]) -> str:
    return json.dumps(data, ensure_ascii=False, sort_keys=True, default=_plain)


def exact(readers: Readers, graph: GraphStore) -> Iterator[str]:
    """Every row of the graph and every item of the index."""
    for table in graph.tables():
        for row in graph.rows(table):
            yield _line({"graph": table, **row})
    with readers.reading() as db:
        rows = db.execute(
            "SELECT id, seq, kind, json, recorded_at FROM item ORDER BY id, seq"
        ).fetchall()
        for ident, seq, kind, text, recorded in rows:
            data = None if text is None else json.loads(text)
            yield _line({"index": kind, "id": ident, "seq": seq, "at": recorded, "data": data})
        for table, columns in _TABLES.items():
            found = db.execute(f"SELECT {', '.join(columns)} FROM {table}").fetchall()
            yield from sorted(
                _line({"index": table, **dict(zip(columns, row, strict=True))}) for row in found
            )


def content(readers: Readers) -> Iterator[str]:
    """What is known now, named by content: entities by their name key, facts by their ends."""
    with readers.reading() as db:
        rows = db.execute(
            "SELECT kind, json FROM item i WHERE json IS NOT NULL AND seq = "
            "(SELECT max(seq) FROM item WHERE id = i.id)"
        ).fetchall()
        states = db.execute("SELECT target_id, kind FROM state WHERE gone = ?", (NEVER,)).fetchall()
    items = [(kind, json.loads(text)) for kind, text in rows]
    names = {
        data["id"]: f"entity:{data['name_key']}#{data['bucket']}"
        for kind, data in items
        if kind == "entity"
    }
    names |= _fact_names(items, names)
    lines = [
        _line({"kind": kind, **_content(kind, data, names)})
        for kind, data in items
        if isinstance(data, dict)
    ]
    lines += [_line({"kind": "state", "target": names.get(t, t), "state": k}) for t, k in states]
    yield from sorted(lines)


def _fact_names(items: list[tuple[str, Any]], names: Mapping[str, str]) -> dict[str, str]:
    return {
        data["id"]: "fact:" + digest(_line(_content("fact", {**data, "id": ""}, names)))
        for kind, data in items
        if kind == "fact"
    }


def _content(kind: str, data: dict[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    """The data without what depends on order; entity and fact ids replaced by their names."""
    clean = {k: _renamed(v, names) for k, v in data.items() if k not in _ORDER_MADE}
    if kind == "entity":
        del clean["name"]
    if kind in ("evidence", "name"):
        del clean["id"]
    if kind == "fact" and isinstance(clean["object"], dict):
        clean["object"] = {k: v for k, v in clean["object"].items() if k != "surface"}
    return clean


def _renamed(value: Any, names: Mapping[str, str]) -> Any:
    match value:
        case str():
            return names.get(value, value)
        case dict():
            return {k: _renamed(v, names) for k, v in value.items() if k not in _ORDER_MADE}
        case list():
            return [_renamed(v, names) for v in value]
        case _:
            return value
