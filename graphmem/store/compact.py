"""Folding the graph's log while the vault is in use: a fresh file, built aside and swapped in.

The file is built by a child from the journal, up to where the graph stands. It then catches up
beside the writer, and takes the old file's place under the writer's lock, where only the last few
rows are missing. Readers work on the snapshot in memory and notice nothing. A crash leaves the old
file, none, or the fresh one, each with its own ``applied_seq``: the next open heals it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

from graphmem.store.building import ChildBuild
from graphmem.store.digest import GRAPH_PREFIX
from graphmem.store.graph.base import GraphStore
from graphmem.store.graph.changes import project
from graphmem.store.graph.engines import Engine
from graphmem.store.graph.files import COMPACT_SUFFIX, move_into_place, remove_build
from graphmem.store.heal import open_graph
from graphmem.store.journal import Journal
from graphmem.store.projections import Fault, Projections

# Times the fresh file catches up outside the lock; what came meanwhile gets less each time.
ROUNDS = 3
# Rows that may be left for the time under the lock: a commit of that size takes some 20 ms.
ROWS_LEFT = 200


class Compactor:
    """Folds the log of one vault's graph; one run at a time, in any thread."""

    def __init__(
        self,
        folder: Path,
        engine: Engine,
        journal: Journal,
        projections: Projections,
        paused: Callable[[], AbstractContextManager[object]],
        fault: Fault,
        mark: Callable[[str], None],
    ) -> None:
        """``mark`` writes down how the files are, but for those whose names start so."""
        self._folder, self._engine = folder, engine
        self._path = folder / engine.file
        self._fresh = folder / f"{engine.file}{COMPACT_SUFFIX}"
        self._journal, self._projections = journal, projections
        self._paused, self._fault, self._mark = paused, fault, mark
        self._running = threading.Lock()
        self._child: ChildBuild | None = None
        self._outdated = self._stopped = False

    def outdate(self) -> None:
        """The graph was made anew meanwhile: a run that is under way is given up.

        Called under the writer's lock; its file is removed, for it may hold what was purged.
        """
        self._outdated = True
        self._end_child()
        remove_build(self._fresh)

    def stop(self) -> None:
        """No more runs; returns when the one under way has ended."""
        self._stopped = True
        self._end_child()
        with self._running:
            pass

    def _end_child(self) -> None:
        child = self._child
        if child is not None:
            child.end()

    def _given_up(self) -> bool:
        return self._outdated or self._stopped

    def run(self) -> bool:
        """Whether the log was folded; False when another run, a rebuild or ``stop`` came between.

        Raises VaultError when the fresh file could not be made; the vault then goes on as it was.
        """
        if not self._running.acquire(blocking=False):
            return False
        try:
            with self._paused():
                self._outdated = False
                start = self._projections.graph.applied_seq
            if self._stopped or start == 0:
                return False
            self._build(start)
            return self._swap()
        except Exception:
            if self._given_up():
                return False
            raise
        finally:
            self._child = None
            remove_build(self._fresh)
            self._running.release()

    def _build(self, start: int) -> None:
        remove_build(self._fresh)
        self._child = ChildBuild(self._folder, self._fresh, self._engine, start)
        if self._given_up():
            self._end_child()
        self._child.wait()
        self._fault("compact_built")
        for _ in range(ROUNDS):
            if self._given_up() or self._journal.head - start <= ROWS_LEFT:
                break
            start = self._catch_up_aside()
        self._fault("compact_caught_up")

    def _catch_up_aside(self) -> int:
        """Brings the fresh file to the journal's head as of now and folds its log."""
        from graphmem.store.graph.cypher_engine import CypherGraph

        graph = CypherGraph(self._fresh, self._engine)
        try:
            self._catch_up(graph)
            graph.checkpoint()
            return graph.applied_seq
        finally:
            graph.close()

    def _catch_up(self, graph: GraphStore) -> None:
        rows = list(self._journal.rows(graph.applied_seq))
        if rows:
            graph.apply(project(rows, self._projections.lookup()), rows[-1].seq)

    def _swap(self) -> bool:
        self._mark(GRAPH_PREFIX)
        with self._paused():
            if self._given_up():
                return False
            self._projections.graph.close()
            self._fault("compact_closed")
            move_into_place(self._fresh, self._path)
            self._fault("compact_swapped")
            graph = open_graph(self._folder, self._engine.name, self._journal, trusted=True)
            self._projections.graph = graph
            self._catch_up(graph)
            self._mark("")
            self._fault("compact_done")
            return True
