"""The one write path: validate, journal (acknowledged here), index, graph, publish.

When a projection fails after the journal has the batch, the commit stands: the projections catch
up at once, and if that fails too the store is degraded until the next open heals it. After an
interruption (Ctrl-C) the next commit catches up first, so that no batch is ever skipped.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from datetime import datetime

from graphmem.errors import VaultError
from graphmem.model.operations import Operation
from graphmem.store.journal import Journal, JournalRow
from graphmem.store.projections import Fault, Projections, no_fault
from graphmem.store.protocols import Committed
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
    ) -> None:
        self._journal, self._projections, self._view = journal, projections, view
        self._clock, self._fault = clock, fault
        self._lock = threading.RLock()
        self._behind = False
        self.failure: str | None = None

    def commit(
        self, operations: Sequence[Operation], *, actor: str, key: str | None = None
    ) -> Committed:
        """Stores a batch, all or nothing; see the protocol for the errors."""
        with self._lock:
            if self.failure is not None:
                raise VaultError(f"{self.failure}; close the vault and open it again to heal it")
            if self._behind:
                self._catch_up()
            if key is not None and (earlier := self._journal.find(key)) is not None:
                return earlier
            Draft(self._view(), operations).check()
            self._behind = True
            committed = self._journal.append(operations, at=self._clock(), actor=actor, key=key)
            self._publish(committed)
            return committed

    def _publish(self, committed: Committed) -> None:
        try:
            self._fault("after_journal")
            self._projections.take(self._rows(committed), self._fault)
        except Exception:
            try:
                self._projections.catch_up(self._journal)
            except Exception as error:
                self.failure = f"the batch is stored but could not be published: {error}"
        self._behind = False

    def _catch_up(self) -> None:
        """Publishes what an interrupted commit left in the journal only."""
        self._projections.catch_up(self._journal)
        self._behind = False

    def _rows(self, committed: Committed) -> list[JournalRow]:
        return list(self._journal.rows(committed.first_seq - 1))
