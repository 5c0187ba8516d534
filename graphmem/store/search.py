"""Lexical, vector and time search over visible passages, at one sequence and scope."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from graphmem.model.scope import Scope
from graphmem.store.index_schema import moment
from graphmem.store.names import NameReads
from graphmem.store.protocols import Scored
from graphmem.store.sqlite import Db
from graphmem.store.vectors import Candidates, VectorTable
from graphmem.store.visibility import VISIBLE_PASSAGE, Sight, alive, as_json, hidden
from graphmem.text import COLUMN_WEIGHTS

# A text after every time.
AFTER_ALL = "~"

# Times of passages, and of statements that are not hidden; one that has no end, or no start, is
# taken as a moment.
_IN_WINDOW = (
    "SELECT p.id, min(t.at) AS first FROM passage p JOIN ("
    "SELECT id AS pid, authored_at AS at FROM passage WHERE authored_at >= :start "
    "AND authored_at < :end AND seq <= :seq AND gone > :seq UNION ALL "
    "SELECT y.passage_id, coalesce(y.start_at, y.end_at) FROM part y "
    "WHERE coalesce(y.start_at, y.end_at) < :end "
    f"AND coalesce(y.end_at, y.start_at || '~') > :start AND {alive('y')} "
    f"AND NOT {hidden('y.id')}"
    f") t ON t.pid = p.id WHERE {VISIBLE_PASSAGE} GROUP BY p.id ORDER BY first, p.id LIMIT :limit"
)


def _candidates(db: Db, sight: Sight) -> Candidates:
    rows = db.execute(
        f"SELECT p.id, p.search_hash FROM passage p WHERE {VISIBLE_PASSAGE}", sight.parameters()
    ).fetchall()
    return Candidates([row[0] for row in rows], [row[1] for row in rows])


class SearchReads(NameReads):
    """The three searches; every filter acts inside them."""

    _vectors: VectorTable

    def lexical(self, match: str, limit: int, scope: Scope) -> list[Scored]:
        """Visible passages by BM25 (higher is better), ties by id."""
        if not match or limit < 1:
            return []
        weights = ", ".join(str(weight) for weight in COLUMN_WEIGHTS)
        with self._readers.reading() as db:
            rows = db.execute(
                f"SELECT p.id, bm25(lexical, {weights}) AS score FROM lexical "
                "JOIN passage p ON p.number = lexical.rowid "
                f"WHERE lexical MATCH :match AND {VISIBLE_PASSAGE} "
                "ORDER BY score, p.id LIMIT :limit",
                self._sight(scope).parameters(match=match, limit=limit),
            ).fetchall()
        return [Scored(ident, -score) for ident, score in rows]

    def document_frequency(self, terms: Sequence[str]) -> Mapping[str, int]:
        """In how many visible passages each index token stands."""
        with self._readers.reading() as db:
            rows = db.execute(
                "SELECT t.term, t.doc FROM json_each(?) j "
                "CROSS JOIN lexical_terms t ON t.term = j.value",
                (as_json(set(terms)),),
            ).fetchall()
        found = dict(rows)
        return {term: found.get(term, 0) for term in terms}

    def nearest(self, vector: NDArray[np.float32], limit: int, scope: Scope) -> list[Scored]:
        """Visible passages by cosine similarity, exact to six digits, ties by id."""
        sight = self._sight(scope)
        with self._readers.reading() as db:
            key = ("candidates", *sight.key(db))
            candidates = self._readers.keep(key, lambda: _candidates(db, sight))
        return self._vectors.nearest(vector, candidates, limit)

    def vectors(self, passage_ids: Sequence[str]) -> NDArray[np.float32]:
        """Unit vectors, one row per id; an all-zero row where none is stored."""
        with self._readers.reading() as db:
            rows = db.execute(
                "SELECT p.id, p.search_hash FROM json_each(:ids) j "
                "JOIN passage p ON p.id = j.value WHERE p.seq <= :seq AND p.gone > :seq",
                {"ids": as_json(set(passage_ids)), "seq": self._seq},
            ).fetchall()
        hashes = dict(rows)
        return self._vectors.rows([hashes.get(ident, "") for ident in passage_ids])

    def in_window(
        self, start: datetime | None, end: datetime | None, limit: int, scope: Scope
    ) -> list[str]:
        """Visible passages whose own or whose statements' time meets [start, end)."""
        window = {
            "start": moment(start) or "",
            "end": moment(end) or AFTER_ALL,
            "limit": limit,
        }
        with self._readers.reading() as db:
            rows = db.execute(_IN_WINDOW, self._bound(db, scope, **window)).fetchall()
        return [row[0] for row in rows]

    def pending_vectors(self) -> int:
        """How many passages have no vector yet."""
        return self._vectors.pending_count()
