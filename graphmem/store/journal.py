"""The journal: the source of truth. Append-only rows in a hash chain, one batch per commit.

A row's hash covers the hash of salt and payload, not the payload, so that ``purge`` can erase
both and the chain still verifies.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import apsw
from pydantic import ValidationError

from graphmem.errors import (
    InvalidInputError,
    JournalDamagedError,
    VaultError,
    VaultFormatError,
    VaultReadOnlyError,
)
from graphmem.model.base import iso
from graphmem.model.operations import (
    PAYLOAD_VERSION,
    Operation,
    Purge,
    parse_operation,
    payload_of,
)
from graphmem.store.damage import JournalDamage
from graphmem.store.protocols import Committed
from graphmem.store.sqlite import connect, transaction
from graphmem.store.trouble import is_denied, is_full, told

# Version of the table layout, kept in SQLite's user_version.
JOURNAL_FORMAT = 1
# Bytes of salt: a short payload (a name) cannot be guessed from its hash after a purge.
SALT_BYTES = 16
# The "previous hash" of the first row.
GENESIS = bytes(32)
# Rows read at a time while iterating; bounds memory, not behaviour.
READ_CHUNK = 1_000

# What SQLite raises for damaged pages, in the journal never mended.
DAMAGE = (apsw.CorruptError, apsw.NotADBError, apsw.IOError)

SCHEMA = """
CREATE TABLE journal(
    seq INTEGER PRIMARY KEY, at TEXT NOT NULL, batch TEXT NOT NULL, actor TEXT NOT NULL,
    key TEXT, op TEXT NOT NULL, payload BLOB, salt BLOB, inner BLOB NOT NULL, hash BLOB NOT NULL
) STRICT;
CREATE TABLE batch(
    batch TEXT PRIMARY KEY, key TEXT UNIQUE, first_seq INTEGER NOT NULL, last_seq INTEGER NOT NULL
) STRICT;
CREATE TRIGGER journal_no_delete BEFORE DELETE ON journal
    BEGIN SELECT RAISE(ABORT, 'the journal is append-only'); END;
CREATE TRIGGER journal_no_update BEFORE UPDATE ON journal
    WHEN NOT (NEW.payload IS NULL AND NEW.salt IS NULL AND NEW.seq = OLD.seq
        AND NEW.at = OLD.at AND NEW.batch = OLD.batch AND NEW.actor = OLD.actor
        AND NEW.key IS OLD.key AND NEW.op = OLD.op AND NEW.inner = OLD.inner
        AND NEW.hash = OLD.hash)
    BEGIN SELECT RAISE(ABORT, 'the journal is append-only'); END;
CREATE TRIGGER batch_no_delete BEFORE DELETE ON batch
    BEGIN SELECT RAISE(ABORT, 'the journal is append-only'); END;
CREATE TRIGGER batch_no_update BEFORE UPDATE ON batch
    BEGIN SELECT RAISE(ABORT, 'the journal is append-only'); END;
"""


@dataclass(frozen=True, slots=True)
class JournalRow:
    """One operation as it was committed; ``operation`` is None when its payload was purged."""

    seq: int
    at: str
    batch: str
    actor: str
    key: str | None
    operation: Operation | None


def hash_of(*parts: bytes) -> bytes:
    """The hash of parts of which none can run into the next."""
    hasher = hashlib.blake2b(digest_size=32)
    for part in parts:
        hasher.update(len(part).to_bytes(8, "big"))
        hasher.update(part)
    return hasher.digest()


def _text(*parts: str | None) -> list[bytes]:
    """Each part as bytes that tell None from the empty string."""
    return [b"-" if part is None else b"+" + part.encode() for part in parts]


def chain_hash(
    previous: bytes,
    inner: bytes,
    seq: int,
    at: str,
    batch: str,
    actor: str,
    key: str | None,
    op: str,
) -> bytes:
    """The hash of a row that follows the row with the hash ``previous``."""
    return hash_of(previous, inner, str(seq).encode(), *_text(at, batch, actor, key, op))


def _parse(payload: bytes, seq: int) -> Operation:
    try:
        operation = parse_operation(payload)
    except ValidationError as error:
        if _version_of(payload) > PAYLOAD_VERSION:
            raise _too_new(seq) from None
        raise JournalDamagedError(
            f"journal row {seq} is not a known operation; restore the vault from a backup",
            seq=seq,
        ) from error
    if operation.version > PAYLOAD_VERSION:
        raise _too_new(seq)
    return operation


def _version_of(payload: bytes) -> int:
    try:
        version = json.loads(payload).get("version", 0)
    except (ValueError, AttributeError):
        return 0
    return version if isinstance(version, int) else 0


def _too_new(seq: int) -> VaultFormatError:
    return VaultFormatError(
        f"journal row {seq} was written by a newer graphmem; upgrade graphmem to open this vault"
    )


def _unopened(path: Path | None, error: apsw.Error) -> VaultError:
    if is_full(error) or is_denied(error):
        return told(f"{path} cannot be opened", error)
    return JournalDamagedError(
        f"{path} cannot be read as a journal ({error}); restore it from a backup", seq=0
    )


class Journal:
    """An open journal; ``append`` is the only way in and is on disk when it returns."""

    def __init__(
        self,
        db: apsw.Connection,
        random: Callable[[int], bytes],
        damage: JournalDamage | None = None,
    ) -> None:
        self._db, self._random = db, random
        self._lock = threading.RLock()
        self._damage = damage

    def damage(self) -> JournalDamage | None:
        """What was found damaged when the journal was opened; it then takes no rows."""
        return self._damage

    def check_takes_rows(self) -> None:
        """Raises VaultReadOnlyError when it is damaged."""
        if self._damage is not None:
            raise VaultReadOnlyError(self._damage.tell(), seqs=self._damage.seqs)

    def mark_damaged(self, damage: JournalDamage) -> None:
        """From now on nothing can be added, until the user has decided what to do."""
        self._damage = damage

    @classmethod
    def open(cls, path: Path | None, random: Callable[[int], bytes]) -> Journal:
        """The journal at a path (in memory for None), made when there is none.

        Raises VaultFormatError for a newer format, JournalDamagedError for a file that is no
        journal.
        """
        try:
            db = connect(path, synchronous="FULL")
        except apsw.Error as error:
            raise _unopened(path, error) from error
        try:
            cls._migrate(db, path)
        except apsw.Error as error:
            db.close()
            raise _unopened(path, error) from error
        except BaseException:
            db.close()
            raise
        return cls(db, random)

    @staticmethod
    def _migrate(db: apsw.Connection, path: Path | None) -> None:
        db.execute("PRAGMA secure_delete=ON")
        version = db.pragma("user_version")
        if version > JOURNAL_FORMAT:
            raise VaultFormatError(
                f"{path} has journal format {version}, this graphmem reads {JOURNAL_FORMAT}; "
                "upgrade graphmem to open it"
            )
        if version == 0:
            with transaction(db):
                db.execute(SCHEMA)
                db.execute(f"PRAGMA user_version={JOURNAL_FORMAT}")

    @property
    def head(self) -> int:
        """The sequence of the newest row; 0 when empty."""
        with self._lock:
            return int(self._db.execute("SELECT coalesce(max(seq), 0) FROM journal").get)

    def newest(self) -> tuple[int, str]:
        """Sequence and hash of the newest row, as a mark of how far the journal had come."""
        with self._lock:
            seq, found = self._tail()
        return seq - 1, found.hex()

    def hash_at(self, seq: int) -> str:
        """The hash of a row; empty when there is none."""
        with self._lock:
            row = self._db.execute("SELECT hash FROM journal WHERE seq = ?", (seq,)).fetchone()
        return "" if row is None else bytes(row[0]).hex()

    def find(self, key: str) -> Committed | None:
        """The batch an idempotency key was committed under."""
        with self._lock:
            row = self._db.execute(
                "SELECT batch, first_seq, last_seq FROM batch WHERE key = ?", (key,)
            ).fetchone()
        return None if row is None else Committed(row[0], row[1], row[2], repeated=True)

    def find_under(self, prefix: str) -> list[tuple[str, Committed]]:
        """The batches whose key begins with an ASCII prefix, each with its key, in order."""
        beyond = prefix[:-1] + chr(ord(prefix[-1]) + 1)
        with self._lock:
            rows: list[Any] = self._db.execute(
                "SELECT key, batch, first_seq, last_seq FROM batch "
                "WHERE key >= ? AND key < ? ORDER BY first_seq",
                (prefix, beyond),
            ).fetchall()
        return [
            (key, Committed(batch, first, last, repeated=True)) for key, batch, first, last in rows
        ]

    def operations(self, committed: Committed) -> tuple[Operation, ...]:
        """The operations of a batch; those that were purged are left out."""
        with self._lock:
            rows: list[Any] = self._db.execute(
                "SELECT seq, payload FROM journal WHERE seq BETWEEN ? AND ? "
                "AND payload IS NOT NULL ORDER BY seq",
                (committed.first_seq, committed.last_seq),
            ).fetchall()
        return tuple(_parse(payload, seq) for seq, payload in rows)

    def append(
        self, operations: Sequence[Operation], *, at: datetime, actor: str, key: str | None = None
    ) -> Committed:
        """Adds one batch in one transaction; a repeated key returns its earlier batch.

        A ``Purge`` among the operations erases payload and salt of the rows it names, here too.
        """
        if not operations:
            raise InvalidInputError("a commit needs at least one operation")
        self.check_takes_rows()
        with self._lock:
            if key is not None and (earlier := self.find(key)) is not None:
                return earlier
            try:
                with transaction(self._db):
                    committed = self._insert(operations, iso(at), actor, key)
            except apsw.Error as error:
                what = f"{self._db.filename or 'the journal'} cannot be written, nothing was stored"
                raise told(what, error) from error
            if any(isinstance(operation, Purge) for operation in operations):
                self._forget_pages()
        return committed

    def _insert(
        self, operations: Sequence[Operation], at: str, actor: str, key: str | None
    ) -> Committed:
        first, previous = self._tail()
        batch = f"batch:{first}"
        for seq, operation in enumerate(operations, start=first):
            payload, salt = payload_of(operation).encode(), self._random(SALT_BYTES)
            inner = hash_of(salt, payload)
            previous = chain_hash(previous, inner, seq, at, batch, actor, key, operation.op)
            row = (seq, at, batch, actor, key, operation.op, payload, salt, inner, previous)
            self._db.execute("INSERT INTO journal VALUES(?,?,?,?,?,?,?,?,?,?)", row)
            if isinstance(operation, Purge):
                self._redact(operation.seqs, below=first)
        last = first + len(operations) - 1
        self._db.execute("INSERT INTO batch VALUES(?,?,?,?)", (batch, key, first, last))
        return Committed(batch, first, last)

    def _tail(self) -> tuple[int, bytes]:
        """The next sequence and the hash it follows."""
        row = self._db.execute("SELECT seq, hash FROM journal ORDER BY seq DESC LIMIT 1").fetchone()
        return (1, GENESIS) if row is None else (row[0] + 1, row[1])

    def _redact(self, seqs: Sequence[int], below: int) -> None:
        unknown = [seq for seq in seqs if not 0 < seq < below]
        if unknown:
            raise InvalidInputError(f"there is no journal row {unknown[0]} to purge")
        self._db.executemany(
            "UPDATE journal SET payload = NULL, salt = NULL WHERE seq = ? AND op <> 'purge'",
            [(seq,) for seq in seqs],
        )

    def _forget_pages(self) -> None:
        """Moves the erased pages into the file, so that no copy is left in the log."""
        self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()

    def purge(self, seqs: Sequence[int], *, at: datetime, actor: str) -> Committed:
        """Erases payload and salt of rows for good; the chain still verifies."""
        return self.append([Purge(seqs=tuple(seqs))], at=at, actor=actor)

    def purged_after(self, seq: int) -> bool:
        """Whether rows were erased by a row with a higher sequence."""
        statement = "SELECT 1 FROM journal WHERE op = 'purge' AND seq > ? LIMIT 1"
        try:
            with self._lock:
                return self._db.execute(statement, (seq,)).fetchone() is not None
        except DAMAGE as error:
            raise JournalDamagedError(
                f"the journal cannot be read after row {seq} ({error}); restore it from a backup",
                seq=seq + 1,
            ) from error

    def rows(self, after: int = 0) -> Iterator[JournalRow]:
        """The rows with a higher sequence, in order.

        Raises VaultFormatError for a payload of a newer version, JournalDamagedError for one
        that cannot be parsed.
        """
        while chunk := self._chunk("seq, at, batch, actor, key, payload", after):
            for seq, at, batch, actor, key, payload in chunk:
                operation = None if payload is None else _parse(payload, seq)
                yield JournalRow(seq, at, batch, actor, key, operation)
            after = chunk[-1][0]

    def batches(self, after: int = 0) -> Iterator[list[JournalRow]]:
        """The rows with a higher sequence, one list per commit."""
        held: list[JournalRow] = []
        for row in self.rows(after):
            if held and held[-1].batch != row.batch:
                yield held
                held = []
            held.append(row)
        if held:
            yield held

    def verify(self) -> int | None:
        """The first sequence that does not fit the hash chain; None when all do. O(rows)."""
        previous, expected, after = GENESIS, 1, 0
        columns = "seq, at, batch, actor, key, op, payload, salt, inner, hash"
        while chunk := self._chunk(columns, after):
            for seq, at, batch, actor, key, op, payload, salt, inner, stored in chunk:
                if seq != expected or (payload is None) != (salt is None):
                    return expected
                if payload is not None and hash_of(salt, payload) != inner:
                    return expected
                previous = chain_hash(previous, inner, seq, at, batch, actor, key, op)
                if previous != stored:
                    return expected
                expected += 1
            after = chunk[-1][0]
        return None

    def _chunk(self, columns: str, after: int) -> list[Any]:
        statement = f"SELECT {columns} FROM journal WHERE seq > ? ORDER BY seq LIMIT {READ_CHUNK}"
        try:
            with self._lock:
                return self._db.execute(statement, (after,)).fetchall()
        except DAMAGE as error:
            raise JournalDamagedError(
                f"the journal cannot be read after row {after} ({error}); close the vault and open "
                "it again to see what is damaged, or restore it from a backup",
                seq=after + 1,
            ) from error

    def close(self) -> None:
        """Releases the file."""
        with self._lock:
            self._db.close()
