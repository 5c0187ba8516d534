"""Which of the rows that could be read of a damaged journal are as they were written.

A row vouches for its content (``inner`` is the hash of salt and payload), and the next row for
its hash. So a damaged row is told from its neighbours, and the chain goes on behind it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from graphmem.store.damage import DamagedRow
from graphmem.store.journal import GENESIS, chain_hash, hash_of
from graphmem.store.pages import Cell, RawRow

# Columns of the journal table.
COLUMNS = 10
# What a row of the journal that could not be read is called in its place.
GAP = "gap"

_HASH_BYTES = 32


@dataclass(frozen=True, slots=True)
class Record:
    """A journal row as stored."""

    seq: int
    at: str
    batch: str
    actor: str
    key: str | None
    op: str
    payload: bytes | None
    salt: bytes | None
    inner: bytes
    hash: bytes

    def chained(self, previous: bytes) -> bytes:
        """The hash the row has after another one."""
        told = (self.seq, self.at, self.batch, self.actor, self.key, self.op)
        return chain_hash(previous, self.inner, *told)

    def whole(self) -> bool:
        """Whether payload and salt are those that ``inner`` is the hash of, or both erased."""
        if self.payload is None or self.salt is None:
            return self.payload is self.salt
        return hash_of(self.salt, self.payload) == self.inner

    def with_own_inner(self) -> Record:
        """The row with ``inner`` made from what it holds."""
        if self.payload is None or self.salt is None:
            return self
        return replace(self, inner=hash_of(self.salt, self.payload))

    def erased(self) -> Record:
        """The row without its content."""
        return replace(self, payload=None, salt=None)


@dataclass(frozen=True, slots=True)
class Judged:
    """The rows that are right (put right where the chain proves how), and the damaged ones."""

    kept: Mapping[int, Record]
    damaged: tuple[DamagedRow, ...]
    top: int


def record_of(row: RawRow) -> Record | None:
    """The journal row in a raw row; None when it is of another table or makes no sense."""
    if len(row.cells) != COLUMNS or row.cells[0] is not None or row.number < 1:
        return None
    if any(kind < 13 or not kind % 2 for kind in (*row.kinds[1:4], row.kinds[5])):
        return None
    at, batch, actor, op = (_text(row.cells[i]) for i in (1, 2, 3, 5))
    key = None if row.cells[4] is None else _text(row.cells[4])
    payload, salt, inner, own = (_blob(cell) for cell in row.cells[6:])
    if inner is None or own is None or len(inner) != _HASH_BYTES or len(own) != _HASH_BYTES:
        return None
    return Record(row.number, at, batch, actor, key, op, payload, salt, inner, own)


def _text(cell: Cell) -> str:
    return cell.decode("utf-8", "replace") if isinstance(cell, bytes) else ""


def _blob(cell: Cell) -> bytes | None:
    return cell if isinstance(cell, bytes) else None


def judge(found: Iterable[Record], known: int = 0) -> Judged:
    """Judges rows 1 to the last that the chain or the caller (``known``) knows of. O(rows)."""
    versions: dict[int, list[Record]] = {}
    for record in found:
        same = versions.setdefault(record.seq, [])
        if record not in same:
            same.append(record)
    top = max(known, _top(versions))
    court = _Court(versions, top)
    for seq in range(1, top + 1):
        court.hear(seq)
    return Judged(court.kept, tuple(court.damaged), top)


def _top(versions: Mapping[int, Sequence[Record]]) -> int:
    """The last row that follows another one, and a lone one right behind it."""
    linked = [
        seq
        for seq, same in versions.items()
        if any(one.chained(p) == one.hash for one in same for p in _before(versions, seq))
    ]
    top = max(linked, default=0)
    while top + 1 in versions:
        top += 1
    return top


def _before(versions: Mapping[int, Sequence[Record]], seq: int) -> list[bytes]:
    return [GENESIS] if seq == 1 else [one.hash for one in versions.get(seq - 1, ())]


class _Court:
    """Goes through the rows in order with the hash that the next one must follow, if known."""

    def __init__(self, versions: Mapping[int, Sequence[Record]], top: int) -> None:
        self._versions, self._top = versions, top
        self._previous: bytes | None = GENESIS
        self.kept: dict[int, Record] = {}
        self.damaged: list[DamagedRow] = []

    def hear(self, seq: int) -> None:
        """Keeps the version of a row that is right, or says what is wrong with it."""
        same = self._versions.get(seq, ())
        sound = [one for one in same if self._is_sound(one)]
        if sound:  # what was purged must not come back from an older page
            self._keep(next((one for one in sound if one.payload is None), sound[0]))
        elif not same:
            self._lose(seq, None, "it is missing", None)
        elif not any(self._mended(one) for one in same):
            self._lose_one(same[-1])

    def _is_sound(self, one: Record) -> bool:
        if not one.whole():
            return False
        if self._previous is not None:
            return one.chained(self._previous) == one.hash
        return self._tells_its_kind(one) and (
            one.seq == self._top or self._next_fits(one.hash, one)
        )

    def _tells_its_kind(self, one: Record) -> bool:
        """Without the row before, only the content speaks for a row."""
        return one.payload is None or f'"op":"{one.op}"'.encode() in one.payload

    def _next_fits(self, own: bytes, one: Record) -> bool:
        after = self._versions.get(one.seq + 1, ())
        return any(each.chained(own) == each.hash for each in after)

    def _keep(self, one: Record) -> None:
        self.kept[one.seq] = one
        self._previous = one.hash

    def _mended(self, one: Record) -> bool:
        """Keeps a row of which one hash is damaged, where the chain proves the rest of it."""
        if self._previous is None:
            return False
        whole = one.with_own_inner()
        own = whole.chained(self._previous)
        if own != one.hash and not (whole.payload and self._next_fits(own, one)):
            return False
        if own == one.hash and not whole.whole():
            return False
        self._keep(replace(whole, hash=own))
        self.damaged.append(DamagedRow(one.seq, one.op, "a hash of it was overwritten", False))
        return True

    def _lose_one(self, one: Record) -> None:
        if self._previous is not None and one.chained(self._previous) == one.hash:
            self.kept[one.seq] = one.erased()
            self._lose(one.seq, one.op, "its content does not fit its hash", one.hash)
        else:
            follows = one.hash if self._next_fits(one.hash, one) else None
            self._lose(one.seq, one.op, "it does not fit the hash chain", follows)

    def _lose(self, seq: int, op: str | None, reason: str, follows: bytes | None) -> None:
        self.damaged.append(DamagedRow(seq, op, reason))
        self._previous = follows
