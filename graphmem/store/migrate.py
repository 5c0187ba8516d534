"""Migrations: from one vault format to the next, with a backup first, and safe to interrupt.

The journal is changed in one transaction of SQLite and ``vault.json`` is renamed into place after
it. Between the two the vault still says its old format, so no program opens it, and a second run
does only what is missing: the journal notes in its ``application_id`` which format it has come to.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import apsw

from graphmem.errors import JournalDamagedError, VaultError, VaultFormatError
from graphmem.model.care import MigrationReport
from graphmem.store.backup import Steps, backup, no_steps
from graphmem.store.config import (
    VAULT_FORMAT,
    check_format,
    raw_config,
    read_format,
    write_raw_config,
)
from graphmem.store.digest import INDEX_FILE, remove_marks
from graphmem.store.journal import JOURNAL_FORMAT
from graphmem.store.lock import VaultLock
from graphmem.store.projections import Fault, no_fault
from graphmem.store.reading import DAMAGE, damaged_rows, journal_of, reading
from graphmem.store.sqlite import Db, connect, transaction
from graphmem.store.trouble import JOURNAL_FILE


def _same_config(config: dict[str, Any]) -> dict[str, Any]:
    return config


def _same_journal(_: Db) -> None:
    """The journal stays as it is."""


@dataclass(frozen=True, slots=True)
class Migration:
    """One step from format ``before`` to the next one.

    ``journal`` changes the journal inside a transaction and must leave a chain that verifies;
    ``config`` gives the new content of ``vault.json``, its format aside. Neither may read models,
    clocks or the projections, which are built anew.
    """

    before: int
    title: str
    journal: Callable[[Db], None] = _same_journal
    config: Callable[[dict[str, Any]], dict[str, Any]] = _same_config


# Every step there is, by the format it starts from. Format 1 is the first that was released.
MIGRATIONS: Mapping[int, Migration] = {}


def pending_steps(
    found: int, migrations: Mapping[int, Migration], target: int
) -> Sequence[Migration]:
    """The steps from a format to the target; raises VaultFormatError when one is missing."""
    steps = [migrations.get(number) for number in range(found, target)]
    known = [step for step in steps if step is not None]
    if len(known) != len(steps):
        raise VaultFormatError(
            f"there is no way from vault format {found} to {target}; migrate with an older "
            "graphmem first"
        )
    return known


def check_versions(vault: Path, target: int = VAULT_FORMAT) -> int:
    """The vault's format; raises VaultFormatError for one that is newer than this program."""
    found = read_format(vault)
    if found > target:
        check_format(vault, found, target)
    try:
        with reading(vault / JOURNAL_FILE) as db:
            version = db.pragma("user_version")
    except DAMAGE as error:
        raise JournalDamagedError(
            f"{vault / JOURNAL_FILE} cannot be read ({error}); restore the vault from a backup",
            seq=0,
        ) from error
    if version > JOURNAL_FORMAT:
        raise VaultFormatError(
            f"{vault} has journal format {version}, this graphmem reads {JOURNAL_FORMAT}; "
            "upgrade graphmem"
        )
    return found


def migrate(
    vault: Path,
    *,
    dry_run: bool = False,
    backup_to: Path | None = None,
    migrations: Mapping[int, Migration] = MIGRATIONS,
    target: int = VAULT_FORMAT,
    clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    steps: Steps = no_steps,
    fault: Fault = no_fault,
) -> MigrationReport:
    """Brings a vault to the target format; a backup is made first (default: beside the vault).

    Raises VaultLockedError when the vault is open, VaultFormatError for one that is newer or
    without a way, JournalDamagedError when a step would leave a broken chain; the vault is as it
    was then.
    """
    vault = vault.absolute()
    found = check_versions(vault, target)
    planned = pending_steps(found, migrations, target)
    titles = tuple(step.title for step in planned)
    report = MigrationReport(
        path=str(vault), before=found, after=target, steps=titles, dry_run=dry_run
    )
    if dry_run or not planned:
        return report
    lock = VaultLock(vault)
    try:
        dest = backup_to or _beside(vault, found, clock())
        kept = backup(vault, dest, clock=clock, steps=steps)
        fault("after_backup")
        apply_steps(vault, planned, fault)
    finally:
        lock.release()
    return report.model_copy(update={"backup": kept.path})


def _beside(vault: Path, found: int, now: datetime) -> Path:
    stamp = now.astimezone(UTC).strftime("%Y%m%dT%H%M%S%fZ")
    return vault.with_name(f"{vault.name}.format-{found}-{stamp}")


def apply_steps(folder: Path, planned: Sequence[Migration], fault: Fault = no_fault) -> None:
    """Takes the steps in a folder that nobody has open, without a backup."""
    if not planned:
        return
    target = planned[-1].before + 1
    try:
        _change_journal(folder / JOURNAL_FILE, planned, target, fault)
    except apsw.Error as error:
        raise VaultError(
            f"{folder} could not be migrated ({error}); it is as it was, free space or check "
            "its rights and run graphmem migrate again"
        ) from error
    fault("after_journal")
    _forget_projections(folder)
    config = raw_config(folder)
    for step in planned:
        config = {**step.config(config), "format": step.before + 1}
    fault("before_config")
    write_raw_config(folder, config)
    fault("after_config")


def _change_journal(path: Path, planned: Sequence[Migration], target: int, fault: Fault) -> None:
    db = connect(path, synchronous="FULL")
    try:
        done = db.pragma("application_id")
        with transaction(db):
            for step in planned:
                if step.before >= done:
                    step.journal(db)
            db.execute(f"PRAGMA application_id={int(target)}")
            fault("in_journal")
            _check(db, path)
    finally:
        db.close()


def _check(db: Db, path: Path) -> None:
    bad = damaged_rows(journal_of(db))
    if bad:
        raise JournalDamagedError(
            f"row {bad[0]} of {path} would not fit the hash chain after the migration; nothing was "
            "changed, run graphmem verify",
            seq=bad[0],
        )


def _forget_projections(folder: Path) -> None:
    """The next open builds graph and index anew; vectors stay in the index."""
    remove_marks(folder)
    for path in folder.glob("graph.*"):
        path.unlink(missing_ok=True)
    index = folder / INDEX_FILE
    if not index.exists():
        return
    try:
        db = connect(index, synchronous="FULL")
        try:
            db.execute("UPDATE meta SET value = '' WHERE key = 'version'")
        finally:
            db.close()
    except DAMAGE:
        index.unlink()
