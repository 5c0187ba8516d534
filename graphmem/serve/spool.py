"""Notes that wait in files until an owner process takes them. Standard library only.

A note is written under a name of its own and renamed into place, so that a reader never sees half
of one. Whoever drains claims it by renaming; only the process that has the vault drains, so what
is found claimed was left by one that died, and is applied again under the same key.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from graphmem.errors import UsageError

FOLDER = "spool"
WAITING = ".json"
CLAIMED = ".claimed"
# What could not be read or stored; kept for its user to look at.
REFUSED = ".refused"


@dataclass(frozen=True, slots=True)
class Note:
    """The arguments of a ``remember`` and the key that makes it happen once."""

    key: str
    arguments: dict[str, Any]


def put(vault: Path, note: Note) -> Path:
    """Writes a note to disk; it is there, whole, when this returns. Raises OSError."""
    folder = vault / FOLDER
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    target = folder / f"{time.time_ns():020d}-{note.key}{WAITING}"
    draft = target.with_suffix(f".{os.getpid()}.part")
    told = json.dumps({"key": note.key, "arguments": note.arguments})
    handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(handle, "w", encoding="ascii") as file:
            file.write(told)
            file.flush()
            os.fsync(file.fileno())
        os.replace(draft, target)
    except OSError:
        draft.unlink(missing_ok=True)
        raise
    _settle(folder)
    return target


def _settle(folder: Path) -> None:
    """Makes a rename last, where folders can be synced."""
    if os.name != "posix":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def waiting(vault: Path) -> list[Path]:
    """The notes that wait, oldest first, with those that a drain left claimed."""
    try:
        names = os.listdir(vault / FOLDER)
    except FileNotFoundError:
        return []
    found = sorted(name for name in names if name.endswith((WAITING, CLAIMED)))
    return [vault / FOLDER / name for name in found]


def drain(vault: Path, store: Callable[[Note], object], refuse: Callable[[Path, str], None]) -> int:
    """Stores the notes that wait, each once; gives how many.

    ``store`` raises UsageError for a note that can never be stored: it is kept aside and
    ``refuse`` is told. Any other error leaves the note for the next time and is raised.
    """
    stored = 0
    for file in waiting(vault):
        claimed = file.with_suffix(CLAIMED)
        try:
            os.replace(file, claimed)
        except FileNotFoundError:
            continue
        try:
            store(_read(claimed))
        except UsageError as error:
            os.replace(claimed, claimed.with_suffix(REFUSED))
            refuse(claimed.with_suffix(REFUSED), str(error))
            continue
        with contextlib.suppress(FileNotFoundError):
            claimed.unlink()
        stored += 1
    return stored


def _read(file: Path) -> Note:
    try:
        told = json.loads(file.read_bytes())
        note = Note(str(told["key"]), dict(told["arguments"]))
    except (ValueError, KeyError, TypeError) as error:
        raise UsageError(f"{file} holds no note ({type(error).__name__})") from None
    return note
