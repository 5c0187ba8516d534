"""Folders that are made beside their place and renamed into it, so that a crash leaves no half."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from graphmem.errors import VaultError

_SUFFIX = ".part"


@contextmanager
def fresh_folder(target: Path) -> Iterator[Path]:
    """A new empty folder beside ``target``, gone at the end unless it was renamed.

    Removes what killed processes left behind for the same target. Raises VaultError when the
    folder cannot be made.
    """
    parent, prefix = target.parent, f".{target.name}."
    try:
        parent.mkdir(parents=True, exist_ok=True)
        _sweep(parent, prefix)
        around = Path(tempfile.mkdtemp(dir=parent, prefix=prefix, suffix=_SUFFIX))
        held = _hold(around)  # not the folder itself: a vault locks its own
        part = around / target.name
        part.mkdir()
    except OSError as error:
        raise VaultError(f"cannot write to {parent}: {error.strerror}") from error
    try:
        yield part
    finally:
        shutil.rmtree(around, ignore_errors=True)
        if held is not None:
            os.close(held)


def _sweep(parent: Path, prefix: str) -> None:
    """Removes the unfinished folders of a target that no living process holds."""
    for left in parent.glob(f"{prefix}*{_SUFFIX}"):
        held = _hold(left)
        if held is not None:
            shutil.rmtree(left, ignore_errors=True)
            os.close(held)


def _hold(folder: Path) -> int | None:
    """Locks a folder until its descriptor is closed; None when another process has it."""
    if sys.platform == "win32":
        return None
    import fcntl

    try:
        descriptor = os.open(folder, os.O_RDONLY)
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        return None
    return descriptor


def put_in_place(part: Path, target: Path) -> None:
    """Renames a finished folder to a place that is free, and has the disk remember it."""
    for path in part.iterdir():
        if path.is_file():
            flush(path)
    flush(part)
    try:
        os.rename(part, target)
    except OSError as error:
        raise VaultError(f"cannot put {target} into place: {error.strerror}") from error
    flush(target.parent)


def flush(path: Path) -> None:
    """Has the disk write a file or a folder's names."""
    with suppress(PermissionError):  # a folder cannot be opened everywhere
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
