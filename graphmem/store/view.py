"""A view: every read a caller may make, pinned to one published sequence."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from datetime import datetime

from graphmem.model.items import PassageBundle, Root, Source
from graphmem.model.scope import Scope
from graphmem.store.graph.snapshot import GraphSnapshot, PinnedGraph
from graphmem.store.items import parse_bundle
from graphmem.store.search import SearchReads
from graphmem.store.sqlite import Pin
from graphmem.store.vectors import VectorTable
from graphmem.store.visibility import (
    VISIBLE_EVIDENCE,
    VISIBLE_FACT,
    VISIBLE_LINK,
    VISIBLE_PARTS,
    VISIBLE_PASSAGE,
    VISIBLE_SOURCE,
    alive,
    as_json,
)
from graphmem.vocabulary import StateKind


class StoreView(SearchReads):
    """See ``graphmem.store.protocols.View``; safe in any thread."""

    def __init__(
        self,
        pin: Pin,
        graph: PinnedGraph,
        vectors: VectorTable,
        now: datetime,
    ) -> None:
        super().__init__(pin, now)
        self._graph, self._vectors = graph, vectors
        pin.used_by(self)

    def __repr__(self) -> str:
        return f"StoreView(seq={self._seq})"

    def adjacency(self, scope: Scope) -> GraphSnapshot:
        """The traversal snapshot without anything the scope hides."""
        sight = self._sight(scope)
        with self._readers.reading() as db:
            key = ("hidden_ids", *sight.key(db))
            ids = self._readers.keep(key, lambda: sight.hidden_ids(db))
        return self._graph.snapshot(ids)

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
                "SELECT i.id FROM json_each(:ids) j CROSS JOIN item i ON i.id = j.value "
                "WHERE i.json IS NOT NULL AND i.seq = "
                "(SELECT max(seq) FROM item WHERE id = i.id AND seq <= :seq) "
                "UNION SELECT x.id FROM json_each(:ids) j CROSS JOIN part x ON x.id = j.value "
                "WHERE x.seq <= :seq AND x.gone > :seq",
                wanted,
            ).fetchall()
        return frozenset(row[0] for row in rows)

    def evidence_ids(self, fact_ids: Iterable[str]) -> dict[str, set[str]]:
        """The evidence of each fact that has any, hidden or not."""
        with self._readers.reading() as db:
            rows = db.execute(
                "SELECT v.fact_id, v.id FROM json_each(:ids) j CROSS JOIN evidence v "
                f"ON v.fact_id = j.value WHERE {alive('v')}",
                {"ids": as_json(set(fact_ids)), "seq": self._seq},
            ).fetchall()
        found: dict[str, set[str]] = {}
        for fact_id, ident in rows:
            found.setdefault(fact_id, set()).add(ident)
        return found

    def redirects(self, entity_ids: Iterable[str]) -> dict[str, str]:
        """The entity each merged one of the ids was merged into."""
        with self._readers.reading() as db:
            rows = db.execute(
                "SELECT r.loser_id, r.survivor_id FROM json_each(:ids) j "
                f"JOIN redirect r ON r.loser_id = j.value WHERE {alive('r')}",
                {"ids": as_json(set(entity_ids)), "seq": self._seq},
            ).fetchall()
        return dict(rows)

    def referring(self, ids: Iterable[str]) -> list[tuple[str, str]]:
        """(id, what refers to it) for all stored references to the ids; passages for mentions."""
        with self._readers.reading() as db:
            return list(
                db.execute(_REFERRING, {"ids": as_json(set(ids)), "seq": self._seq}).fetchall()
            )

    def bundles(self, passage_ids: Iterable[str]) -> Mapping[str, PassageBundle]:
        """Passages with all that was read from them, hidden or not."""
        return {k: parse_bundle(text) for k, text in self.json_of("passage", passage_ids).items()}

    def statements_by_event(self, event_keys: Iterable[str]) -> Mapping[str, list[str]]:
        """The statement ids of each event key, sorted."""
        with self._readers.reading() as db:
            rows = db.execute(
                "SELECT x.event_key, x.id FROM json_each(:keys) j CROSS JOIN part x "
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
            key = ("passage_count", *self._sight(scope).key(db))
            return self._readers.keep(key, lambda: self._number(_COUNTS["passage"], scope))

    def counts(self, scope: Scope) -> Mapping[str, int]:
        """Visible items by kind; a merged entity counts beside the one it is read as."""
        return {kind: self._number(statement, scope) for kind, statement in _COUNTS.items()}

    def _number(self, statement: str, scope: Scope) -> int:
        with self._readers.reading() as db:
            return int(db.execute(statement, self._bound(db, scope)).fetchone()[0])


# Table, the column that refers, the column that says who does.
_REFERENCES = (
    ("passage", "source_id", "id"),
    ("part", "entity_id", "passage_id"),
    ("fact", "subject_id", "id"),
    ("fact", "object_id", "id"),
    ("evidence", "fact_id", "id"),
    ("evidence", "passage_id", "id"),
    ("evidence", "statement_id", "id"),
    ("link", "source_id", "id"),
    ("link", "target_id", "id"),
    ("link", "passage_id", "id"),
    ("redirect", "survivor_id", "loser_id"),
    ("redirect", "loser_id", "loser_id"),
)
_REFERRING = " UNION ".join(
    f"SELECT t.{end}, t.{who} FROM json_each(:ids) j CROSS JOIN {table} t ON t.{end} = j.value "
    f"WHERE {alive('t')}"
    for table, end, who in _REFERENCES
) + (
    " UNION SELECT n.entity_id, n.item_id FROM json_each(:ids) j CROSS JOIN name n "
    f"ON n.entity_id = j.value WHERE n.kind <> 'own' AND {alive('n')}"
)
_COUNTS = {
    "source": f"SELECT count(*) FROM source s WHERE {VISIBLE_SOURCE}",
    "passage": f"SELECT count(*) FROM passage p WHERE {VISIBLE_PASSAGE}",
    "statement": f"SELECT count(*) FROM {VISIBLE_PARTS} AND x.kind = 'statement'",
    "mention": f"SELECT count(*) FROM {VISIBLE_PARTS} AND x.kind = 'mention'",
    "entity": (
        "WITH RECURSIVE told(fact_id) AS MATERIALIZED "
        f"(SELECT f.id FROM fact f WHERE {VISIBLE_FACT}), "
        f"spoken(id) AS (SELECT x.entity_id FROM {VISIBLE_PARTS} AND x.kind = 'mention' "
        f"UNION SELECT f.subject_id FROM told JOIN fact f ON f.id = fact_id AND {alive('f')} "
        f"UNION SELECT f.object_id FROM told JOIN fact f ON f.id = fact_id AND {alive('f')} "
        "UNION SELECT r.survivor_id FROM spoken JOIN redirect r ON r.loser_id = spoken.id "
        f"AND {alive('r')}) SELECT count(*) FROM spoken "
        "WHERE id IS NOT NULL AND id NOT IN (SELECT value FROM json_each(:hidden_entities))"
    ),
    "fact": f"SELECT count(*) FROM fact f WHERE {VISIBLE_FACT}",
    "evidence": f"SELECT count(*) FROM {VISIBLE_EVIDENCE}",
    "link": f"SELECT count(*) FROM link k WHERE {VISIBLE_LINK}",
}
