"""Whether every vector is one: of the right length, finite, a unit long, and searched as stored."""

from __future__ import annotations

import numpy as np

from graphmem.model.care import Check
from graphmem.store.index_schema import NEVER
from graphmem.store.sqlite import Db
from graphmem.store.vectors import NORM_TOLERANCE

# Bytes of a float32.
FLOAT_BYTES = 4
_ADVICE = (
    "close the vault, delete index.sqlite and run graphmem sync: the index is made anew and all "
    "vectors are computed again"
)


def vectors_are_sound(db: Db, embedder: str, dimension: int) -> Check:
    """Checks every vector of the bound embedder; pending, unused and foreign ones are noted."""
    wrong: list[str] = []
    number = 0
    table = _table(db, dimension)
    stored = "SELECT hash, number, data FROM vector WHERE embedder = ? ORDER BY number"
    for text_hash, place, data in db.execute(stored, (embedder,)):
        number += 1
        wrong += [f"{text_hash} {problem}" for problem in _problems(data, dimension)]
        if not _searched(db, table, place, data):
            wrong.append(f"{text_hash} is not searched as it is stored")
    extra = _searched_count(db, table) - number
    if dimension and extra > 0:
        wrong.append(f"{extra} vectors are searched that are not stored")
    return Check(
        name="vectors",
        claim="vectors are finite, of unit length and searched as stored",
        checked=number,
        failures=len(wrong),
        examples=tuple(wrong),
        note=_note(db, embedder, dimension),
        advice=_ADVICE,
    )


def _problems(data: bytes, dimension: int) -> list[str]:
    if len(data) != dimension * FLOAT_BYTES:
        return [f"has {len(data) / FLOAT_BYTES:g} numbers, not {dimension}"]
    row = np.frombuffer(data, np.float32)
    if not np.all(np.isfinite(row)):
        return ["is not finite"]
    length = float(np.linalg.norm(row))
    return [] if abs(length - 1.0) < NORM_TOLERANCE else [f"has length {length:.3f}"]


def _table(db: Db, dimension: int) -> str | None:
    name = f"nearest_{int(dimension)}"
    found = db.execute("SELECT 1 FROM sqlite_schema WHERE name = ?", (name,)).fetchone()
    return name if found else None


def _searched(db: Db, table: str | None, number: int, data: bytes) -> bool:
    if table is None:
        return False
    row = db.execute(f"SELECT data FROM {table} WHERE number = ?", (number,)).fetchone()
    return row is not None and bytes(row[0]) == bytes(data)


def _searched_count(db: Db, table: str | None) -> int:
    return 0 if table is None else int(db.execute(f"SELECT count(*) FROM {table}").fetchone()[0])


def _note(db: Db, embedder: str, dimension: int) -> str:
    count = "SELECT count(*) FROM "
    counts = {
        "of another embedder": f"{count} vector WHERE embedder <> :name",
        "of no current text": f"{count} vector WHERE embedder = :name AND hash NOT IN "
        f"(SELECT search_hash FROM passage WHERE gone = {NEVER})",
    }
    if dimension:
        counts["pending"] = (
            f"{count} passage p WHERE p.gone = {NEVER} AND NOT EXISTS (SELECT 1 FROM vector v "
            "WHERE v.hash = p.search_hash AND v.embedder = :name)"
        )
    found = {}
    for what, statement in counts.items():
        bound = {"name": embedder} if ":name" in statement else {}
        found[what] = int(db.execute(statement, bound).fetchone()[0])
    return ", ".join(f"{number} {what}" for what, number in found.items() if number)
