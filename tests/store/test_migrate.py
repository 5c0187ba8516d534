"""Migrations of a make-believe older format: done, refused, killed in the middle."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import apsw
import pytest

from graphmem.errors import (
    JournalDamagedError,
    VaultError,
    VaultFormatError,
    VaultLockedError,
    VaultNotFoundError,
)
from graphmem.store import open_store
from graphmem.store.backup import backup, show_backup
from graphmem.store.config import VAULT_FORMAT, read_format
from graphmem.store.migrate import MIGRATIONS, Migration, migrate
from graphmem.store.restore import restore
from graphmem.store.trouble import JOURNAL_FILE
from tests.store.old_format import OLD_ACTOR, STEPS, actors, make_old
from tests.store.sound import sound
from tests.store.told import ACTOR

REPO = Path(__file__).parents[2]
KILLED = """
import os, signal, sys
from pathlib import Path
from graphmem.store.migrate import migrate
from tests.store.old_format import STEPS
def fault(at):
    if at == sys.argv[2]:
        os.kill(os.getpid(), signal.SIGKILL)
migrate(Path(sys.argv[1]), migrations=STEPS, fault=fault)
"""
POINTS = (
    "after_backup",
    "in_journal",
    "after_journal",
    "before_config",
    "after_config",
)


def old(path: Path, graph: str = "memory") -> list[str]:
    """A vault of format 0; gives the exact dump it had before."""
    store = sound(path, graph)
    told = list(store.dump())
    store.close()
    make_old(path)
    return told


def opened(path: Path) -> tuple[list[str], int]:
    """The exact dump and the number of vectors of a vault that must be sound."""
    store = open_store(path)
    report = store.verify()
    told, vectors = list(store.dump()), store.status().vectors
    store.close()
    assert report.ok, str(report)
    return told, vectors


@pytest.mark.parametrize("graph", ["memory", "kuzu"])
def test_an_older_vault_is_migrated_after_a_backup_and_keeps_its_vectors(
    tmp_path: Path, graph: str
) -> None:
    vault = tmp_path / "vault"
    told = old(vault, graph)
    with pytest.raises(VaultFormatError, match="run graphmem migrate"):
        open_store(vault)
    planned = migrate(vault, migrations=STEPS, dry_run=True)
    assert (planned.before, planned.after, planned.steps) == (0, 1, (STEPS[0].title,))
    assert read_format(vault) == 0 and [path.name for path in tmp_path.iterdir()] == ["vault"]
    report = migrate(vault, migrations=STEPS)
    assert opened(vault) == (told, 1)
    assert actors(vault) == {ACTOR}
    assert report.backup is not None
    assert actors(Path(report.backup)) == {OLD_ACTOR + ACTOR}
    assert show_backup(Path(report.backup)).manifest.vault_format == 0


def test_a_current_vault_is_left_alone(tmp_path: Path) -> None:
    sound(tmp_path / "vault", "memory").close()
    report = migrate(tmp_path / "vault")
    assert (report.before, report.after, report.steps) == (VAULT_FORMAT, VAULT_FORMAT, ())
    assert [path.name for path in tmp_path.iterdir()] == ["vault"]


@pytest.mark.parametrize("point", POINTS)
def test_a_killed_migration_leaves_the_old_or_the_new_and_runs_again(
    tmp_path: Path, point: str
) -> None:
    vault = tmp_path / "vault"
    told = old(vault)
    killed = subprocess.run(
        [sys.executable, "-c", KILLED, str(vault), point],
        cwd=REPO,
        capture_output=True,
        timeout=120,
        check=False,
    )
    assert killed.returncode == -signal.SIGKILL
    found = read_format(vault)
    assert found == (1 if point == "after_config" else 0)
    if found == 0:
        with pytest.raises(VaultFormatError, match="run graphmem migrate"):
            open_store(vault)
    journal_is_old = point in ("after_backup", "in_journal")
    assert (actors(vault) == {OLD_ACTOR + ACTOR}) == journal_is_old
    migrate(vault, migrations=STEPS)
    assert opened(vault) == (told, 1)
    kept = sorted(tmp_path.glob("vault.format-0-*"))
    assert actors(kept[0]) == {OLD_ACTOR + ACTOR}, "the first backup is of the old one"


def test_a_step_that_breaks_the_chain_changes_nothing(tmp_path: Path) -> None:
    vault = tmp_path / "vault"
    old(vault)
    before = (vault / "vault.json").read_text()

    def careless(db: apsw.Connection) -> None:
        db.execute("DROP TRIGGER journal_no_update")
        db.execute("UPDATE journal SET actor = 'x' WHERE seq = 2")

    with pytest.raises(JournalDamagedError, match="row 2"):
        migrate(vault, migrations={0: Migration(0, "careless", journal=careless)})
    assert actors(vault) == {OLD_ACTOR + ACTOR}
    assert (vault / "vault.json").read_text() == before


def test_a_step_that_fails_in_sqlite_changes_nothing(tmp_path: Path) -> None:
    vault = tmp_path / "vault"
    old(vault)

    def wrong(db: apsw.Connection) -> None:
        db.execute("DELETE FROM no_such_table")

    with pytest.raises(VaultError, match="it is as it was"):
        migrate(vault, migrations={0: Migration(0, "wrong", journal=wrong)})
    assert read_format(vault) == 0 and actors(vault) == {OLD_ACTOR + ACTOR}


def test_steps_follow_each_other(tmp_path: Path) -> None:
    vault = tmp_path / "vault"
    old(vault)
    second = Migration(1, "a colour", config=lambda config: {**config, "colour": "red"})
    report = migrate(vault, migrations={**STEPS, 1: second}, target=2)
    assert report.steps == (STEPS[0].title, "a colour")
    config = json.loads((vault / "vault.json").read_text())
    assert (config["format"], config["colour"], config["engine"]) == (2, "red", "memory")
    with pytest.raises(VaultFormatError, match="upgrade graphmem"):
        open_store(vault)


@pytest.mark.parametrize("change", ["vault", "journal"])
def test_a_newer_vault_is_refused_with_what_to_do(tmp_path: Path, change: str) -> None:
    vault = tmp_path / "vault"
    sound(vault, "memory").close()
    if change == "vault":
        config = json.loads((vault / "vault.json").read_text())
        more = {**config, "format": VAULT_FORMAT + 1, "unheard": "of"}
        (vault / "vault.json").write_text(json.dumps(more))
    else:
        db = apsw.Connection(str(vault / JOURNAL_FILE))
        db.execute("PRAGMA user_version=99")
        db.close()
    with pytest.raises(VaultFormatError, match="upgrade graphmem"):
        migrate(vault)
    with pytest.raises(VaultFormatError, match="upgrade graphmem"):
        open_store(vault)


def test_a_format_without_a_way_is_refused(tmp_path: Path) -> None:
    old(tmp_path / "vault")
    with pytest.raises(VaultFormatError, match="no way from vault format 0"):
        migrate(tmp_path / "vault", migrations=MIGRATIONS)


def test_an_open_vault_is_not_migrated(tmp_path: Path) -> None:
    vault = tmp_path / "vault"
    store = sound(vault, "memory")
    config = json.loads((vault / "vault.json").read_text())
    (vault / "vault.json").write_text(json.dumps({**config, "format": 0, "backend": "memory"}))
    with pytest.raises(VaultLockedError):
        migrate(vault, migrations=STEPS)
    store.close()
    assert read_format(vault) == 0


def test_no_vault_is_told(tmp_path: Path) -> None:
    with pytest.raises(VaultNotFoundError):
        migrate(tmp_path / "none")


def test_a_backup_of_an_older_vault_is_migrated_when_it_is_restored(tmp_path: Path) -> None:
    told = old(tmp_path / "vault")
    backup(tmp_path / "vault", tmp_path / "copy")
    report = restore(tmp_path / "copy", tmp_path / "new", migrations=STEPS)
    assert report.vectors_pending == 1
    assert opened(tmp_path / "new") == (told, 0)
    assert read_format(tmp_path / "copy") == 0, "the backup stays as it is"
