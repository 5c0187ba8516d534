"""Serving a vault beside the program that has it open: a notebook, a script, a command.

It listens from the start, which costs nothing; the web frameworks are loaded in a thread when the
first client knocks, whose connection waits in the socket meanwhile.
"""

from __future__ import annotations

import asyncio
import os
import selectors
import socket
import threading
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from graphmem.errors import GraphmemError
from graphmem.memory import Memory
from graphmem.serve.runtime import EMBEDDED_ROLE, SHARED_ROLE
from graphmem.serve.service import GRACE_S, Place, describe, listen, server_of

if TYPE_CHECKING:
    import uvicorn

    from graphmem.serve.writes import WriteQueue

# A command that is nearly done does not load anything for who knocks: it leaves within this, and
# the client finds the vault free. In seconds.
KNOCK_GRACE_S = 0.2
# Longest wait for the thread at the end, in seconds; the vault is released all the same.
JOIN_S = GRACE_S + 7.0


class Beside:
    """Serves from a daemon thread until ``close``."""

    def __init__(self, memory: Memory, vault: Path) -> None:
        """Listens and says so; raises GraphmemError or OSError when it cannot."""
        self._memory = Memory.beside(memory)
        self._place = Place(vault, role=SHARED_ROLE)
        self._pid = os.getpid()
        self._guard = threading.Lock()
        self._closing = threading.Event()
        self._server: uvicorn.Server | None = None
        self._queue: WriteQueue | None = None
        with ExitStack() as opened:
            self._sockets = listen(self._place, opened)
            self._wake, self._woken = socket.socketpair()
            opened.callback(self._wake.close)
            opened.callback(self._woken.close)
            describe(memory, self._place, self._sockets)
            self._opened = opened.pop_all()
        self._thread = threading.Thread(target=self._run, name="graphmem-beside", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        with selectors.DefaultSelector() as selector:
            for each in (*self._sockets, self._woken):
                selector.register(each, selectors.EVENT_READ)
            selector.select()
        if self._closing.wait(KNOCK_GRACE_S):
            return
        try:
            asyncio.run(self._serve())
        except Exception as error:  # a thread has no caller; the status says it
            _alone(self._memory, error)
            self._opened.close()  # who waits is told at once instead of never

    async def _serve(self) -> None:
        from graphmem.serve.guard import Activity
        from graphmem.serve.lanes import Lanes
        from graphmem.serve.writes import WriteQueue

        queue = WriteQueue()
        lanes = Lanes(queue)
        try:
            server = server_of(self._memory, self._place, lanes, Activity())
            with self._guard:
                if self._closing.is_set():
                    return
                self._server, self._queue = server, queue
            await server.serve(sockets=self._sockets)
        finally:
            lanes.close()

    def close(self) -> None:
        """Finishes accepted writes of clients, then listens no more."""
        if self._pid != os.getpid():
            return
        with self._guard:
            self._closing.set()
            server, queue = self._server, self._queue
        self._wake.send(b"\0")
        if queue is not None:
            queue.drain()
        if server is not None:
            server.should_exit = True
        self._thread.join(JOIN_S)
        self._opened.close()


def _alone(memory: Memory, error: Exception) -> None:
    """Nobody else is served; said in the status here, and to the others in owner.json."""
    memory.engine.warnings.append(f"other processes cannot use this vault now: {error}")
    memory.describe({"pid": os.getpid(), "role": EMBEDDED_ROLE})


def serve_beside(memory: Memory, vault: Path) -> None:
    """Lets other processes use a vault that this one has open; what prevents it is a warning."""

    def start() -> Callable[[], None]:
        try:
            return Beside(memory, vault).close
        except (GraphmemError, OSError) as error:
            _alone(memory, error)
            return lambda: None

    memory.engine.share(start)
