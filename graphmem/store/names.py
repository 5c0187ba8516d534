"""Reads about names and the graph around entities, at one sequence and scope."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from graphmem.model.items import DeclaredName, Evidence, Fact, Link
from graphmem.model.scope import Scope
from graphmem.store.items import ItemReads
from graphmem.store.visibility import VISIBLE_PARTS, alive, as_json
from graphmem.vocabulary import EntityType, LinkKind

# Redirects followed from one entity; a chain this long is a damaged journal.
MAX_REDIRECTS = 32
# How many near names are looked at for each one that is returned.
WIDENING = 4

# Visible mentions of a family; ``x`` is the mention.
_MENTIONS = f"FROM {VISIBLE_PARTS} AND x.entity_id IN (SELECT value FROM json_each(:ids)) "


class NameReads(ItemReads):
    """Names, votes, facts and links."""

    def survivor(self, entity_id: str) -> str:
        """The entity an id is read as (itself when it was not merged)."""
        return self.survivors([entity_id])[entity_id]

    def survivors(self, entity_ids: Iterable[str]) -> dict[str, str]:
        """The entity each id is read as."""
        wanted = {"ids": as_json(set(entity_ids)), "seq": self._seq, "limit": MAX_REDIRECTS}
        with self._readers.reading() as db:
            rows = db.execute(
                "WITH RECURSIVE step(start, id, depth) AS ("
                "SELECT value, value, 0 FROM json_each(:ids) UNION ALL "
                "SELECT start, r.survivor_id, depth + 1 FROM step "
                f"JOIN redirect r ON r.loser_id = step.id AND {alive('r')} "
                "WHERE depth < :limit) SELECT start, id FROM step ORDER BY depth",
                wanted,
            ).fetchall()
        return dict(rows)

    def _family(self, entity_ids: Iterable[str]) -> list[str]:
        """The entities and all that are read as one of them."""
        with self._readers.reading() as db:
            rows = db.execute(
                "WITH RECURSIVE family(id) AS (SELECT value FROM json_each(:ids) UNION "
                "SELECT r.loser_id FROM family "
                f"JOIN redirect r ON r.survivor_id = family.id AND {alive('r')}) "
                "SELECT id FROM family",
                {"ids": as_json(set(entity_ids)), "seq": self._seq},
            ).fetchall()
        return sorted(row[0] for row in rows)

    def entities_named(self, name_keys: Iterable[str], scope: Scope) -> Mapping[str, list[str]]:
        """For each known key the ids of visible entities of exactly it, redirects resolved."""
        with self._readers.reading() as db:
            rows = db.execute(
                "SELECT n.key, n.entity_id FROM json_each(:keys) j "
                "CROSS JOIN name n ON n.key = j.value "
                "WHERE n.seq <= :seq AND n.gone > :seq AND n.kind <> 'retype'",
                {"keys": as_json(set(name_keys)), "seq": self._seq},
            ).fetchall()
        ids: dict[str, set[str]] = defaultdict(set)
        survivors = self.survivors(entity_id for _, entity_id in rows)
        for key, entity_id in rows:
            ids[key].add(survivors[entity_id])
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
                f"x.entity_id = n.entity_id WHERE n.key = t.key AND {alive('n', 'x')}) AS times "
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
                self._bound(db, scope, ids=as_json(self._family([entity_id]))),
            ).fetchall()
        return dict(rows)

    def type_votes(self, entity_id: str, scope: Scope) -> Mapping[EntityType, float]:
        """The weighted votes on an entity's type, a declared type aside."""
        with self._readers.reading() as db:
            rows = db.execute(
                f"SELECT x.type_vote, sum(x.weight) {_MENTIONS} "
                "AND x.type_vote IS NOT NULL GROUP BY x.type_vote",
                self._bound(db, scope, ids=as_json(self._family([entity_id]))),
            ).fetchall()
        return {EntityType(vote): weight for vote, weight in rows}

    def declared_names(self, entity_id: str) -> list[DeclaredName]:
        """The declared names of an entity and of those merged into it, sorted by id."""
        with self._readers.reading() as db:
            rows = db.execute(
                "SELECT item_id FROM name WHERE entity_id IN (SELECT value FROM json_each(?)) "
                "AND kind <> 'own' AND seq <= ? AND gone > ?",
                (as_json(self._family([entity_id])), self._seq, self._seq),
            ).fetchall()
        found = self._load("name", [row[0] for row in rows], DeclaredName)
        return [found[key] for key in sorted(found)]

    def facts_about(self, entity_ids: Sequence[str], scope: Scope) -> list[Fact]:
        """Visible facts with one of the entities at either end, sorted by id."""
        family = self._family(self.survivors(entity_ids).values())
        with self._readers.reading() as db:
            rows = db.execute(
                f"SELECT f.id FROM json_each(:ids) j CROSS JOIN fact f ON f.subject_id = j.value "
                f"WHERE {alive('f')} UNION "
                "SELECT f.id FROM json_each(:ids) j CROSS JOIN fact f ON f.object_id = j.value "
                f"WHERE {alive('f')}",
                {"ids": as_json(family), "seq": self._seq},
            ).fetchall()
        found = self.facts([row[0] for row in rows], scope)
        return [found[key] for key in sorted(found)]

    def evidence_of(
        self, fact_ids: Iterable[str], scope: Scope
    ) -> Mapping[str, tuple[Evidence, ...]]:
        """The visible evidence of each fact, by id; facts without any are left out."""
        with self._readers.reading() as db:
            rows = db.execute(
                "SELECT v.fact_id, v.id FROM json_each(:ids) j CROSS JOIN evidence v "
                f"ON v.fact_id = j.value WHERE {alive('v')} ORDER BY v.fact_id, v.id",
                {"ids": as_json(set(fact_ids)), "seq": self._seq},
            ).fetchall()
        found = self.evidence([row[1] for row in rows], scope)
        grouped: dict[str, list[Evidence]] = defaultdict(list)
        for fact_id, ident in rows:
            if ident in found:
                grouped[fact_id].append(found[ident])
        return {fact_id: tuple(items) for fact_id, items in grouped.items()}

    def links_of(
        self, statement_ids: Iterable[str], kinds: frozenset[LinkKind], scope: Scope
    ) -> list[Link]:
        """Visible links of the kinds with either end among the statements, sorted by id."""
        ends = (
            f"SELECT k.id FROM json_each(:ids) j CROSS JOIN link k ON k.{end} = j.value WHERE "
            f"{alive('k')} AND k.kind IN (SELECT value FROM json_each(:kinds))"
            for end in ("source_id", "target_id")
        )
        wanted = {"ids": as_json(set(statement_ids)), "kinds": as_json(kinds), "seq": self._seq}
        with self._readers.reading() as db:
            rows = db.execute(" UNION ".join(ends), wanted).fetchall()
        found = self.links([row[0] for row in rows], scope)
        return [found[key] for key in sorted(found)]
