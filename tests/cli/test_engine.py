"""``graphmem engine`` and ``init --engine`` as a subprocess, also killed at every step."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Command

REPO = Path(__file__).parents[2]
TEXT = "We dropped LanceDB because its index was lost twice."


def exported(graphmem: Command) -> str:
    done = graphmem("export")
    assert done.code == 0, done.err
    return done.out


def graph_files(vault: Path) -> set[str]:
    names = {path.name for path in vault.iterdir() if path.name.startswith("graph")}
    return {name for name in names if not name.endswith(".wal")}


@pytest.fixture
def filled(graphmem: Command, vault: Path) -> str:
    """A Kuzu vault with a note and a removal; gives its exact dump."""
    assert graphmem("remember", TEXT, "--fact", "Atlas|dropped|LanceDB").code == 0
    note = vault.parent / "note.md"
    for text in ("# A\n\nThe pump works.\n\nThe fan works.\n", "# A\n\nThe pump works.\n"):
        note.write_text(text, encoding="utf-8")
        assert graphmem("ingest", str(note)).code == 0
    return exported(graphmem)


def test_a_vault_goes_to_ladybug_and_back_with_the_same_dump(
    graphmem: Command, vault: Path, filled: str
) -> None:
    assert graph_files(vault) == {"graph.kuzu"}
    there = graphmem("engine", "switch", "ladybug", "--json")
    assert there.code == 0, there.err
    assert (there.data["engine"], there.data["switched"]) == ("ladybug", True)
    assert graph_files(vault) == {"graph.lbug"}
    assert exported(graphmem) == filled
    assert graphmem("status", "--json").data["graph_engine"].startswith("ladybug ")
    assert graphmem("remember", "The fan stopped because the fuse blew.").code == 0
    grown = exported(graphmem)
    back = graphmem("engine", "switch", "kuzu")
    assert back.code == 0, back.err
    assert "kuzu" in back.out.splitlines()[0]
    assert graph_files(vault) == {"graph.kuzu"}
    assert exported(graphmem) == grown


def test_the_same_engine_again_changes_nothing(graphmem: Command, vault: Path, filled: str) -> None:
    before = (vault / "graph.kuzu").read_bytes()
    done = graphmem("engine", "switch", "kuzu", "--json")
    assert (done.code, done.data["switched"]) == (0, False)
    assert (vault / "graph.kuzu").read_bytes() == before


def test_show_tells_engine_sizes_and_what_is_installed(graphmem: Command, filled: str) -> None:
    told = graphmem("engine", "show", "--json").data
    assert (told["engine"], told["file"]) == ("kuzu", "graph.kuzu")
    assert told["file_bytes"] > 0
    assert {each["name"] for each in told["engines"] if each["version"]} == {"kuzu", "ladybug"}
    assert "graph.kuzu" in graphmem("engine", "show").out


def test_an_unknown_engine_or_vault_is_told(graphmem: Command, vault: Path) -> None:
    assert graphmem("engine", "show").code == 3
    assert graphmem("engine", "switch", "ladybug").code == 3
    assert graphmem("init", "--engine", "neptune").code == 2
    assert not (vault / "vault.json").exists()
    assert graphmem("init").code == 0
    wrong = graphmem("engine", "switch", "neptune")
    assert wrong.code == 2
    assert "kuzu, ladybug" in wrong.err


def test_a_new_vault_may_begin_with_ladybug_and_keeps_it(graphmem: Command, vault: Path) -> None:
    made = graphmem("init", "--engine", "ladybug", "--json")
    assert made.code == 0, made.err
    assert made.data["graph_engine"].startswith("ladybug ")
    assert graphmem("remember", TEXT).code == 0
    assert graph_files(vault) == {"graph.lbug"}
    other = graphmem("init", "--engine", "kuzu")
    assert other.code == 2
    assert "graphmem engine switch kuzu" in other.err


@pytest.mark.slow
def test_an_engine_that_is_not_installed_is_told_and_can_be_left(
    graphmem: Command, vault: Path, tmp_path: Path
) -> None:
    hidden = tmp_path / "hidden"
    hidden.mkdir()
    (hidden / "sitecustomize.py").write_text(
        "import importlib.util as u\n"
        "found = u.find_spec\n"
        "u.find_spec = lambda n, p=None: None if n == 'ladybug' else found(n, p)\n"
    )
    env = {"PYTHONPATH": os.pathsep.join([str(hidden), str(REPO)])}
    fresh = graphmem("init", "--engine", "ladybug", env=env)
    assert fresh.code == 3 and "pip install 'graphmem[ladybug]'" in fresh.err
    assert not vault.exists()
    assert graphmem("init", "--engine", "ladybug").code == 0
    assert graphmem("remember", TEXT).code == 0
    told = exported(graphmem)
    closed = graphmem("status", env=env)
    assert closed.code == 3
    assert "graphmem engine switch kuzu" in closed.err
    assert graphmem("engine", "switch", "kuzu", env=env).code == 0
    assert exported(graphmem) == told


@pytest.mark.slow
def test_a_switch_is_refused_while_the_vault_is_in_use(
    graphmem: Command, vault: Path, filled: str
) -> None:
    assert graphmem("serve", "--idle-exit", "60s").code == 0
    try:
        refused = graphmem("engine", "switch", "ladybug")
        assert refused.code == 3
        assert "graphmem serve --stop" in refused.err
        assert graphmem("engine", "show", "--json").data["engine"] == "kuzu"
    finally:
        graphmem("serve", "--stop")
    assert graphmem("engine", "switch", "ladybug").code == 0
    assert exported(graphmem) == filled


KILLED = """
import os, signal, sys
from pathlib import Path
from graphmem.store import switch_engine
def fault(name):
    if name == sys.argv[1]:
        os.kill(os.getpid(), signal.SIGKILL)
def progress(done, total):
    if sys.argv[1] == "reading":
        os.kill(os.getpid(), signal.SIGKILL)
switch_engine(Path(sys.argv[2]), "ladybug", progress=progress, fault=fault)
"""


@pytest.mark.slow
@pytest.mark.parametrize("point", ["reading", "switch_built", "switch_checked", "switch_written"])
def test_a_kill_at_any_step_of_a_switch_leaves_a_working_vault(
    graphmem: Command, vault: Path, filled: str, point: str
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", KILLED, point, str(vault)],
        cwd=REPO,
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "PYTHONPATH": str(REPO)},
        check=False,
    )
    assert done.returncode == -signal.SIGKILL, done.stderr
    assert exported(graphmem) == filled
    wanted = "ladybug" if point == "switch_written" else "kuzu"
    assert graphmem("engine", "show", "--json").data["engine"] == wanted
    assert graph_files(vault) == {"graph.lbug" if wanted == "ladybug" else "graph.kuzu"}
    assert graphmem("engine", "switch", "ladybug").code == 0
    assert exported(graphmem) == filled
