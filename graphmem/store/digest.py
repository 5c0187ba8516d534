"""Sums of a vault's files: a clean close writes them down, so that the next open can tell.

A CRC-32 of a file takes about a millisecond per megabyte, a hundredth of what an open takes
anyway, and misses nothing that a sample of rows would see. It guards against damage, not malice.
"""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from graphmem.store.trouble import JOURNAL_FILE, told

# Written by a clean close and removed by an open: the files as they were closed.
CLEAN_MARK = "clean"
# Written at the end of an open: the files a process that was killed later started from.
OPENED_MARK = "opened"
# Bytes read at a time.
CHUNK_BYTES = 1 << 20

INDEX_FILE = "index.sqlite"
GRAPH_PREFIX = "graph."
_SQLITE = tuple(f"{name}{end}" for name in (INDEX_FILE, JOURNAL_FILE) for end in ("", "-wal"))
# Leftovers beside a graph that no open reads.
_ASIDE = (".compact", ".damaged", ".lock", ".new", ".shadow", ".tmp")


def file_sum(path: Path) -> str:
    """Size and CRC-32 of a file's bytes."""
    total = size = 0
    with path.open("rb") as file:
        while chunk := file.read(CHUNK_BYTES):
            total, size = zlib.crc32(chunk, total), size + len(chunk)
    return f"{size}:{total:08x}"


def file_sums(folder: Path) -> dict[str, str]:
    """The sums of journal, index, graph and their logs by file name; empty ones are left out."""
    graphs = (path.name for path in folder.glob(f"{GRAPH_PREFIX}*") if path.is_file())
    names = [*_SQLITE, *(name for name in graphs if not any(end in name for end in _ASIDE))]
    found = ((name, folder / name) for name in names)
    return {name: file_sum(path) for name, path in found if path.exists() and path.stat().st_size}


@dataclass(frozen=True, slots=True)
class Trust:
    """What is known of the files before anything opens them.

    ``closed`` tells that a clean close came before; then every difference is damage or the work
    of another program. Otherwise ``then`` is how the process that was killed found them.
    ``head`` and ``head_hash`` are the newest journal row at that time. ``stale`` projections were
    last open beside a damaged journal and may lack what a restored one has.
    """

    closed: bool = True
    then: Mapping[str, str] = field(default_factory=dict)
    now: Mapping[str, str] = field(default_factory=dict)
    head: int = 0
    head_hash: str = ""
    stale: bool = False

    def same(self, start: str) -> bool:
        """Whether all files whose names start so are, byte for byte, as they were."""
        then, now = (
            {name: value for name, value in side.items() if name.startswith(start)}
            for side in (self.then, self.now)
        )
        return then == now

    def same_file(self, name: str) -> bool:
        """Whether one file is there and as it was."""
        return name in self.now and self.then.get(name) == self.now[name]


def look(folder: Path) -> Trust:
    """Compares the files with the last mark; raises VaultError for one that cannot be read."""
    try:
        return _look(folder)
    except OSError as error:
        raise told(f"{folder} cannot be read", error) from error


def _look(folder: Path) -> Trust:
    for name, closed in ((CLEAN_MARK, True), (OPENED_MARK, False)):
        try:
            data = json.loads((folder / name).read_text(encoding="utf-8"))
            files = {str(file): str(value) for file, value in data["files"].items()}
            newest = int(data["head"]), str(data["hash"])
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            continue
        return Trust(closed, files, file_sums(folder), *newest, bool(data.get("stale")))
    return Trust(closed=False, now=file_sums(folder))


def take_trust(folder: Path) -> Trust:
    """Compares the files with the last mark; the mark of a clean close is gone afterwards."""
    trust = look(folder)
    try:
        (folder / CLEAN_MARK).unlink(missing_ok=True)
    except OSError as error:
        raise told(f"{folder} cannot be written", error) from error
    return trust


def write_mark(
    folder: Path,
    name: str,
    head: int,
    head_hash: str,
    *,
    stale: bool = False,
    but: str = "",
) -> None:
    """Writes down how the files are now; a crash leaves the old mark or the new one.

    Nothing is said of files whose names start with ``but``, which are about to be replaced.
    """
    files = {n: told for n, told in file_sums(folder).items() if not (but and n.startswith(but))}
    data = {"files": files, "head": head, "hash": head_hash, "stale": stale}
    fresh = folder / f"{name}.new"
    try:
        fresh.write_text(json.dumps(data), encoding="utf-8")
        os.replace(fresh, folder / name)
    except OSError:
        with suppress(OSError):
            fresh.unlink(missing_ok=True)
        raise


def remove_marks(folder: Path) -> None:
    """Makes the next open check everything."""
    for name in (CLEAN_MARK, OPENED_MARK):
        (folder / name).unlink(missing_ok=True)
