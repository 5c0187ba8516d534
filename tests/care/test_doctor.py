"""What ``doctor`` finds around vaults that are broken in one way each."""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path
from typing import Any

import apsw
import pytest

from graphmem.care import diagnose
from graphmem.care.folder import file_system, synced_by
from graphmem.care.holder import alive
from graphmem.model.care import DoctorReport, Finding, Level
from graphmem.store import open_store
from tests.store.sound import sound
from tests.store.told import ACTOR


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A closed Kuzu vault with a few facts."""
    vault = tmp_path_factory.mktemp("first") / "vault"
    sound(vault).close()
    return vault


@pytest.fixture
def vault(tmp_path: Path, first: Path) -> Path:
    """A vault of the test's own."""
    shutil.copytree(first, tmp_path / "vault")
    return tmp_path / "vault"


def content(folder: Path) -> dict[str, bytes]:
    return {p.name: p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def look(vault: Path) -> tuple[DoctorReport, dict[str, Finding]]:
    report = diagnose(vault, Path.cwd(), models=False)
    assert all(each.advice for each in report.findings if each.level is not Level.OK)
    return report, {each.name: each for each in report.findings}


def harm_index(vault: Path) -> None:
    db = apsw.Connection(str(vault / "index.sqlite"))
    db.execute("UPDATE meta SET value = '1' WHERE key = 'applied_seq'")
    db.close()


def cut_journal(vault: Path) -> None:
    db = apsw.Connection(str(vault / "journal.sqlite"))
    db.execute("DROP TRIGGER journal_no_delete")
    db.execute("DELETE FROM journal WHERE seq > 3")
    db.close()


def newer(vault: Path) -> None:
    config = json.loads((vault / "vault.json").read_text())
    (vault / "vault.json").write_text(json.dumps({**config, "format": 99}))


def write(name: str, text: str) -> Any:
    return lambda vault: (vault / name).write_text(text)


HARM: dict[str, tuple[Any, str, str, str]] = {
    "journal noise": (write("journal.sqlite", "noise" * 9999), "journal", "fail", "restore"),
    "journal lost": (lambda v: (v / "journal.sqlite").unlink(), "journal", "fail", "restore"),
    "journal cut": (cut_journal, "index", "fail", "restore"),
    "settings lost": (lambda v: (v / "vault.json").unlink(), "vault", "fail", "vault.json"),
    "newer": (newer, "format", "fail", "upgrade graphmem"),
    "index behind": (harm_index, "index", "warn", "next open"),
    "index lost": (lambda v: (v / "index.sqlite").unlink(), "index", "warn", "next open"),
    "graph noise": (write("graph.kuzu", "noise" * 9999), "graph", "warn", "next open"),
    "moved aside": (write("graph.kuzu.damaged", "x"), "damaged", "warn", "verify"),
    "synced": (lambda v: (v.parent / ".stfolder").mkdir(), "place", "warn", "backup"),
    "open tokens": (
        lambda v: [(v / "tokens.json").write_text("{}"), (v / "tokens.json").chmod(0o644)],
        "tokens",
        "warn",
        "chmod 600",
    ),
    "error": (write("owner.log", "graphmem: no space\n"), "last error", "warn", "owner.log"),
}


@pytest.mark.parametrize("name", HARM)
def test_each_harm_is_found_with_what_to_do_and_nothing_is_written(vault: Path, name: str) -> None:
    harm, finding, level, advice = HARM[name]
    harm(vault)
    before = content(vault)
    report, found = look(vault)
    assert found[finding].level == level, found[finding]
    assert advice in found[finding].advice
    assert report.level == level
    changed = {name for name, data in content(vault).items() if before.get(name) != data}
    assert {name for name in changed if not name.endswith(("-shm", "-wal"))} == set()


def test_a_sound_vault_is_looked_at_without_a_trace(vault: Path) -> None:
    before = content(vault)
    report, found = look(vault)
    assert report.level is Level.OK and found["vectors"].text == "1 vectors, 0 pending"
    assert [name for name, each in found.items() if each.level is not Level.OK] == []
    assert content(vault) == before


def test_errors_that_were_served_since_are_no_warning(vault: Path) -> None:
    lines = "graphmem: no space\n2026-03-01 INFO serving /v on http://127.0.0.1:1\n"
    (vault / "owner.log").write_text(lines)
    assert look(vault)[1]["last error"].level is Level.OK


def test_pending_vectors_are_counted(vault: Path) -> None:
    db = apsw.Connection(str(vault / "index.sqlite"))
    db.execute("DELETE FROM vector")
    db.close()
    found = look(vault)[1]["vectors"]
    assert (found.level, found.text) == ("warn", "0 vectors, 1 pending")


def test_a_vault_in_use_by_this_process_is_read_beside_it(vault: Path) -> None:
    store = open_store(vault)
    found = look(vault)[1]
    assert str(os.getpid()) in found["lock"].text
    assert found["journal"].level is Level.OK and "in use" in found["graph"].text
    from graphmem.model.operations import PutSource
    from tests.store.graph.world import source

    store.writer.commit([PutSource(after=source(5))], actor=ACTOR)
    assert look(vault)[1]["index"].text.startswith(f"at row {store.view().seq} of ")
    store.close()


def test_how_the_vault_was_chosen_is_told(
    vault: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("GRAPHMEM_VAULT", raising=False)
    vault.rename(tmp_path / ".graphmem")
    (tmp_path / "deep" / "er").mkdir(parents=True)
    report = diagnose(None, tmp_path / "deep" / "er", models=False)
    assert report.path == str(tmp_path / ".graphmem")
    assert {f.name: f.text for f in report.findings}["path"] == "the nearest .graphmem"


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may do everything")
def test_missing_rights_are_told(vault: Path) -> None:
    vault.chmod(0o500)
    try:
        assert look(vault)[1]["rights"].level is Level.FAIL
    finally:
        vault.chmod(0o700)


@pytest.mark.parametrize(
    ("path", "sign"),
    [
        ("/home/a/Dropbox (Work)/x", "Dropbox (Work)"),
        ("/Users/a/Library/Mobile Documents/x", "Mobile Documents"),
        ("/home/a/OneDrive - Firm/x", "OneDrive - Firm"),
        ("/home/a/notes", None),
    ],
)
def test_synchronised_folders_are_recognised(path: str, sign: str | None) -> None:
    assert synced_by(Path(path)) == sign


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_the_file_system_is_the_one_of_the_nearest_mount() -> None:
    assert file_system(Path("/proc/self")) == "proc"
    assert file_system(Path("/")) not in (None, "proc")


def test_living_and_dead_processes_are_told_apart() -> None:
    assert alive(os.getpid())
    assert not alive(2**22 + 7)


def test_a_look_that_breaks_off_is_a_finding(vault: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_: Path) -> None:
        raise RuntimeError("no such table")

    monkeypatch.setattr("graphmem.care.folder.space", broken)
    found = look(vault)[1]
    assert "RuntimeError: no such table" in found["disk"].text
    assert found["journal"].level is Level.OK
