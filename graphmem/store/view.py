"""A view: every read a caller may make, pinned to one published sequence."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from datetime import datetime

from graphmem.model.items import PassageBundle, Root, Source
from graphmem.model.scope import Scope
from graphmem.store.graph.base import GraphStore
from graphmem.store.graph.snapshot import GraphSnapshot, PinnedGraph
from graphmem.store.items import parse_bundle
from graphmem.store.search import SearchReads
from graphmem.store.sqlite import Readers
from graphmem.store.vectors import VectorTable
from graphmem.store.visibility import VISIBLE_PASSAGE, as_json, hidden
from graphmem.vocabulary import StateKind


class StoreView(SearchReads):
    """See ``graphmem.store.protocols.View``; safe in any thread."""

    def __init__(
        self,
        readers: Readers,
        graph: GraphStore,
        pinned: PinnedGraph,
        vectors: VectorTable,
        now: datetime,
    ) -> None:
        super().__init__(readers, graph, pinned.seq, now)
        self._pinned, self._vectors = pinned, vectors

    def __repr__(self) -> str:
        return f"StoreView(seq={self._seq})"

    def adjacency(self, scope: Scope) -> GraphSnapshot:
        """The traversal snapshot without anything the scope hides."""
        with self._readers.reading() as db:
            ids = self._sight(scope).hidden_ids(db)
        return self._pinned.snapshot(ids)

    # what an ingest must know, hidden items included

    def source_by_uri(self, project: str, uri: str) -> Source | None:
        """The source of a project at a uri, hidden or not."""
        with self._readers.reading() as db:
            row = db.execute(
                "SELECT id FROM source WHERE project = ? AND uri = ? AND seq <= ? AND gone > ?",
                (project, uri, self._seq, self._seq),
            ).fetchone()
        return None if row is None else self._load("source", [row[0]], Source).get(row[0])

    def source_list(self, root_id: str | None = None) -> list[Source]:
        """All sources (of one root), sorted by uri then id."""
        with self._readers.reading() as db:
            rows = db.execute(
                "SELECT id FROM source WHERE seq <= :seq AND gone > :seq "
                "AND (:root IS NULL OR root_id = :root)",
                {"seq": self._seq, "root": root_id},
            ).fetchall()
        found = self._load("source", [row[0] for row in rows], Source)
        return sorted(found.values(), key=lambda source: (source.uri, source.id))

    def existing(self, ids: Iterable[str]) -> frozenset[str]:
        """Which of the ids (any kind) are stored, hidden or not."""
        wanted = {"ids": as_json(set(ids)), "seq": self._seq}
        with self._readers.reading() as db:
            rows = db.execute(
                "SELECT i.id FROM json_each(:ids) j JOIN item i ON i.id = j.value "
                "WHERE i.json IS NOT NULL AND i.seq = "
                "(SELECT max(seq) FROM item WHERE id = i.id AND seq <= :seq) "
                "UNION SELECT x.id FROM json_each(:ids) j JOIN part x ON x.id = j.value "
                "WHERE x.seq <= :seq AND x.gone > :seq",
                wanted,
            ).fetchall()
        return frozenset(row[0] for row in rows)

    def backed_facts(self, fact_ids: Iterable[str]) -> frozenset[str]:
        """Which of the facts have evidence, hidden or not."""
        found = self._graph.evidence_of(sorted(set(fact_ids)), self._seq)
        return frozenset(fact for fact, evidence in found.items() if evidence)

    def bundles(self, passage_ids: Iterable[str]) -> Mapping[str, PassageBundle]:
        """Passages with all that was read from them, hidden or not."""
        return {k: parse_bundle(text) for k, text in self.json_of("passage", passage_ids).items()}

    def statements_by_event(self, event_keys: Iterable[str]) -> Mapping[str, list[str]]:
        """The statement ids of each event key, sorted."""
        with self._readers.reading() as db:
            rows = db.execute(
                "SELECT x.event_key, x.id FROM json_each(:keys) j JOIN part x "
                "ON x.event_key = j.value WHERE x.event_key <> '' "
                "AND x.seq <= :seq AND x.gone > :seq ORDER BY x.event_key, x.id",
                {"keys": as_json(set(event_keys)), "seq": self._seq},
            ).fetchall()
        grouped: dict[str, list[str]] = {}
        for key, ident in rows:
            grouped.setdefault(key, []).append(ident)
        return grouped

    def states(self, target_ids: Iterable[str]) -> Mapping[str, Mapping[StateKind, datetime]]:
        """The states that are set, per item."""
        with self._readers.reading() as db:
            rows = db.execute(
                "SELECT s.target_id, s.kind, s.at FROM json_each(:ids) j "
                "JOIN state s ON s.target_id = j.value WHERE s.seq <= :seq AND s.gone > :seq",
                {"ids": as_json(set(target_ids)), "seq": self._seq},
            ).fetchall()
        found: dict[str, dict[StateKind, datetime]] = {}
        for target, kind, at in rows:
            found.setdefault(target, {})[StateKind(kind)] = datetime.fromisoformat(at)
        return found

    def _all(self, kind: str) -> list[str]:
        with self._readers.reading() as db:
            rows = db.execute(
                "SELECT DISTINCT id FROM item WHERE kind = ? AND seq <= ?", (kind, self._seq)
            ).fetchall()
        return sorted(row[0] for row in rows)

    def roots(self) -> list[Root]:
        """The declared roots, sorted by id."""
        found = self._load("root", self._all("root"), Root)
        return [found[key] for key in sorted(found)]

    def cursor(self, name: str) -> str | None:
        """How far a reader has come."""
        key = f"cursor:{name}"
        text = self.json_of("cursor", [key]).get(key)
        return None if text is None else str(json.loads(text))

    def passage_count(self, scope: Scope) -> int:
        """How many passages are visible."""
        with self._readers.reading() as db:
            row = db.execute(
                f"SELECT count(*) FROM passage p WHERE {VISIBLE_PASSAGE}",
                self._sight(scope).parameters(),
            ).fetchone()
        return int(row[0])

    def counts(self, scope: Scope) -> Mapping[str, int]:
        """Visible items by kind."""
        parameters = self._sight(scope).parameters()
        with self._readers.reading() as db:
            passages = db.execute(
                "SELECT count(*), count(DISTINCT p.source_id) FROM passage p "
                f"WHERE {VISIBLE_PASSAGE}",
                parameters,
            ).fetchone()
            parts = db.execute(
                "SELECT x.kind, count(*) FROM part x JOIN passage p ON p.id = x.passage_id "
                f"WHERE x.seq <= :seq AND x.gone > :seq AND {VISIBLE_PASSAGE} "
                f"AND NOT {hidden('x.id')} GROUP BY x.kind",
                parameters,
            ).fetchall()
            kinds = {
                kind: [
                    row[0]
                    for row in db.execute(
                        "SELECT DISTINCT id FROM item WHERE kind = ? AND seq <= ?",
                        (kind, self._seq),
                    )
                ]
                for kind in ("entity", "fact", "evidence", "link")
            }
        counted = dict(parts)
        return {
            "source": int(passages[1]),
            "passage": int(passages[0]),
            "statement": counted.get("statement", 0),
            "mention": counted.get("mention", 0),
            "entity": len(self.entities(kinds["entity"], scope)),
            "fact": len(self.facts(kinds["fact"], scope)),
            "evidence": len(self.evidence(kinds["evidence"], scope)),
            "link": len(self.links(kinds["link"], scope)),
        }
