"""Opening SQLite through apsw: pragmas, transactions, reading connections, pinned snapshots.

Nothing here knows a table.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any, Protocol, TypeVar
from weakref import WeakSet

import apsw

from graphmem.errors import VaultError
from graphmem.store.trouble import told

# An open connection. apsw types every cell as a union, so rows are read as Any.
Db = Any
T = TypeVar("T")

# Milliseconds a connection waits for another one's lock before it gives up.
BUSY_TIMEOUT_MS = 10_000
# Prepared statements kept per connection; a view uses fewer different texts than this.
STATEMENT_CACHE = 256
# Pages in the write-ahead log before it is copied into the file (SQLite's own default).
LOG_PAGES = 1_000
# Seconds that closing waits for running reads; a read takes far less.
CLOSE_WAIT_SECONDS = 30.0
# Results kept per snapshot: one set of visible ids per scope in use.
KEPT_RESULTS = 8

# What SQLite raises when the disk is full, not writable or fails.
_DISK = (apsw.FullError, apsw.IOError, apsw.ReadOnlyError, apsw.CantOpenError)

_CLOSED = "the vault is closed; open it again"


def connect(path: Path | None, *, synchronous: str, read_only: bool = False) -> apsw.Connection:
    """An open connection (in memory for None) in WAL mode; raises apsw.Error on a damaged file."""
    flags = apsw.SQLITE_OPEN_READWRITE | (0 if read_only else apsw.SQLITE_OPEN_CREATE)
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


class Reading(Protocol):
    """Something to read from: the newest state, or a pinned one."""

    def reading(self) -> AbstractContextManager[Db]:
        """A connection that no other thread uses while the context is open."""
        ...


class _Held(threading.local):
    """The connection a thread reads with, and how many contexts share it."""

    db: Db = None
    depth: int = 0


class Readers:
    """Hands out connections for reading: some on a file, the one there is in memory.

    On a file SQLite's write-ahead log keeps readers and the writer apart. In memory they share
    the connection and take turns.
    """

    def __init__(self, writer: apsw.Connection, path: Path | None) -> None:
        self._writer, self._path = writer, path
        self._shared = threading.RLock()
        self._held = _Held()
        self._changed = threading.Condition()
        self._idle: list[Db] = []
        self._busy = 0
        self._pins: WeakSet[Pin] = WeakSet()
        self._closed = False
        self._log_pages = 0
        self._prepare: Callable[[Db], None] | None = None
        if path is not None:
            writer.set_wal_hook(self._logged)

    def _logged(self, _db: Db, _name: str, pages: int) -> int:
        self._log_pages = pages
        return apsw.SQLITE_OK

    @property
    def path(self) -> Path | None:
        """The file; None in memory."""
        return self._path

    @property
    def in_memory(self) -> bool:
        """Whether there is no file."""
        return self._path is None

    def prepare_with(self, prepare: Callable[[Db], None]) -> None:
        """Runs on every reading connection made from now on (extensions, functions)."""
        self._prepare = prepare

    @contextmanager
    def reading(self) -> Iterator[Db]:
        """A connection on the newest state; the same one for a thread that has one already."""
        if self._path is None:
            with self._shared:
                self._check_open()
                yield self._writer
            return
        held = self._held
        if held.depth == 0:
            held.db = self.lend()
        held.depth += 1
        try:
            yield held.db
        finally:
            held.depth -= 1
            if held.depth == 0:
                db, held.db = held.db, None
                self.give_back(db)

    @contextmanager
    def writing(self, before: Callable[[], None] | None = None) -> Iterator[Db]:
        """The writing connection inside one transaction; ``before`` runs just before it."""
        with self._shared:
            self._check_open()
            if self._log_pages >= LOG_PAGES:
                with suppress(apsw.FullError):  # the log goes on growing until there is room
                    self._writer.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()
            try:
                if before is not None:
                    before()
                with transaction(self._writer):
                    yield self._writer
            except _DISK as error:
                raise told(f"{self._path or 'the index'} cannot be written", error) from error

    def alone(self) -> AbstractContextManager[object]:
        """Keeps readers away where they share the writer's connection."""
        return self._shared if self._path is None else nullcontext()

    def erase_log(self) -> None:
        """Empties the write-ahead log, so that nothing erased is left in it."""
        with self._shared:
            self._writer.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()

    def copy(self) -> Db:
        """A copy of a database in memory."""
        copied = apsw.Connection(":memory:", statementcachesize=STATEMENT_CACHE)
        with copied.backup("main", self._writer, "main") as backup:
            backup.step()
        return copied

    def lend(self) -> Db:
        """A connection of its own; raises VaultError after ``close``."""
        with self._changed:
            self._check_open()
            db = self._idle.pop() if self._idle else self._connect()
            self._busy += 1
            return db

    def _connect(self) -> Db:
        try:
            db = connect(self._path, synchronous="NORMAL", read_only=True)
        except apsw.Error as error:
            raise told(f"{self._path} cannot be opened", error) from error
        if self._prepare is not None:
            self._prepare(db)
        return db

    def give_back(self, db: Db) -> None:
        """Takes a lent connection back, its transaction ended."""
        if db.in_transaction:
            db.execute("ROLLBACK")
        with self._changed:
            self._busy -= 1
            if self._closed:
                db.close()
            else:
                self._idle.append(db)
            self._changed.notify_all()

    def pin(self, seq: int) -> Pin:
        """Reads of the present state that no later write changes."""
        pin = Pin(self, seq)
        self._pins.add(pin)
        return pin

    def _check_open(self) -> None:
        if self._closed:
            raise VaultError(_CLOSED)

    def close(self) -> None:
        """Refuses new reads, waits for the running ones, closes everything; twice is once."""
        with self._changed:
            if self._closed:
                return
            self._closed = True
        for pin in list(self._pins):
            pin.close()
        with self._changed:
            self._changed.wait_for(lambda: self._busy == 0, CLOSE_WAIT_SECONDS)
            for db in self._idle:
                db.close()
            self._idle.clear()
        with self._shared:
            self._writer.close()


class Pin:
    """One state of the database for any number of threads, whatever is written later.

    Connections join while the state is the newest one. ``freeze``, called before the next write,
    makes sure that there is one, and that no other joins; in memory it makes a copy when a view
    still needs it.
    """

    def __init__(self, readers: Readers, seq: int) -> None:
        self.seq = seq
        self._readers = readers
        self._held = _Held()
        self._changed = threading.Condition()
        self._idle: list[Db] = []
        self._lent = 0
        self._frozen = self._closed = False
        self._copy: Db = None
        self._users: WeakSet[Any] = WeakSet()
        self._kept: OrderedDict[Hashable, Any] = OrderedDict()
        self._keeping = threading.Lock()

    def used_by(self, user: object) -> None:
        """Says who reads here, for as long as the object lives."""
        with self._changed:
            self._users.add(user)

    @contextmanager
    def reading(self) -> Iterator[Db]:
        """A connection on the pinned state; the same one for a thread that has one already."""
        if self._readers.in_memory:
            with self._readers.reading() as db:
                yield db if self._copy is None else self._copy
            return
        held = self._held
        if held.depth == 0:
            held.db = self._take()
        held.depth += 1
        try:
            yield held.db
        finally:
            held.depth -= 1
            if held.depth == 0:
                db, held.db = held.db, None
                self._put(db)

    def _take(self) -> Db:
        with self._changed:
            while True:
                if self._closed:
                    raise VaultError(_CLOSED)
                if self._idle or not self._frozen:
                    break
                self._changed.wait()
            db = self._idle.pop() if self._idle else self._join()
            self._lent += 1
            return db

    def _join(self) -> Db:
        db = self._readers.lend()
        try:
            db.execute("BEGIN")
            db.execute("SELECT count(*) FROM sqlite_schema").fetchall()  # takes the snapshot
        except BaseException:
            self._readers.give_back(db)
            raise
        return db

    def _put(self, db: Db) -> None:
        with self._changed:
            self._lent -= 1
            if self._closed:
                self._readers.give_back(db)
            else:
                self._idle.append(db)
            self._changed.notify_all()

    def freeze(self) -> None:
        """The next write may come: from now on the state is an old one."""
        with self._changed:
            if self._frozen or self._closed:
                return
            if self._readers.in_memory:
                self._copy = self._readers.copy() if self._users else None
            elif not self._idle and not self._lent:
                self._idle.append(self._join())
            self._frozen = True

    def keep(self, key: Hashable, make: Callable[[], T]) -> T:
        """What ``make`` gave for the key, made once; the last few are kept."""
        with self._keeping:
            if key in self._kept:
                self._kept.move_to_end(key)
                found: T = self._kept[key]
                return found
        made = make()
        with self._keeping:
            self._kept[key] = made
            if len(self._kept) > KEPT_RESULTS:
                self._kept.popitem(last=False)
        return made

    def close(self) -> None:
        """Ends the snapshot; reads that are running end first."""
        with self._changed:
            self._closed = True
            for db in self._idle:
                self._readers.give_back(db)
            self._idle.clear()
            self._changed.notify_all()

    def __del__(self) -> None:
        for db in self._idle:
            self._readers.give_back(db)
