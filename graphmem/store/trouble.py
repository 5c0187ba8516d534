"""What to tell a user when the disk, its rights or the folder itself stand in the way."""

from __future__ import annotations

import errno
import os
import shutil
from pathlib import Path

import apsw

from graphmem.errors import VaultError

_FULL = frozenset({errno.ENOSPC, errno.EFBIG, getattr(errno, "EDQUOT", errno.ENOSPC)})
_DENIED = frozenset({errno.EACCES, errno.EPERM, errno.EROFS})
# SQLite's I/O errors that mean the same: its shared memory or a file could not grow.
_FULL_RESULTS = (apsw.SQLITE_IOERR_SHMSIZE, apsw.SQLITE_IOERR_WRITE)
# The engines' own words: Kuzu has one class of error for everything.
_FULL_WORDS = ("no space left", "disk is full", "file too large", "quota exceeded")
_DENIED_WORDS = ("permission denied", "read-only file system", "readonly database")
_DENIED_CLASSES = (apsw.ReadOnlyError, apsw.PermissionsError, apsw.CantOpenError, PermissionError)

# The journal's file in a vault; a synced folder may hold conflicting copies beside it.
JOURNAL_FILE = "journal.sqlite"


def is_full(error: BaseException) -> bool:
    """Whether there was no room to write."""
    if isinstance(error, OSError) and error.errno in _FULL:
        return True
    if isinstance(error, apsw.IOError):
        return getattr(error, "extendedresult", 0) in _FULL_RESULTS
    return isinstance(error, apsw.FullError) or _says(error, _FULL_WORDS)


def is_denied(error: BaseException) -> bool:
    """Whether writing or reading was not allowed."""
    if isinstance(error, OSError) and error.errno in _DENIED:
        return True
    return isinstance(error, _DENIED_CLASSES) or _says(error, _DENIED_WORDS)


def is_cut(error: BaseException | None) -> bool:
    """Whether a database file is shorter than its own header or log says."""
    code = getattr(error, "extendedresult", 0) if isinstance(error, apsw.IOError) else 0
    return code == apsw.SQLITE_IOERR_SHORT_READ


def _says(error: BaseException, words: tuple[str, ...]) -> bool:
    text = str(error).lower()
    return any(word in text for word in words)


def advice(error: BaseException) -> str:
    """What a user can do about a failure of the disk."""
    if is_full(error):
        return "free space where the vault lies and try again"
    if is_denied(error):
        return "check the rights of the vault's folder and files, or use a vault you may write to"
    return "try again; graphmem rebuild makes index and graph anew"


def need_room(folder: Path | None, wanted: int) -> None:
    """Raises VaultError when the disk has fewer bytes free; nothing is known of quotas.

    Kuzu must not meet a full disk: it ends the process, or says that it stored what it did not.
    """
    if folder is None:
        return
    free = shutil.disk_usage(folder).free
    if free < wanted:
        raise VaultError(
            f"no space left: {folder} has {free / 1e6:.1f} MB, the graph needs "
            f"{wanted / 1e6:.1f} MB; free space and try again"
        )


def told(what: str, error: BaseException) -> VaultError:
    """The error for a failure of the disk: what could not be done, why, what to do."""
    return VaultError(f"{what} ({str(error)[:500]}): {advice(error)}")


class Place:
    """A vault's folder and journal as they were when they were opened."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._known = {path: _identity(path) for path in (folder, folder / JOURNAL_FILE)}

    def check(self) -> None:
        """Raises VaultError when the folder or the journal is another one now, or gone."""
        for path, known in self._known.items():
            if _identity(path) != known:
                raise VaultError(
                    f"{path} was moved, replaced or deleted while the vault was open; nothing was "
                    "written: close the vault and open it where it is now"
                )


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino


def strangers(folder: Path) -> list[str]:
    """Other files with a journal's name, as a sync program leaves them beside the real one."""
    names = (path.name for path in folder.glob("journal*.sqlite*"))
    return sorted(name for name in names if not name.startswith(JOURNAL_FILE))


def check_journal(folder: Path, projections: tuple[str, ...]) -> None:
    """Raises VaultError when the journal is missing although its projections are there."""
    if (folder / JOURNAL_FILE).exists():
        return
    if not any((folder / name).exists() for name in projections):
        return
    near = "".join(f"; {name} lies beside it" for name in strangers(folder))
    raise VaultError(
        f"{folder / JOURNAL_FILE} is missing, which holds everything that was stored{near}: put "
        "it back from there or from a backup; nothing was changed"
    )
