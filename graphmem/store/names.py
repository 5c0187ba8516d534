"""Reads about names and the graph around entities, at one sequence and scope."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence

from graphmem.model.items import DeclaredName, Evidence, Fact, Link
from graphmem.model.scope import Scope
from graphmem.store.graph.schema import label_of
from graphmem.store.items import ItemReads
from graphmem.store.visibility import VISIBLE_PASSAGE, as_json
from graphmem.vocabulary import EntityType, LinkKind

# Redirects followed from one entity; a chain this long is a damaged journal.
MAX_REDIRECTS = 32
# How many near names are looked at for each one that is returned.
WIDENING = 4

_MENTIONS = (
    "FROM part x JOIN passage p ON p.id = x.passage_id "
    "WHERE x.entity_id IN (SELECT value FROM json_each(:ids)) "
    f"AND x.seq <= :seq AND x.gone > :seq AND {VISIBLE_PASSAGE} "
)


class NameReads(ItemReads):
    """Names, votes, facts and links."""

    def survivor(self, entity_id: str) -> str:
        """The entity an id is read as (itself when it was not merged)."""
        current = entity_id
        with self._readers.reading() as db:
            for _ in range(MAX_REDIRECTS):
                row = db.execute(
                    "SELECT survivor_id FROM redirect WHERE loser_id = ? AND seq <= ? AND gone > ?",
                    (current, self._seq, self._seq),
                ).fetchone()
                if row is None:
                    break
                current = str(row[0])
        return current

    def _family(self, entity_id: str) -> list[str]:
        """The entity and all that are read as it."""
        family, frontier = {entity_id}, [entity_id]
        with self._readers.reading() as db:
            while frontier:
                rows = db.execute(
                    "SELECT loser_id FROM redirect WHERE survivor_id IN "
                    "(SELECT value FROM json_each(?)) AND seq <= ? AND gone > ?",
                    (as_json(frontier), self._seq, self._seq),
                ).fetchall()
                frontier = [row[0] for row in rows if row[0] not in family]
                family.update(frontier)
        return sorted(family)

    def entities_named(self, name_keys: Iterable[str], scope: Scope) -> Mapping[str, list[str]]:
        """For each known key the ids of visible entities of exactly it, redirects resolved."""
        with self._readers.reading() as db:
            rows = db.execute(
                "SELECT n.key, n.entity_id FROM json_each(:keys) j JOIN name n ON n.key = j.value "
                "WHERE n.seq <= :seq AND n.gone > :seq AND n.kind <> 'retype'",
                {"keys": as_json(set(name_keys)), "seq": self._seq},
            ).fetchall()
        ids: dict[str, set[str]] = defaultdict(set)
        for key, entity_id in rows:
            ids[key].add(self.survivor(entity_id))
        shown = self.entities({e for found in ids.values() for e in found}, scope)
        named = {key: sorted(e for e in found if e in shown) for key, found in ids.items()}
        return {key: found for key, found in named.items() if found}

    def name_keys_with_token(self, tokens: Sequence[str], limit: int, scope: Scope) -> list[str]:
        """Name keys of visible entities that hold all tokens, most mentioned first."""
        wanted = sorted(set(tokens))
        if not wanted:
            return []
        with self._readers.reading() as db:
            rows = db.execute(
                "SELECT t.key, (SELECT count(*) FROM name n JOIN part x ON "
                "x.entity_id = n.entity_id WHERE n.key = t.key AND x.gone > :seq) AS times "
                "FROM name_token t WHERE t.token IN (SELECT value FROM json_each(:tokens)) "
                "GROUP BY t.key HAVING count(*) = :number ORDER BY times DESC, t.key LIMIT :limit",
                {
                    "tokens": as_json(wanted),
                    "number": len(wanted),
                    "limit": limit * WIDENING,
                    "seq": self._seq,
                },
            ).fetchall()
        keys = [row[0] for row in rows]
        shown = self.entities_named(keys, scope)
        return [key for key in keys if key in shown][:limit]

    def surfaces(self, entity_id: str, scope: Scope) -> Mapping[str, int]:
        """The spellings an entity was mentioned under, with their counts."""
        with self._readers.reading() as db:
            rows = db.execute(
                f"SELECT x.surface, count(*) {_MENTIONS} GROUP BY x.surface ORDER BY x.surface",
                self._sight(scope).parameters(ids=as_json(self._family(entity_id))),
            ).fetchall()
        return dict(rows)

    def type_votes(self, entity_id: str, scope: Scope) -> Mapping[EntityType, float]:
        """The weighted votes on an entity's type, a declared type aside."""
        votes: Counter[EntityType] = Counter()
        with self._readers.reading() as db:
            rows = db.execute(
                f"SELECT x.type_vote, sum(x.weight) {_MENTIONS} "
                "AND x.type_vote IS NOT NULL GROUP BY x.type_vote",
                self._sight(scope).parameters(ids=as_json(self._family(entity_id))),
            ).fetchall()
        for vote, weight in rows:
            votes[EntityType(vote)] = weight
        return dict(votes)

    def declared_names(self, entity_id: str) -> list[DeclaredName]:
        """The declared names of an entity and of those merged into it, sorted by id."""
        with self._readers.reading() as db:
            rows = db.execute(
                "SELECT item_id FROM name WHERE entity_id IN (SELECT value FROM json_each(?)) "
                "AND kind <> 'own' AND seq <= ? AND gone > ?",
                (as_json(self._family(entity_id)), self._seq, self._seq),
            ).fetchall()
        found = self._load("name", [row[0] for row in rows], DeclaredName)
        return [found[key] for key in sorted(found)]

    def facts_about(self, entity_ids: Sequence[str], scope: Scope) -> list[Fact]:
        """Visible facts with one of the entities at either end, sorted by id."""
        family = {member for e in entity_ids for member in self._family(self.survivor(e))}
        ids = self._graph.facts_about(sorted(family), self._seq)
        found = self.facts(ids, scope)
        return [found[key] for key in sorted(found)]

    def evidence_of(
        self, fact_ids: Iterable[str], scope: Scope
    ) -> Mapping[str, tuple[Evidence, ...]]:
        """The visible evidence of each fact."""
        return self._supported(sorted(set(fact_ids)), scope)

    def links_of(
        self, statement_ids: Iterable[str], kinds: frozenset[LinkKind], scope: Scope
    ) -> list[Link]:
        """Visible links of the kinds with either end among the statements, sorted by id."""
        labels = sorted({label_of(kind) for kind in kinds})
        ids = self._graph.links_of(sorted(set(statement_ids)), labels, self._seq)
        found = self.links(ids, scope)
        return [found[key] for key in sorted(found) if found[key].kind in kinds]
