"""One process per vault: a file lock that the kernel releases when its holder dies."""

from __future__ import annotations

import errno
import json
import os
import sys
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import IO

from graphmem.errors import VaultLockedError
from graphmem.store.trouble import told

# Who holds the vault, for people and clients; only the lock decides.
OWNER_FILE = "owner.json"

_HELD: dict[str, ExitStack] = {}


def _forget() -> None:
    """In a forked child: the lock stays the parent's, and ends with the parent."""
    for files in _HELD.values():
        files.close()
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
        with ExitStack() as taken:
            self._locked = [_take_file(folder, taken), *_take_folder(folder, taken)]
            self._taken = taken.pop_all()
        _HELD[self._key] = self._taken
        try:
            self.describe({"pid": os.getpid(), "role": role})
        except BaseException:
            self.release()
            raise

    def describe(self, holder: Mapping[str, object]) -> None:
        """Writes what others may know about the holder; a reader sees the old or the new text."""
        fresh = self._folder / f"{OWNER_FILE}.new"
        try:
            fresh.write_text(json.dumps(holder), encoding="utf-8")
            os.replace(fresh, self._folder / OWNER_FILE)
        except OSError as error:
            raise told(f"cannot write to {self._folder}", error) from error

    def release(self) -> None:
        """Gives the lock back; a second call does nothing."""
        if self._key in _HELD:
            with self._taken:
                del _HELD[self._key]
                if _holder(self._folder) == os.getpid():  # the folder may have been moved meanwhile
                    with suppress(OSError):  # information only: a stale one misleads nobody
                        (self._folder / OWNER_FILE).unlink()
                for handle in self._locked:
                    _give_back(handle)


def _holder(folder: Path) -> int | None:
    try:
        return int(json.loads((folder / OWNER_FILE).read_text(encoding="utf-8"))["pid"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _take_file(folder: Path, taken: ExitStack) -> int:
    """Locks the file ``lock``, the one that has this name now; gives its handle."""
    path = folder / "lock"
    while True:
        try:
            file = open(path, "a+", encoding="utf-8")  # noqa: SIM115
        except OSError as error:
            raise told(f"cannot write to {folder}", error) from error
        try:
            _take(file)
        except OSError:
            file.close()
            raise _held(folder) from None
        with suppress(FileNotFoundError):
            if os.path.samestat(os.stat(path), os.fstat(file.fileno())):
                taken.callback(file.close)
                return file.fileno()
        file.close()  # deleted between opening and locking: whoever comes next has a new one


def _take_folder(folder: Path, taken: ExitStack) -> list[int]:
    """Locks the folder itself, where that can be done: its lock outlives a deleted file."""
    if sys.platform == "win32":
        return []
    import fcntl

    handle = os.open(folder, os.O_RDONLY)
    taken.callback(os.close, handle)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise _held(folder) from None
    except OSError as error:
        # Some file systems of a network lock files only; then the file alone must do.
        if error.errno not in (errno.EBADF, errno.EINVAL, errno.ENOLCK, errno.ENOTSUP):
            raise told(f"cannot lock {folder}", error) from error
        return []
    return [handle]


def _held(folder: Path) -> VaultLockedError:
    pid = _holder(folder)
    who = "another process" if pid is None else f"process {pid}"
    return VaultLockedError(f"{folder} is in use by {who}; stop it or use another vault", pid=pid)


def _take(file: IO[str]) -> None:
    """Locks the file without waiting; raises OSError when another process has it."""
    if sys.platform == "win32":
        import msvcrt

        msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
    else:
        import fcntl

        fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)


def _give_back(handle: int) -> None:
    """Unlocks the file, also when a forked process still has it open."""
    if sys.platform != "win32":
        import fcntl

        fcntl.flock(handle, fcntl.LOCK_UN)
