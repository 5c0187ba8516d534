"""Whether index and graph hold what the journal says, told by table and id; changes nothing."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Any

import apsw

from graphmem.model.base import digest
from graphmem.store.graph.base import GraphStore
from graphmem.store.graph.changes import NothingStored, project
from graphmem.store.graph.memory import MemoryGraph
from graphmem.store.graph.schema import NODE_TABLES
from graphmem.store.index_apply import IndexApplier
from graphmem.store.index_schema import PROJECTED, applied_seq, create
from graphmem.store.journal import Journal, JournalRow
from graphmem.store.sqlite import Db
from graphmem.store.vectors import load_extension

# (what is being done, rows done, rows in all)
Steps = Callable[[str, int, int], None]

# Rows of the journal up to which an index is compared in full after an unclean stop: building one
# beside it takes as long as making it anew, some 2 s for this many.
FULL_INDEX_ROWS = 2_000
# Rows of the journal whose effects are looked up in a larger index: 0.1 s, whatever its size.
SAMPLED_ROWS = 200
# Columns that later rows change.
_LATER = frozenset({"gone", "number", "search_hash", "project"})
# The tables with one row per id and sequence.
_SAMPLED = ("item", "source", "passage", "part", "fact", "evidence", "link")


@dataclass(frozen=True, slots=True)
class Difference:
    """A row that is missing, superfluous or another one than the journal says."""

    part: str
    table: str
    id: str


def no_steps(_name: str, _done: int, _total: int) -> None:
    """Nobody watches."""


def watched(
    batches: Iterable[list[JournalRow]], name: str, total: int, steps: Steps
) -> Iterator[list[JournalRow]]:
    """The batches, telling after each how many rows of ``total`` went by."""
    steps(name, 0, total)
    for rows in batches:
        yield rows
        steps(name, rows[-1].seq, total)


def graph_differences(
    graph: GraphStore, journal: Journal, steps: Steps = no_steps
) -> list[Difference]:
    """Every row of the graph that is not as the journal has it; O(rows), some 60 us per row."""
    seq = graph.applied_seq
    expected = MemoryGraph()
    told = watched(journal.batches(), "checking the graph", journal.head, steps)
    rows = [row for row in chain.from_iterable(told) if row.seq <= seq]
    expected.load(project(rows, NothingStored()), seq)
    found = []
    for table in graph.tables():
        key = "id" if table in NODE_TABLES else "key"
        stored, right = (
            Counter((str(row[key]), _canonical(row)) for row in side.rows(table))
            for side in (graph, expected)
        )
        wrong = {ident for ident, _ in (stored - right) + (right - stored)}
        found += [Difference("graph", table, ident) for ident in sorted(wrong)]
    return found


def _canonical(row: Any) -> str:
    return json.dumps(row, sort_keys=True, default=str)


def index_differences(db: Db, journal: Journal, steps: Steps = no_steps) -> list[Difference]:
    """Every row of the index, words included, that is not as the journal has it; O(rows)."""
    fresh = _fresh_index()
    try:
        applier, seq = IndexApplier(fresh), applied_seq(db)
        for rows in watched(journal.batches(), "checking the index", journal.head, steps):
            if rows[-1].seq <= seq:
                applier.apply(rows)
        found = []
        for table in PROJECTED:
            told = f"SELECT * FROM {table}"
            one, two = (Counter(map(tuple, side.execute(told))) for side in (db, fresh))
            wrong = {str(_ident(row)) for row in (one - two) + (two - one)}
            found += [Difference("index", table, ident) for ident in sorted(wrong)]
        return found + _word_differences(db, fresh)
    finally:
        fresh.close()


def _ident(row: tuple[Any, ...]) -> Any:
    """The first text of a row: its id, its target or its key."""
    return next((cell for cell in row if isinstance(cell, str)), row[0])


def _fresh_index() -> apsw.Connection:
    db = apsw.Connection(":memory:")
    load_extension(db)
    create(db)
    return db


def _word_differences(db: Db, fresh: Db) -> list[Difference]:
    one, two = _words(db), _words(fresh)
    wrong = sorted(n for n in one.keys() | two.keys() if one.get(n) != two.get(n))
    return [Difference("index", "lexical", str(number)) for number in wrong]


def _words(db: Db) -> dict[int, int]:
    """For each passage number a sum over its words and their places."""
    db.execute(
        "CREATE VIRTUAL TABLE IF NOT EXISTS temp.places USING fts5vocab(main, lexical, instance)"
    )
    sums: dict[int, int] = {}
    for term, number, column, offset in db.execute("SELECT * FROM temp.places"):
        sums[number] = sums.get(number, 0) ^ hash((term, column, offset))
    db.execute("DROP TABLE temp.places")
    return sums


def sampled_index_differences(db: Db, journal: Journal) -> list[Difference]:
    """What rows of the journal, chosen by a hash of their sequence, left in the index; O(1)."""
    found: list[Difference] = []
    fresh = _fresh_index()
    try:
        for seq in _sample(min(journal.head, applied_seq(db))):
            row = next(journal.rows(seq - 1), None)
            if row is not None and row.seq == seq:
                found += _row_differences(db, fresh, row)
    finally:
        fresh.close()
    return found


def _sample(head: int) -> list[int]:
    places = (int(digest(f"{head}:{i}")[:12], 16) for i in range(SAMPLED_ROWS))
    return sorted({1 + place % head for place in places}) if head else []


def _row_differences(db: Db, fresh: Db, row: JournalRow) -> list[Difference]:
    IndexApplier(fresh).apply([row])
    found = []
    for table in _SAMPLED:
        names = [column[1] for column in fresh.execute(f"PRAGMA table_info({table})")]
        kept = ", ".join(name for name in names if name not in _LATER)
        right = fresh.execute(f"SELECT {kept} FROM {table} WHERE seq = ?", (row.seq,)).fetchall()
        for ident in {cells[0] for cells in right}:
            stored = db.execute(
                f"SELECT {kept} FROM {table} WHERE id = ? AND seq = ?", (ident, row.seq)
            ).fetchall()
            if Counter(stored) != Counter(each for each in right if each[0] == ident):
                found.append(Difference("index", table, str(ident)))
    return found
