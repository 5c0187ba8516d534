"""Vectors by the hash of their text: a table that survives rebuilds, sqlite-vec and numpy search.

A vault is bound to one embedder; vectors of another one are never read.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

import apsw
import numpy as np
import sqlite_vec
from numpy.typing import NDArray

from graphmem.errors import InvalidInputError
from graphmem.store.index_apply import search_text
from graphmem.store.index_schema import NEVER
from graphmem.store.protocols import Scored
from graphmem.store.sqlite import Db, Readers
from graphmem.store.visibility import as_json

# Up to this many vectors a scan in memory is used (measured: exact top 50 of 100,000 x 384 takes
# numpy 24 ms and vec0 47 ms); 200,000 x 384 floats are 300 MB. Above, vec0 reads from disk.
MAX_IN_MEMORY = 200_000
# Vectors are unit length within this; more means that they were not normalised.
NORM_TOLERANCE = 1e-2
# The most nearest rows vec0 returns.
VEC0_LIMIT = 4_096
# Rows of a damaged table that are passed over before the rest is given up.
VECTORS_SKIPPED = 10_000
_NO_VECTOR = np.zeros(0, np.float32)
_NEAREST = (
    "CREATE VIRTUAL TABLE IF NOT EXISTS nearest_{dimension} USING vec0("
    "number INTEGER PRIMARY KEY, data float[{dimension}] distance_metric=cosine)"
)
# Digits of a similarity that count; float32 sums of 384 products differ in the seventh.
SCORE_DIGITS = 6


def load_extension(db: Db) -> None:
    """Loads sqlite-vec into a connection."""
    db.enable_load_extension(True)
    db.load_extension(sqlite_vec.loadable_path())
    db.enable_load_extension(False)


def take_vectors(damaged: Path, readers: Readers) -> int:
    """Copies the vectors that can be read of a damaged index; returns how many.

    They are found by the hash of their text; those left out are pending again.
    """
    try:
        with closing(apsw.Connection(str(damaged), flags=apsw.SQLITE_OPEN_READWRITE)) as source:
            rows = list(_readable(source))
    except apsw.Error:
        return 0
    with readers.writing() as db:
        for number, (text_hash, embedder, data) in enumerate(rows, 1):
            db.execute(
                "INSERT OR IGNORE INTO vector VALUES(?,?,?,?)", (text_hash, embedder, number, data)
            )
            if db.changes():
                dimension = len(data) // 4
                db.execute(_NEAREST.format(dimension=dimension))
                db.execute(f"INSERT INTO nearest_{dimension} VALUES(?, ?)", (number, data))
        return int(db.execute("SELECT count(*) FROM vector").get)


def _readable(source: Db) -> Iterator[tuple[str, str, bytes]]:
    """Sound vectors in the order they were stored, as far as SQLite can read."""
    last, step = 0, "SELECT rowid, hash, embedder, data FROM vector WHERE rowid > ? ORDER BY rowid"
    bound = VECTORS_SKIPPED
    while bound:
        try:
            for row in source.execute(step, (last,)):
                last = row[0]
                vector = np.frombuffer(row[3], np.float32) if len(row[3]) % 4 == 0 else _NO_VECTOR
                if vector.size and abs(float(np.linalg.norm(vector)) - 1.0) < NORM_TOLERANCE:
                    yield row[1], row[2], row[3]
            return
        except (apsw.CorruptError, UnicodeDecodeError):
            last, bound = last + 1, bound - 1


class Candidates:
    """Passages a search may find, with the rows of their vectors, looked up once per store."""

    def __init__(self, ids: list[str], hashes: list[str]) -> None:
        self.ids, self.hashes = ids, hashes
        self._known: tuple[dict[str, int], int, NDArray[np.int64]] | None = None

    def rows(
        self, position: dict[str, int], count: int
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Which candidates have a vector, and in which row; O(candidates) when some came."""
        known = self._known
        if known is None or known[0] is not position or known[1] != count:
            held = [(i, position[h]) for i, h in enumerate(self.hashes) if h in position]
            known = (position, count, np.array(held, np.int64).reshape(-1, 2))
            self._known = known
        return known[2][:, 0], known[2][:, 1]


class VectorTable:
    """Reads and writes the vectors of one embedder."""

    def __init__(self, readers: Readers) -> None:
        self._readers = readers
        self._lock = threading.Lock()
        self._embedder, self._dimension = "", 0
        self._empty()

    def _empty(self) -> None:
        """Forgets what is held in memory; the buffer grows by doubling, rows never change."""
        self._buffer: NDArray[np.float32] = np.zeros((0, self._dimension), np.float32)
        self._position: dict[str, int] = {}
        self._length = self._loaded = 0
        self._stale = True

    @property
    def dimension(self) -> int:
        """Dimensions of the bound embedder; 0 for none."""
        return self._dimension

    def bind(self, embedder: str, dimension: int) -> None:
        """From now on only this embedder's vectors are read and written."""
        with self._lock:
            self._embedder, self._dimension = embedder, dimension
            self._empty()
        if dimension:
            with self._readers.writing() as db:
                db.execute(_NEAREST.format(dimension=dimension))

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
        self._stale = True

    def forget_unused(self) -> None:
        """Drops the vectors of texts that no passage has any more."""
        unused = "FROM vector WHERE hash NOT IN (SELECT search_hash FROM passage)"
        with self._lock, self._readers.writing() as db:
            tables = db.execute("SELECT name FROM sqlite_schema WHERE sql LIKE '%USING vec0(%'")
            for (table,) in tables.fetchall():
                db.execute(f"DELETE FROM {table} WHERE number IN (SELECT number {unused})")
            db.execute(f"DELETE {unused}")
            self._empty()

    def _refresh(self) -> None:
        """Takes the vectors that came since the last look into the buffer."""
        self._stale = False
        with self._readers.reading() as db:
            rows = db.execute(
                "SELECT hash, number, data FROM vector WHERE embedder = ? AND number > ? "
                "ORDER BY number",
                (self._embedder, self._loaded),
            ).fetchall()
        if not rows:
            return
        start, end = self._length, self._length + len(rows)
        if end > len(self._buffer):
            grown = np.zeros((max(end, 2 * len(self._buffer)), self._dimension), np.float32)
            grown[:start] = self._buffer[:start]
            self._buffer = grown
        fresh = np.frombuffer(b"".join(row[2] for row in rows), np.float32)
        self._buffer[start:end] = fresh.reshape(-1, self._dimension)
        self._position.update((row[0], start + i) for i, row in enumerate(rows))
        self._length, self._loaded = end, int(rows[-1][1])

    def _pinned(self) -> tuple[NDArray[np.float32], dict[str, int]]:
        """The rows there are; those of a position that came later are not among them."""
        with self._lock:
            if self._dimension and self._stale:
                self._refresh()
            return self._buffer[: self._length], self._position

    def _rows_in_table(self) -> int:
        """The highest number given to a vector: how many rows a scan in memory would hold."""
        with self._readers.reading() as db:
            found = db.execute(
                "SELECT coalesce(max(number), 0) FROM vector WHERE embedder = ?", (self._embedder,)
            ).fetchone()
        return int(found[0])

    def rows(self, hashes: Sequence[str]) -> NDArray[np.float32]:
        """The vectors of hashes; zero rows where none is stored."""
        found = np.zeros((len(hashes), self._dimension), np.float32)
        matrix, position = self._pinned()
        held = ((i, position.get(h, len(matrix))) for i, h in enumerate(hashes))
        known = [(i, row) for i, row in held if row < len(matrix)]
        if known:
            targets, sources = zip(*known, strict=True)
            found[list(targets)] = matrix[list(sources)]
        return found

    def nearest(
        self, vector: NDArray[np.float32], candidates: Candidates, limit: int
    ) -> list[Scored]:
        """The nearest candidates, best first, ties by id."""
        if not self._dimension or limit < 1 or not np.any(vector):
            return []
        sought = vector.astype(np.float32)
        if self._rows_in_table() > MAX_IN_MEMORY:
            return self._nearest_on_disk(sought, candidates, limit)
        matrix, position = self._pinned()
        which, rows = candidates.rows(position, len(matrix))
        keep = rows < len(matrix)
        which, rows = which[keep], rows[keep]
        if not len(rows):
            return []
        return _ranked(candidates.ids, which, _similarity(matrix, rows, sought), limit)

    def _nearest_on_disk(
        self, vector: NDArray[np.float32], candidates: Candidates, limit: int
    ) -> list[Scored]:
        by_hash: dict[str, list[str]] = {}
        for ident, text_hash in zip(candidates.ids, candidates.hashes, strict=True):
            by_hash.setdefault(text_hash, []).append(ident)
        wanted = {
            "vector": vector.tobytes(),
            "k": min(limit, VEC0_LIMIT),
            "hashes": as_json(by_hash),
            "embedder": self._embedder,
        }
        with self._readers.reading() as db:
            rows = db.execute(
                f"SELECT v.hash, n.distance FROM {self._table} n "
                "JOIN vector v ON v.embedder = :embedder AND v.number = n.number "
                "WHERE n.data MATCH :vector AND n.k = :k AND n.number IN (SELECT w.number FROM "
                "json_each(:hashes) j CROSS JOIN vector w ON w.hash = j.value "
                "AND w.embedder = :embedder)",
                wanted,
            ).fetchall()
        found = ((round(d, SCORE_DIGITS), ident) for h, d in rows for ident in by_hash.get(h, ()))
        return [Scored(ident, 1.0 - distance) for distance, ident in sorted(found)[:limit]]


def _similarity(
    matrix: NDArray[np.float32], rows: NDArray[np.int64], vector: NDArray[np.float32]
) -> NDArray[np.float32]:
    """The products of rows with a vector, rounded: they must not depend on how BLAS blocks."""
    most = 2 * len(rows) > len(matrix)
    scores = (matrix @ vector)[rows] if most else matrix[rows] @ vector
    return np.round(scores, SCORE_DIGITS)


def _ranked(
    ids: list[str], which: NDArray[np.int64], scores: NDArray[np.float32], limit: int
) -> list[Scored]:
    """The best by score, then id; all that tie with the last one compete by id."""
    if limit < len(scores):
        bound = np.partition(scores, len(scores) - limit)[len(scores) - limit]
        chosen = np.flatnonzero(scores >= bound)
        which, scores = which[chosen], scores[chosen]
    pairs = zip(scores.tolist(), which.tolist(), strict=True)
    ranked = sorted((-score, ids[i]) for score, i in pairs)
    return [Scored(ident, -score) for score, ident in ranked[:limit]]


_PENDING = (
    "FROM passage p LEFT JOIN vector v ON v.hash = p.search_hash AND v.embedder = :embedder "
    "WHERE p.gone = :never AND v.hash IS NULL AND NOT EXISTS (SELECT 1 FROM state s "
    "WHERE s.target_id IN (p.id, p.source_id) AND s.gone = :never)"
)


def _text(db: Db, passage_id: str, source_id: str) -> str:
    from graphmem.store.index_apply import IndexApplier

    reader = IndexApplier(db)
    return search_text(reader.passage(passage_id), reader.title(source_id))
