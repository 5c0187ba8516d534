"""What can be told of a vault's files while it is closed, held or broken; nothing is changed."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import apsw

from graphmem.errors import VaultError
from graphmem.store.config import raw_config
from graphmem.store.digest import INDEX_FILE, look
from graphmem.store.graph.engines import ENGINES, Engine
from graphmem.store.index_schema import NEVER, applied_seq, get_meta
from graphmem.store.lock import _take
from graphmem.store.reading import damaged_rows, head_of, journal_of, reading
from graphmem.store.trouble import JOURNAL_FILE
from graphmem.store.vault import MAX_LOG_BYTES

# A longer journal is left to ``verify``: hashing this many rows takes some seconds.
MAX_CHAIN_ROWS = 200_000
# Seconds to open a graph and read one row of it; its log is replayed first.
GRAPH_TIMEOUT_S = 60.0

# Runs in a child, for a damaged file aborts its process; needs nothing but the engine.
_GRAPH_PROBE = """
import importlib, json, os, sys
name, path, options = json.load(sys.stdin)
module = importlib.import_module(name)
size = 64 * 1024 * 1024
database = module.Database(path, read_only=True, buffer_pool_size=size, **options)
query = "MATCH (m:Meta {id: 'applied_seq'}) RETURN m.value"
print(module.Connection(database).execute(query).get_all()[0][0], flush=True)
os._exit(0)
"""


@dataclass(frozen=True, slots=True)
class JournalFacts:
    """``damaged`` are rows that do not fit the chain, None when there were too many to look."""

    head: int
    version: int
    bytes: int
    log_bytes: int
    sound: bool
    damaged: tuple[int, ...] | None


@dataclass(frozen=True, slots=True)
class IndexFacts:
    """``pending`` counts passages without a vector of the bound embedder."""

    seq: int
    version: str
    bytes: int
    log_bytes: int
    vectors: int
    pending: int


def sqlite_version() -> str:
    """The SQLite library that is used."""
    return str(apsw.sqlite_lib_version())


@contextmanager
def lock_kept(folder: Path) -> Iterator[bool]:
    """Whether nobody has the vault open; nobody can open it until the end of the context then."""
    try:
        with (folder / "lock").open("r", encoding="utf-8") as file:
            yield _taken(file)
    except FileNotFoundError:
        yield True


def _taken(file: object) -> bool:
    try:
        _take(file)  # type: ignore[arg-type]
    except OSError:
        return False
    return True


def journal_facts(folder: Path, *, still: bool) -> JournalFacts:
    """Raises VaultError when the file cannot be read at all."""
    path = folder / JOURNAL_FILE
    try:
        with reading(path, still=still) as db:
            head, _ = head_of(db)
            damaged = tuple(damaged_rows(journal_of(db))) if head <= MAX_CHAIN_ROWS else None
            return JournalFacts(
                head=head,
                version=int(db.pragma("user_version")),
                bytes=_size(path),
                log_bytes=_size(Path(f"{path}-wal")),
                sound=db.execute("PRAGMA quick_check(1)").fetchone()[0] == "ok",
                damaged=damaged,
            )
    except apsw.Error as error:
        raise VaultError(f"{path} cannot be read ({error})") from error


def index_facts(folder: Path, *, still: bool) -> IndexFacts:
    """Raises VaultError when the file is missing or cannot be read."""
    path = folder / INDEX_FILE
    bound = raw_config(folder).get("embedder") or {}
    name = bound.get("name", "") if isinstance(bound, dict) else ""
    try:
        with reading(path, still=still) as db:
            return IndexFacts(
                seq=applied_seq(db),
                version=get_meta(db, "version") or "",
                bytes=_size(path),
                log_bytes=_size(Path(f"{path}-wal")),
                vectors=_count(db, "vector WHERE embedder = ?", name),
                pending=_count(db, _PENDING, name) if name else 0,
            )
    except apsw.Error as error:
        raise VaultError(f"{path} cannot be read ({error})") from error


_PENDING = (
    "passage p LEFT JOIN vector v ON v.hash = p.search_hash AND v.embedder = ? "
    f"WHERE p.gone = {NEVER} AND v.hash IS NULL AND NOT EXISTS (SELECT 1 FROM state s "
    f"WHERE s.target_id IN (p.id, p.source_id) AND s.gone = {NEVER})"
)


def _count(db: apsw.Connection, what: str, name: str) -> int:
    return int(db.execute(f"SELECT count(*) FROM {what}", (name,)).get)


def _engine(folder: Path) -> Engine | None:
    return ENGINES.get(str(raw_config(folder).get("engine", "")))


def graph_seq(folder: Path) -> int | None:
    """The last row in the graph's file, None when it cannot be read; nobody may have it open."""
    engine = _engine(folder)
    if engine is None:
        return None
    asked = json.dumps([engine.module_name, str(folder / engine.file), dict(engine.options)])
    try:
        child = subprocess.run(
            [sys.executable, "-c", _GRAPH_PROBE],
            input=asked,
            capture_output=True,
            text=True,
            timeout=GRAPH_TIMEOUT_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return None
    said = child.stdout.strip()
    return int(said) if child.returncode == 0 and said.isdecimal() else None


def graph_log(folder: Path) -> tuple[int, int]:
    """Bytes of the graph's log and the bound beyond which it is folded into a fresh file."""
    engine = _engine(folder)
    return (0 if engine is None else _size(folder / f"{engine.file}.wal")), MAX_LOG_BYTES


def has_graph_file(folder: Path) -> bool:
    """Whether the engine keeps a file and it is there."""
    engine = _engine(folder)
    return engine is not None and (folder / engine.file).exists()


def was_closed(folder: Path) -> bool:
    """Whether the files are as the last clean close left them."""
    trust = look(folder)
    return trust.closed and trust.same("")


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0
