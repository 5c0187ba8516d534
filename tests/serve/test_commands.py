"""Every one-shot command works beside a running owner, as its client."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import graphmem
from tests.serve.conftest import Start, owner_of


def command(vault: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "graphmem", *arguments, "--vault", str(vault)],
        capture_output=True,
        text=True,
        check=False,
    )


COMMANDS = {
    "init": ["init"],
    "status": ["status", "--json"],
    "remember": ["remember", "Pump 9 moved.", "--fact", "Pump 9|is in|Bay 9"],
    "ask": ["ask", "why did the seal crack?", "--json"],
    "kg": ["kg", "Zephyr Depot"],
    "causes": ["causes", "why did the seal crack?"],
    "sync": ["sync"],
    "export": ["export"],
    "content": ["export", "--format", "content"],
    "graphml": ["export", "--format", "graphml"],
    "rebuild": ["rebuild"],
    "token": ["token", "--read"],
    "serve": ["serve"],
}


def test_commands_beside_an_owner_are_its_clients(vault: Path, notes: Path, serve: Start) -> None:
    serve("--idle-exit", "120s")
    owner = owner_of(vault).pid
    done = command(vault, "ingest", str(notes), "--json")
    assert json.loads(done.stdout)["read"] == 2, done.stderr
    for name, arguments in COMMANDS.items():
        done = command(vault, *arguments)
        assert (done.returncode, bool(done.stdout)) == (0, True), f"{name}: {done.stderr}"
        assert "lock" not in done.stderr
    with graphmem.open(vault) as memory:
        passage = memory.search("why did the seal crack?").hits[0].passage_id
    assert "coolant" in command(vault, "get", passage).stdout
    assert owner_of(vault).pid == owner
    assert command(vault, "serve", "--stop").returncode == 0
    assert "coolant" in command(vault, "get", passage).stdout  # and without an owner


@pytest.mark.parametrize("arguments", [["status"], ["remember", "Pump 1 moved."]])
def test_a_notebook_that_holds_the_vault_for_itself_is_named(
    vault: Path, arguments: list[str]
) -> None:
    with graphmem.open(vault, mode="embedded"):
        done = command(vault, *arguments)
    assert (done.returncode, len(done.stderr.splitlines())) == (3, 1)
    assert "process" in done.stderr
