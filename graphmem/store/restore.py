"""Restoring a backup: a whole vault is made beside its place, then renamed into it.

What was there is moved aside, never deleted.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path

from graphmem.errors import UsageError, VaultError
from graphmem.model.care import BackupManifest, RestoreReport
from graphmem.store.backup import Steps, check_backup, no_steps
from graphmem.store.config import VAULT_FILE, VAULT_FORMAT, check_format
from graphmem.store.fresh import fresh_folder, put_in_place
from graphmem.store.heal import open_index
from graphmem.store.index_apply import IndexApplier
from graphmem.store.journal import Journal, JournalRow
from graphmem.store.lock import OWNER_FILE, VaultLock
from graphmem.store.migrate import MIGRATIONS, Migration, apply_steps, pending_steps
from graphmem.store.projections import Fault, no_fault
from graphmem.store.trouble import JOURNAL_FILE
from graphmem.store.vault import open_store

# Journal rows taken into the index between two words of progress.
ROWS_PER_STEP = 500


def restore(
    source: Path,
    vault: Path,
    *,
    force: bool = False,
    dry_run: bool = False,
    clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    migrations: Mapping[int, Migration] = MIGRATIONS,
    steps: Steps = no_steps,
    fault: Fault = no_fault,
) -> RestoreReport:
    """Makes the vault of a backup; graph and index are built anew, vectors are pending.

    With ``force`` a vault that is there is moved aside first. Raises JournalDamagedError for a
    damaged backup, VaultLockedError when the vault is open, UsageError when its place is taken.
    """
    source, vault = source.absolute(), vault.absolute()
    steps("checking", 0, 1)
    manifest = check_backup(source)
    planned = _plan(source, manifest, migrations)
    steps("checking", 1, 1)
    taken = _check_place(vault, force)
    report = RestoreReport(
        backup=str(source), vault=str(vault), head=manifest.head, dry_run=dry_run
    )
    if dry_run:
        return report
    lock = VaultLock(vault) if taken else None
    try:
        with fresh_folder(vault) as part:
            for name in (JOURNAL_FILE, VAULT_FILE):
                _copy(source / name, part / name)
            apply_steps(part, planned)
            fault("after_copy")
            _fill_index(part, manifest.head, steps)
            built = _build(part, report, steps)
            if built.head != manifest.head and not planned:
                raise VaultError(f"the new vault ends at row {built.head}, not {manifest.head}")
            fault("before_place")
            aside = _put(part, vault, clock())
    finally:
        if lock is not None:
            lock.release()
    return built.model_copy(update={"moved_aside": None if aside is None else str(aside)})


def _check_place(vault: Path, force: bool) -> bool:
    """Whether a vault is there that has to move; raises UsageError when it must not."""
    if not vault.exists() or (vault.is_dir() and not any(vault.iterdir())):
        return False
    if not any((vault / name).is_file() for name in (VAULT_FILE, JOURNAL_FILE)):
        raise UsageError(f"{vault} is not empty and no vault; choose another --vault")
    if not force:
        raise UsageError(
            f"{vault} holds a vault; choose another --vault, or --force moves it aside"
        )
    return True


def _plan(
    source: Path, manifest: BackupManifest, migrations: Mapping[int, Migration]
) -> list[Migration]:
    if manifest.vault_format > VAULT_FORMAT:
        check_format(source, manifest.vault_format)
    return list(pending_steps(manifest.vault_format, migrations, VAULT_FORMAT))


def _copy(source: Path, target: Path) -> None:
    try:
        shutil.copyfile(source, target)
    except OSError as error:
        raise VaultError(f"cannot write {target}: {error.strerror}; nothing was changed") from error


def _fill_index(part: Path, head: int, steps: Steps) -> None:
    """Brings the words of all rows into the index; opening the vault afterwards finds it done."""
    journal = Journal.open(part / JOURNAL_FILE, os.urandom)
    try:
        readers = open_index(part)
        try:
            with readers.writing() as db:
                applier = IndexApplier(db)
                for rows in _told(journal, head, steps):
                    applier.apply(rows)
        finally:
            readers.close()
    finally:
        journal.close()


def _told(journal: Journal, head: int, steps: Steps) -> Iterator[list[JournalRow]]:
    said = 0
    for rows in journal.batches():
        yield rows
        if rows[-1].seq >= said + ROWS_PER_STEP or rows[-1].seq == head:
            said = rows[-1].seq
            steps("index", said, head)


def _build(part: Path, report: RestoreReport, steps: Steps) -> RestoreReport:
    steps("graph", 0, 1)
    store = open_store(part)
    try:
        status = store.status()
    finally:
        store.close()
    steps("graph", 1, 1)
    found = {"head": status.seq, "vectors_pending": status.vectors_pending}
    return report.model_copy(update={**found, "counts": dict(status.counts)})


def _put(part: Path, vault: Path, now: datetime) -> Path | None:
    """Renames the new vault into place; gives where the old one is now."""
    if not vault.exists() or (vault.is_dir() and not any(vault.iterdir())):
        put_in_place(part, vault)
        return None
    stamp = now.astimezone(UTC).strftime("%Y%m%dT%H%M%S%fZ")
    aside = vault.with_name(f"{vault.name}.before-restore-{stamp}")
    os.rename(vault, aside)
    try:
        put_in_place(part, vault)
    except BaseException:
        os.rename(aside, vault)
        raise
    (aside / OWNER_FILE).unlink(missing_ok=True)
    return aside
