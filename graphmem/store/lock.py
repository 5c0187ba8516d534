"""One process per vault: a file lock that the kernel releases when its holder dies."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import IO

from graphmem.errors import VaultError, VaultLockedError

# Who holds the vault, for people and clients; only the lock decides.
OWNER_FILE = "owner.json"

_HELD: set[str] = set()


class VaultLock:
    """Holds ``lock`` in the vault's folder; ``owner.json`` beside it is information only."""

    def __init__(self, folder: Path, role: str = "embedded") -> None:
        """Takes the lock; raises VaultLockedError with the holder's pid when it is taken.

        ``role`` is written beside the pid: ``owner`` for a process that serves others.
        """
        self._folder = folder
        self._key = os.path.realpath(folder)
        if self._key in _HELD:
            raise VaultLockedError(
                f"{folder} is already open in this process (pid {os.getpid()}); close it first",
                pid=os.getpid(),
            )
        try:
            self._file: IO[str] = open(folder / "lock", "a+", encoding="utf-8")  # noqa: SIM115
        except OSError as error:
            raise VaultError(f"cannot write to {folder}: {error.strerror}") from error
        try:
            _take(self._file)
        except OSError:
            self._file.close()
            pid = _holder(folder)
            who = "another process" if pid is None else f"process {pid}"
            raise VaultLockedError(
                f"{folder} is in use by {who}; stop it or use another vault", pid=pid
            ) from None
        _HELD.add(self._key)
        self.describe({"pid": os.getpid(), "role": role})

    def describe(self, holder: Mapping[str, object]) -> None:
        """Writes what others may know about the holder; a reader sees the old or the new text."""
        fresh = self._folder / f"{OWNER_FILE}.new"
        fresh.write_text(json.dumps(holder), encoding="utf-8")
        os.replace(fresh, self._folder / OWNER_FILE)

    def release(self) -> None:
        """Gives the lock back; a second call does nothing."""
        if self._key in _HELD:
            if _holder(self._folder) == os.getpid():  # the folder may have been moved meanwhile
                (self._folder / OWNER_FILE).unlink(missing_ok=True)
            _HELD.discard(self._key)
            self._file.close()


def _holder(folder: Path) -> int | None:
    try:
        return int(json.loads((folder / OWNER_FILE).read_text(encoding="utf-8"))["pid"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _take(file: IO[str]) -> None:
    """Locks the file without waiting; raises OSError when another process has it."""
    if sys.platform == "win32":
        import msvcrt

        msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
    else:
        import fcntl

        fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
