"""A vault's application and the sockets it is served on."""

from __future__ import annotations

import contextlib
import logging
import os
import socket
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import graphmem
from graphmem.errors import UsageError
from graphmem.memory import Memory
from graphmem.serve.channel import has_unix_sockets
from graphmem.serve.runtime import OWNER_ROLE, socket_path

if TYPE_CHECKING:
    import uvicorn

    from graphmem.serve.guard import Activity
    from graphmem.serve.lanes import Lanes

LOG = logging.getLogger("graphmem.owner")
# After the writes are done, open streams of clients are given this long, in seconds.
GRACE_S = 3
# Connections that wait to be taken.
BACKLOG = 128


@dataclass(frozen=True, slots=True)
class Place:
    """Where and as what a vault is served."""

    vault: Path
    host: str = "127.0.0.1"
    port: int = 0
    allow_remote: bool = False
    role: str = OWNER_ROLE
    version: str = field(default_factory=lambda: graphmem.__version__)


def listen(place: Place, opened: ExitStack) -> list[socket.socket]:
    """The sockets to serve on: TCP first, then the Unix socket where there are any.

    ``opened`` closes them. Raises UsageError for an address that is taken, OwnerError when there
    is no private folder for the Unix socket.
    """
    family = socket.AF_INET6 if ":" in place.host else socket.AF_INET
    tcp = opened.enter_context(socket.socket(family))
    if os.name == "posix":
        tcp.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        tcp.bind((place.host, place.port))
    except OSError as error:
        raise UsageError(
            f"cannot listen on {place.host}:{place.port}: {error.strerror}; use another --port"
        ) from error
    tcp.listen(BACKLOG)
    return [tcp, _listen_unix(place, opened)] if has_unix_sockets() else [tcp]


def _listen_unix(place: Place, opened: ExitStack) -> socket.socket:
    path = socket_path(place.vault)
    path.unlink(missing_ok=True)  # left by one that was killed: this process has the lock
    unix = opened.enter_context(socket.socket(socket.AF_UNIX))
    unix.bind(str(path))
    opened.callback(path.unlink, missing_ok=True)
    path.chmod(0o600)
    unix.listen(BACKLOG)
    return unix


def describe(memory: Memory, place: Place, sockets: list[socket.socket]) -> None:
    """Tells others in owner.json how this process is reached."""
    memory.describe(
        {
            "pid": os.getpid(),
            "role": place.role,
            "version": place.version,
            "host": place.host,
            "port": sockets[0].getsockname()[1],
            "socket": str(sockets[1].getsockname()) if len(sockets) > 1 else None,
        }
    )


def server_of(memory: Memory, place: Place, lanes: Lanes, activity: Activity) -> uvicorn.Server:
    """The server of the vault's application; loads the web frameworks, which takes a second."""
    import uvicorn

    from graphmem.serve.api import add_mcp, build_api
    from graphmem.serve.guard import LOOPBACK, MCP_PATH, Guard
    from graphmem.serve.lanes import in_lanes
    from graphmem.serve.mcp import build
    from graphmem.serve.patience import KEEP_ALIVE_S, MAX_HEAD_BYTES, PatientProtocol
    from graphmem.serve.tokens import load_tokens

    class Server(uvicorn.Server):
        """A server that leaves signals to its process."""

        @contextlib.contextmanager
        def capture_signals(self) -> Iterator[None]:
            """Nothing is captured here."""
            yield

    served = in_lanes(memory, lanes)
    tools = build(lambda: served, place.version)
    mcp = tools.http_app(path=MCP_PATH, host_origin_protection=False)
    api = build_api(memory, lanes, role=place.role, version=place.version, lifespan=mcp.lifespan)
    add_mcp(api, mcp)
    names = LOOPBACK | {place.host.lower()}
    tokens = load_tokens(place.vault)
    guard = Guard(api, tokens, activity, remote=place.allow_remote, names=names)
    return Server(
        uvicorn.Config(
            guard,
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
