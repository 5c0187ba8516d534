"""Opening the projections whatever state they are in: probe, move aside, rebuild, replay."""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain
from pathlib import Path

import apsw

from graphmem.errors import ProjectionDamagedError
from graphmem.store.compare import Steps, no_steps, watched
from graphmem.store.digest import INDEX_FILE
from graphmem.store.graph.base import GraphStore
from graphmem.store.graph.changes import NothingStored, project
from graphmem.store.graph.engines import MEMORY, engine_named
from graphmem.store.graph.memory import MemoryGraph
from graphmem.store.index_schema import create
from graphmem.store.journal import Journal
from graphmem.store.projections import GRAPH_ROOM_BYTES, Fault, Projections, no_fault
from graphmem.store.sqlite import Readers, connect, transaction
from graphmem.store.trouble import JOURNAL_FILE, is_cut, need_room, told
from graphmem.store.vectors import load_extension, take_vectors

# Learns what was found damaged and what was done about it.
Tell = Callable[[str], None]

# Bytes that must be free beside four times the journal to build a graph: an empty one takes 9 MB
# beside its log.
BUILD_ROOM_BYTES = 24 * 1024 * 1024

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
        if path is not None and is_cut(error):
            return another_index(path, str(error), tell)
        raise told(f"{path} cannot be opened", error) from error


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
    from graphmem.store.graph.files import LOG_SUFFIXES

    for suffix in ("", "-wal", "-shm", *LOG_SUFFIXES):
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
    if folder is None or engine == MEMORY:
        return rebuilt_graph(None, MEMORY, journal) if journal.head else MemoryGraph()
    from graphmem.store.graph.cypher_engine import CypherGraph
    from graphmem.store.graph.files import probe

    kind = engine_named(engine)
    kind.require()
    path = folder / kind.file
    need_room(folder, GRAPH_ROOM_BYTES)
    if journal.head and not path.exists():
        return rebuilt_graph(folder, engine, journal, steps)
    try:
        if not trusted and not probe(path, kind):
            raise ProjectionDamagedError(f"{path} is damaged")
        graph: GraphStore = CypherGraph(path, kind)
    except ProjectionDamagedError as error:
        return another_graph(folder, engine, journal, str(error), tell, steps)
    return graph


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def another_graph(
    folder: Path, engine: str, journal: Journal, reason: str, tell: Tell, steps: Steps
) -> GraphStore:
    """A graph built from the journal in place of a damaged one, which is moved aside."""
    path = folder / engine_named(engine).file
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


def replay(
    journal: Journal,
    projections: Projections,
    fault: Fault = no_fault,
    steps: Steps = no_steps,
) -> None:
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
        projections.take(rows, fault)
