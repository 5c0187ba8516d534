"""The owner process: the one that has a vault open and serves everybody else."""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import logging
import os
import re
import signal
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import graphmem
from graphmem.errors import GraphmemError, UsageError, VaultLockedError
from graphmem.memory import Memory
from graphmem.serve.background import Background
from graphmem.serve.guard import Activity
from graphmem.serve.lanes import READ_TIMEOUT_S, Lanes
from graphmem.serve.runtime import OWNER_ROLE, Alone
from graphmem.serve.service import Place, describe, listen, server_of
from graphmem.serve.start import EXIT_HELD, LOCK_PATIENCE_S, START_TIMEOUT_S, find_owner
from graphmem.serve.writes import WriteQueue
from graphmem.settings import Settings

if TYPE_CHECKING:
    import uvicorn

    from graphmem.store.projections import Fault

LOG = logging.getLogger("graphmem.owner")
# Pause between two tries to get the vault, in seconds.
TRY_AGAIN_S = 0.1
# Longest pause between two looks whether nobody came, in seconds.
IDLE_LOOK_S = 2.0
# Exit code after a second signal, when accepted writes may be unfinished.
EXIT_AT_ONCE = 1

_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0}


@dataclass(frozen=True, slots=True)
class Options:
    """How an owner process serves; ``idle_exit_s`` None means it stays."""

    vault: Path
    settings: Settings
    host: str = "127.0.0.1"
    port: int = 0
    idle_exit_s: float | None = 1800.0
    allow_remote: bool = False
    version: str = field(default_factory=lambda: graphmem.__version__)
    read_timeout_s: float = READ_TIMEOUT_S

    def place(self) -> Place:
        """Where it serves."""
        return Place(self.vault, self.host, self.port, self.allow_remote, version=self.version)


def seconds(text: str) -> float | None:
    """A duration as 45s, 30m, 2h in seconds; None for never.

    >>> seconds("30m"), seconds("never")
    (1800.0, None)
    """
    if text == "never":
        return None
    found = re.fullmatch(r"(\d+(?:\.\d+)?)([smhd])", text)
    if found is None:
        raise UsageError(f"{text!r} is no duration; write it as 45s, 30m, 2h or never")
    return float(found[1]) * _UNITS[found[2]]


def exposure(options: Options) -> str | None:
    """What a listening address that others can reach exposes, None on loopback.

    Raises UsageError for such an address without ``allow_remote``.
    """
    if _is_loopback(options.host):
        return None
    text = (
        f"{options.host} can be reached from other machines: whoever has a token of this vault "
        "and reaches it reads everything stored, with the write token also changes it and makes "
        "this process read files of this user; nothing is encrypted on the way"
    )
    if not options.allow_remote:
        raise UsageError(f"{text}. Add --allow-remote if that is what you want")
    return text


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


class OwnedMemory(Memory):
    """A ``Memory`` whose callers wait for no model."""

    waits_for_embedder = False


class Leaving:
    """The wish to end the process: the first drains the writes, a second ends it at once.

    Signals are taken before the vault is opened, so that one that comes meanwhile is not lost.
    """

    def __init__(self) -> None:
        self.asked = False
        self._wake: Callable[[], object] | None = None

    def on_signals(self) -> None:
        """Makes SIGTERM and SIGINT ask; only the main thread may call this."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: self._signal())

    def _signal(self) -> None:
        if self.asked:
            os._exit(EXIT_AT_ONCE)
        self.ask("told to stop")

    def ask(self, reason: str) -> None:
        """Asks once; safe in a signal handler and from any thread."""
        if not self.asked:
            self.asked = True
            LOG.info("leaving: %s", reason)
            if self._wake is not None:
                self._wake()

    def wake_with(self, wake: Callable[[], object]) -> None:
        """What an ask sets off; at once when it was asked before."""
        self._wake = wake
        if self.asked:
            wake()


def run_owner(options: Options, *, fault: Fault | None = None) -> int:
    """Serves the vault until it is told to stop or nobody comes; returns the exit code.

    0: served, or another owner was faster; 4: a process holds the vault for itself. ``fault`` is
    called at the named points of a commit.
    """
    warning = exposure(options)
    leaving = Leaving()
    leaving.on_signals()
    _log_to_stderr()
    if warning is not None:
        LOG.warning(warning)
    try:
        memory = _open(options, leaving, fault)
    except VaultLockedError as error:
        print(f"graphmem: {error}", file=sys.stderr)
        return EXIT_HELD
    if memory is None:
        return 0
    with contextlib.closing(memory):
        asyncio.run(_serve(memory, options, leaving))
    return 0


def _log_to_stderr() -> None:
    form = "%(asctime)s %(levelname)s %(message)s"
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format=form)
    LOG.setLevel(logging.INFO)


def _open(options: Options, leaving: Leaving, fault: Fault | None) -> Memory | None:
    """The open vault, None when another owner has it or this one is not wanted any more.

    Waits for holders that leave soon, longer for an owner that finishes its writes.
    """
    begun, alone = time.monotonic(), Alone(options.vault)
    while not leaving.asked:
        try:
            return OwnedMemory(options.vault, options.settings, role=OWNER_ROLE, fault=fault)
        except VaultLockedError:
            with contextlib.suppress(GraphmemError):  # it is about to leave, or no owner at all
                if find_owner(options.vault) is not None:
                    return None
            waited = time.monotonic() - begun
            if waited > START_TIMEOUT_S or alone.seconds() > LOCK_PATIENCE_S:
                raise
        time.sleep(TRY_AGAIN_S)
    return None


async def _serve(memory: Memory, options: Options, leaving: Leaving) -> None:
    queue, activity, loop = WriteQueue(), Activity(), asyncio.get_running_loop()
    lanes, place = Lanes(queue, read_timeout_s=options.read_timeout_s), options.place()
    with ExitStack() as opened:
        opened.callback(lanes.close)
        sockets = listen(place, opened)
        activity.begin()  # what it takes to start is not idling
        server = server_of(memory, place, lanes, activity)
        activity.end()
        describe(memory, place, sockets)
        LOG.info("serving %s on http://%s:%d", place.vault, place.host, sockets[0].getsockname()[1])
        asked = asyncio.Event()
        leaving.wake_with(lambda: loop.call_soon_threadsafe(asked.set))
        tasks = [
            asyncio.create_task(_leave(asked, queue, server)),
            asyncio.create_task(_leave_when_idle(leaving, queue, activity, options)),
        ]
        background = Background(memory, place.vault, queue)
        background.start()
        await server.serve(sockets=sockets)
        for task in tasks:
            task.cancel()
        background.stop()
        await asyncio.to_thread(queue.drain)


async def _leave(asked: asyncio.Event, queue: WriteQueue, server: uvicorn.Server) -> None:
    """Takes no more writes, finishes those accepted, then ends the server."""
    await asked.wait()
    await asyncio.to_thread(queue.drain)
    server.should_exit = True


async def _leave_when_idle(
    leaving: Leaving, queue: WriteQueue, activity: Activity, options: Options
) -> None:
    limit = options.idle_exit_s
    pause = IDLE_LOOK_S if limit is None else min(IDLE_LOOK_S, limit / 4)
    while True:
        await asyncio.sleep(pause)
        if limit is not None and not queue.busy and activity.idle_s() >= limit:
            leaving.ask("nobody came")
        elif not (options.vault / "lock").exists():
            leaving.ask("the vault's folder is gone")
