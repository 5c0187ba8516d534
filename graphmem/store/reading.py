"""Reading a vault's SQLite files without opening the vault: no lock is taken, nothing is changed.

It works beside the process that has the vault open: SQLite keeps a reader and the writer apart.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import apsw

from graphmem.errors import JournalDamagedError, VaultError
from graphmem.store.journal import Journal
from graphmem.store.sqlite import BUSY_TIMEOUT_MS, Db

# What SQLite raises for damaged pages or a file that is no database.
DAMAGE = (apsw.CorruptError, apsw.NotADBError, apsw.FormatError, apsw.SQLError)


@contextmanager
def reading(path: Path, *, still: bool = False) -> Iterator[Db]:
    """A connection that cannot write, with one snapshot for as long as it is open.

    ``still`` says that no process has the file open, so that not even a lock is needed.
    Raises VaultError when there is no such file, apsw errors for a damaged one.
    """
    if not path.is_file():
        raise VaultError(f"{path} is missing; restore the vault from a backup")
    db = _connect(path, still)
    try:
        db.set_busy_timeout(BUSY_TIMEOUT_MS)
        db.execute("BEGIN")
        db.execute("SELECT count(*) FROM sqlite_schema").fetchall()  # takes the snapshot
        yield db
    finally:
        db.close()


def _connect(path: Path, still: bool) -> Db:
    log = path.with_name(f"{path.name}-wal")
    if not log.exists() and (still or not os.access(path.parent, os.W_OK)):
        name = f"{path.absolute().as_uri()}?immutable=1"
        return apsw.Connection(name, flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI)
    return apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)


def damaged_rows(journal: Journal) -> list[int]:
    """The rows that do not fit the hash chain, as far as they can be told; O(rows)."""
    damage = journal.damage()
    if damage is not None:
        return [row.seq for row in damage.rows]
    try:
        bad = journal.verify()
    except JournalDamagedError as error:
        return [error.seq]
    return [] if bad is None else [bad]


def journal_of(db: Db) -> Journal:
    """A journal to read from a connection of ``reading``; must not be closed or written."""
    return Journal(db, os.urandom)


def head_of(db: Db) -> tuple[int, str]:
    """Sequence and hash (hexadecimal) of the newest row; 0 and "" when empty."""
    row = db.execute("SELECT seq, hash FROM journal ORDER BY seq DESC LIMIT 1").fetchone()
    return (0, "") if row is None else (int(row[0]), bytes(row[1]).hex())


def rows_by_operation(db: Db) -> dict[str, int]:
    """How many rows each kind of operation has."""
    return dict(db.execute("SELECT op, count(*) FROM journal GROUP BY op ORDER BY op").fetchall())
