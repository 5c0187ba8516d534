"""Opening the projections whatever state they are in: probe, move aside, rebuild, replay."""

from __future__ import annotations

from itertools import chain
from pathlib import Path

import apsw

from graphmem.errors import ProjectionDamagedError
from graphmem.store.graph.base import GraphStore
from graphmem.store.graph.changes import NothingStored, project
from graphmem.store.graph.memory import MemoryGraph
from graphmem.store.index_schema import clear, create
from graphmem.store.journal import Journal
from graphmem.store.projections import Projections
from graphmem.store.sqlite import Readers, connect, transaction
from graphmem.store.vectors import load_extension

INDEX_FILE = "index.sqlite"
GRAPH_FILE = "graph.kuzu"
# Written by a clean close and removed by an open: without it the graph is probed in a child first.
CLEAN_MARK = "clean"


def open_index(folder: Path | None) -> Readers:
    """The index, made anew when it is missing, damaged or of another version."""
    path = None if folder is None else folder / INDEX_FILE
    try:
        return _index(path)
    except apsw.Error:
        if path is None:
            raise
        _move_aside(path)
        return _index(path)


def _index(path: Path | None) -> Readers:
    db = connect(path, synchronous="NORMAL")
    try:
        load_extension(db)
        if db.execute("PRAGMA quick_check(1)").get != "ok":
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


def open_graph(folder: Path | None, engine: str, journal: Journal) -> GraphStore:
    """The graph; one that cannot be opened or is ahead of the journal is built anew."""
    if folder is None or engine == "memory":
        return rebuilt_graph(None, "memory", journal) if journal.head else MemoryGraph()
    from graphmem.store.graph.kuzu_engine import KuzuGraph
    from graphmem.store.graph.kuzu_files import log_bytes, probe

    path = folder / GRAPH_FILE
    if not path.exists() and journal.head:
        return rebuilt_graph(folder, engine, journal)
    clean = folder / CLEAN_MARK
    trusted = clean.exists()
    clean.unlink(missing_ok=True)
    try:
        if log_bytes(path) and not trusted and not probe(path):
            raise ProjectionDamagedError(f"{path} is damaged")
        graph: GraphStore = KuzuGraph(path)
    except ProjectionDamagedError:
        _move_aside(path)
        return rebuilt_graph(folder, engine, journal)
    if graph.applied_seq > journal.head:
        graph.close()
        return rebuilt_graph(folder, engine, journal)
    return graph


def rebuilt_graph(folder: Path | None, engine: str, journal: Journal) -> GraphStore:
    """A fresh graph of the whole journal."""
    rows = list(chain.from_iterable(journal.batches()))
    changes = project(rows, NothingStored())
    seq = rows[-1].seq if rows else 0
    if folder is None or engine == "memory":
        graph: GraphStore = MemoryGraph()
        if rows:
            graph.load(changes, seq)
        return graph
    from graphmem.store.graph.kuzu_engine import KuzuGraph

    path = folder / GRAPH_FILE
    if rows:
        KuzuGraph.build(path, changes, seq)
    return KuzuGraph(path)


def replay(journal: Journal, projections: Projections) -> None:
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
        projections.take(rows)
