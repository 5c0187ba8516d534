"""Backups: a folder with the journal, ``vault.json`` and a manifest; graph and index are not in it.

The vault may be in use: the copy is one snapshot of the journal, read beside its writer and
checked by its hash chain before it gets its name. Tokens are not copied.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import apsw
from pydantic import ValidationError

import graphmem
from graphmem.errors import JournalDamagedError, UsageError, VaultError, VaultFormatError
from graphmem.model.care import BACKUP_FORMAT, BackupInfo, BackupManifest
from graphmem.store.config import VAULT_FILE, raw_config, read_format
from graphmem.store.fresh import fresh_folder, put_in_place
from graphmem.store.journal import JOURNAL_FORMAT
from graphmem.store.projections import Fault, no_fault
from graphmem.store.reading import (
    DAMAGE,
    damaged_rows,
    head_of,
    journal_of,
    reading,
    rows_by_operation,
)
from graphmem.store.sqlite import Db
from graphmem.store.trouble import JOURNAL_FILE

MANIFEST_FILE = "manifest.json"
# Pages (of 4 KB) copied before the caller hears of it: some 10 ms.
PAGES_PER_STEP = 2_500
# Space beside the journal's own that a backup asks for: its manifest and the file system's tables.
SPARE_BYTES = 1_000_000
# Rows named when a journal is damaged.
NAMED_ROWS = 5

# Told of progress: what is being done, how much of it, of how much.
Steps = Callable[[str, int, int], None]


def no_steps(_: str, __: int, ___: int) -> None:
    """Nobody watches."""


def _now() -> datetime:
    return datetime.now(UTC)


def backup(
    vault: Path,
    dest: Path,
    *,
    force: bool = False,
    clock: Callable[[], datetime] = _now,
    steps: Steps = no_steps,
    fault: Fault = no_fault,
) -> BackupInfo:
    """Copies a vault, open or not, into the new folder ``dest``; ``force`` replaces a backup there.

    Raises UsageError for a place that is taken, JournalDamagedError naming the row when the
    journal does not verify, VaultError when the copy cannot be written; nothing is left then.
    """
    vault, dest = vault.absolute(), dest.absolute()
    _check_place(vault, dest, force)
    raw_config(vault)  # raises when there is no vault
    with fresh_folder(dest) as part:
        _copy(vault / JOURNAL_FILE, part / JOURNAL_FILE, steps, fault)
        shutil.copyfile(vault / VAULT_FILE, part / VAULT_FILE)
        fault("after_copy")
        steps("checking", 0, 1)
        _write_manifest(part, clock())
        fault("before_place")
        _put(part, dest)
    steps("checking", 1, 1)
    return BackupInfo(path=str(dest), bytes=_size(dest), manifest=read_manifest(dest))


def _check_place(vault: Path, dest: Path, force: bool) -> None:
    real = Path(os.path.realpath(dest))
    if Path(os.path.realpath(vault)) in (real, *real.parents):
        raise UsageError(f"{dest} is inside the vault; choose a place outside of it")
    if not dest.exists() or (dest.is_dir() and not any(dest.iterdir())):
        return
    if not (dest / MANIFEST_FILE).is_file():
        raise UsageError(f"{dest} is there and is no backup; choose another place")
    if not force:
        raise UsageError(f"{dest} holds a backup already; choose another place or use --force")


def _copy(source: Path, target: Path, steps: Steps, fault: Fault) -> None:
    """One snapshot of a live journal; readers of a write-ahead log never hold up its writer."""
    try:
        with reading(source) as live:
            _check_space(live, target.parent)
            _copy_pages(live, target, steps, fault)
    except DAMAGE as error:
        raise JournalDamagedError(
            f"{source} cannot be read as a journal ({error}); nothing was written", seq=0
        ) from error
    except apsw.Error as error:
        raise VaultError(
            f"{source} cannot be copied to {target.parent.parent} ({error}); nothing is left "
            "there, free space or check its rights"
        ) from error


def _copy_pages(live: Db, target: Path, steps: Steps, fault: Fault) -> None:
    fresh = apsw.Connection(str(target))
    try:
        with fresh.backup("main", live, "main") as copying:
            while not copying.done:
                copying.step(PAGES_PER_STEP)
                steps("copying", copying.page_count - copying.remaining, copying.page_count)
                fault("in_copy")
        # The copy is one file that can be read from a read-only place.
        fresh.execute("PRAGMA journal_mode=DELETE").fetchall()
    finally:
        fresh.close()


def _check_space(live: Db, folder: Path) -> None:
    needed = live.pragma("page_count") * live.pragma("page_size") + SPARE_BYTES
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise VaultError(
            f"a backup needs {needed / 1e6:.1f} MB, {folder.parent} has {free / 1e6:.1f} MB free; "
            "free space or choose another place"
        )


def _write_manifest(part: Path, created: datetime) -> None:
    config = raw_config(part)
    with reading(part / JOURNAL_FILE, still=True) as db:
        if db.pragma("user_version") == JOURNAL_FORMAT:
            _check_chain(db, "the journal")
        head, head_hash = head_of(db)
        rows = rows_by_operation(db)
    manifest = BackupManifest(
        created=created,
        graphmem=graphmem.__version__,
        vault_format=read_format(part),
        engine=str(config.get("engine", "")),
        head=head,
        head_hash=head_hash,
        rows=rows,
    )
    text = manifest.model_dump_json(indent=2) + "\n"
    (part / MANIFEST_FILE).write_text(text, encoding="utf-8")


def _check_chain(db: Db, what: str) -> None:
    bad = damaged_rows(journal_of(db))
    if bad:
        named = ", ".join(map(str, bad[:NAMED_ROWS]))
        raise JournalDamagedError(
            f"{what} is damaged at row {named}; use another backup, or keep a plain copy of the "
            "folder before anything is repaired",
            seq=bad[0],
        )


def _put(part: Path, dest: Path) -> None:
    """A crash leaves the old backup under its name or beside it, or the new one; never a half."""
    if not dest.exists() or not any(dest.iterdir()):
        put_in_place(part, dest)
        return
    aside = dest.with_name(f"{dest.name}.replaced-{os.getpid()}")
    os.rename(dest, aside)
    try:
        put_in_place(part, dest)
    except BaseException:
        os.rename(aside, dest)
        raise
    shutil.rmtree(aside)


def read_manifest(folder: Path) -> BackupManifest:
    """What a backup says of itself; raises UsageError for no backup, VaultFormatError for a newer
    or unreadable one."""
    file = folder / MANIFEST_FILE
    if not file.is_file():
        raise UsageError(f"{folder} is no backup: it has no {MANIFEST_FILE}")
    try:
        manifest = BackupManifest.model_validate_json(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, ValidationError) as error:
        raise VaultFormatError(f"{file} cannot be read ({error}); use another backup") from error
    if manifest.format > BACKUP_FORMAT:
        raise VaultFormatError(
            f"{folder} has backup format {manifest.format}, this graphmem reads {BACKUP_FORMAT}; "
            "upgrade graphmem"
        )
    return manifest


def check_backup(folder: Path) -> BackupManifest:
    """The manifest of a backup whose journal is whole and the one it was made of; O(rows).

    Raises JournalDamagedError naming the row, or what ``read_manifest`` raises.
    """
    manifest = read_manifest(folder)
    raw_config(folder)
    try:
        with reading(folder / JOURNAL_FILE, still=True) as db:
            if db.pragma("user_version") == JOURNAL_FORMAT:
                _check_chain(db, f"the backup {folder}")
            found = head_of(db)
    except DAMAGE as error:
        raise JournalDamagedError(
            f"the journal of the backup {folder} cannot be read ({error}); use another backup",
            seq=0,
        ) from error
    if found != (manifest.head, manifest.head_hash):
        raise JournalDamagedError(
            f"the backup {folder} ends at row {found[0]}, its manifest says {manifest.head}; "
            "use another backup",
            seq=found[0] + 1,
        )
    return manifest


def show_backup(folder: Path) -> BackupInfo:
    """What a backup holds and whether it can be restored; reads all of it."""
    folder = folder.absolute()
    manifest, problem = read_manifest(folder), ""
    try:
        check_backup(folder)
    except VaultError as error:
        problem = str(error)
    return BackupInfo(path=str(folder), bytes=_size(folder), manifest=manifest, problem=problem)


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.iterdir() if path.is_file())
