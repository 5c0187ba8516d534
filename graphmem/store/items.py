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
from graphmem.store.sqlite import Db, Pin
from graphmem.store.visibility import (
    VISIBLE_EVIDENCE,
    VISIBLE_FACT,
    VISIBLE_LINK,
    VISIBLE_PARTS,
    VISIBLE_PASSAGE,
    VISIBLE_SOURCE,
    Sight,
    alive,
    as_json,
)

M = TypeVar("M", bound=Model)

# Parsed passage bundles kept: a search opens some dozens, an answer opens them again.
BUNDLE_CACHE = 2_000


@lru_cache(maxsize=BUNDLE_CACHE)
def parse_bundle(text: str) -> PassageBundle:
    """A stored passage bundle; the last ones are kept parsed."""
    return PassageBundle.model_validate_json(text)


# CROSS JOIN keeps the given ids outermost: else SQLite scans every item of the kind (measured).
_NEWEST = (
    "SELECT i.id, i.json FROM json_each(:ids) j CROSS JOIN item i ON i.id = j.value "
    "WHERE i.kind = :kind AND i.json IS NOT NULL AND i.seq = "
    "(SELECT max(seq) FROM item WHERE id = i.id AND seq <= :seq)"
)


_GIVEN = "FROM json_each(:ids) j CROSS JOIN"
# The visible items among the ids, by kind.
_VISIBLE = {
    "source": f"SELECT s.id {_GIVEN} source s ON s.id = j.value WHERE {VISIBLE_SOURCE}",
    "passage": f"SELECT p.id {_GIVEN} passage p ON p.id = j.value WHERE {VISIBLE_PASSAGE}",
    "fact": f"SELECT f.id {_GIVEN} fact f ON f.id = j.value WHERE {VISIBLE_FACT}",
    "evidence": f"SELECT v.id {_GIVEN} {VISIBLE_EVIDENCE} AND v.id = j.value",
    "link": f"SELECT k.id {_GIVEN} link k ON k.id = j.value WHERE {VISIBLE_LINK}",
    "part": f"SELECT x.id {_GIVEN} {VISIBLE_PARTS} AND x.id = j.value",
}
# An entity that is not hidden is visible when something visible speaks of it or of one that is
# read as it.
_VISIBLE["entity"] = (
    "WITH RECURSIVE family(root, id) AS (SELECT value, value FROM json_each(:ids) "
    "WHERE value NOT IN (SELECT value FROM json_each(:hidden_entities)) "
    "UNION SELECT family.root, r.loser_id FROM family "
    f"JOIN redirect r ON r.survivor_id = family.id AND {alive('r')}) "
    "SELECT DISTINCT root FROM family WHERE "
    f"EXISTS (SELECT 1 FROM {VISIBLE_PARTS} AND x.entity_id = family.id) "
    f"OR EXISTS (SELECT 1 FROM fact f WHERE f.subject_id = family.id AND {VISIBLE_FACT}) "
    f"OR EXISTS (SELECT 1 FROM fact f WHERE f.object_id = family.id AND {VISIBLE_FACT})"
)


class ItemReads:
    """Items by id; the base of a view."""

    def __init__(self, pin: Pin, now: datetime) -> None:
        self._readers, self._seq, self._now = pin, pin.seq, now

    @property
    def seq(self) -> int:
        """The published sequence this view is pinned to."""
        return self._seq

    def _sight(self, scope: Scope) -> Sight:
        return Sight(self._seq, scope, self._now)

    def _bound(self, db: Db, scope: Scope, **more: object) -> dict[str, object]:
        """The parameters of a statement about what the scope sees."""
        sight = self._sight(scope)
        key = ("hidden_entities", *sight.key(db))
        entities = self._readers.keep(key, lambda: sight.hidden_entities(db))
        return sight.parameters(hidden_entities=entities, **more)

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

    def _seen(self, kind: str, ids: Iterable[str], scope: Scope) -> set[str]:
        """Which of the ids of a kind the scope sees."""
        wanted = as_json(set(ids))
        with self._readers.reading() as db:
            rows = db.execute(_VISIBLE[kind], self._bound(db, scope, ids=wanted)).fetchall()
        return {row[0] for row in rows}

    def sources(self, ids: Iterable[str], scope: Scope) -> Mapping[str, Source]:
        """Visible sources."""
        return self._load("source", self._seen("source", ids, scope), Source)

    def visible_passages(self, ids: Iterable[str], scope: Scope) -> set[str]:
        """Which of the passage ids the scope sees."""
        return self._seen("passage", ids, scope)

    def _bundles(self, ids: Iterable[str]) -> dict[str, PassageBundle]:
        return {k: parse_bundle(text) for k, text in self.json_of("passage", ids).items()}

    def passages(self, ids: Iterable[str], scope: Scope) -> Mapping[str, Passage]:
        """Visible passages."""
        shown = self.visible_passages(ids, scope)
        return {k: b.passage for k, b in self._bundles(shown).items()}

    def _passages_of_parts(self, ids: Iterable[str]) -> dict[str, str]:
        with self._readers.reading() as db:
            rows = db.execute(
                "SELECT x.id, x.passage_id FROM json_each(:ids) j "
                "CROSS JOIN part x ON x.id = j.value "
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
        shown = self._seen("part", (s.id for b in bundles.values() for s in b.statements), scope)
        return {
            k: tuple(sorted((s for s in b.statements if s.id in shown), key=_place))
            for k, b in bundles.items()
        }

    def mentions_of(
        self, passage_ids: Iterable[str], scope: Scope
    ) -> Mapping[str, tuple[Mention, ...]]:
        """The visible mentions of each visible passage in text order."""
        bundles = self._bundles(self.visible_passages(passage_ids, scope))
        shown = self._seen("part", (m.id for b in bundles.values() for m in b.mentions), scope)
        return {
            k: tuple(sorted((m for m in b.mentions if m.id in shown), key=_place))
            for k, b in bundles.items()
        }

    def entities(self, ids: Iterable[str], scope: Scope) -> Mapping[str, Entity]:
        """Entities that are not hidden and that something visible speaks of."""
        return self._load("entity", self._seen("entity", ids, scope), Entity)

    def facts(self, ids: Iterable[str], scope: Scope) -> Mapping[str, Fact]:
        """Facts that are not hidden, nor at a hidden entity, and have visible evidence."""
        return self._load("fact", self._seen("fact", ids, scope), Fact)

    def evidence(self, ids: Iterable[str], scope: Scope) -> Mapping[str, Evidence]:
        """Evidence from visible passages and statements for facts that are not hidden."""
        return self._load("evidence", self._seen("evidence", ids, scope), Evidence)

    def links(self, ids: Iterable[str], scope: Scope) -> Mapping[str, Link]:
        """Links with a visible witness between visible statements."""
        return self._load("link", self._seen("link", ids, scope), Link)


def _place(item: Statement | Mention) -> tuple[int, int, str]:
    return item.start, item.end, item.id
