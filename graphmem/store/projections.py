"""The two projections and how journal rows reach them; replay and commit use the same path."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path

from graphmem.model.items import Mention, PassageBundle
from graphmem.store.graph.base import GraphChanges, GraphStore
from graphmem.store.graph.changes import project
from graphmem.store.graph.snapshot import PinnedGraph, SnapshotBuilder
from graphmem.store.index_apply import IndexApplier
from graphmem.store.index_schema import NEVER, applied_seq, clear
from graphmem.store.journal import Journal, JournalRow
from graphmem.store.sqlite import Pin, Readers
from graphmem.store.trouble import need_room
from graphmem.store.visibility import as_json
from graphmem.vocabulary import StateKind

# Bytes that must be free beside what a batch takes before the graph is written, and after it: a
# log of which a part found no room is not to be trusted.
GRAPH_ROOM_BYTES, LEAST_ROOM_BYTES = 4 * 1024 * 1024, 1024 * 1024
# Bytes of a node or an edge in the log beside its texts.
ROW_BYTES = 500

# Named points at which a test may interrupt a commit.
Fault = Callable[[str], None]


def no_fault(_: str) -> None:
    """The hook of normal operation."""


def _bytes_of(changes: GraphChanges) -> int:
    """About what the changes take in the graph's log."""
    rows = [row for table in changes.nodes.values() for row in table.values()]
    rows += [edge.row for edge in changes.edges]
    texts = (len(value) for row in rows for value in row.values() if isinstance(value, str))
    return ROW_BYTES * len(rows) + sum(texts)


class IndexLookup:
    """What operations do not carry and the graph needs: mentions and standing states."""

    def __init__(self, readers: Readers) -> None:
        self._readers = readers

    def mention(self, mention_id: str) -> Mention | None:
        """The newest version of a mention."""
        with self._readers.reading() as db:
            row = db.execute(
                "SELECT i.json FROM part x JOIN item i ON i.id = x.passage_id "
                "WHERE x.id = ? AND i.json IS NOT NULL ORDER BY i.seq DESC LIMIT 1",
                (mention_id,),
            ).fetchone()
        if row is None:
            return None
        bundle = PassageBundle.model_validate_json(row[0])
        return next((m for m in bundle.mentions if m.id == mention_id), None)

    def states(self, target_ids: Iterable[str]) -> Mapping[str, Mapping[StateKind, datetime]]:
        """The states that are set, per item."""
        with self._readers.reading() as db:
            rows = db.execute(
                "SELECT s.target_id, s.kind, s.at FROM json_each(?) j "
                "JOIN state s ON s.target_id = j.value WHERE s.gone = ?",
                (as_json(set(target_ids)), NEVER),
            ).fetchall()
        found: dict[str, dict[StateKind, datetime]] = {}
        for target, kind, at in rows:
            found.setdefault(target, {})[StateKind(kind)] = datetime.fromisoformat(at)
        return found


class Projections:
    """Index, graph and traversal snapshot, each with the sequence it has come to."""

    def __init__(
        self,
        readers: Readers,
        graph: GraphStore,
        reopened: Callable[[], GraphStore] | None = None,
    ) -> None:
        """``reopened`` closes the graph and opens what its files hold, or builds it anew."""
        self.readers, self.graph = readers, graph
        self._reopened = reopened
        self._doubtful = False
        self._lookup = IndexLookup(readers)
        self._builder = SnapshotBuilder(graph.adjacency(), graph.applied_seq)
        self._published = self._publish()

    @property
    def index_seq(self) -> int:
        """The last row in the index."""
        with self.readers.reading() as db:
            return applied_seq(db)

    def published(self) -> tuple[Pin, PinnedGraph]:
        """Index and graph at one sequence; they answer the same whatever is committed later."""
        return self._published

    def _publish(self) -> tuple[Pin, PinnedGraph]:
        graph = self._builder.pin()
        return self.readers.pin(graph.seq), graph

    def take(self, rows: Sequence[JournalRow], fault: Fault = no_fault) -> None:
        """Takes in one committed batch and publishes it; skips what a projection already has."""
        with self.readers.alone():
            changes, last = self._store(rows, fault), rows[-1].seq
            fault("before_publish")
            if self._builder.seq < last:
                self._builder.advance(changes, last)
            self._published = self._publish()

    def mend(self) -> None:
        """Opens the graph again after a write to it failed; raises while that does not work.

        An engine whose log was cut off by a full disk must not write on behind the torn end.
        """
        if self._doubtful and self._reopened is not None:
            self.graph = self._reopened()
        self._doubtful = False

    def catch_up(self, journal: Journal) -> None:
        """Takes in every batch that index or graph still lacks, then publishes the whole.

        The snapshot is made anew: an interruption may have left it half advanced.
        """
        with self.readers.alone():
            for rows in journal.batches(min(self.index_seq, self.graph.applied_seq)):
                self._store(rows)
            self.use_graph(self.graph)

    def _store(self, rows: Sequence[JournalRow], fault: Fault = no_fault) -> GraphChanges:
        last = rows[-1].seq
        changes = project(rows, self._lookup)
        if self.index_seq < last:
            with self.readers.writing(before=self._freeze) as db:
                IndexApplier(db).apply(rows)
        fault("after_index")
        if self.graph.applied_seq < last:
            need_room(self._folder, GRAPH_ROOM_BYTES + 2 * _bytes_of(changes))
            self._doubtful = True
            self.graph.apply(changes, last, lambda: fault("in_graph"))
            need_room(self._folder, LEAST_ROOM_BYTES)
            self._doubtful = False
        return changes

    @property
    def _folder(self) -> Path | None:
        return None if self.readers.path is None else self.readers.path.parent

    def _freeze(self) -> None:
        self._published[0].freeze()

    def fill_index(self, batches: Iterable[list[JournalRow]], *, erase: bool = False) -> None:
        """Builds the index anew from all batches, in one transaction, and publishes it.

        With ``erase`` what is no longer told is overwritten in the file too.
        """
        with self.readers.alone():
            with self.readers.writing(before=self._freeze) as db:
                db.execute(f"PRAGMA secure_delete={'ON' if erase else 'OFF'}")
                clear(db)
                applier = IndexApplier(db)
                for rows in batches:
                    applier.apply(rows)
            self._published = self._publish()

    def lookup(self) -> IndexLookup:
        """What operations do not carry and a graph that catches up needs."""
        return self._lookup

    def use_graph(self, graph: GraphStore) -> None:
        """Goes on with another graph, and makes the snapshot of it."""
        self.graph = graph
        self._builder = SnapshotBuilder(graph.adjacency(), graph.applied_seq)
        self._published = self._publish()
