"""How requests reach the engine: reads side by side with a time-out, writes through the queue."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TypeVar

from graphmem.errors import VaultBusyError, VaultError
from graphmem.serve.writes import MAX_WAITING, WriteQueue

# Reads at a time; more wait their turn.
MAX_READS = 16
# A read that takes longer is given up, in seconds.
READ_TIMEOUT_S = 30.0
# Writes that hold a thread while they wait for a place in the queue.
MAX_CALLERS = 4 * MAX_WAITING

T = TypeVar("T")


class Lanes:
    """One lane for reads, one for writes; a crowd in one does not slow the other."""

    def __init__(self, queue: WriteQueue, *, read_timeout_s: float = READ_TIMEOUT_S) -> None:
        self.queue = queue
        self._read_timeout_s = read_timeout_s
        self._reads = ThreadPoolExecutor(MAX_READS, thread_name_prefix="graphmem-read")
        self._callers = ThreadPoolExecutor(MAX_CALLERS, thread_name_prefix="graphmem-call")
        self._calling = 0

    async def read(self, call: Callable[[], T]) -> T:
        """The result of a read; raises VaultError when it takes too long."""
        loop = asyncio.get_running_loop()
        try:
            return await asyncio.wait_for(
                loop.run_in_executor(self._reads, call), self._read_timeout_s
            )
        except TimeoutError:
            raise VaultError(
                f"the read took longer than {self._read_timeout_s:.0f} s and was given up; "
                "ask for less, or again in a moment"
            ) from None

    async def write(self, call: Callable[[], T], key: str | None = None) -> T:
        """The result of a write once its turn has come; goes on when the caller leaves."""
        if self._calling >= MAX_CALLERS:
            raise VaultBusyError("too many writes are waiting; nothing was stored, try again")
        loop = asyncio.get_running_loop()
        self._calling += 1
        turn = loop.run_in_executor(self._callers, partial(self.queue.run, call, key=key))
        turn.add_done_callback(self._one_less)
        return await asyncio.shield(turn)

    def _one_less(self, _: object) -> None:
        self._calling -= 1

    def close(self) -> None:
        """Starts nothing new; what runs is not waited for."""
        self._reads.shutdown(wait=False, cancel_futures=True)
        self._callers.shutdown(wait=False, cancel_futures=True)
