"""One request to an owner process by hand: ``http.client`` alone would cost a hook 20 ms.

Standard library only, and of that only what starts fast.
"""

from __future__ import annotations

import json
import os
import socket
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import graphmem
from graphmem.errors import OwnerError, OwnerVersionError
from graphmem.serve.runtime import read_holder, socket_path
from graphmem.serve.tokens import load_tokens

# Where an owner takes calls of tools, and the name that asks only whether it is there.
RELAY_PATH = "/relay"
PING = "ping"
# Bytes asked of the socket at once.
CHUNK_BYTES = 65_536
# Longest line of a reply: a whole result of a tool, which is bounded far below, or a header.
MAX_LINE_BYTES = 16 * 1024 * 1024
# Pause before another try at a full queue of connections, in seconds.
FULL_PAUSE_S = 0.02
# What follows a chunk.
LINE_END = b"\r\n"


class NoOwner(Exception):
    """Nobody listens; nothing was sent."""


class Cut(Exception):
    """The connection broke after something was sent; the owner may have done it or not."""


# Seconds that the next wait may take; not above zero means that the time is over.
Patience = Callable[[], float]


def call_tool(
    vault: Path, tool: str, arguments: Mapping[str, object], key: str, patience: Patience
) -> dict[str, Any]:
    """The result of a tool of the vault's owner as MCP has it, ``isError`` for a wrong call.

    Raises like ``post``, OwnerError when the owner cannot do it.
    """
    body = {
        "vault": os.path.realpath(vault),
        "version": graphmem.__version__,
        "name": tool,
        "arguments": arguments,
    }
    headers = {"Idempotency-Key": key} if key else {}
    for line in post(vault, RELAY_PATH, body, headers, patience):
        if "result" in line:
            return dict(line["result"])
        if line:
            raise _told(line, vault)
    raise Cut("the reply was cut off")


def post(
    vault: Path,
    path: str,
    body: Mapping[str, object],
    headers: Mapping[str, str],
    patience: Patience,
) -> Iterator[dict[str, Any]]:
    """The JSON lines of the reply as they come; a reply other than 200 is one line with ``status``.

    Raises NoOwner, Cut, TimeoutError when ``patience`` ends, VaultError for unreadable tokens.
    """
    data = _encoded(body)
    with _connected(vault, patience) as connection:
        stream = _Stream(connection, patience)
        stream.send(_head(path, len(data), load_tokens(vault).write, headers) + data)
        yield from _lines(stream)


def _encoded(body: Mapping[str, object]) -> bytes:
    try:
        return json.dumps(body, ensure_ascii=False).encode()
    except UnicodeEncodeError:  # a lone surrogate: the owner says what is wrong with it
        return json.dumps(body).encode()


def _head(path: str, length: int, token: str, headers: Mapping[str, str]) -> bytes:
    lines = [
        f"POST {path} HTTP/1.1",
        "Host: localhost",
        f"Authorization: Bearer {token}",
        "Content-Type: application/json",
        f"Content-Length: {length}",
        "Connection: close",
        *(f"{name}: {value}" for name, value in headers.items()),
    ]
    return "\r\n".join([*lines, "", ""]).encode("latin-1")


def _connected(vault: Path, patience: Patience) -> socket.socket:
    """A connection to the vault's owner: its socket, else what owner.json says."""
    for family, address in _addresses(vault):
        connection = socket.socket(family, socket.SOCK_STREAM)
        try:
            _connect(connection, address, patience)
        except TimeoutError:
            connection.close()
            raise
        except OSError:
            connection.close()
            continue
        return connection
    raise NoOwner(f"no owner process serves {vault}")


def _connect(connection: socket.socket, address: Any, patience: Patience) -> None:
    while True:
        connection.settimeout(_left(patience))
        try:
            connection.connect(address)
        except BlockingIOError:  # the owner's queue of connections is full
            time.sleep(FULL_PAUSE_S)
        else:
            return


def _addresses(vault: Path) -> Iterator[tuple[int, Any]]:
    holder = read_holder(vault)
    if os.name == "posix" and hasattr(socket, "AF_UNIX"):
        yield socket.AF_UNIX, str(socket_path(vault))
        if holder is not None and holder.socket:
            yield socket.AF_UNIX, holder.socket
    elif holder is not None and holder.ready:
        family = socket.AF_INET6 if ":" in holder.host else socket.AF_INET
        yield family, (holder.host, holder.port)


def _left(patience: Patience) -> float:
    seconds = patience()
    if seconds <= 0:
        raise TimeoutError("the time is over")
    return seconds


class _Stream:
    """Lines and counted bytes from a socket, each wait bounded."""

    def __init__(self, connection: socket.socket, patience: Patience) -> None:
        self._connection, self._patience = connection, patience
        self._buffer = bytearray()

    def send(self, data: bytes) -> None:
        """Sends all of it; raises Cut."""
        self._connection.settimeout(_left(self._patience))
        try:
            self._connection.sendall(data)
        except TimeoutError:
            raise
        except OSError:
            return  # a refusal may wait to be read; without one the next read says Cut

    def _more(self) -> None:
        self._connection.settimeout(_left(self._patience))
        try:
            found = self._connection.recv(CHUNK_BYTES)
        except TimeoutError:
            raise
        except OSError as error:
            raise Cut(str(error)) from error
        if not found:
            raise Cut("the reply was cut off")
        self._buffer += found

    def line(self) -> bytes:
        """The next line without its end."""
        begin = 0
        while (end := self._buffer.find(b"\n", begin)) < 0:
            begin = len(self._buffer)
            if begin > MAX_LINE_BYTES:
                raise Cut("a line of the reply is too long")
            self._more()
        found = bytes(self._buffer[:end])
        del self._buffer[: end + 1]
        return found.rstrip(b"\r")

    def take(self, count: int) -> bytes:
        """Exactly so many bytes."""
        while len(self._buffer) < count:
            self._more()
        found = bytes(self._buffer[:count])
        del self._buffer[:count]
        return found


def _lines(stream: _Stream) -> Iterator[dict[str, Any]]:
    try:
        status = int(stream.line().split(b" ", 2)[1])
        headers = {}
        while line := stream.line():
            name, _, value = line.partition(b":")
            headers[name.strip().lower()] = value.strip().lower()
        parts = _parts(stream, headers)
        if status != 200:
            yield {"status": status, **_refusal(b"".join(parts))}
            return
        yield from map(_object, _split(parts))
    except (ValueError, IndexError) as error:
        raise Cut(f"no readable reply: {error}") from error


def _refusal(body: bytes) -> dict[str, Any]:
    """What a refusal says; nothing when it is not of this program."""
    try:
        return _object(body)
    except ValueError:
        return {}


def _parts(stream: _Stream, headers: Mapping[bytes, bytes]) -> Iterator[bytes]:
    """The pieces of the body."""
    if b"chunked" not in headers.get(b"transfer-encoding", b""):
        yield stream.take(int(headers.get(b"content-length", b"0")))
        return
    while size := int(stream.line().split(b";")[0], 16):
        yield stream.take(size)
        stream.take(len(LINE_END))


def _split(parts: Iterator[bytes]) -> Iterator[bytes]:
    """The whole lines in the pieces of a body."""
    rest = b""
    for part in parts:
        *lines, rest = (rest + part).split(b"\n")
        yield from filter(None, lines)
    if rest:
        yield rest


def _object(line: bytes) -> dict[str, Any]:
    found = json.loads(line)
    if not isinstance(found, dict):
        raise ValueError("not an object")
    return found


def _told(reply: Mapping[str, Any], vault: Path) -> OwnerError:
    """The error in a reply that has no result."""
    error = reply.get("error")
    message = str(error.get("message", "")) if isinstance(error, dict) else ""
    details = error.get("details") if isinstance(error, dict) else None
    details = details if isinstance(details, dict) else {}
    if not message:
        return OwnerVersionError(
            f"the owner process of {vault} answered with status {reply.get('status')}; it may be "
            "of another version: graphmem serve --stop, then try again"
        )
    if isinstance(error, dict) and error.get("code") == OwnerVersionError.__name__:
        theirs, ours = str(details.get("theirs", "")), str(details.get("ours", ""))
        return OwnerVersionError(message, theirs=theirs, ours=ours)
    return OwnerError(message, stopping=bool(details.get("stopping")))
