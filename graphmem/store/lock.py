"""One process per vault: a file lock that the kernel releases when its holder dies."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import IO

from graphmem.errors import VaultError, VaultLockedError

_HELD: dict[str, IO[str]] = {}


def _forget() -> None:
    """In a forked child: the lock stays the parent's, and ends with the parent."""
    for file in _HELD.values():
        file.close()
    _HELD.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)


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
        _HELD[self._key] = self._file
        self.describe({"pid": os.getpid(), "role": role})

    def describe(self, holder: Mapping[str, object]) -> None:
        """Writes what others may know about the holder; a reader sees the old or the new text."""
        fresh = self._folder / "owner.json.new"
        fresh.write_text(json.dumps(holder), encoding="utf-8")
        os.replace(fresh, self._folder / "owner.json")

    def release(self) -> None:
        """Gives the lock back; a second call does nothing."""
        if self._key in _HELD:
            (self._folder / "owner.json").unlink(missing_ok=True)
            del _HELD[self._key]
            _give_back(self._file)
            self._file.close()


def _holder(folder: Path) -> int | None:
    try:
        return int(json.loads((folder / "owner.json").read_text(encoding="utf-8"))["pid"])
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


def _give_back(file: IO[str]) -> None:
    """Unlocks the file, also when a forked process still has it open."""
    if sys.platform != "win32":
        import fcntl

        fcntl.flock(file.fileno(), fcntl.LOCK_UN)
