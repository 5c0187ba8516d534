"""The same memory for ``async`` code: every call runs in a thread, no event loop is touched.

``async with await graphmem.open_async(path) as memory: await memory.search(…)``
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import wraps
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Self, TypeVar, cast

from graphmem.memory import Memory
from graphmem.serve.opening import Mode, open
from graphmem.settings import Settings

if TYPE_CHECKING:
    from graphmem.serve.contract import MemoryLike

P = ParamSpec("P")
T = TypeVar("T")


def _threaded(
    method: Callable[Concatenate[Memory, P], T],
) -> Callable[Concatenate[AsyncMemory, P], Awaitable[T]]:
    """The method of ``Memory`` as a coroutine with the same arguments."""
    name = method.__name__

    @wraps(method)
    async def call(self: AsyncMemory, *given: P.args, **named: P.kwargs) -> T:
        found: Callable[..., T] = getattr(self._memory, name)
        return await asyncio.to_thread(found, *given, **named)

    return cast("Callable[Concatenate[AsyncMemory, P], Awaitable[T]]", call)


class AsyncMemory:
    """See ``graphmem.Memory``; made by ``graphmem.open_async``."""

    def __init__(self, memory: MemoryLike) -> None:
        self._memory = memory
        self.path = memory.path

    def __repr__(self) -> str:
        return f"<graphmem.AsyncMemory over {self._memory!r}>"

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    ingest = _threaded(Memory.ingest)
    sync = _threaded(Memory.sync)
    remember = _threaded(Memory.remember)
    search = _threaded(Memory.search)
    kg_query = _threaded(Memory.kg_query)
    find_causal_links = _threaded(Memory.find_causal_links)
    get = _threaded(Memory.get)
    to_networkx = _threaded(Memory.to_networkx)
    status = _threaded(Memory.status)
    rebuild = _threaded(Memory.rebuild)
    warm = _threaded(Memory.warm)
    close = _threaded(Memory.close)

    async def dump(self, *, content: bool = False) -> list[str]:
        """All that is stored as sorted JSON lines."""
        return await asyncio.to_thread(lambda: list(self._memory.dump(content=content)))


async def open_async(
    path: str | Path | None = None,
    *,
    create: bool = True,
    settings: Settings | None = None,
    mode: Mode = "auto",
    **more: Any,
) -> AsyncMemory:
    """As ``graphmem.open``, for ``async`` code; raises the same errors."""
    opened = await asyncio.to_thread(
        lambda: open(path, create=create, settings=settings, mode=mode, **more)
    )
    return AsyncMemory(opened)
