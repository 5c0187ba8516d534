"""Whether a replay of the journal from nothing gives what the vault holds."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path

from graphmem.errors import GraphmemError
from graphmem.model.care import Check
from graphmem.store import dump
from graphmem.store.graph.changes import NothingStored, project
from graphmem.store.graph.memory import MemoryGraph
from graphmem.store.heal import open_index
from graphmem.store.index_apply import IndexApplier
from graphmem.store.index_schema import NEVER
from graphmem.store.journal import Journal, JournalRow
from graphmem.store.sqlite import Db, Readers
from graphmem.store.verify_index import REBUILD

_TEXTS = f"SELECT id, search_hash FROM passage WHERE gone = {NEVER}"
_TERMS = "SELECT term, doc, cnt FROM lexical_terms"


def replays(journal: Journal, seq: int, lines: Sequence[str], db: Db) -> Iterator[Check]:
    """Two checks: the exact dump, and the terms and texts of the word index."""
    advice = f"{REBUILD}; if it fails again, report it with this output"
    replayed = "a replay of the journal gives this vault"
    words = "a replay gives the same words of the same passages"
    with tempfile.TemporaryDirectory(prefix="graphmem-verify-") as folder:
        try:
            index, graph = _replay(journal, seq, Path(folder))
        except GraphmemError as error:
            yield Check(
                name="replay",
                claim=replayed,
                checked=len(lines),
                failures=1,
                examples=(str(error),),
                advice=advice,
            )
            return
        try:
            wrong = _differences(lines, list(dump.exact(index, graph)))
            yield Check(
                name="replay",
                claim=replayed,
                checked=len(lines),
                failures=len(wrong),
                examples=tuple(wrong),
                advice=advice,
            )
            with index.reading() as fresh:
                checked, wrong = _words(db, fresh)
            yield Check(
                name="terms",
                claim=words,
                checked=checked,
                failures=len(wrong),
                examples=tuple(wrong),
                advice=advice,
            )
        finally:
            index.close()


def _replay(journal: Journal, seq: int, folder: Path) -> tuple[Readers, MemoryGraph]:
    index = open_index(folder)
    try:
        with index.writing() as db:
            applier = IndexApplier(db)
            for rows in _until(journal, seq):
                applier.apply(rows)
        graph = MemoryGraph()
        rows = list(chain.from_iterable(_until(journal, seq)))
        if rows:
            graph.load(project(rows, NothingStored()), seq)
    except BaseException:
        index.close()
        raise
    return index, graph


def _until(journal: Journal, seq: int) -> Iterator[list[JournalRow]]:
    for rows in journal.batches():
        if rows[-1].seq > seq:
            return
        yield rows


def _differences(here: Sequence[str], replayed: Sequence[str]) -> list[str]:
    stored, told = set(here), set(replayed)
    wrong = [f"only in the vault: {_named(line)}" for line in sorted(stored - told)]
    return wrong + [f"only in the replay: {_named(line)}" for line in sorted(told - stored)]


def _named(line: str) -> str:
    data = json.loads(line)
    place = "graph" if "graph" in data else "index"
    ident = data.get("id") or data.get("key") or data.get("target_id") or data.get("loser_id")
    return f"{data[place]} {ident} of the {place}"


def _words(here: Db, fresh: Db) -> tuple[int, list[str]]:
    checked, wrong = 0, []
    for statement in (_TEXTS, _TERMS):
        stored = set(map(tuple, here.execute(statement).fetchall()))
        told = set(map(tuple, fresh.execute(statement).fetchall()))
        checked += len(told)
        wrong += [f"“{row[0]}” has {row[1:]} here" for row in sorted(stored - told)]
        wrong += [f"“{row[0]}” has {row[1:]} in the replay" for row in sorted(told - stored)]
    return checked, wrong
