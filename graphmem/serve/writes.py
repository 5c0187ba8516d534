"""The one queue of writes: bounded, in order, drained before the process leaves."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

from graphmem.errors import OwnerError, VaultBusyError

# Writes that may wait; a remember takes 10 to 50 ms, so the last of them waits a few seconds.
MAX_WAITING = 64
# How long a caller waits for a place in a full queue, in seconds.
PATIENCE_S = 5.0
# Finished writes remembered by their request key, for a caller that lost its connection.
MAX_REMEMBERED = 1_024

T = TypeVar("T")


class WriteQueue:
    """Runs writes one after the other in a thread of its own; safe to use from many threads."""

    def __init__(self, *, bound: int = MAX_WAITING, patience_s: float = PATIENCE_S) -> None:
        self._patience_s = patience_s
        self._places = threading.BoundedSemaphore(bound)
        self._worker = ThreadPoolExecutor(max_workers=1, thread_name_prefix="graphmem-write")
        self._guard = threading.Lock()
        self._known: OrderedDict[str, Future[Any]] = OrderedDict()
        self._closed = False

    def run(self, call: Callable[[], T], *, key: str | None = None) -> T:
        """The result of ``call`` once its turn has come.

        The same ``key`` again gives the outcome of the first call, also while that still runs.
        Raises VaultBusyError when the queue stays full, OwnerError when it is closed, and
        whatever the call raises.
        """
        earlier = self._earlier(key)
        if earlier is not None:
            return earlier.result()  # type: ignore[no-any-return]
        if not self._places.acquire(timeout=self._patience_s):
            raise VaultBusyError(
                f"too many writes are waiting; nothing was stored, try again in "
                f"{self._patience_s:.0f} s",
                retry_after_s=self._patience_s,
            )
        return self._submit(call, key).result()

    def _earlier(self, key: str | None) -> Future[Any] | None:
        with self._guard:
            return None if key is None else self._known.get(key)

    def _submit(self, call: Callable[[], T], key: str | None) -> Future[T]:
        with self._guard:
            known: Future[T] | None = None if key is None else self._known.get(key)
            if known is not None or self._closed:
                self._places.release()
            if known is not None:
                return known
            if self._closed:
                raise OwnerError(
                    "the owner process is stopping; nothing was stored, try again", stopping=True
                )
            future = self._worker.submit(call)
            future.add_done_callback(lambda _: self._places.release())
            if key is not None:
                self._remember(key, future)
            return future

    def _remember(self, key: str, future: Future[Any]) -> None:
        self._known[key] = future
        while len(self._known) > MAX_REMEMBERED:
            self._known.popitem(last=False)

    @property
    def closed(self) -> bool:
        """Whether it takes no more writes."""
        return self._closed

    def drain(self) -> None:
        """Takes no more writes and returns when the accepted ones are done."""
        with self._guard:
            self._closed = True
        self._worker.shutdown(wait=True)
