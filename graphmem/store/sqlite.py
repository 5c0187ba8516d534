"""Opening SQLite through apsw: pragmas, transactions, one connection per reading thread.

Nothing here knows a table.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import apsw

# An open connection. apsw types every cell as a union, so rows are read as Any.
Db = Any

# Milliseconds a connection waits for another one's lock before it gives up.
BUSY_TIMEOUT_MS = 10_000
# Prepared statements kept per connection; a view uses fewer different texts than this.
STATEMENT_CACHE = 256


def connect(path: Path | None, *, synchronous: str, read_only: bool = False) -> apsw.Connection:
    """An open connection (in memory for None) in WAL mode; raises apsw.Error on a damaged file."""
    flags = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE
    name = ":memory:" if path is None else str(path)
    db = apsw.Connection(name, flags=flags, statementcachesize=STATEMENT_CACHE)
    try:
        db.set_busy_timeout(BUSY_TIMEOUT_MS)
        if path is not None:
            db.execute("PRAGMA journal_mode=WAL")
        db.execute(f"PRAGMA synchronous={synchronous}")
        db.execute("PRAGMA foreign_keys=OFF")
        if read_only:
            db.execute("PRAGMA query_only=ON")
    except BaseException:
        db.close()
        raise
    return db


@contextmanager
def transaction(db: apsw.Connection) -> Iterator[None]:
    """One write transaction: committed at the end, rolled back on any exception."""
    db.execute("BEGIN IMMEDIATE")
    try:
        yield
        db.execute("COMMIT")
    except BaseException:
        if db.in_transaction:
            db.execute("ROLLBACK")
        raise


class Readers:
    """Hands out a connection for reading: one per thread on a file, the one there is in memory.

    In memory readers and the writer share a connection, so ``guard`` keeps them apart; on a file
    SQLite's write-ahead log does, and ``guard`` costs nothing.
    """

    def __init__(self, writer: apsw.Connection, path: Path | None) -> None:
        self._writer, self._path = writer, path
        self._shared = threading.RLock()
        self._own = threading.local()
        self._opened: list[apsw.Connection] = []
        self._lock = threading.Lock()
        self._generation = 0
        self._prepare: Callable[[apsw.Connection], None] | None = None

    def prepare_with(self, prepare: Callable[[apsw.Connection], None]) -> None:
        """Runs on every reading connection made from now on (extensions, functions)."""
        self._prepare = prepare

    @contextmanager
    def reading(self) -> Iterator[Db]:
        """A connection that no other thread uses while the context is open."""
        if self._path is None:
            with self._shared:
                yield self._writer
            return
        yield self._thread_connection(self._path)

    @contextmanager
    def writing(self) -> Iterator[Db]:
        """The writing connection inside one transaction."""
        with self._shared, transaction(self._writer):
            yield self._writer

    def _thread_connection(self, path: Path) -> apsw.Connection:
        held = getattr(self._own, "held", None)
        if held is not None and held[0] == self._generation:
            db: apsw.Connection = held[1]
            return db
        db = connect(path, synchronous="NORMAL", read_only=True)
        if self._prepare is not None:
            self._prepare(db)
        with self._lock:
            self._opened.append(db)
        self._own.held = (self._generation, db)
        return db

    def close(self) -> None:
        """Closes every connection, the writing one last."""
        with self._lock:
            opened, self._opened = self._opened, []
            self._generation += 1
        for db in opened:
            db.close()
        self._writer.close()
