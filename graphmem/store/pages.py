"""Rows of an SQLite table read straight from the pages of a file and its log, however damaged.

SQLite stops at the first page that does not fit, and drops the rest of a log after a damaged
frame. Here every leaf page is read on its own; whether a row is right is for the caller to judge.
File format: https://sqlite.org/fileformat2.html
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

# SQLite's default, and what graphmem's files have when the header cannot be read.
PAGE_BYTES = 4096
_PAGE_SIZES = frozenset(1 << n for n in range(9, 17))
_LEAF = 0x0D
_FILE_HEADER, _LOG_HEADER, _FRAME_HEADER = 100, 32, 24
# Bytes of the integers that serial types 1 to 6 stand for.
_INTEGER_BYTES = {1: 1, 2: 2, 3: 3, 4: 4, 5: 6, 6: 8}

Cell = int | float | bytes | None


@dataclass(frozen=True, slots=True)
class RawRow:
    """A row of some table: its number and its cells, text as UTF-8 bytes.

    ``committed`` is False when it stands in a part of the log that no commit ended.
    """

    number: int
    cells: tuple[Cell, ...]
    kinds: tuple[int, ...]
    committed: bool = True


@dataclass(frozen=True, slots=True)
class _Page:
    number: int
    data: bytes
    committed: bool


def raw_rows(path: Path, columns: int) -> Iterator[RawRow]:
    """Every row with so many columns in any page of the file and of its log, in no order.

    Several versions of a row may come, damaged ones too.
    """
    size, pages = _pages(path)
    newest: dict[int, list[bytes]] = {}
    for page in pages:
        newest.setdefault(page.number, []).append(page.data)
    for page in pages:
        yield from _leaf(page, size, newest, columns)


def log_rows(path: Path, columns: int) -> Iterator[RawRow]:
    """The same of the log alone: what SQLite reads of it may be less."""
    size, pages = _pages(path, log_only=True)
    newest = {page.number: [page.data] for page in pages}
    for page in pages:
        yield from _leaf(page, size, newest, columns)


def _pages(path: Path, *, log_only: bool = False) -> tuple[int, list[_Page]]:
    data = path.read_bytes() if path.exists() and not log_only else b""
    size = _page_size(path)
    found = [
        _Page(start // size + 1, data[start : start + size].ljust(size, b"\0"), True)
        for start in range(0, len(data), size)
    ]
    log = Path(f"{path}-wal")
    if log.exists():
        found += _frames(log.read_bytes(), size)
    return size, found


def _page_size(path: Path) -> int:
    try:
        with path.open("rb") as file:
            head = file.read(18)
    except OSError:
        return PAGE_BYTES
    size = int.from_bytes(head[16:18], "big") if len(head) == 18 else 0
    return size if size in _PAGE_SIZES else PAGE_BYTES


def _frames(log: bytes, size: int) -> list[_Page]:
    found = []
    last_commit = -1
    step = _FRAME_HEADER + size
    for place, start in enumerate(range(_LOG_HEADER, len(log) - _FRAME_HEADER, step)):
        number, pages_after = struct.unpack_from(">II", log, start)
        if pages_after:
            last_commit = place
        data = log[start + _FRAME_HEADER : start + step].ljust(size, b"\0")
        found.append((number, data))
    return [_Page(n, data, place <= last_commit) for place, (n, data) in enumerate(found)]


def _leaf(page: _Page, size: int, newest: dict[int, list[bytes]], columns: int) -> Iterator[RawRow]:
    start = _FILE_HEADER if page.number == 1 and page.data[:6] == b"SQLite" else 0
    if page.data[start] != _LEAF:
        return
    count = int.from_bytes(page.data[start + 3 : start + 5], "big")
    for i in range(min(count, (size - start - 8) // 2)):
        place = start + 8 + 2 * i
        cell = int.from_bytes(page.data[place : place + 2], "big")
        yield from _cell(page, cell, size, newest, columns)


def _cell(
    page: _Page, place: int, size: int, newest: dict[int, list[bytes]], columns: int
) -> list[RawRow]:
    """The row of a cell, in every version its overflow pages have; none when it makes no sense."""
    try:
        length, place = _varint(page.data, place)
        number, place = _varint(page.data, place)
        local = _local(length, size)
        body = page.data[place : place + local]
        if local == length:
            bodies = [body]
        else:
            follow = int.from_bytes(page.data[place + local : place + local + 4], "big")
            bodies = list(_overflow(body, length, follow, newest))
        rows = [_record(each, columns) for each in bodies]
    except (IndexError, ValueError, struct.error):
        return []
    return [RawRow(number, cells, kinds, page.committed) for cells, kinds in rows if cells]


def _local(length: int, size: int) -> int:
    """How many bytes of a payload stand in the leaf page itself."""
    if length <= size - 35:
        return length
    least = (size - 12) * 32 // 255 - 23
    most = least + (length - least) % (size - 4)
    return most if most <= size - 35 else least


def _overflow(
    body: bytes, length: int, follow: int, newest: dict[int, list[bytes]]
) -> Iterator[bytes]:
    """The payload with its overflow pages: as the log has them, and as the file has them."""
    for version in (-1, 0):
        whole, page, left = bytearray(body), follow, len(newest) + 1
        while len(whole) < length and page in newest and left:
            data = newest[page][version]
            page, left = int.from_bytes(data[:4], "big"), left - 1
            whole += data[4 : 4 + length - len(whole)]
        if len(whole) == length:
            yield bytes(whole)


def _varint(data: bytes, place: int) -> tuple[int, int]:
    value = 0
    for i in range(9):
        byte = data[place + i]
        if i == 8:
            return _signed(value << 8 | byte), place + 9
        value = value << 7 | byte & 0x7F
        if byte < 0x80:
            return value, place + i + 1
    raise ValueError("not a number")


def _signed(value: int) -> int:
    return value - (1 << 64) if value >= 1 << 63 else value


def _record(body: bytes, columns: int) -> tuple[tuple[Cell, ...], tuple[int, ...]]:
    """Cells and serial types of a record; nothing when it has another number of columns."""
    end, place = _varint(body, 0)
    kinds: list[int] = []
    while place < end and len(kinds) <= columns:
        kind, place = _varint(body, place)
        kinds.append(kind)
    if len(kinds) != columns or place != end:
        return (), ()
    cells: list[Cell] = []
    for kind in kinds:
        cell, place = _value(body, place, kind)
        cells.append(cell)
    if place > len(body):
        return (), ()
    return tuple(cells), tuple(kinds)


def _value(body: bytes, place: int, kind: int) -> tuple[Cell, int]:
    if kind == 0:
        return None, place
    if kind in (8, 9):
        return kind - 8, place
    if kind == 7:
        return float(struct.unpack_from(">d", body, place)[0]), place + 8
    if kind in _INTEGER_BYTES:
        length = _INTEGER_BYTES[kind]
        return int.from_bytes(body[place : place + length], "big", signed=True), place + length
    if kind < 12:
        raise ValueError("reserved type")
    length = (kind - 12) // 2
    return body[place : place + length], place + length
