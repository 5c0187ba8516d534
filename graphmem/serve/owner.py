"""The owner process: the one that has a vault open and serves everybody else."""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import logging
import os
import re
import signal
import socket
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import uvicorn

import graphmem
from graphmem.errors import GraphmemError, UsageError, VaultLockedError
from graphmem.memory import Memory
from graphmem.model.inputs import CauseInput, FactInput
from graphmem.model.results import RememberResult
from graphmem.serve.api import add_mcp, build_api
from graphmem.serve.background import Background
from graphmem.serve.channel import has_unix_sockets
from graphmem.serve.guard import LOOPBACK, MCP_PATH, Activity, Guard
from graphmem.serve.keys import REQUEST_KEY
from graphmem.serve.lanes import Lanes
from graphmem.serve.mcp import build
from graphmem.serve.patience import KEEP_ALIVE_S, MAX_HEAD_BYTES, PatientProtocol
from graphmem.serve.runtime import OWNER_ROLE, read_holder, socket_path
from graphmem.serve.start import EXIT_HELD, LOCK_PATIENCE_S, START_TIMEOUT_S, find_owner
from graphmem.serve.tokens import load_tokens
from graphmem.serve.writes import WriteQueue
from graphmem.settings import Settings
from graphmem.vocabulary import Origin

LOG = logging.getLogger("graphmem.owner")
# Pause between two tries to get the vault, in seconds.
TRY_AGAIN_S = 0.1
# After the writes are done, open streams of clients are given this long, in seconds.
GRACE_S = 3
# Longest pause between two looks whether nobody came, in seconds.
IDLE_LOOK_S = 2.0
# Connections that wait to be taken.
BACKLOG = 128

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
    """A ``Memory`` whose tools write through the queue, and whose callers wait for no model."""

    queue: WriteQueue
    waits_for_embedder = False

    def remember(
        self,
        text: str,
        *,
        facts: Sequence[str | FactInput] = (),
        because: str | Sequence[str] = (),
        causes: Sequence[CauseInput] = (),
        project: str = "",
        origin: Origin = Origin.OWNER,
        key: str | None = None,
    ) -> RememberResult:
        """See ``Memory.remember``; waits for its turn."""
        call = super().remember
        return self.queue.run(
            lambda: call(
                text,
                facts=facts,
                because=because,
                causes=causes,
                project=project,
                origin=origin,
                key=key,
            ),
            key=REQUEST_KEY.get(),
        )


def run_owner(options: Options) -> int:
    """Serves the vault until it is told to stop or nobody comes; returns the exit code.

    0: served, or another owner was faster; 4: a process holds the vault for itself.
    """
    warning = exposure(options)
    _log_to_stderr()
    if warning is not None:
        LOG.warning(warning)
    try:
        memory = _open(options)
    except VaultLockedError as error:
        print(f"graphmem: {error}", file=sys.stderr)
        return EXIT_HELD
    if memory is None:
        return 0
    with contextlib.closing(memory):
        asyncio.run(_serve(memory, options))
    return 0


def _log_to_stderr() -> None:
    form = "%(asctime)s %(levelname)s %(message)s"
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format=form)
    LOG.setLevel(logging.INFO)


def _open(options: Options) -> OwnedMemory | None:
    """The open vault, None when another owner has it.

    Waits for holders that leave soon, longer for an owner that finishes its writes.
    """
    begun = time.monotonic()
    while True:
        try:
            return OwnedMemory(options.vault, options.settings, role=OWNER_ROLE)
        except VaultLockedError:
            with contextlib.suppress(GraphmemError):
                if find_owner(options.vault) is not None:
                    return None
            holder = read_holder(options.vault)
            owned = holder is not None and holder.serves
            if time.monotonic() - begun > (START_TIMEOUT_S if owned else LOCK_PATIENCE_S):
                raise
        time.sleep(TRY_AGAIN_S)


async def _serve(memory: OwnedMemory, options: Options) -> None:
    queue, activity = WriteQueue(), Activity()
    memory.queue = queue
    lanes = Lanes(queue)
    mcp = build(lambda: memory).http_app(path=MCP_PATH, host_origin_protection=False)
    api = build_api(memory, lanes, lifespan=mcp.lifespan)
    add_mcp(api, mcp)
    names = LOOPBACK | {options.host.lower()}
    tokens = load_tokens(options.vault)
    guard = Guard(api, tokens, activity, remote=options.allow_remote, names=names)
    with ExitStack() as opened:
        opened.callback(lanes.close)
        sockets = _listen(options, opened)
        _describe(memory, options, sockets)
        server = _Server(guard)
        stop = _Stop(server, queue)
        stop.on_signals()
        watch = asyncio.create_task(_leave_when_idle(stop, activity, options))
        background = Background(memory, options.vault, queue)
        background.start()
        await server.serve(sockets=sockets)
        watch.cancel()
        background.stop()
        await asyncio.to_thread(queue.drain)


class _Server(uvicorn.Server):
    """A server that leaves signals to its owner."""

    def __init__(self, app: Any) -> None:
        super().__init__(
            uvicorn.Config(
                app,
                http=PatientProtocol,
                h11_max_incomplete_event_size=MAX_HEAD_BYTES,
                timeout_keep_alive=KEEP_ALIVE_S,
                proxy_headers=False,  # or any caller could say who it is
                log_config=None,
                access_log=False,
                server_header=False,
                ws="none",
                lifespan="on",
                backlog=BACKLOG,
                timeout_graceful_shutdown=GRACE_S,
            )
        )

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Nothing is captured here."""
        yield


class _Stop:
    """Leaving: the first request drains the writes, a second signal ends the process at once."""

    def __init__(self, server: uvicorn.Server, queue: WriteQueue) -> None:
        self._server, self._queue = server, queue
        self._leaving: asyncio.Task[None] | None = None

    def on_signals(self) -> None:
        """Makes SIGTERM and SIGINT stop the process."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            try:
                loop.add_signal_handler(number, self._signal)
            except NotImplementedError:
                signal.signal(number, lambda *_: loop.call_soon_threadsafe(self._signal))

    def _signal(self) -> None:
        if self._leaving is not None:
            os._exit(1)
        self.begin("told to stop")

    def begin(self, reason: str) -> None:
        """Takes no more writes, finishes those accepted, then ends the server."""
        if self._leaving is None:
            LOG.info("leaving: %s", reason)
            self._leaving = asyncio.create_task(self._leave())

    async def _leave(self) -> None:
        await asyncio.to_thread(self._queue.drain)
        self._server.should_exit = True


async def _leave_when_idle(stop: _Stop, activity: Activity, options: Options) -> None:
    limit = options.idle_exit_s
    pause = IDLE_LOOK_S if limit is None else min(IDLE_LOOK_S, limit / 4)
    while True:
        await asyncio.sleep(pause)
        if limit is not None and activity.idle_s() >= limit:
            stop.begin("nobody came")
        elif not (options.vault / "lock").exists():
            stop.begin("the vault's folder is gone")


def _listen(options: Options, opened: ExitStack) -> list[socket.socket]:
    """The sockets to serve on: TCP first, then the Unix socket where there are any."""
    family = socket.AF_INET6 if ":" in options.host else socket.AF_INET
    tcp = opened.enter_context(socket.socket(family))
    if os.name == "posix":
        tcp.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        tcp.bind((options.host, options.port))
    except OSError as error:
        raise UsageError(
            f"cannot listen on {options.host}:{options.port}: {error.strerror}; use another --port"
        ) from error
    if not has_unix_sockets():
        return [tcp]
    path = socket_path(options.vault)
    path.unlink(missing_ok=True)  # left by an owner that was killed: this process has the lock
    unix = opened.enter_context(socket.socket(socket.AF_UNIX))
    unix.bind(str(path))
    opened.callback(path.unlink, missing_ok=True)
    path.chmod(0o600)
    unix.listen(BACKLOG)
    tcp.listen(BACKLOG)
    return [tcp, unix]


def _describe(memory: Memory, options: Options, sockets: list[socket.socket]) -> None:
    port = sockets[0].getsockname()[1]
    path = str(sockets[1].getsockname()) if len(sockets) > 1 else None
    memory.describe(
        {
            "pid": os.getpid(),
            "role": OWNER_ROLE,
            "version": graphmem.__version__,
            "host": options.host,
            "port": port,
            "socket": path,
        }
    )
    LOG.info("serving %s on http://%s:%d", options.vault, options.host, port)
