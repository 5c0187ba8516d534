"""The vault's folder: where it lies, what it lies on, who may use it."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

from graphmem.care.findings import fail, ok, size, warn
from graphmem.model.care import Finding

# Below this a vault soon cannot be written or rebuilt.
LOW_BYTES = 500_000_000
# Below this the next commit may fail.
NO_BYTES = 20_000_000
# Folder names of programs that copy files while they are written.
_SYNCED = ("dropbox", "onedrive", "icloud", "mobile documents", "google drive", "googledrive")
_SYNC_MARKS = (".stfolder", ".dropbox", ".dropbox.cache", ".sync", ".owncloudsync.log")
# File systems whose locks do not reach across machines, or not at all.
_NETWORK = ("nfs", "cifs", "smb", "9p", "afs", "sshfs", "davfs", "ncpfs", "ceph", "gluster")
_DAMAGED = "*.damaged*"


def existing(path: Path) -> Path:
    """The path, or its nearest folder that is there."""
    return next(folder for folder in (path, *path.parents) if folder.exists())


def there(vault: Path) -> Iterator[Finding]:
    """Whether there is a vault."""
    if (vault / "vault.json").is_file():
        yield ok("vault", f"{vault}")
    elif (vault / "journal.sqlite").is_file():
        yield fail(
            "vault",
            f"{vault} has a journal and no vault.json",
            "graphmem backup restore a backup, or copy vault.json from one",
        )
    elif vault.exists() and not vault.is_dir():
        yield fail("vault", f"{vault} is no folder", "choose another --vault")
    else:
        yield warn("vault", f"there is no vault at {vault}", "make one with graphmem init")


def rights(vault: Path) -> Iterator[Finding]:
    """Whether this user may read and write everything, and nobody else the tokens."""
    if not vault.is_dir():
        parent = existing(vault)
        if not os.access(parent, os.W_OK | os.X_OK):
            yield fail("rights", f"{parent} cannot be written", "choose another --vault")
        return
    wrong = [] if os.access(vault, os.R_OK | os.W_OK | os.X_OK) else [vault.name]
    files = [path for path in vault.iterdir() if path.is_file()]
    wrong += [path.name for path in files if not os.access(path, os.R_OK | os.W_OK)]
    if wrong:
        told = f"cannot be read and written: {', '.join(sorted(wrong))}"
        yield fail("rights", told, f"give {vault} back to your user, as with chown or chmod u+rw")
    else:
        yield ok("rights", "the folder can be read and written")
    tokens = vault / "tokens.json"
    if os.name == "posix" and tokens.exists() and tokens.stat().st_mode & 0o077:
        yield warn("tokens", "others can read tokens.json", f"chmod 600 {tokens}")


def space(vault: Path) -> Iterator[Finding]:
    """How much room is left."""
    free = shutil.disk_usage(existing(vault)).free
    text = f"{free / 1e9:.1f} GB free"
    if free < NO_BYTES:
        yield fail("disk", text, "free space; nothing can be stored")
    elif free < LOW_BYTES:
        yield warn("disk", text, "free space soon; a rebuild needs about the size of the vault")
    else:
        yield ok("disk", text)


def place(vault: Path) -> Iterator[Finding]:
    """Whether the folder is copied by a program or lies on another machine."""
    program = synced_by(vault)
    if program is not None:
        yield warn(
            "place",
            f"{vault} seems to be synchronised ({program})",
            "keep the vault outside and let the program copy a graphmem backup",
        )
    kind = file_system(existing(vault))
    if kind is not None and kind.startswith(("fuse.", *_NETWORK)) and kind != "fuse.overlayfs":
        yield warn(
            "place",
            f"the file system is {kind}",
            "locks may not hold between machines: keep the vault on a local disk, or open it on "
            "one machine only",
        )
    elif program is None:
        yield ok("place", f"file system {kind}" if kind else "no sign of a synchronised folder")


def synced_by(vault: Path) -> str | None:
    """The sign that a program synchronises the folder.

    >>> synced_by(Path("/home/ada/Dropbox/notes"))
    'Dropbox'
    """
    for part in vault.parts:
        if part.lower().startswith(_SYNCED):
            return part
    for folder in (vault, *vault.parents):
        for mark in _SYNC_MARKS:
            if (folder / mark).exists():
                return str(folder / mark)
    return None


def file_system(folder: Path) -> str | None:
    """The kind of file system below a folder; None where that cannot be told."""
    if not sys.platform.startswith("linux"):
        return None
    real, best, kind = os.path.realpath(folder), "", None
    for line in Path("/proc/mounts").read_text(encoding="utf-8", errors="replace").splitlines():
        parts = line.split(" ")
        if len(parts) < 3:
            continue
        point = parts[1].replace("\\040", " ")
        inside = real == point or real.startswith(point.rstrip("/") + "/")
        if inside and len(point) >= len(best):
            best, kind = point, parts[2]
    return kind


def damaged_files(vault: Path) -> Iterator[Finding]:
    """Files that were moved aside because they were damaged."""
    found = sorted(path for path in vault.glob(_DAMAGED) if path.is_file())
    if found:
        names = ", ".join(f"{path.name} ({size(path.stat().st_size)})" for path in found)
        yield warn("damaged", f"moved aside: {names}", "graphmem verify; delete them when it is ok")
