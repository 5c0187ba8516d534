"""An engine's files: opening each path once per process, probing in a child, throwing away.

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

from graphmem.errors import ProjectionDamagedError, VaultLockedError
from graphmem.store.graph.cypher import all_edges, all_nodes, count_edges, count_nodes
from graphmem.store.graph.engines import ENGINES, Engine
from graphmem.store.graph.schema import NODE_TABLES, REL_TABLES
from graphmem.store.trouble import told

# Cap of the page cache; the engines' default is 80 % of the machine. Scans and joins over 100,000
# nodes and 500,000 edges need about 16 MB, one large batch of writes some tens more.
BUFFER_POOL_BYTES = 512 * 1024 * 1024
# A probe replays the log and counts every table; 200,000 nodes take well below this.
PROBE_TIMEOUT_SECONDS = 60.0

# Memory a probe may use beside its map of the file: Kuzu asks for more than 6 GB when it reads a
# zeroed page, and would take the machine down with it.
PROBE_BYTES = 4 * 1024**3
# The least size of a probe's map of the file, in bytes; the default of 8 TB cannot be limited.
LEAST_MAP_BYTES = 1024**3

# A file that is being built beside the one in use.
FRESH_SUFFIX = ".new"
# A finished file that waits to take the place of the one in use.
COMPACT_SUFFIX = ".compact"
# What the engines write beside a file; ladybug renames its log for the time of a checkpoint.
LOG_SUFFIXES = (
    ".wal",
    ".wal.checkpoint",
    ".shadow",
    ".checkpoint.apply.lock",
    ".checkpoint.intent.lock",
)

# Two Database objects on one path in a process lose committed rows without an error.
_open_paths: set[str] = set()
_open_lock = threading.Lock()

# Runs in the child: needs nothing but the engine, never writes, and leaves without closing.
_PROBE = """
import importlib, json, os, sys
name, path, options, queries, memory = json.load(sys.stdin)
if os.name == "posix":
    import resource
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
module = importlib.import_module(name)
connection = module.Connection(module.Database(path, read_only=True, **options))
for query in queries:
    connection.execute(query).get_all()
os._exit(0)
"""


def open_database(path: Path, engine: Engine) -> Any:
    """An engine's ``Database`` that never checkpoints in place.

    Raises VaultLockedError when this or another process has the path open, and
    ProjectionDamagedError for a file that the engine refuses.
    """
    name = os.path.realpath(path)
    with _open_lock:
        if name in _open_paths:
            raise VaultLockedError(f"{path} is already open in this process", pid=os.getpid())
        if not path.exists():
            remove_files(path)
        if Path(f"{name}.shadow").exists():
            raise ProjectionDamagedError(f"{path} was cut off in a checkpoint: rebuild the graph")
        database = _open(path, engine)
        _open_paths.add(name)
    return database


def _open(path: Path, engine: Engine) -> Any:
    module = engine.module()
    options = {"buffer_pool_size": BUFFER_POOL_BYTES, "auto_checkpoint": False, **engine.options}
    try:
        return module.Database(str(path), **options)
    except Exception as error:
        text = str(error)
        if "Could not set lock" in text:
            raise VaultLockedError(f"another process has {path} open") from error
        if "No space left" in text or "Permission denied" in text or "Mmap" in text:
            raise told(f"{path} cannot be opened", error) from error
        raise ProjectionDamagedError(f"cannot open {path}: rebuild the graph ({text})") from error


def close_database(database: Any, path: Path) -> None:
    """Closes the database and lets the path be opened again."""
    try:
        database.close()
    finally:
        with _open_lock:
            _open_paths.discard(os.path.realpath(path))


def probe(path: Path, engine: Engine, timeout: float = PROBE_TIMEOUT_SECONDS) -> bool:
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
    size = map_bytes(path)
    options = {
        "buffer_pool_size": BUFFER_POOL_BYTES,
        "max_db_size": size,
        **engine.options,
    }
    try:
        child = subprocess.run(
            [sys.executable, "-c", _PROBE],
            input=json.dumps([engine.module_name, str(path), options, queries, size + PROBE_BYTES]),
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return False
    return child.returncode == 0


def map_bytes(path: Path) -> int:
    """A power of two in which a file, its log and as much again find room, in bytes."""
    needed = 4 * (os.path.getsize(path) + log_bytes(path))
    return max(LEAST_MAP_BYTES, 1 << needed.bit_length())


def log_bytes(path: Path) -> int:
    """Size of the log beside the file; 0 without one."""
    with contextlib.suppress(FileNotFoundError):
        return os.path.getsize(f"{path}.wal")
    return 0


def remove_files(path: Path) -> None:
    """Removes the file and its logs, the file first: a log alone is recognised as left over."""
    path.unlink(missing_ok=True)
    for suffix in LOG_SUFFIXES:
        Path(f"{path}{suffix}").unlink(missing_ok=True)


def remove_build(path: Path) -> None:
    """Removes a file that was built or is being built, at whatever stage."""
    remove_files(path.with_name(f"{path.name}{FRESH_SUFFIX}"))
    remove_files(path)


def remove_leftovers(folder: Path, engine: str) -> None:
    """Removes what a cut-off build, compaction or switch of engines left in a vault's folder."""
    for each in ENGINES.values():
        path = folder / each.file
        remove_build(path.with_name(f"{path.name}{COMPACT_SUFFIX}"))
        remove_files(path.with_name(f"{path.name}{FRESH_SUFFIX}"))
        if each.name != engine:
            remove_files(path)


def move_into_place(fresh: Path, path: Path) -> None:
    """Puts a closed file without a log in place of another; a crash leaves the old, none or new."""
    remove_files(path)
    os.replace(fresh, path)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
