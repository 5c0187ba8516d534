"""How requests reach the engine: reads side by side with a time-out, writes through the queue."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import Any, TypeVar, cast

from graphmem.errors import VaultBusyError, VaultError
from graphmem.memory import Memory
from graphmem.serve.contract import MemoryLike
from graphmem.serve.writes import MAX_WAITING, WriteQueue, stopping

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
        try:
            return await asyncio.wait_for(
                asyncio.wrap_future(self._submit(self._reads, call)), self._read_timeout_s
            )
        except TimeoutError:
            raise self._too_long() from None

    def read_here(self, call: Callable[[], T]) -> T:
        """As ``read``, for a caller that has a thread of its own."""
        future = self._submit(self._reads, call)
        try:
            return future.result(self._read_timeout_s)
        except TimeoutError:
            future.cancel()
            raise self._too_long() from None

    def _too_long(self) -> VaultError:
        return VaultError(
            f"the read took longer than {self._read_timeout_s:g} s and was given up; "
            "ask for less, or again in a moment"
        )

    async def write(self, call: Callable[[], T], *, long: bool = False) -> T:
        """The result of a write once its turn has come; goes on when the caller leaves."""
        if self._calling >= MAX_CALLERS:
            raise VaultBusyError("too many writes are waiting; nothing was stored, try again")
        turn = self._submit(self._callers, partial(self.queue.run, call, long=long))
        self._calling += 1
        waiting = asyncio.wrap_future(turn)
        waiting.add_done_callback(self._one_less)
        return await asyncio.shield(waiting)

    def _one_less(self, done: asyncio.Future[Any]) -> None:
        self._calling -= 1
        if not done.cancelled():
            done.exception()  # seen: the caller may have left

    @staticmethod
    def _submit(pool: ThreadPoolExecutor, call: Callable[[], T]) -> Future[T]:
        try:
            return pool.submit(call)
        except RuntimeError:  # the lanes are closed, or the interpreter is ending
            raise stopping() from None

    def close(self) -> None:
        """Starts nothing new; what runs is not waited for."""
        self._reads.shutdown(wait=False, cancel_futures=True)
        self._callers.shutdown(wait=False, cancel_futures=True)


_READS = frozenset({"search", "kg_query", "find_causal_links", "get", "to_networkx", "status"})
_WRITES = frozenset({"remember"})


class InLanes:
    """A ``Memory`` whose calls go through the lanes; for tools with threads of their own."""

    def __init__(self, memory: Memory, lanes: Lanes) -> None:
        self._memory, self._lanes = memory, lanes

    def __getattr__(self, name: str) -> Any:
        call = getattr(self._memory, name)
        if name in _READS:
            return lambda *given, **named: self._lanes.read_here(partial(call, *given, **named))
        if name in _WRITES:
            return lambda *given, **named: self._lanes.queue.run(partial(call, *given, **named))
        return call


def in_lanes(memory: Memory, lanes: Lanes) -> MemoryLike:
    """The memory with its reads and notes in the lanes."""
    return cast(MemoryLike, InLanes(memory, lanes))
