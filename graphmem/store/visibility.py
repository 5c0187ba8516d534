"""Which items a scope may see, as SQL over index.sqlite; one rule that every read shares.

What hangs on a hidden item is hidden with it: the passages of a source, the statements, mentions
and evidence of a passage, what a statement is the place of, and facts at a hidden entity.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from graphmem.model.scope import EVERYTHING, Scope
from graphmem.store.index_schema import moment
from graphmem.store.sqlite import Db

# States that hide their target from the scope; ``h`` is the state row.
_HIDING = (
    "h.seq <= :seq AND h.gone > :seq AND (h.kind = 'forgotten' OR (NOT :hidden_too "
    "AND (h.kind <> 'snoozed' OR h.at > :now)))"
)


def hidden(*ids: str) -> str:
    """SQL that holds when one of the id expressions has a hiding state."""
    found = ", ".join(ids)
    return f"EXISTS (SELECT 1 FROM state h WHERE h.target_id IN ({found}) AND {_HIDING})"


def alive(*tables: str) -> str:
    """SQL that holds for rows that are there at the sequence."""
    return " AND ".join(f"{name}.seq <= :seq AND {name}.gone > :seq" for name in tables)


# SQL that holds for passages a scope asks for, states aside; ``p`` is the passage row.
_ASKED_PASSAGE = (
    "(:projects IS NULL OR p.project IN (SELECT value FROM json_each(:projects))) "
    "AND p.audience IN (SELECT value FROM json_each(:audiences)) "
    "AND p.origin IN (SELECT value FROM json_each(:origins))"
)
# SQL that holds for visible passages.
VISIBLE_PASSAGE = f"{alive('p')} AND {_ASKED_PASSAGE} AND NOT {hidden('p.id', 'p.source_id')}"
_UNHIDDEN_ENTITY = "NOT IN (SELECT value FROM json_each(:hidden_entities))"
# Visible statements and mentions: FROM and WHERE of ``x``, its passage ``p``.
VISIBLE_PARTS = (
    f"part x JOIN passage p ON p.id = x.passage_id WHERE {alive('x')} AND {VISIBLE_PASSAGE} "
    f"AND NOT {hidden('x.id', 'x.statement_id')} "
    f"AND (x.entity_id IS NULL OR x.entity_id {_UNHIDDEN_ENTITY})"
)
# Facts that are not hidden, nor either end; ``f`` is the fact row. Visible ones have evidence too.
_SOUND_FACT = (
    f"{alive('f')} AND NOT {hidden('f.id')} AND f.subject_id {_UNHIDDEN_ENTITY} "
    f"AND (f.object_id IS NULL OR f.object_id {_UNHIDDEN_ENTITY})"
)
_SEEN_EVIDENCE = f"{alive('v')} AND {VISIBLE_PASSAGE} AND NOT {hidden('v.id', 'v.statement_id')}"
# Visible evidence: FROM and WHERE of ``v``, its passage ``p`` and its fact ``f``.
VISIBLE_EVIDENCE = (
    "evidence v JOIN passage p ON p.id = v.passage_id JOIN fact f ON f.id = v.fact_id "
    f"WHERE {_SEEN_EVIDENCE} AND {_SOUND_FACT}"
)
# SQL that holds for visible facts; ``f`` is the fact row.
VISIBLE_FACT = (
    f"{_SOUND_FACT} AND EXISTS (SELECT 1 FROM evidence v JOIN passage p ON p.id = v.passage_id "
    f"WHERE v.fact_id = f.id AND {_SEEN_EVIDENCE})"
)


def _end_of_link(column: str) -> str:
    return f"EXISTS (SELECT 1 FROM {VISIBLE_PARTS} AND x.id = {column} AND x.kind = 'statement')"


# SQL that holds for visible links; ``k`` is the link row.
VISIBLE_LINK = (
    f"{alive('k')} AND NOT {hidden('k.id')} AND EXISTS (SELECT 1 FROM passage p "
    f"WHERE p.id = k.passage_id AND {VISIBLE_PASSAGE}) "
    f"AND {_end_of_link('k.source_id')} AND {_end_of_link('k.target_id')}"
)
# SQL that holds for visible sources; ``i`` is the item row of the source, ``s`` its own.
VISIBLE_SOURCE = (
    f"{alive('s')} AND NOT {hidden('s.id')} "
    "AND (:projects IS NULL OR s.project IN (SELECT value FROM json_each(:projects)))"
)


@dataclass(frozen=True, slots=True)
class Sight:
    """A scope at a sequence and a moment, as the parameters of the SQL above."""

    seq: int
    scope: Scope
    now: datetime

    def parameters(self, **more: Any) -> dict[str, Any]:
        """The bindings of a statement; None stands for "no filter"."""
        scope = self.scope
        return {
            "seq": self.seq,
            "now": moment(self.now),
            "hidden_too": scope.include_hidden,
            "projects": None if scope.projects is None else as_json(scope.projects),
            "audiences": as_json(scope.audiences),
            "origins": as_json(scope.origins),
            **more,
        }

    def key(self, db: Db) -> tuple[object, ...]:
        """Equal for two looks at one snapshot that see the same: only snoozing ends by itself."""
        row = db.execute(
            "SELECT count(*) FROM state WHERE kind = 'snoozed' AND at > :now "
            "AND seq <= :seq AND gone > :seq",
            {"now": moment(self.now), "seq": self.seq},
        ).fetchone()
        scope = self.scope
        return scope.projects, scope.audiences, scope.origins, scope.include_hidden, row[0]

    def hidden_ids(self, db: Db) -> frozenset[str]:
        """Every id the scope hides directly; what hangs on them is hidden with them."""
        parameters = self.parameters()
        states = db.execute(
            f"SELECT DISTINCT h.target_id FROM state h WHERE {_HIDING}", parameters
        ).fetchall()
        asked = self.scope.projects, self.scope.audiences, self.scope.origins
        if asked == (EVERYTHING.projects, EVERYTHING.audiences, EVERYTHING.origins):
            return frozenset(row[0] for row in states)
        passages = db.execute(
            f"SELECT p.id FROM passage p WHERE {alive('p')} AND NOT ({_ASKED_PASSAGE})", parameters
        ).fetchall()
        return frozenset(row[0] for row in (*states, *passages))

    def hidden_entities(self, db: Db) -> str:
        """A JSON list of the entities that are hidden or read as a hidden one."""
        rows = db.execute(
            "WITH RECURSIVE gone(id) AS ("
            "SELECT h.target_id FROM state h WHERE h.target_id NOT GLOB 'psg:*' "
            f"AND h.target_id NOT GLOB 'src:*' AND {_HIDING} "
            f"UNION SELECT r.loser_id FROM gone JOIN redirect r ON r.survivor_id = gone.id "
            f"AND {alive('r')}) SELECT id FROM gone",
            self.parameters(),
        ).fetchall()
        return as_json(row[0] for row in rows)


def as_json(values: Iterable[str]) -> str:
    """Strings as a JSON array, the way lists are bound."""
    return json.dumps(sorted(str(value) for value in values))
