"""Who has the vault open, whether that process is well, and what went wrong last."""

from __future__ import annotations

import errno
import http.client
import os
import socket
from collections.abc import Iterator
from pathlib import Path

import graphmem
from graphmem.care.findings import fail, ok, warn
from graphmem.model.care import Finding
from graphmem.serve.runtime import LOG_FILE, MAX_SOCKET_BYTES, Holder, read_holder
from graphmem.serve.start import TAIL_BYTES

# An owner on this machine answers in milliseconds; one that is stuck never does.
ANSWER_S = 5.0
# Longest line of the log that is shown.
LINE_CHARS = 300
_STOP = "graphmem serve --stop; the next command starts a new one"


def lock(vault: Path, free: bool) -> Iterator[Finding]:
    """Who holds the vault's lock."""
    holder = read_holder(vault)
    if free:
        if holder is None or not alive(holder.pid):
            yield ok("lock", "nobody has the vault open")
        else:
            yield ok("lock", f"nobody has the vault open; process {holder.pid} is leaving")
        return
    if holder is None:
        yield warn("lock", "a process has the vault open and does not say which", "wait a moment")
    elif not alive(holder.pid):
        yield warn(
            "lock",
            f"the vault is held, but not by process {holder.pid} that owner.json names",
            "look for a child of it that is still running, or for a holder on another machine",
        )
    elif not holder.serves:
        yield warn(
            "lock",
            f"process {holder.pid} has the vault for itself",
            'others wait for it: close it, or open with mode="client" there',
        )
    else:
        yield ok("lock", f"owner process {holder.pid} serves the vault")
        yield from _owner(holder)


def alive(pid: int) -> bool:
    """Whether a process of that number runs; also one of another user."""
    if os.name != "posix":
        return True  # a signal 0 would end it there
    try:
        os.kill(pid, 0)
    except OSError as error:
        return error.errno == errno.EPERM
    return True


def _owner(holder: Holder) -> Iterator[Finding]:
    if holder.version and holder.version != graphmem.__version__:
        told = f"it is of graphmem {holder.version}, this is {graphmem.__version__}"
        yield fail("owner", told, _STOP)
    if not holder.ready:
        yield warn("owner", "it is still starting", "try again; a large vault may be healing")
        return
    if holder.port is not None:
        yield from _port(holder.host, holder.port)
    if holder.socket is not None:
        yield from _socket(holder.socket)


def _port(host: str, port: int) -> Iterator[Finding]:
    connection = http.client.HTTPConnection(host, port, timeout=ANSWER_S)
    try:
        connection.request("GET", "/health")
        status = connection.getresponse().status
    except (OSError, http.client.HTTPException) as error:
        yield fail("owner", f"http://{host}:{port}/health does not answer ({error})", _STOP)
        return
    finally:
        connection.close()
    if status == http.client.OK:
        yield ok("owner", f"http://{host}:{port} answers")
    else:
        yield fail("owner", f"http://{host}:{port}/health answers with {status}", _STOP)


def _socket(path: str) -> Iterator[Finding]:
    length = len(os.fsencode(path))
    if length >= MAX_SOCKET_BYTES:
        told = f"its path has {length} bytes, {MAX_SOCKET_BYTES - 1} are allowed"
        yield fail("socket", told, "set XDG_RUNTIME_DIR to a folder with a short name")
        return
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as peer:
            peer.settimeout(ANSWER_S)
            peer.connect(path)
    except OSError as error:
        yield fail("socket", f"{path} does not answer ({error.strerror or error})", _STOP)
        return
    yield ok("socket", f"{path} answers ({length} bytes long)")


def last_error(vault: Path) -> Iterator[Finding]:
    """The newest error in the owner's log, if it did not serve since."""
    try:
        with (vault / LOG_FILE).open("rb") as log:
            log.seek(max(0, log.seek(0, os.SEEK_END) - TAIL_BYTES))
            lines = log.read().decode("utf-8", "replace").splitlines()
    except OSError:
        yield ok("last error", "no owner has written a log")
        return
    wrong = [number for number, line in enumerate(lines) if _is_error(line)]
    served = [number for number, line in enumerate(lines) if " INFO serving " in line]
    if not wrong:
        yield ok("last error", f"none in the end of {LOG_FILE}")
    elif served and served[-1] > wrong[-1]:
        yield ok("last error", f"served since: {lines[wrong[-1]][:LINE_CHARS]}")
    else:
        yield warn("last error", lines[wrong[-1]][:LINE_CHARS], f"see {vault / LOG_FILE}")


def _is_error(line: str) -> bool:
    return line.startswith("graphmem: ") or " ERROR " in line or "Error: " in line
