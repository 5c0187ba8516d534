"""Lexical, vector and time search over visible passages, at one sequence and scope."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from graphmem.model.base import iso
from graphmem.model.scope import Scope
from graphmem.store.names import NameReads
from graphmem.store.protocols import Scored
from graphmem.store.vectors import VectorTable
from graphmem.store.visibility import VISIBLE_PASSAGE, as_json
from graphmem.text import COLUMN_WEIGHTS


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
                "SELECT t.term, t.doc FROM json_each(?) j JOIN lexical_terms t ON t.term = j.value",
                (as_json(set(terms)),),
            ).fetchall()
        found = dict(rows)
        return {term: found.get(term, 0) for term in terms}

    def nearest(self, vector: NDArray[np.float32], limit: int, scope: Scope) -> list[Scored]:
        """Visible passages by cosine similarity, exact, ties by id."""
        with self._readers.reading() as db:
            rows = db.execute(
                f"SELECT p.id, p.search_hash FROM passage p WHERE {VISIBLE_PASSAGE}",
                self._sight(scope).parameters(),
            ).fetchall()
        return self._vectors.nearest(vector, rows, limit)

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
            "start": "" if start is None else iso(start),
            "end": "9999" if end is None else iso(end),
            "limit": limit,
        }
        with self._readers.reading() as db:
            rows = db.execute(
                "SELECT p.id, min(t.at) AS first FROM passage p JOIN ("
                "SELECT id AS pid, authored_at AS at FROM passage WHERE authored_at >= :start "
                "AND authored_at < :end AND seq <= :seq AND gone > :seq UNION ALL "
                "SELECT passage_id, start_at FROM part WHERE start_at < :end "
                "AND coalesce(end_at, start_at || '~') > :start AND seq <= :seq AND gone > :seq"
                f") t ON t.pid = p.id WHERE {VISIBLE_PASSAGE} "
                "GROUP BY p.id ORDER BY first, p.id LIMIT :limit",
                self._sight(scope).parameters(**window),
            ).fetchall()
        return [row[0] for row in rows]

    def pending_vectors(self) -> int:
        """How many passages have no vector yet."""
        return self._vectors.pending_count()
