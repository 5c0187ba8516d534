"""Reads of items by id at one sequence and scope; hidden and unknown ids are left out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from functools import lru_cache
from typing import TypeVar

from graphmem.model.base import Model
from graphmem.model.items import (
    Entity,
    Evidence,
    Fact,
    Link,
    Mention,
    Passage,
    PassageBundle,
    Source,
    Statement,
)
from graphmem.model.scope import Scope
from graphmem.store.graph.base import GraphStore
from graphmem.store.sqlite import Db, Readers
from graphmem.store.visibility import VISIBLE_PASSAGE, Sight, as_json, hidden

M = TypeVar("M", bound=Model)

# Parsed passage bundles kept: a search opens some dozens, an answer opens them again.
BUNDLE_CACHE = 2_000


@lru_cache(maxsize=BUNDLE_CACHE)
def parse_bundle(text: str) -> PassageBundle:
    """A stored passage bundle; the last ones are kept parsed."""
    return PassageBundle.model_validate_json(text)


_NEWEST = (
    "SELECT i.id, i.json FROM json_each(:ids) j JOIN item i ON i.id = j.value "
    "WHERE i.kind = :kind AND i.json IS NOT NULL AND i.seq = "
    "(SELECT max(seq) FROM item WHERE id = i.id AND seq <= :seq)"
)


class ItemReads:
    """Items by id; the base of a view."""

    def __init__(self, readers: Readers, graph: GraphStore, seq: int, now: datetime) -> None:
        self._readers, self._graph, self._seq, self._now = readers, graph, seq, now

    @property
    def seq(self) -> int:
        """The published sequence this view is pinned to."""
        return self._seq

    def _sight(self, scope: Scope) -> Sight:
        return Sight(self._seq, scope, self._now)

    def json_of(self, kind: str, ids: Iterable[str]) -> dict[str, str]:
        """The newest JSON of each stored item of a kind, hidden or not."""
        wanted = {"kind": kind, "ids": as_json(set(ids)), "seq": self._seq}
        with self._readers.reading() as db:
            return dict(db.execute(_NEWEST, wanted).fetchall())

    def _load(self, kind: str, ids: Iterable[str], model: type[M]) -> dict[str, M]:
        return {
            ident: model.model_validate_json(text)
            for ident, text in self.json_of(kind, ids).items()
        }

    def _unhidden(self, db: Db, ids: Iterable[str], scope: Scope) -> set[str]:
        rows = db.execute(
            f"SELECT j.value FROM json_each(:ids) j WHERE NOT {hidden('j.value')}",
            self._sight(scope).parameters(ids=as_json(set(ids))),
        )
        return {row[0] for row in rows}

    def sources(self, ids: Iterable[str], scope: Scope) -> Mapping[str, Source]:
        """Visible sources."""
        found = self._load("source", ids, Source)
        with self._readers.reading() as db:
            shown = self._unhidden(db, found, scope)
        wanted = scope.projects
        return {
            k: s for k, s in found.items() if k in shown and (wanted is None or s.project in wanted)
        }

    def visible_passages(self, ids: Iterable[str], scope: Scope) -> set[str]:
        """Which of the passage ids the scope sees."""
        with self._readers.reading() as db:
            rows = db.execute(
                "SELECT p.id FROM json_each(:ids) j JOIN passage p ON p.id = j.value "
                f"WHERE {VISIBLE_PASSAGE}",
                self._sight(scope).parameters(ids=as_json(set(ids))),
            ).fetchall()
        return {row[0] for row in rows}

    def _bundles(self, ids: Iterable[str]) -> dict[str, PassageBundle]:
        return {k: parse_bundle(text) for k, text in self.json_of("passage", ids).items()}

    def passages(self, ids: Iterable[str], scope: Scope) -> Mapping[str, Passage]:
        """Visible passages."""
        shown = self.visible_passages(ids, scope)
        return {k: b.passage for k, b in self._bundles(shown).items()}

    def _passages_of_parts(self, ids: Iterable[str]) -> dict[str, str]:
        with self._readers.reading() as db:
            rows = db.execute(
                "SELECT x.id, x.passage_id FROM json_each(:ids) j JOIN part x ON x.id = j.value "
                "WHERE x.seq <= :seq AND x.gone > :seq",
                {"ids": as_json(set(ids)), "seq": self._seq},
            ).fetchall()
        return dict(rows)

    def statements(self, ids: Iterable[str], scope: Scope) -> Mapping[str, Statement]:
        """Visible statements."""
        homes = self._passages_of_parts(ids)
        found = self.statements_of(set(homes.values()), scope)
        flat = {s.id: s for statements in found.values() for s in statements}
        return {ident: flat[ident] for ident in homes if ident in flat}

    def statements_of(
        self, passage_ids: Iterable[str], scope: Scope
    ) -> Mapping[str, tuple[Statement, ...]]:
        """The visible statements of each visible passage in text order."""
        bundles = self._bundles(self.visible_passages(passage_ids, scope))
        ids = [s.id for b in bundles.values() for s in b.statements]
        with self._readers.reading() as db:
            shown = self._unhidden(db, ids, scope)
        return {
            k: tuple(sorted((s for s in b.statements if s.id in shown), key=_place))
            for k, b in bundles.items()
        }

    def mentions_of(
        self, passage_ids: Iterable[str], scope: Scope
    ) -> Mapping[str, tuple[Mention, ...]]:
        """The mentions of each visible passage in text order."""
        bundles = self._bundles(self.visible_passages(passage_ids, scope))
        return {k: tuple(sorted(b.mentions, key=_place)) for k, b in bundles.items()}

    def entities(self, ids: Iterable[str], scope: Scope) -> Mapping[str, Entity]:
        """Entities that are not hidden and that something visible speaks of."""
        found = self._load("entity", ids, Entity)
        with self._readers.reading() as db:
            shown = self._unhidden(db, found, scope)
            spoken = self._mentioned(db, shown, scope)
        silent = sorted(shown - spoken)
        known = spoken | {e for e in silent if self._has_fact(e, scope)}
        return {k: e for k, e in found.items() if k in known}

    def _mentioned(self, db: Db, ids: Iterable[str], scope: Scope) -> set[str]:
        rows = db.execute(
            "SELECT j.value FROM json_each(:ids) j WHERE EXISTS ("
            "SELECT 1 FROM part x JOIN passage p ON p.id = x.passage_id "
            "WHERE (x.entity_id = j.value OR x.entity_id IN (SELECT loser_id FROM redirect "
            "WHERE survivor_id = j.value AND seq <= :seq AND gone > :seq)) "
            f"AND x.seq <= :seq AND x.gone > :seq AND {VISIBLE_PASSAGE})",
            self._sight(scope).parameters(ids=as_json(set(ids))),
        )
        return {row[0] for row in rows}

    def _has_fact(self, entity_id: str, scope: Scope) -> bool:
        ids = self._graph.facts_about([entity_id], self._seq)
        return any(self._supported(ids, scope).values())

    def _supported(self, fact_ids: list[str], scope: Scope) -> dict[str, tuple[Evidence, ...]]:
        """The visible evidence of each fact; facts without any are left out."""
        by_fact = self._graph.evidence_of(fact_ids, self._seq)
        evidence = self.evidence([e for ids in by_fact.values() for e in ids], scope)
        grouped = {
            fact: tuple(evidence[e] for e in ids if e in evidence) for fact, ids in by_fact.items()
        }
        return {fact: items for fact, items in grouped.items() if items}

    def facts(self, ids: Iterable[str], scope: Scope) -> Mapping[str, Fact]:
        """Facts that are not hidden and have visible evidence."""
        found = self._load("fact", ids, Fact)
        with self._readers.reading() as db:
            shown = self._unhidden(db, found, scope)
        supported = self._supported(sorted(shown), scope)
        return {k: f for k, f in found.items() if k in supported}

    def evidence(self, ids: Iterable[str], scope: Scope) -> Mapping[str, Evidence]:
        """Evidence from visible passages."""
        found = self._load("evidence", ids, Evidence)
        shown = self.visible_passages({e.passage_id for e in found.values()}, scope)
        with self._readers.reading() as db:
            unhidden = self._unhidden(db, found, scope)
        return {k: e for k, e in found.items() if e.passage_id in shown and k in unhidden}

    def links(self, ids: Iterable[str], scope: Scope) -> Mapping[str, Link]:
        """Links with a visible witness between visible statements."""
        found = self._load("link", ids, Link)
        witnesses = self.visible_passages({x.passage_id for x in found.values()}, scope)
        ends = self.statements(
            {end for x in found.values() for end in (x.source_id, x.target_id)}, scope
        )
        with self._readers.reading() as db:
            unhidden = self._unhidden(db, found, scope)
        return {
            k: x
            for k, x in found.items()
            if k in unhidden
            and x.passage_id in witnesses
            and x.source_id in ends
            and x.target_id in ends
        }


def _place(item: Statement | Mention) -> tuple[int, int, str]:
    return item.start, item.end, item.id
