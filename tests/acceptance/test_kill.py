"""A killed ingest loses nothing that was acknowledged, and the next one ends where it should."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.acceptance.notes import DECISIONS, write_notes
from tests.cli.conftest import Command

KILLS = 7
FILES = 60


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    folder = write_notes(tmp_path / "sources", FILES)
    shutil.copytree(DECISIONS, folder / "decisions")
    return folder


def _ingest(sources: Path, vault: Path) -> subprocess.Popen[bytes]:
    environment = {**os.environ, "GRAPHMEM_EMBEDDER": "none", "GRAPHMEM_VAULT": str(vault)}
    return subprocess.Popen(
        [sys.executable, "-m", "graphmem", "ingest", str(sources), "--project", "p"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=environment,
        start_new_session=True,
    )


def _content(graphmem: Command, vault: Path) -> list[str]:
    done = graphmem("export", "--format", "content", "--vault", str(vault))
    assert done.code == 0, done.err
    return [line for line in done.out.splitlines() if line]


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_killed_ingest_is_finished_by_the_next(
    graphmem: Command, tmp_path: Path, sources: Path
) -> None:
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    started = time.perf_counter()
    assert _ingest(sources, whole).wait(timeout=300) == 0
    seconds = time.perf_counter() - started
    chance = random.Random(20260701)
    reached = []
    for number in range(KILLS):
        process = _ingest(sources, killed)
        time.sleep(seconds * (0.15 + 0.8 * (number + chance.random()) / KILLS))
        os.killpg(process.pid, signal.SIGKILL)
        process.wait(timeout=30)
        if (killed / "vault.json").is_file():
            status = graphmem("status", "--vault", str(killed), "--json")
            assert status.code == 0, status.err
            assert status.data["graph_seq"] == status.data["index_seq"] == status.data["seq"]
            reached.append(status.data["seq"])
    assert reached == sorted(reached)
    assert _ingest(sources, killed).wait(timeout=300) == 0
    assert _content(graphmem, killed) == _content(graphmem, whole)
