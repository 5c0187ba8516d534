"""backup, verify, doctor and migrate as a user runs them: beside owners, notebooks and damage."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import apsw
import pytest
from typer.main import get_command

import graphmem as graphmem_module
from graphmem.cli.app import app
from graphmem.settings import Settings
from graphmem.store.digest import CLEAN_MARK, write_mark
from tests.cli.conftest import Command, Run

DOCS = Path(__file__).parents[2] / "docs" / "cli.md"
HOLDER = (
    "import sys, graphmem; m = graphmem.open(sys.argv[1], mode='embedded'); "
    "print('held', flush=True); sys.stdin.read()"
)


@contextmanager
def held(vault: Path) -> Iterator[subprocess.Popen[str]]:
    """A process that has the vault for itself, as a notebook does."""
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(vault)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None and process.stdout.readline() == "held\n"
        yield process
        process.kill()


@pytest.fixture
def owner(graphmem: Command) -> Iterator[Command]:
    """The command beside a running owner process."""
    assert graphmem("serve").code == 0
    yield graphmem
    graphmem("serve", "--stop")


@pytest.fixture(scope="module")
def first_vault(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A closed vault with a note."""
    vault = tmp_path_factory.mktemp("first") / "vault"
    settings = Settings(embedder="none")
    with graphmem_module.open(vault, settings=settings, mode="embedded") as memory:
        memory.remember("The seal cracked because the coolant ran dry.", facts=["Orion|uses|Oil"])
    return vault


@pytest.fixture
def noted(graphmem: Command, first_vault: Path, vault: Path) -> Command:
    """The command on a vault with a note."""
    shutil.copytree(first_vault, vault)
    return graphmem


def findings(run: Run) -> dict[str, dict[str, Any]]:
    """The findings of ``doctor --json`` by name; each that is not ok says what to do."""
    found = run.data["findings"]
    assert all(each["advice"] for each in found if each["level"] != "ok")
    return {each["name"]: each for each in found}


def content(folder: Path) -> dict[str, bytes]:
    return {p.name: p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def doctor(graphmem: Command, **env: str) -> dict[str, dict[str, Any]]:
    return findings(graphmem("doctor", "--no-models", "--json", env=env))


# backup


def test_a_backup_is_made_shown_and_restored(noted: Command, tmp_path: Path) -> None:
    before = noted("export").out
    made = noted("backup", "monday", "--json")
    assert (made.code, made.data["problem"]) == (0, "")
    shown = noted("backup", "show", "monday")
    assert shown.code == 0 and f"{made.data['manifest']['head']} rows" in shown.out
    refused = noted("backup", "restore", "monday")
    assert refused.code == 2 and "--force" in refused.err
    restored = noted("backup", "restore", "monday", "--vault", "other", "--json")
    assert restored.code == 0 and restored.data["counts"]["fact"] == 1
    assert noted("export", "--vault", str(tmp_path / "other")).out == before


def test_a_backup_works_beside_a_notebook_and_beside_an_owner(noted: Command, vault: Path) -> None:
    with held(vault):
        assert noted("backup", "one").code == 0
    noted("serve")
    try:
        noted("remember", "Pump 7 was replaced.")
        assert noted("backup", "two").code == 0
        locked = noted("backup", "restore", "one", "--force")
        assert locked.code == 3 and "in use" in locked.err
    finally:
        noted("serve", "--stop")
    heads = [noted("backup", "show", n, "--json").data["manifest"]["head"] for n in ("one", "two")]
    assert heads[0] < heads[1]


def test_a_damaged_backup_is_shown_as_such(noted: Command, tmp_path: Path) -> None:
    noted("backup", "monday")
    db = apsw.Connection(str(tmp_path / "monday" / "journal.sqlite"))
    db.execute("DROP TRIGGER journal_no_update")
    db.execute("UPDATE journal SET actor = 'eve' WHERE seq = 3")
    db.close()
    shown = noted("backup", "show", "monday")
    assert shown.code == 1 and "damaged at row 3" in shown.out
    refused = noted("backup", "restore", "monday", "--vault", "other")
    assert refused.code == 3 and "row 3" in refused.err
    assert not (tmp_path / "other").exists()


def test_a_folder_named_as_a_word_of_the_command_needs_its_path(noted: Command) -> None:
    assert noted("backup", "./show").code == 0
    assert noted("backup", "show", "./show").code == 0
    assert noted("backup", "--force", "./show").code == 0


def test_a_backup_of_no_vault_is_refused(graphmem: Command, tmp_path: Path) -> None:
    result = graphmem("backup", "monday")
    assert result.code == 3 and "no vault" in result.err
    assert not (tmp_path / "monday").exists()


# verify


def test_verify_of_a_sound_vault(noted: Command) -> None:
    report = noted("verify", "--json")
    assert report.code == 0 and report.data["ok"]
    assert {check["failures"] for check in report.data["checks"]} == {0}
    assert "sound" in noted("verify", "--quick").out


def test_verify_fails_with_an_exit_code_and_says_what_to_do(noted: Command, vault: Path) -> None:
    db = apsw.Connection(str(vault / "index.sqlite"))
    db.execute("DELETE FROM evidence")
    db.close()
    mark = json.loads((vault / CLEAN_MARK).read_text())  # else the open mends what differs
    write_mark(vault, CLEAN_MARK, mark["head"], mark["hash"])
    broken = noted("verify", "--quick")
    assert broken.code == 1
    assert "FAIL  evidence" in broken.out and "graphmem rebuild" in broken.out
    assert noted("rebuild").code == 0
    assert noted("verify").code == 0


def test_verify_names_a_damaged_journal_row(noted: Command, vault: Path) -> None:
    db = apsw.Connection(str(vault / "journal.sqlite"))
    db.execute("DROP TRIGGER journal_no_update")
    db.execute("UPDATE journal SET payload = x'00' WHERE seq = 2")
    db.close()
    for path in (*vault.glob("index*"), *vault.glob("graph*")):
        path.unlink()
    broken = noted("verify", "--json")
    assert broken.code == 1
    assert broken.data["checks"][0]["examples"] == ["row 2"]


# doctor


def test_doctor_finds_nothing_wrong_and_writes_nothing(noted: Command, vault: Path) -> None:
    before = content(vault)
    run = noted("doctor", "--json")
    assert run.code == 0, run.out
    found = findings(run)
    assert run.data["level"] == "ok", run.out
    assert content(vault) == before
    names = "graphmem python packages language embedder path rights disk place lock format journal"
    assert set(found) >= {*names.split(), "index", "vectors", "graph", "last stop", "last error"}
    assert "apsw" in found["packages"]["text"] and "spacy" in found["packages"]["text"]
    assert found["path"]["text"] == "named by GRAPHMEM_VAULT"


def test_doctor_without_a_vault_makes_none(graphmem: Command, vault: Path) -> None:
    run = graphmem("doctor", "--no-models", "--json")
    assert run.code == 0
    assert findings(run)["vault"]["advice"] == "make one with graphmem init"
    assert not vault.exists()


def test_doctor_names_who_holds_the_vault(noted: Command, vault: Path) -> None:
    with held(vault) as process:
        found = doctor(noted)
        assert str(process.pid) in found["lock"]["text"] and found["lock"]["level"] == "warn"
        assert found["journal"]["level"] == "ok"
        process.send_signal(signal.SIGKILL)
        process.wait()
        found = doctor(noted)
    assert found["lock"]["level"] == "ok"
    assert found["last stop"]["level"] == "warn"


def test_doctor_asks_a_running_owner(noted: Command, owner: Command, vault: Path) -> None:
    run = owner("doctor", "--no-models")
    assert run.code == 0
    assert "answers" in run.out and "serves the vault" in run.out
    secrets = json.loads((vault / "tokens.json").read_text())
    assert all(secret not in run.out for secret in secrets.values())
    told = json.loads((vault / "owner.json").read_text())
    for change, name in (({"version": "0.0.1"}, "0.0.1"), ({"port": 1}, "does not answer")):
        (vault / "owner.json").write_text(json.dumps({**told, **change}))
        wrong = owner("doctor", "--no-models")
        assert wrong.code == 1 and name in wrong.out and "serve --stop" in wrong.out
    (vault / "owner.json").write_text(json.dumps({**told, "pid": 2**22 + 7}))
    assert "not by process" in owner("doctor", "--no-models").out
    (vault / "owner.json").write_text(json.dumps(told))


def test_doctor_tells_a_missing_model_and_wrong_settings(noted: Command) -> None:
    wrong = noted("doctor", "--json", env={"GRAPHMEM_EMBEDDER": "no-such"})
    assert findings(wrong)["embedder"]["level"] == "warn"
    typo = noted("doctor", "--no-models", "--json", env={"GRAPHMEM_MAX_TOKENS": "lots"})
    assert typo.code == 1 and "max_tokens" in findings(typo)["settings"]["text"]


# migrate


def newer(vault: Path) -> None:
    config = json.loads((vault / "vault.json").read_text())
    (vault / "vault.json").write_text(json.dumps({**config, "format": 99}))


def test_migrate_of_a_current_vault_does_nothing(noted: Command) -> None:
    result = noted("migrate")
    assert result.code == 0 and "nothing to do" in result.out


def test_migrate_refuses_a_newer_vault(noted: Command, vault: Path) -> None:
    newer(vault)
    for command in ("migrate", "status"):
        refused = noted(command)
        assert refused.code == 3 and "upgrade graphmem" in refused.err


# documentation


def test_the_words_of_backup_are_documented_with_their_options() -> None:
    group = get_command(app).commands["backup"]  # type: ignore[attr-defined]
    body = DOCS.read_text(encoding="utf-8").split("\n## graphmem backup\n")[1].split("\n## ")[0]
    for name, command in group.commands.items():
        assert f"graphmem backup {'' if name == 'create' else name}".strip() in body
        assert "Example: graphmem backup" in (command.help or "")
        for option in (o for parameter in command.params for o in parameter.opts):
            if option.startswith("--") and option not in ("--vault", "--json"):
                assert option in body, f"backup {name} {option} is not documented"
