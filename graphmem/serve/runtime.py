"""Where the owner process of a vault can be found. Standard library only."""

from __future__ import annotations

import hashlib
import json
import os
import stat
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from graphmem.errors import OwnerError

OWNER_FILE = "owner.json"
LOG_FILE = "owner.log"
# What a process writes into owner.json before it opens the engine: an owner serves and does nothing
# else, a shared one is a program that serves others beside its own work, an embedded one nobody.
OWNER_ROLE = "owner"
SHARED_ROLE = "shared"
EMBEDDED_ROLE = "embedded"
# Longest path of a Unix socket with its final zero byte on macOS; Linux allows 108.
MAX_SOCKET_BYTES = 104
# Characters of the hash in a socket's name: 80 bits.
NAME_CHARS = 20


@dataclass(frozen=True, slots=True)
class Holder:
    """What owner.json says about the process that holds a vault; information, not a lock."""

    pid: int
    role: str = ""
    version: str = ""
    socket: str | None = None
    host: str = ""
    port: int | None = None

    @property
    def serves(self) -> bool:
        """Whether it serves others, now or once it has started."""
        return self.role in (OWNER_ROLE, SHARED_ROLE)

    @property
    def ready(self) -> bool:
        """Whether it said where it can be reached."""
        return self.serves and (self.socket is not None or self.port is not None)


def read_holder(vault: Path) -> Holder | None:
    """The holder as it described itself; None when nobody did, or not readably."""
    try:
        told = json.loads((vault / OWNER_FILE).read_text(encoding="utf-8"))
        port = told.get("port")
        return Holder(
            pid=int(told["pid"]),
            role=str(told.get("role", "")),
            version=str(told.get("version", "")),
            socket=told.get("socket") and str(told["socket"]),
            host=str(told.get("host", "")),
            port=None if port is None else int(port),
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


class Alone:
    """How long one process has been keeping a vault to itself; short commands take turns."""

    def __init__(self, vault: Path) -> None:
        self._vault = vault
        self._seen: tuple[int | None, float] | None = None

    def seconds(self) -> float:
        """Seconds since the present holder was first seen; 0 when it serves others."""
        holder, now = read_holder(self._vault), time.monotonic()
        if holder is not None and holder.serves:
            self._seen = None
            return 0.0
        pid = None if holder is None else holder.pid
        if self._seen is None or self._seen[0] != pid:
            self._seen = pid, now
        return now - self._seen[1]


def socket_path(vault: Path) -> Path:
    """The vault's socket: in the runtime folder, named by a hash of the vault's real path.

    Raises OwnerError when no private folder with a short enough name can be made.
    """
    real = os.path.realpath(vault)
    name = hashlib.blake2b(os.fsencode(real)).hexdigest()[:NAME_CHARS] + ".sock"
    for folder in _folders():
        path = folder / name
        if len(os.fsencode(path)) < MAX_SOCKET_BYTES and _private(folder):
            return path
    raise OwnerError(
        "no private folder for the owner's socket; set XDG_RUNTIME_DIR to one of yours"
    )


def _folders() -> list[Path]:
    user = f"graphmem-{os.getuid()}" if hasattr(os, "getuid") else "graphmem"
    named = os.environ.get("XDG_RUNTIME_DIR")
    first = [Path(named) / "graphmem"] if named and Path(named).is_dir() else []
    return [*first, Path(tempfile.gettempdir()) / user, Path("/tmp") / user]


def _private(folder: Path) -> bool:
    """Makes the folder; False unless it is a real folder that only this user can enter."""
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        found = folder.lstat()
    except OSError:
        return False
    mine = not hasattr(os, "getuid") or found.st_uid == os.getuid()
    return stat.S_ISDIR(found.st_mode) and mine and not found.st_mode & 0o077
