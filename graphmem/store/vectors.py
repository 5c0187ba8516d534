"""Vectors by the hash of their text: a table that survives rebuilds, sqlite-vec and numpy search.

A vault is bound to one embedder; vectors of another one are never read.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence

import numpy as np
import sqlite_vec
from numpy.typing import NDArray

from graphmem.errors import InvalidInputError
from graphmem.store.index_apply import search_text
from graphmem.store.index_schema import NEVER
from graphmem.store.protocols import Scored
from graphmem.store.sqlite import Db, Readers

# Up to this many vectors a scan in memory is used (measured: exact top 50 of 100,000 x 384 takes
# numpy 24 ms and vec0 47 ms); 200,000 x 384 floats are 300 MB. Above, vec0 reads from disk.
MAX_IN_MEMORY = 200_000
# Vectors are unit length within this; more means that they were not normalised.
NORM_TOLERANCE = 1e-2
# How many nearest rows vec0 returns for each one asked, before the scope filter; it has a bound.
VEC0_LIMIT = 4_096


def load_extension(db: Db) -> None:
    """Loads sqlite-vec into a connection."""
    db.enable_load_extension(True)
    db.load_extension(sqlite_vec.loadable_path())
    db.enable_load_extension(False)


class VectorTable:
    """Reads and writes the vectors of one embedder."""

    def __init__(self, readers: Readers) -> None:
        self._readers = readers
        self._lock = threading.Lock()
        self._embedder, self._dimension = "", 0
        self._matrix: NDArray[np.float32] = np.zeros((0, 0), np.float32)
        self._position: dict[str, int] = {}
        self._loaded = 0

    @property
    def dimension(self) -> int:
        """Dimensions of the bound embedder; 0 for none."""
        return self._dimension

    def bind(self, embedder: str, dimension: int) -> None:
        """From now on only this embedder's vectors are read and written."""
        with self._lock:
            self._embedder, self._dimension = embedder, dimension
            self._matrix = np.zeros((0, dimension), np.float32)
            self._position, self._loaded = {}, 0
        if dimension:
            with self._readers.writing() as db:
                db.execute(
                    f"CREATE VIRTUAL TABLE IF NOT EXISTS {self._table} USING vec0("
                    f"number INTEGER PRIMARY KEY, data float[{dimension}] distance_metric=cosine)"
                )

    @property
    def _table(self) -> str:
        return f"nearest_{self._dimension}"

    def pending(self, limit: int) -> list[tuple[str, str]]:
        """(hash, text) of visible passages without a vector, at most ``limit``, by hash."""
        if not self._dimension:
            return []
        with self._readers.reading() as db:
            rows = db.execute(
                f"SELECT p.search_hash, min(p.id), min(p.source_id) {_PENDING} "
                "GROUP BY p.search_hash ORDER BY min(p.number) LIMIT :limit",
                {"never": NEVER, "embedder": self._embedder, "limit": limit},
            ).fetchall()
            return [(h, _text(db, passage, source)) for h, passage, source in rows]

    def pending_count(self) -> int:
        """How many current passages have no vector; 0 without an embedder."""
        if not self._dimension:
            return 0
        with self._readers.reading() as db:
            row = db.execute(
                f"SELECT count(*) {_PENDING}", {"never": NEVER, "embedder": self._embedder}
            ).fetchone()
        return int(row[0])

    def count(self) -> int:
        """How many vectors the bound embedder has."""
        with self._readers.reading() as db:
            row = db.execute(
                "SELECT count(*) FROM vector WHERE embedder = ?", (self._embedder,)
            ).fetchone()
        return int(row[0])

    def store(self, hashes: Sequence[str], vectors: NDArray[np.float32]) -> None:
        """Adds vectors; raises InvalidInputError for a row that is not a unit vector."""
        if vectors.shape != (len(hashes), self._dimension):
            raise InvalidInputError(
                f"expected {len(hashes)} vectors of {self._dimension} numbers, got {vectors.shape}"
            )
        data = np.ascontiguousarray(vectors, np.float32)
        norms = np.linalg.norm(data, axis=1)
        if not np.all(np.abs(norms - 1.0) < NORM_TOLERANCE):  # NaN fails the comparison too
            raise InvalidInputError("a vector is zero, not finite or not of unit length")
        with self._readers.writing() as db:
            start = int(db.execute("SELECT coalesce(max(number), 0) FROM vector").get)
            for offset, (text_hash, row) in enumerate(zip(hashes, data, strict=True), 1):
                number, blob = start + offset, row.tobytes()
                db.execute(
                    "INSERT OR IGNORE INTO vector VALUES(?,?,?,?)",
                    (text_hash, self._embedder, number, blob),
                )
                if db.changes():
                    db.execute(f"INSERT INTO {self._table} VALUES(?, ?)", (number, blob))

    def _refresh(self) -> None:
        """Takes the vectors that came since the last look into the matrix."""
        with self._readers.reading() as db:
            rows = db.execute(
                "SELECT hash, number, data FROM vector WHERE embedder = ? AND number > ? "
                "ORDER BY number",
                (self._embedder, self._loaded),
            ).fetchall()
        if not rows:
            return
        fresh = np.frombuffer(b"".join(row[2] for row in rows), np.float32)
        start = len(self._matrix)
        self._matrix = np.concatenate([self._matrix, fresh.reshape(-1, self._dimension)])
        self._position = self._position | {row[0]: start + i for i, row in enumerate(rows)}
        self._loaded = int(rows[-1][1])

    def _pinned(self) -> tuple[NDArray[np.float32], dict[str, int]]:
        with self._lock:
            if self._dimension:
                self._refresh()
            return self._matrix, self._position

    def rows(self, hashes: Sequence[str]) -> NDArray[np.float32]:
        """The vectors of hashes; zero rows where none is stored."""
        found = np.zeros((len(hashes), self._dimension), np.float32)
        matrix, position = self._pinned()
        known = [(i, position[h]) for i, h in enumerate(hashes) if h in position]
        if known:
            targets, sources = zip(*known, strict=True)
            found[list(targets)] = matrix[list(sources)]
        return found

    def nearest(
        self, vector: NDArray[np.float32], passages: Sequence[tuple[str, str]], limit: int
    ) -> list[Scored]:
        """The nearest of the (id, hash) passages, best first."""
        if not self._dimension or limit < 1 or not np.any(vector):
            return []
        if self.count() > MAX_IN_MEMORY:
            return self._nearest_on_disk(vector, passages, limit)
        matrix, position = self._pinned()
        known = [(ident, position[h]) for ident, h in passages if h in position]
        if not known:
            return []
        scores = matrix[[row for _, row in known]] @ vector.astype(np.float32)
        cut = min(len(known), limit * 2)
        best = np.argpartition(-scores, cut - 1)[:cut]
        ranked = sorted((-float(scores[i]), known[i][0]) for i in best.tolist())
        return [Scored(ident, -score) for score, ident in ranked[:limit]]

    def _nearest_on_disk(
        self, vector: NDArray[np.float32], passages: Sequence[tuple[str, str]], limit: int
    ) -> list[Scored]:
        by_hash: dict[str, list[str]] = {}
        for ident, text_hash in passages:
            by_hash.setdefault(text_hash, []).append(ident)
        with self._readers.reading() as db:
            rows = db.execute(
                f"SELECT v.hash, n.distance FROM {self._table} n "
                "JOIN vector v ON v.number = n.number WHERE n.data MATCH ? AND n.k = ?",
                (vector.astype(np.float32).tobytes(), VEC0_LIMIT),
            ).fetchall()
        ranked = sorted((d, ident) for h, d in rows for ident in by_hash.get(h, ()))
        return [Scored(ident, 1.0 - distance) for distance, ident in ranked[:limit]]


_PENDING = (
    "FROM passage p LEFT JOIN vector v ON v.hash = p.search_hash AND v.embedder = :embedder "
    "WHERE p.gone = :never AND v.hash IS NULL AND NOT EXISTS (SELECT 1 FROM state s "
    "WHERE s.target_id IN (p.id, p.source_id) AND s.gone = :never)"
)


def _text(db: Db, passage_id: str, source_id: str) -> str:
    from graphmem.store.index_apply import IndexApplier

    reader = IndexApplier(db)
    return search_text(reader.passage(passage_id), reader.title(source_id))
