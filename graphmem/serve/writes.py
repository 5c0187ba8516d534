"""The queue of writes: bounded, acknowledged when done, drained before the process leaves.

Notes and runs (ingest, sync, rebuild) have workers of their own, so that a note does not wait for
a long run. The engine's own lock lets one commit at a time happen; extraction goes on beside it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

from graphmem.errors import OwnerError, VaultBusyError

# Writes that may wait; a remember takes 10 to 50 ms, so the last of them waits a few seconds.
MAX_WAITING = 64
# How long a caller waits for a place in a full queue, in seconds.
PATIENCE_S = 5.0
# Notes at a time: while one waits for a model the others go on.
NOTE_WORKERS = 4

T = TypeVar("T")


class WriteQueue:
    """Runs writes in threads of its own; safe to use from many threads."""

    def __init__(self, *, bound: int = MAX_WAITING, patience_s: float = PATIENCE_S) -> None:
        self._patience_s = patience_s
        self._places = threading.BoundedSemaphore(bound)
        self._notes = ThreadPoolExecutor(NOTE_WORKERS, thread_name_prefix="graphmem-write")
        self._runs = ThreadPoolExecutor(1, thread_name_prefix="graphmem-run")
        self._guard = threading.Lock()
        self._accepted = 0
        self._closed = False

    def run(self, call: Callable[[], T], *, long: bool = False) -> T:
        """The result of ``call`` once its turn has come; ``long`` ones wait for each other.

        Raises VaultBusyError when the queue stays full, OwnerError when it is closed, and
        whatever the call raises.
        """
        if not self._places.acquire(timeout=self._patience_s):
            raise VaultBusyError(
                f"too many writes are waiting; nothing was stored, try again in "
                f"{self._patience_s:.0f} s",
                retry_after_s=self._patience_s,
            )
        return self._submit(call, long).result()

    def _submit(self, call: Callable[[], T], long: bool) -> Future[T]:
        with self._guard:
            if self._closed:
                self._places.release()
                raise stopping()
            try:
                future = (self._runs if long else self._notes).submit(call)
            except RuntimeError:  # the interpreter is ending
                self._places.release()
                raise stopping() from None
            self._accepted += 1
        future.add_done_callback(self._one_less)
        return future

    def _one_less(self, _: object) -> None:
        with self._guard:
            self._accepted -= 1
        self._places.release()

    @property
    def busy(self) -> bool:
        """Whether an accepted write is not done yet."""
        return self._accepted > 0

    @property
    def closed(self) -> bool:
        """Whether it takes no more writes."""
        return self._closed

    def drain(self) -> None:
        """Takes no more writes and returns when the accepted ones are done."""
        with self._guard:
            self._closed = True
        self._notes.shutdown(wait=True)
        self._runs.shutdown(wait=True)


def stopping() -> OwnerError:
    """What a write gets that came too late."""
    return OwnerError("the owner process is stopping; nothing was stored, try again", stopping=True)
