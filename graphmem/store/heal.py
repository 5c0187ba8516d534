"""Opening the projections whatever state they are in: probe, move aside, rebuild, replay."""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain
from pathlib import Path

import apsw

from graphmem.errors import ProjectionDamagedError, VaultError
from graphmem.store.graph.base import GraphStore
from graphmem.store.graph.changes import NothingStored, project
from graphmem.store.graph.memory import MemoryGraph
from graphmem.store.compare import Steps, no_steps, watched
from graphmem.store.digest import INDEX_FILE
from graphmem.store.index_schema import create
from graphmem.store.journal import Journal
from graphmem.store.projections import Projections
from graphmem.store.sqlite import Readers, connect, transaction
from graphmem.store.vectors import load_extension, take_vectors

# Learns what was found damaged and what was done about it.
Tell = Callable[[str], None]

GRAPH_FILE = "graph.kuzu"
# Stands while the graph's log holds removed nodes: Kuzu 0.11.3 may take other edges with them when
# it replays the log, so the next open builds the graph anew.
REMOVED_MARK = "graph.removed"

# What SQLite raises for a file that is damaged or none of its own; not for a full disk.
_DAMAGE = (apsw.CorruptError, apsw.NotADBError, apsw.FormatError, apsw.SQLError)


def no_word(_: str) -> None:
    """Nobody listens."""


def open_index(folder: Path | None, trusted: bool = False, tell: Tell = no_word) -> Readers:
    """The index, made anew when it is missing, damaged or of another version.

    ``tell`` learns what was damaged. Vectors that can be read of a damaged index are kept.
    """
    path = None if folder is None else folder / INDEX_FILE
    try:
        return _index(path, trusted)
    except _DAMAGE as error:
        if path is None:
            raise
        return another_index(path, str(error), tell)
    except apsw.Error as error:
        raise VaultError(f"cannot open {path}: {error}; free space or check its rights") from error


def another_index(path: Path, reason: str, tell: Tell) -> Readers:
    """An empty index in place of a damaged one, which is moved aside; with its vectors."""
    move_aside(path)
    readers = _index(path, trusted=False)
    kept = take_vectors(Path(f"{path}.damaged"), readers)
    tell(
        f"the index was damaged ({reason}) and was built anew from the journal; {kept} vectors "
        f"could be kept, the damaged file was moved to {path.name}.damaged"
    )
    return readers


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


def move_aside(path: Path) -> None:
    """Keeps a damaged file for inspection; a second one replaces the first."""
    for suffix in ("", "-wal", "-shm", ".wal", ".shadow"):
        part = Path(f"{path}{suffix}")
        if part.exists():
            part.replace(f"{path}{suffix}.damaged")


def open_graph(
    folder: Path | None,
    engine: str,
    journal: Journal,
    trusted: bool = False,
    tell: Tell = no_word,
    steps: Steps = no_steps,
) -> GraphStore:
    """The graph; one that cannot be opened is built anew, and ``tell`` learns of it."""
    if folder is None or engine == "memory":
        return rebuilt_graph(None, "memory", journal) if journal.head else MemoryGraph()
    from graphmem.store.graph.kuzu_engine import KuzuGraph
    from graphmem.store.graph.kuzu_files import probe

    path = folder / GRAPH_FILE
    if journal.head and (not path.exists() or (folder / REMOVED_MARK).exists()):
        return rebuilt_graph(folder, engine, journal, steps)
    try:
        if not trusted and not probe(path):
            raise ProjectionDamagedError(f"{path} is damaged")
        graph: GraphStore = KuzuGraph(path)
    except ProjectionDamagedError as error:
        return another_graph(folder, engine, journal, str(error), tell, steps)
    return graph


def another_graph(
    folder: Path, engine: str, journal: Journal, reason: str, tell: Tell, steps: Steps
) -> GraphStore:
    """A graph built from the journal in place of a damaged one, which is moved aside."""
    path = folder / GRAPH_FILE
    move_aside(path)
    graph = rebuilt_graph(folder, engine, journal, steps)
    tell(
        f"the graph was damaged ({reason}) and was built anew from the journal; nothing is lost, "
        f"the damaged file and its log were moved to {path.name}*.damaged"
    )
    return graph


def rebuilt_graph(
    folder: Path | None, engine: str, journal: Journal, steps: Steps = no_steps
) -> GraphStore:
    """A fresh graph of the whole journal."""
    told = watched(journal.batches(), "building the graph", journal.head, steps)
    rows = list(chain.from_iterable(told))
    changes = project(rows, NothingStored())
    seq = rows[-1].seq if rows else 0
    if folder is None or engine == "memory":
        graph: GraphStore = MemoryGraph()
        if rows:
            graph.load(changes, seq)
        return graph
    from graphmem.store.graph.kuzu_engine import KuzuGraph
    from graphmem.store.graph.kuzu_files import remove_files

    path = folder / GRAPH_FILE
    if rows:
        KuzuGraph.build(path, changes, seq)
    else:
        remove_files(path)
    (folder / REMOVED_MARK).unlink(missing_ok=True)
    return KuzuGraph(path)


def replay(journal: Journal, projections: Projections, steps: Steps = no_steps) -> None:
    """Brings every projection from its own sequence to the journal's head."""
    head = journal.head
    start = min(projections.index_seq, projections.graph.applied_seq)
    if start >= head:
        return
    told = watched(journal.batches(start), "building the index", head, steps)
    if start == 0 and projections.graph.applied_seq == head and projections.index_seq == 0:
        projections.fill_index(told)
        return
    for rows in told:
        projections.take(rows)
