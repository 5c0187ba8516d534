"""Finding the owner process of a vault, and starting one when there is none."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from pydantic import ValidationError

import graphmem
from graphmem.errors import (
    OwnerError,
    OwnerVersionError,
    VaultError,
    VaultLockedError,
    VaultNotFoundError,
)
from graphmem.serve.channel import Channel, Lost, Unreachable, has_unix_sockets
from graphmem.serve.runtime import LOG_FILE, OWNER_ROLE, Holder, read_holder, socket_path
from graphmem.serve.tokens import load_tokens
from graphmem.serve.wire import API, Hello
from graphmem.settings import Settings

# How long a client waits for an owner that starts (a vault may have to be healed), in seconds.
START_TIMEOUT_S = 120.0
# How long an owner that starts waits for a short-lived holder, a command for example, in seconds.
LOCK_PATIENCE_S = 5.0
# Pause between two looks whether the owner is there, in seconds.
LOOK_AGAIN_S = 0.03
# Longest wait for the first word, in seconds: a program that has the vault open loads what it needs
# to serve when the first client knocks.
HELLO_TIMEOUT_S = 30.0
# How long a stop waits for the writes that were accepted, in seconds.
STOP_TIMEOUT_S = 60.0
# Exit code of an owner that did not get the vault because a process holds it for itself.
EXIT_HELD = 4
# A log beyond this many bytes is begun anew.
MAX_LOG_BYTES = 1_000_000
# Bytes at the end of the log in which the last message stands.
TAIL_BYTES = 4_096


def find_owner(vault: Path) -> tuple[Channel, Hello] | None:
    """The owner that answers for a vault; None when none does or it is stopping.

    Raises OwnerError when one answers that does not take the vault's token.
    """
    if not (vault / "vault.json").is_file():
        return None
    for channel in _channels(vault, read_holder(vault)):
        try:
            reply = channel.request("GET", f"{API}/hello", timeout_s=HELLO_TIMEOUT_S)
        except (Unreachable, Lost):
            continue
        if reply.status != 200:
            raise OwnerError(
                f"the owner process of {vault} does not take the vault's token (status "
                f"{reply.status}); end that process and try again"
            )
        try:
            hello = Hello.model_validate_json(reply.body)
        except ValidationError:
            raise OwnerError(
                f"what serves {vault} does not answer like graphmem; end that process"
            ) from None
        # A copied folder names the socket of the vault it was copied from.
        if hello.vault == os.path.realpath(vault) and not hello.stopping:
            return channel, hello
    return None


def _channels(vault: Path, holder: Holder | None) -> list[Channel]:
    token = load_tokens(vault).write
    ready = holder if holder is not None and holder.ready else None
    if has_unix_sockets():
        told = ready.socket if ready is not None else None
        paths = dict.fromkeys(path for path in (told, str(socket_path(vault))) if path)
        return [Channel(path, "", None, token) for path in paths]
    return [] if ready is None else [Channel(None, ready.host, ready.port, token)]


Replace = Callable[[OwnerVersionError], bool]


def never(_: OwnerVersionError) -> bool:
    """An owner of another version is not replaced without being asked."""
    return False


def older(error: OwnerVersionError) -> bool:
    """Whether the owner is of an older version, which a server of agents replaces by itself."""
    return _numbers(error.theirs) < _numbers(error.ours)


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version.split("+", maxsplit=1)[0]))


def same_version(found: tuple[Channel, Hello], vault: Path) -> Channel:
    """The channel; raises OwnerVersionError when the owner is of another version."""
    channel, hello = found
    ours = graphmem.__version__
    if hello.version != ours:
        owned = hello.role == OWNER_ROLE
        todo = (
            "stop it with graphmem serve --stop and try again"
            if owned
            else "that is a program with the vault open: close it there and try again"
        )
        raise OwnerVersionError(
            f"{vault} is served by process {hello.pid} of graphmem {hello.version}, this is "
            f"{ours}; {todo}",
            theirs=hello.version,
            ours=ours,
            vault=str(vault) if owned else None,
        )
    return channel


def _usable(found: tuple[Channel, Hello], vault: Path, replace: Replace) -> Channel | None:
    """The channel of an owner of this version; None after it was stopped to be replaced."""
    try:
        return same_version(found, vault)
    except OwnerVersionError as error:
        if found[1].role != OWNER_ROLE or not replace(error):
            raise
    end_owner(vault, found[1].pid)
    return None


def end_owner(vault: Path, pid: int) -> None:
    """Asks an owner to finish its writes and leave, and waits for that.

    Raises OwnerError when it does not leave.
    """
    try:
        os.kill(pid, signal.SIGTERM)
    except ProcessLookupError:
        return
    except PermissionError:
        raise OwnerError(f"process {pid} belongs to another user; stop it there") from None
    deadline = time.monotonic() + STOP_TIMEOUT_S
    while time.monotonic() < deadline:
        holder = read_holder(vault)
        if holder is None or holder.pid != pid:
            return
        time.sleep(LOOK_AGAIN_S)
    raise OwnerError(f"process {pid} still writes after {STOP_TIMEOUT_S:.0f} s; see owner.log")


def ensure_owner(
    vault: Path,
    settings: Settings,
    *,
    create: bool,
    arguments: Sequence[str] = (),
    timeout_s: float = START_TIMEOUT_S,
    replace: Replace = never,
) -> Channel:
    """The channel to the vault's owner, started when there is none.

    ``replace`` says whether an owner of another version is stopped, once its writes are done.
    Raises OwnerVersionError when it is not, VaultNotFoundError without ``create``,
    VaultLockedError when a process keeps the vault to itself, OwnerError when the owner does not
    come up, VaultError with what it said.
    """
    deadline = time.monotonic() + timeout_s
    child: subprocess.Popen[bytes] | None = None
    while True:
        found = find_owner(vault)
        channel = None if found is None else _usable(found, vault, replace)
        if channel is not None:
            return channel
        if child is None:
            if not create and not (vault / "vault.json").is_file():
                raise VaultNotFoundError(f"there is no vault at {vault}; make one: graphmem init")
            child = spawn(vault, arguments or ["--idle-exit", settings.idle_exit], settings)
        elif child.poll() is not None:
            _raise_failure(vault, child.returncode)
            child = None  # another one was faster
        if time.monotonic() > deadline:
            raise OwnerError(f"the owner process did not come up in {timeout_s:.0f} s")
        time.sleep(LOOK_AGAIN_S)


def _raise_failure(vault: Path, code: int) -> None:
    if code == 0:
        return
    said = last_words(vault) or f"the owner process ended with code {code}"
    if code == EXIT_HELD:
        holder = read_holder(vault)
        raise VaultLockedError(said, pid=holder.pid if holder else None)
    raise VaultError(said)


def last_words(vault: Path) -> str:
    """The last message of an owner in the vault's log; empty when there is none."""
    try:
        with (vault / LOG_FILE).open("rb") as log:
            log.seek(max(0, log.seek(0, os.SEEK_END) - TAIL_BYTES))
            lines = log.read().decode("utf-8", "replace").splitlines()
    except OSError:
        return ""
    said = [line.removeprefix("graphmem: ") for line in lines if line.startswith("graphmem: ")]
    return said[-1] if said else ""


def spawn(vault: Path, arguments: Sequence[str], settings: Settings) -> subprocess.Popen[bytes]:
    """Starts an owner that outlives this process; it writes to owner.log in the vault."""
    vault = vault.absolute()
    try:
        vault.mkdir(parents=True, exist_ok=True)
        log = _open_log(vault)
    except OSError as error:
        raise VaultError(f"cannot write to {vault}: {error.strerror}") from error
    command = [sys.executable, "-P", "-m", "graphmem", "serve", "--foreground"]
    told = {
        "GRAPHMEM_EMBEDDER": settings.embedder,
        "GRAPHMEM_ENGINE": settings.engine,
        "GRAPHMEM_MAX_LOG_BYTES": str(settings.max_log_bytes),
        "GRAPHMEM_MAX_TOKENS": str(settings.max_tokens),
    }
    with open(log, "ab", closefd=True) as errors:
        child = subprocess.Popen(
            [*command, "--vault", str(vault), *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=errors,
            cwd=os.path.abspath(os.sep),
            env={**os.environ, **told},
            start_new_session=True,
        )
    # Whoever started it takes note of its end, so that it does not stay as a zombie.
    threading.Thread(target=child.wait, name="graphmem-owner", daemon=True).start()
    return child


def _open_log(vault: Path) -> int:
    path = vault / LOG_FILE
    fresh = path.exists() and path.stat().st_size > MAX_LOG_BYTES
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | (os.O_TRUNC if fresh else 0)
    return os.open(path, flags, 0o600)
