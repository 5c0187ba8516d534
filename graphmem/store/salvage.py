"""A damaged journal: finding out, serving what is left, and going on without what is lost.

A damaged file is only ever read here. It is written anew when nothing is lost, or when the user
accepts the loss; a copy of the damaged one stays beside it either way.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import apsw

from graphmem.errors import JournalDamagedError, VaultFormatError
from graphmem.store.damage import DamagedRow, JournalDamage, ranges
from graphmem.store.digest import Trust
from graphmem.store.journal import (
    DAMAGE,
    GENESIS,
    JOURNAL_FORMAT,
    SALT_BYTES,
    SCHEMA,
    Journal,
    hash_of,
)
from graphmem.store.judge import COLUMNS, GAP, Judged, Record, judge, record_of
from graphmem.store.pages import log_rows, raw_rows
from graphmem.store.sqlite import connect, transaction

Random = Callable[[int], bytes]

# A version in a damaged header is some number; no graphmem will write one beyond this.
_LIKELY_FORMAT = 1_000
_BROKEN = (*DAMAGE, apsw.SQLError, apsw.CantOpenError, UnicodeDecodeError, JournalDamagedError)
_BATCHES = "SELECT batch, max(key), min(seq), max(seq) FROM journal GROUP BY batch ORDER BY 3"


def open_journal(
    path: Path | None, random: Random, trust: Trust, tell: Callable[[str], None]
) -> Journal:
    """The journal; checked row by row unless it is, byte for byte, as a clean close left it.

    Damage without a loss is mended and told. With a loss the journal is opened as far as it can
    be read, and takes nothing in (see ``Journal.damage``).
    """
    if path is None or _is_new(path, trust) or (trust.closed and trust.same(path.name)):
        return Journal.open(path, random)
    problem = _problem(path)
    head = trust.head
    if problem is None:
        journal = Journal.open(path, random)
        if journal.head < head:
            cut_off(journal, head)
        return journal
    judged = _judge(path, head)
    damage = JournalDamage(judged.damaged, problem)
    if damage.lost:
        return memory_journal(judged, damage, random)
    aside = rewrite(path, judged, random)
    tell(f"the journal was damaged ({problem}); all rows could be read and it was written anew, "
         f"the damaged file is kept as {aside.name}")  # fmt: skip
    return Journal.open(path, random)


def _is_new(path: Path, trust: Trust) -> bool:
    """Whether there is no journal and none is missed."""
    empty = not path.exists() or not path.stat().st_size
    return empty and not Path(f"{path}-wal").exists() and not trust.then


def cut_off(journal: Journal, known: int) -> None:
    """Marks the journal as damaged: rows up to ``known`` were there and are missing."""
    missing = range(journal.head + 1, known + 1)
    rows = tuple(DamagedRow(seq, None, "it is missing at the end") for seq in missing)
    before = journal.damage()
    earlier = () if before is None else tuple(r for r in before.rows if r.seq <= journal.head)
    journal.mark_damaged(JournalDamage((*earlier, *rows), "its end is missing"))


def _problem(path: Path) -> str | None:
    """What is wrong with a journal that is not known to be sound; None for nothing. O(rows).

    Raises VaultFormatError for a newer format.
    """
    try:
        db = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)
    except apsw.Error as error:
        return str(error)
    try:
        db.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
        return _structure(db, path) or _chain(db) or _end_of_log(db, path)
    except _BROKEN as error:
        return str(error)
    finally:
        db.close()


def _structure(db: apsw.Connection, path: Path) -> str | None:
    version = int(db.execute("PRAGMA user_version").get)
    if JOURNAL_FORMAT < version < _LIKELY_FORMAT:
        raise VaultFormatError(
            f"{path} has journal format {version}, this graphmem reads {JOURNAL_FORMAT}; "
            "upgrade graphmem to open it"
        )
    if version != JOURNAL_FORMAT:
        return f"its format is {version}"
    checked = str(db.execute("PRAGMA quick_check(1)").get)
    if checked != "ok":
        return checked.replace("\n", " ")
    told = "SELECT type, name, sql FROM sqlite_schema ORDER BY name"
    with apsw.Connection(":memory:") as fresh:
        fresh.execute(SCHEMA)
        expected = fresh.execute(told).fetchall()
    fresh.close()
    return None if db.execute(told).fetchall() == expected else "its tables are not the journal's"


def _chain(db: apsw.Connection) -> str | None:
    journal = Journal(db, os.urandom)
    bad = journal.verify()
    if bad is not None:
        return f"row {bad} does not fit the hash chain"
    stored = db.execute("SELECT * FROM batch ORDER BY first_seq").fetchall()
    if db.execute(_BATCHES).fetchall() != stored:
        return "its table of batches does not fit the rows"
    checked = str(db.execute("PRAGMA integrity_check(1)").get)
    return None if checked == "ok" else checked.replace("\n", " ")


def _end_of_log(db: apsw.Connection, path: Path) -> str | None:
    """Whether the log has committed rows that SQLite does not see, for a frame is damaged."""
    head = int(db.execute("SELECT coalesce(max(seq), 0) FROM journal").get)
    beyond = {row.number for row in log_rows(path, COLUMNS) if row.committed and record_of(row)}
    lost = sorted(seq for seq in beyond if seq > head)
    return f"the log is damaged at row {lost[0]}" if lost else None


def _judge(path: Path, known: int) -> Judged:
    rows = (record_of(row) for row in raw_rows(path, COLUMNS) if row.committed)
    return judge((row for row in rows if row is not None), known)


def memory_journal(
    judged: Judged, damage: JournalDamage | None = None, random: Random = os.urandom
) -> Journal:
    """The rows that could be read, in order, with gaps; the file itself stays as it is."""
    db = connect(None, synchronous="OFF")
    with transaction(db):
        db.execute(SCHEMA)
        _fill(db, [judged.kept[seq] for seq in sorted(judged.kept)])
    return Journal(db, random, damage)


def _fill(db: Any, records: Iterable[Record]) -> None:
    db.executemany(
        "INSERT INTO journal VALUES(?,?,?,?,?,?,?,?,?,?)",
        (
            (r.seq, r.at, r.batch, r.actor, r.key, r.op, r.payload, r.salt, r.inner, r.hash)
            for r in records
        ),
    )
    db.execute(f"INSERT OR IGNORE INTO batch {_BATCHES}")


def whole(judged: Judged, random: Random) -> list[Record]:
    """Rows 1 to the last: those that were kept, and a gap for each that is not there.

    A gap is like a purged row, of the operation ``gap``. Rows behind one are chained anew.
    """
    rows: list[Record] = []
    previous, anew = GENESIS, False
    for seq in range(1, judged.top + 1):
        row = judged.kept.get(seq)
        if row is None:
            row, anew = _gap(seq, rows[-1] if rows else None, judged, random), True
        if anew:
            row = replace(row, hash=row.chained(previous))
        rows.append(row)
        previous = row.hash
    return rows


def _gap(seq: int, before: Record | None, judged: Judged, random: Random) -> Record:
    after = next((judged.kept[n] for n in range(seq, judged.top + 1) if n in judged.kept), None)
    inside = before is not None and after is not None and before.batch == after.batch
    batch = before.batch if inside and before is not None else f"batch:{GAP}:{seq}"
    near = before or after
    at = near.at if near is not None else ""
    key = before.key if inside and before is not None else None
    inner = hash_of(random(SALT_BYTES), str(seq).encode())
    return Record(seq, at, batch, "repair-journal", key, GAP, None, None, inner, b"")


def rewrite(path: Path, judged: Judged, random: Random) -> Path:
    """Writes the journal anew from its rows; returns where the damaged one was copied to."""
    aside = keep_copy(path)
    fresh = path.with_name(f"{path.name}.new")
    remove_sqlite(fresh)
    Journal.open(fresh, random).close()
    db = connect(fresh, synchronous="FULL")
    with transaction(db):
        _fill(db, whole(judged, random))
    db.close()
    for suffix in ("-wal", "-shm"):
        Path(f"{path}{suffix}").unlink(missing_ok=True)
    os.replace(fresh, path)
    return aside


def keep_copy(path: Path) -> Path:
    """Copies a file and its log to the first free name with ``.damaged-<n>``."""
    number = 1
    while (aside := path.with_name(f"{path.name}.damaged-{number}")).exists():
        number += 1
    for suffix in ("-wal", ""):
        part = Path(f"{path}{suffix}")
        if part.exists():
            shutil.copy2(part, f"{aside}{suffix}")
    aside.touch()
    return aside


def remove_sqlite(path: Path) -> None:
    """Removes a file with its logs."""
    for suffix in ("", "-wal", "-shm"):
        Path(f"{path}{suffix}").unlink(missing_ok=True)


def judged_with(path: Path, known: int) -> tuple[Judged, JournalDamage | None]:
    """The rows of a journal and its damage, whatever state it is in; changes nothing."""
    problem = _problem(path)
    judged = _judge(path, known)
    if problem is None and not judged.damaged:
        return judged, None
    return judged, JournalDamage(judged.damaged, problem or f"rows {ranges([known])} are missing")
