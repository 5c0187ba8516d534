"""The one write path: validate, journal (acknowledged here), index, graph, publish.

When a projection fails after the journal has the batch, the commit stands: the projections catch
up at once, and if that fails too (the disk is full) every following commit tries again before it
stores anything. The same after an interruption (Ctrl-C), so that no batch is ever skipped.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import datetime

from graphmem.errors import VaultError
from graphmem.model.base import iso
from graphmem.model.operations import Operation, Purge
from graphmem.store.journal import Journal, JournalRow
from graphmem.store.projections import Fault, Projections, no_fault
from graphmem.store.protocols import Committed
from graphmem.store.trouble import advice
from graphmem.store.validate import Draft
from graphmem.store.view import StoreView


class StoreWriter:
    """See ``graphmem.store.protocols.Writer``."""

    def __init__(
        self,
        journal: Journal,
        projections: Projections,
        view: Callable[[], StoreView],
        clock: Callable[[], datetime],
        fault: Fault = no_fault,
        check_place: Callable[[], None] = lambda: None,
    ) -> None:
        """``check_place`` raises when the files are not those that were opened."""
        self._journal, self._projections, self._view = journal, projections, view
        self._clock, self._fault, self._check_place = clock, fault, check_place
        self._lock = threading.RLock()
        self._behind = False
        self._erase: Callable[[], None] = lambda: None
        self.failure: str | None = None

    def commit(
        self, operations: Sequence[Operation], *, actor: str, key: str | None = None
    ) -> Committed:
        """Stores a batch, all or nothing; see the protocol for the errors."""
        with self._lock:
            self._check_place()
            if self._behind:
                self._catch_up_first()
            if key is not None and (earlier := self._journal.find(key)) is not None:
                return earlier
            self._journal.check_takes_rows()
            Draft(self._view(), operations).check()
            self._behind = True
            at = self._clock()
            committed = self._journal.append(operations, at=at, actor=actor, key=key)
            told = enumerate(operations, committed.first_seq)
            rows = [JournalRow(n, iso(at), committed.batch, actor, key, op) for n, op in told]
            self._publish(rows)
            return committed

    def committed_under(self, prefix: str) -> Mapping[str, tuple[Operation, ...]]:
        """The commits whose key begins so; see the protocol."""
        return {
            key: self._journal.operations(committed)
            for key, committed in self._journal.find_under(prefix)
        }

    def paused(self) -> AbstractContextManager[object]:
        """Keeps commits away, for work on the projections."""
        return self._lock

    def erase_with(self, erase: Callable[[], None]) -> None:
        """What is done when a purge is committed: projections hold what they were told."""
        self._erase = erase

    def _publish(self, rows: Sequence[JournalRow]) -> None:
        try:
            self._fault("after_journal")
            if any(isinstance(row.operation, Purge) for row in rows):
                self._erase()
            else:
                self._projections.take(rows, self._fault)
        except Exception:
            try:
                self._catch_up()
            except Exception as error:
                self.failure = str(_unpublished(error))
        else:
            self._behind = False

    def _catch_up_first(self) -> None:
        try:
            self._catch_up()
        except Exception as error:
            refused = _unpublished(error)
            self.failure = str(refused)
            raise refused from error

    def _catch_up(self) -> None:
        """Publishes what a failed or interrupted commit left in the journal only."""
        self._projections.mend()
        done = min(self._projections.index_seq, self._projections.graph.applied_seq)
        if self._journal.purged_after(done):
            self._erase()
        else:
            self._projections.catch_up(self._journal)
        self._behind, self.failure = False, None


def _unpublished(error: Exception) -> VaultError:
    return VaultError(
        f"what was stored last is safe in the journal but not shown yet ({str(error)[:500]}), and "
        f"nothing more is stored until it is: {advice(error)}"
    )
