"""Opening the projections whatever state they are in: probe, move aside, rebuild, replay."""

from __future__ import annotations

import json
from itertools import chain
from pathlib import Path

import apsw

from graphmem.errors import ProjectionDamagedError
from graphmem.store.graph.base import GraphStore
from graphmem.store.graph.changes import NothingStored, project
from graphmem.store.graph.engines import ENGINES, MEMORY, engine_named
from graphmem.store.graph.memory import MemoryGraph
from graphmem.store.index_schema import clear, create
from graphmem.store.journal import Journal
from graphmem.store.projections import GRAPH_ROOM_BYTES, Fault, Projections, no_fault
from graphmem.store.sqlite import Readers, connect, transaction
from graphmem.store.trouble import JOURNAL_FILE, need_room, told
from graphmem.store.vectors import load_extension

INDEX_FILE = "index.sqlite"
# Written by a clean close and removed by an open. Without it, or when a file is not as it was, the
# index is checked and the graph is probed in a child first.
CLEAN_MARK = "clean"

# Bytes that must be free beside four times the journal to build a graph: an empty one takes 9 MB
# beside its log.
BUILD_ROOM_BYTES = 24 * 1024 * 1024

# What SQLite raises for a file that is damaged or none of its own; not for a full disk.
_DAMAGE = (apsw.CorruptError, apsw.NotADBError, apsw.FormatError, apsw.SQLError)


def clean_mark(folder: Path) -> str:
    """Sizes and times of the projections' files: a clean close writes them down."""
    found: dict[str, list[int]] = {}
    graphs = [f"{each.file}{suffix}" for each in ENGINES.values() for suffix in ("", ".wal")]
    for name in (INDEX_FILE, *graphs):
        path = folder / name
        if path.exists():
            stat = path.stat()
            found[name] = [stat.st_size, stat.st_mtime_ns]
    return json.dumps(found)


def _read_mark(folder: Path) -> str | None:
    try:
        return (folder / CLEAN_MARK).read_text(encoding="utf-8")
    except (OSError, ValueError):
        return None


def open_index(folder: Path | None, trusted: bool = False) -> Readers:
    """The index, made anew when it is missing, damaged or of another version."""
    path = None if folder is None else folder / INDEX_FILE
    try:
        return _index(path, trusted)
    except _DAMAGE:
        if path is None:
            raise
        _move_aside(path)
        return _index(path, trusted=False)
    except apsw.Error as error:
        raise told(f"{path} cannot be opened", error) from error


def _index(path: Path | None, trusted: bool) -> Readers:
    db = connect(path, synchronous="NORMAL")
    try:
        load_extension(db)
        if not trusted and db.execute("PRAGMA quick_check(1)").get != "ok":
            raise apsw.CorruptError(f"{path} is damaged")
        with transaction(db):
            create(db)
    except BaseException:
        db.close()
        raise
    readers = Readers(db, path)
    readers.prepare_with(load_extension)
    return readers


def _move_aside(path: Path) -> None:
    """Keeps a damaged file for inspection; a second one replaces the first."""
    for suffix in ("", "-wal", "-shm", ".wal", ".shadow"):
        part = Path(f"{path}{suffix}")
        if part.exists():
            part.replace(f"{path}{suffix}.damaged")


def take_mark(folder: Path | None) -> bool:
    """Whether the files are as the last clean close left them; the mark is gone afterwards."""
    if folder is None:
        return True
    trusted = _read_mark(folder) == clean_mark(folder)
    (folder / CLEAN_MARK).unlink(missing_ok=True)
    return trusted


def open_graph(
    folder: Path | None, engine: str, journal: Journal, trusted: bool = False
) -> GraphStore:
    """The graph; one that cannot be opened or is ahead of the journal is built anew."""
    if folder is None or engine == MEMORY:
        return rebuilt_graph(None, MEMORY, journal) if journal.head else MemoryGraph()
    from graphmem.store.graph.cypher_engine import CypherGraph
    from graphmem.store.graph.files import probe

    kind = engine_named(engine)
    kind.require()
    path = folder / kind.file
    need_room(folder, GRAPH_ROOM_BYTES)
    if journal.head and not path.exists():
        return rebuilt_graph(folder, engine, journal)
    try:
        if not trusted and not probe(path, kind):
            raise ProjectionDamagedError(f"{path} is damaged")
        graph: GraphStore = CypherGraph(path, kind)
    except ProjectionDamagedError:
        _move_aside(path)
        return rebuilt_graph(folder, engine, journal)
    if graph.applied_seq > journal.head:
        graph.close()
        return rebuilt_graph(folder, engine, journal)
    return graph


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def rebuilt_graph(folder: Path | None, engine: str, journal: Journal) -> GraphStore:
    """A fresh graph of the whole journal."""
    rows = list(chain.from_iterable(journal.batches()))
    changes = project(rows, NothingStored())
    seq = rows[-1].seq if rows else 0
    if folder is None or engine == MEMORY:
        graph: GraphStore = MemoryGraph()
        if rows:
            graph.load(changes, seq)
        return graph
    from graphmem.store.graph.cypher_engine import CypherGraph
    from graphmem.store.graph.files import remove_files

    kind = engine_named(engine)
    path = folder / kind.file
    need_room(folder, BUILD_ROOM_BYTES + 4 * _size(folder / JOURNAL_FILE))
    if rows:
        CypherGraph.build(path, kind, changes, seq)
    else:
        remove_files(path)
    return CypherGraph(path, kind)


def replay(journal: Journal, projections: Projections, fault: Fault = no_fault) -> None:
    """Brings every projection from its own sequence to the journal's head."""
    head = journal.head
    if projections.index_seq > head:
        with projections.readers.writing() as db:
            clear(db)
    start = min(projections.index_seq, projections.graph.applied_seq)
    if start == 0 and projections.graph.applied_seq == head and head:
        projections.fill_index(journal.batches())
        return
    for rows in journal.batches(start):
        projections.take(rows, fault)
