"""Which items a scope may see, as SQL over index.sqlite; one rule that every read shares."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from graphmem.model.base import iso
from graphmem.model.scope import Scope
from graphmem.store.sqlite import Db

# A target's states that hide it from the scope; ``{ids}`` is a list of SQL expressions.
_HIDDEN = (
    "EXISTS (SELECT 1 FROM state h WHERE h.target_id IN ({ids}) AND h.seq <= :seq "
    "AND h.gone > :seq AND (h.kind = 'forgotten' OR (NOT :hidden_too "
    "AND (h.kind <> 'snoozed' OR h.at > :now))))"
)


def hidden(*ids: str) -> str:
    """SQL that holds when one of the id expressions has a hiding state."""
    return _HIDDEN.format(ids=", ".join(ids))


# SQL that holds for visible passages; ``p`` is the passage row.
VISIBLE_PASSAGE = (
    "p.seq <= :seq AND p.gone > :seq "
    "AND (:projects IS NULL OR p.project IN (SELECT value FROM json_each(:projects))) "
    "AND p.audience IN (SELECT value FROM json_each(:audiences)) "
    "AND p.origin IN (SELECT value FROM json_each(:origins)) "
    "AND NOT " + hidden("p.id", "p.source_id")
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
            "now": iso(self.now),
            "hidden_too": scope.include_hidden,
            "projects": None if scope.projects is None else as_json(scope.projects),
            "audiences": as_json(scope.audiences),
            "origins": as_json(scope.origins),
            **more,
        }

    def hidden_ids(self, db: Db) -> frozenset[str]:
        """Every id the scope hides directly; what hangs on them is hidden with them."""
        parameters = self.parameters()
        states = db.execute(
            "SELECT DISTINCT h.target_id FROM state h WHERE h.seq <= :seq AND h.gone > :seq "
            "AND (h.kind = 'forgotten' OR (NOT :hidden_too "
            "AND (h.kind <> 'snoozed' OR h.at > :now)))",
            parameters,
        )
        ids = {row[0] for row in states}
        passages = db.execute(
            "SELECT p.id FROM passage p WHERE p.seq <= :seq AND p.gone > :seq AND NOT ("
            "(:projects IS NULL OR p.project IN (SELECT value FROM json_each(:projects))) "
            "AND p.audience IN (SELECT value FROM json_each(:audiences)) "
            "AND p.origin IN (SELECT value FROM json_each(:origins)))",
            parameters,
        )
        ids |= {row[0] for row in passages}
        return frozenset(ids)


def as_json(values: Iterable[str]) -> str:
    """Strings as a JSON array, the way lists are bound."""
    return json.dumps(sorted(str(value) for value in values))
