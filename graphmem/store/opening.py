"""Opening index and graph: what the sums of the files prove, and a look into what they do not."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

import apsw

from graphmem.errors import VaultError
from graphmem.model.base import iso
from graphmem.store.compare import (
    FULL_INDEX_ROWS,
    Difference,
    Steps,
    graph_differences,
    index_differences,
    sampled_index_differences,
)
from graphmem.store.digest import GRAPH_PREFIX, INDEX_FILE, OPENED_MARK, Trust, write_mark
from graphmem.store.graph.base import GraphStore
from graphmem.store.graph.engines import MEMORY, engine_named
from graphmem.store.heal import another_graph, another_index, open_graph, open_index
from graphmem.store.index_schema import applied_seq
from graphmem.store.journal import Journal
from graphmem.store.sqlite import Readers
from graphmem.store.trouble import is_cut

LOG = logging.getLogger("graphmem.store")
# What was healed, one JSON object per line; status shows it for a while.
HEALED_FILE = "healed.jsonl"
SHOWN_FOR = timedelta(days=7)
# Most notices that status shows.
SHOWN = 5

_CHANGED = "its files are not as they were closed"


class Notices:
    """What was found damaged and healed: logged once, and kept in the vault for ``status``."""

    def __init__(self, folder: Path | None, clock: Callable[[], datetime]) -> None:
        self._folder, self._clock = folder, clock
        self._told: list[str] = []

    def tell(self, text: str) -> None:
        """Takes a notice in."""
        LOG.warning("graphmem: %s", text)
        self._told.append(text)
        if self._folder is not None:
            line = json.dumps({"at": iso(self._clock()), "text": text}, ensure_ascii=False)
            with (self._folder / HEALED_FILE).open("a", encoding="utf-8") as file:
                file.write(line + "\n")

    @property
    def here(self) -> tuple[str, ...]:
        """What this process found and healed."""
        return tuple(self._told)

    def shown(self) -> tuple[str, ...]:
        """The last notices of some days, oldest first."""
        if self._folder is None:
            return tuple(self._told)
        try:
            lines = (self._folder / HEALED_FILE).read_text(encoding="utf-8").splitlines()
        except (OSError, ValueError):
            return tuple(self._told)
        since = self._clock() - SHOWN_FOR
        recent = [text for at, text in map(_notice, lines) if at is not None and at >= since]
        return tuple(recent[-SHOWN:]) or tuple(self._told)


def _notice(line: str) -> tuple[datetime | None, str]:
    try:
        data = json.loads(line)
        return datetime.fromisoformat(data["at"]), f"{data['at'][:16]} {data['text']}"
    except (ValueError, KeyError, TypeError):
        return None, ""


@dataclass(frozen=True, slots=True)
class Opener:
    """Opens the projections of a vault's folder, and makes anew what does not fit the journal."""

    folder: Path | None
    engine: str
    journal: Journal
    trust: Trust
    tell: Callable[[str], None]
    steps: Steps

    def index(self) -> Readers:
        """The index; empty when it was damaged, to be filled by the replay."""
        if self.folder is None:
            return open_index(None)
        path = self.folder / INDEX_FILE
        if not path.exists():
            return open_index(self.folder)
        if self._foreign():
            return another_index(path, "it was made from another journal", self.tell)
        if self.trust.closed and not self.trust.same(INDEX_FILE):
            return another_index(path, _CHANGED, self.tell)
        sound = self.trust.closed or self.trust.same_file(INDEX_FILE)
        readers = open_index(self.folder, sound, self.tell)
        if sound or self.journal.damage() is not None:
            return readers
        problem = self._index_problem(readers)
        if problem is None:
            return readers
        readers.close()
        return another_index(path, problem, self.tell)

    def _foreign(self) -> bool:
        """Whether the journal is not the one the projections were made from."""
        if self.journal.damage() is not None or not self.trust.head:
            return False
        return self.trust.stale or self.journal.hash_at(self.trust.head) not in (
            "",
            self.trust.head_hash,
        )

    def _index_problem(self, readers: Readers) -> str | None:
        try:
            with readers.writing() as db:
                if self.journal.purged_after(applied_seq(db)):
                    return None  # the journal forgot what it holds; it is made anew anyway
                if self.journal.head <= FULL_INDEX_ROWS:
                    found = index_differences(db, self.journal, self.steps)
                else:
                    found = sampled_index_differences(db, self.journal)
        except (apsw.Error, ValueError) as error:
            return str(error)
        except VaultError as error:
            if is_cut(error.__cause__):
                return "the file is cut off"
            raise
        return _words(found)

    def graph(self) -> GraphStore:
        """The graph as the journal has it, or as it was when the journal is damaged."""
        folder, trust = self.folder, self.trust
        if folder is None or self.engine == MEMORY:
            return open_graph(folder, self.engine, self.journal)
        parts = (folder, self.engine, self.journal)
        file = engine_named(self.engine).file
        if not (folder / file).exists():
            return open_graph(*parts, steps=self.steps)
        if self._foreign() or (trust.closed and not trust.same(file)):
            return self._anew(_CHANGED)
        # Such a file is not even probed: only its log changes while it is open, and Kuzu may take
        # all memory over a damaged page.
        if file in trust.then and not trust.same_file(file):
            return self._anew("it is not the file opened last")
        sound = bool(trust.then) and trust.same(file)
        graph = open_graph(*parts, sound, self.tell, self.steps)
        if sound or self._incomparable(graph.applied_seq):
            return graph
        try:
            problem = _words(graph_differences(graph, self.journal, self.steps))
        except (RuntimeError, ValueError) as error:
            problem = str(error)
        if problem is None:
            return graph
        graph.close()
        return self._anew(problem)

    def _anew(self, reason: str) -> GraphStore:
        """A graph of the journal in place of a damaged one; a kill on the way is not damage."""
        folder, trust = self.folder, self.trust
        assert folder is not None  # only a vault on disk can be damaged
        if trust.then:
            newest = trust.head, trust.head_hash
            with suppress(OSError):
                write_mark(folder, OPENED_MARK, *newest, stale=trust.stale, but=GRAPH_PREFIX)
        return another_graph(folder, self.engine, self.journal, reason, self.tell, self.steps)

    def _incomparable(self, seq: int) -> bool:
        """Whether the journal cannot tell what a graph at ``seq`` held."""
        journal = self.journal
        if journal.damage() is not None or seq > journal.head:
            return True
        return journal.purged_after(seq)  # the whole is made anew for a purge


def _words(found: list[Difference]) -> str | None:
    if not found:
        return None
    first = found[0]
    return f"{len(found)} rows differ from the journal, the first is {first.table} {first.id}"
