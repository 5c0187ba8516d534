"""Append-only tables of a graph's history: which node or edge was alive at which sequence.

One thread appends; any thread may read what was there when it took a view, since entries below a
view's length never change for its sequence: an end is only ever written with a later sequence.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

# The sequence at which what still lives ends.
NEVER = np.iinfo(np.int64).max

Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]


class _Grown:
    """A numpy array that grows at the end; ``upto`` gives a view of its first entries."""

    __slots__ = ("_array", "_length")

    def __init__(self, dtype: type[np.generic]) -> None:
        self._array: NDArray[Any] = np.empty(16, dtype)
        self._length = 0

    def __len__(self) -> int:
        return self._length

    def extend(self, values: Sequence[float] | NDArray[Any]) -> None:
        """Adds values; the array doubles when it is full, and older views keep the old one."""
        end = self._length + len(values)
        if end > len(self._array):
            grown = np.empty(max(end, 2 * len(self._array)), self._array.dtype)
            grown[: self._length] = self._array[: self._length]
            self._array = grown
        self._array[self._length : end] = values
        self._length = end

    def put(self, index: int, value: int) -> None:
        """Overwrites one entry."""
        self._array[index] = value

    def upto(self, length: int) -> NDArray[Any]:
        """The first ``length`` entries."""
        return self._array[:length]


class KeyOrder:
    """The order by key of the first n entries of a list that only grows, kept for the next n."""

    def __init__(self, keys: list[str]) -> None:
        self._keys = keys
        self._order: list[int] = []
        self._lock = threading.Lock()

    def first(self, length: int) -> Ints:
        """Positions 0 .. length - 1 in the order of their keys, older first among equal ones.

        Sorting a sorted run with a short tail is about linear.
        """
        with self._lock:
            if len(self._order) < length:
                known = len(self._order)
                tail = sorted(range(known, length), key=self._keys.__getitem__)
                self._order = sorted(self._order + tail, key=self._keys.__getitem__)
            order = np.array(self._order, np.int64)
        return order[order < length]


@dataclass(frozen=True, slots=True, eq=False)
class TableView:
    """The entries a table had when the view was taken."""

    keys: list[str]
    order: KeyOrder
    length: int
    born: Ints
    died: Ints
    columns: tuple[NDArray[Any], ...]

    def alive(self, seq: int) -> Mask:
        """Which entries live at a sequence not later than that of the view."""
        return np.asarray((self.born <= seq) & (self.died > seq))

    def by_key(self) -> Ints:
        """The entries in the order of their keys."""
        return self.order.first(self.length)

    def named(self, ids: frozenset[str]) -> Mask:
        """Which entries have one of the ids as their key."""
        if not ids:
            return np.zeros(self.length, np.bool_)
        found = map(ids.__contains__, self.keys[: self.length])
        return np.fromiter(found, np.bool_, self.length)


class Table:
    """Entries with a key, numeric columns, and the sequences between which they live."""

    def __init__(self, *dtypes: type[np.generic]) -> None:
        self._keys: list[str] = []
        self._order = KeyOrder(self._keys)
        self._row: dict[str, int] = {}
        self._born, self._died = _Grown(np.int64), _Grown(np.int64)
        self._columns = tuple(_Grown(dtype) for dtype in dtypes)

    def __len__(self) -> int:
        return len(self._born)

    def row(self, key: str) -> int | None:
        """The living entry of a key."""
        return self._row.get(key)

    def key(self, row: int) -> str:
        """The key of an entry, living or not."""
        return self._keys[row]

    def value(self, column: int, row: int) -> int:
        """One cell of an integer column."""
        return int(self._columns[column].upto(len(self))[row])

    def append(self, entries: Mapping[str, tuple[float, ...]], seq: int) -> None:
        """Adds entries that live from ``seq`` on; a living entry of the same key ends."""
        if not entries:
            return
        for key in entries:
            self.end(key, seq)
        first = len(self)
        self._keys.extend(entries)
        self._row.update(zip(entries, range(first, first + len(entries)), strict=True))
        for i, column in enumerate(self._columns):
            column.extend([values[i] for values in entries.values()])
        self._died.extend(np.full(len(entries), NEVER))
        self._born.extend(np.full(len(entries), seq))

    def end(self, key: str, seq: int) -> None:
        """The living entry of a key, if any, lives no more from ``seq`` on."""
        row = self._row.pop(key, None)
        if row is not None:
            self._died.put(row, seq)

    def view(self) -> TableView:
        """The table as it is now; O(1)."""
        length = len(self)
        return TableView(
            self._keys,
            self._order,
            length,
            self._born.upto(length),
            self._died.upto(length),
            tuple(column.upto(length) for column in self._columns),
        )
