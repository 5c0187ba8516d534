"""Kuzu's files: opening each path once per process, probing in a child, throwing away, log size.

A damaged file can abort the whole process and is never repaired: it is thrown away and built
anew from the journal.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import kuzu

from graphmem.errors import ProjectionDamagedError, VaultError, VaultLockedError
from graphmem.store.graph.cypher import all_edges, all_nodes, count_edges, count_nodes
from graphmem.store.graph.schema import NODE_TABLES, REL_TABLES

# Cap of the page cache; Kuzu's default is 80 % of the machine. Scans and joins over 100,000 nodes
# and 500,000 edges need about 16 MB, one large batch of writes some tens more.
BUFFER_POOL_BYTES = 512 * 1024 * 1024
# A probe replays the log and counts every table; 200,000 nodes take well below this.
PROBE_TIMEOUT_SECONDS = 60.0

_LOG_SUFFIXES = (".wal", ".shadow")

# Two Database objects on one path in a process lose committed rows without an error.
_open_paths: set[str] = set()
_open_lock = threading.Lock()

# Runs in the child: needs nothing but kuzu, never writes, and leaves without closing.
_PROBE = """
import json, os, sys
import kuzu
path, pool, queries = json.load(sys.stdin)
connection = kuzu.Connection(kuzu.Database(path, read_only=True, buffer_pool_size=pool))
for query in queries:
    connection.execute(query).get_all()
os._exit(0)
"""


def open_database(path: Path) -> Any:
    """A ``kuzu.Database`` that never checkpoints in place.

    Raises VaultLockedError when this or another process has the path open, and
    ProjectionDamagedError for a file that Kuzu refuses.
    """
    name = os.path.realpath(path)
    with _open_lock:
        if name in _open_paths:
            raise VaultLockedError(f"{path} is already open in this process", pid=os.getpid())
        if not path.exists():
            remove_files(path)
        if Path(f"{name}.shadow").exists():
            raise ProjectionDamagedError(f"{path} was cut off in a checkpoint: rebuild the graph")
        database = _open(path)
        _open_paths.add(name)
    return database


def _open(path: Path) -> Any:
    try:
        return kuzu.Database(
            str(path), buffer_pool_size=BUFFER_POOL_BYTES, auto_checkpoint=False
        )  # fmt: skip
    except Exception as error:
        text = str(error)
        if "Could not set lock" in text:
            raise VaultLockedError(f"another process has {path} open") from error
        if "No space left" in text or "Permission denied" in text or "Mmap" in text:
            raise VaultError(f"cannot open {path}: {text}") from error
        raise ProjectionDamagedError(f"cannot open {path}: rebuild the graph ({text})") from error


def close_database(database: Any, path: Path) -> None:
    """Closes the database and lets the path be opened again."""
    try:
        database.close()
    finally:
        with _open_lock:
            _open_paths.discard(os.path.realpath(path))


def probe(path: Path, timeout: float = PROBE_TIMEOUT_SECONDS) -> bool:
    """Whether a child process can open the file and read every table; changes nothing.

    ``timeout`` is in seconds. The file must not be open. A missing file is fine.
    """
    if not path.exists():
        return True
    queries = [count_nodes(name) for name in NODE_TABLES]
    queries += [count_edges(name) for name in REL_TABLES]
    queries += [all_nodes(t.name, [c.name for c in t.columns]) for t in NODE_TABLES.values()]
    queries += [
        all_edges(t.name, *ends, [c.name for c in t.columns])
        for t in REL_TABLES.values()
        for ends in t.ends
    ]
    try:
        child = subprocess.run(
            [sys.executable, "-c", _PROBE],
            input=json.dumps([str(path), BUFFER_POOL_BYTES, queries]),
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return False
    return child.returncode == 0


def log_bytes(path: Path) -> int:
    """Size of the log beside the file; 0 without one."""
    with contextlib.suppress(FileNotFoundError):
        return os.path.getsize(f"{path}.wal")
    return 0


def remove_files(path: Path) -> None:
    """Removes the file and its logs, the file first: a log alone is recognised as left over."""
    path.unlink(missing_ok=True)
    for suffix in _LOG_SUFFIXES:
        Path(f"{path}{suffix}").unlink(missing_ok=True)


def move_into_place(fresh: Path, path: Path) -> None:
    """Puts a closed file without a log in place of another; a crash leaves the old, none or new."""
    remove_files(path)
    os.replace(fresh, path)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
