"""A publicly reported fault of bulk imports, end to end (BR-36), with 30,000 triples.

The public case has 5,000 notes; growth, a kill and a second run show the same with fewer.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.cases.bulk import TRIPLES_PER_NOTE, note

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1_800)]

NOTES = 3_000
# The second half may take at most this many times as long as the first.
MOST_GROWTH = 2.0
# The last third may add at most this many times the memory the second one added: it levels off when
# the engine's buffer pool is full.
MOST_MEMORY = 0.5


def start(vault: Path, notes: Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "tests.cases.bulk", str(vault), str(notes)]
    root = Path(__file__).parents[2]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, cwd=root, env=dict(os.environ)
    )


def steps(process: subprocess.Popen[str]) -> tuple[list[list[float]], dict[str, Any]]:
    """The steps of a run that goes to its end, and its report."""
    lines = [json.loads(line) for line in process.communicate()[0].splitlines()]
    assert process.returncode == 0
    return lines[:-1], lines[-1]


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    folder = tmp_path / "notes"
    folder.mkdir()
    for number in range(NOTES):
        (folder / f"n{number:05}.md").write_text(note(number))
    return folder


def test_br36_a_bulk_import_keeps_its_pace_and_runs_again_without_a_write(
    tmp_path: Path, notes: Path
) -> None:
    told, report = steps(start(tmp_path / "vault", notes))
    assert report["changed"] == NOTES and report["evidence"] == NOTES * TRIPLES_PER_NOTE
    assert report["pending"] == 0
    third, half, late = (
        min(told, key=lambda step: abs(step[0] - part * NOTES)) for part in (1 / 3, 1 / 2, 2 / 3)
    )
    first, growth = half[1] / half[0], (told[-1][1] - half[1]) / (NOTES - half[0])
    added = late[2] - third[2]
    print(
        f"{NOTES} notes, {report['evidence']} triples in {report['seconds']:.0f} s: "
        f"{report['evidence'] / report['seconds']:.0f} triples per second (goal 1,000), second "
        f"half {growth / first:.2f} times the first, memory {third[2]:.0f}, {late[2]:.0f}, "
        f"{told[-1][2]:.0f} MiB after each third"
    )
    assert growth <= MOST_GROWTH * first
    assert told[-1][2] - late[2] <= MOST_MEMORY * max(added, 100.0)
    _, again = steps(start(tmp_path / "vault", notes))
    assert again["unchanged"] == NOTES and again["seq"] == report["seq"]
    assert len(told) >= NOTES // 500


def test_br36_an_import_that_was_killed_half_way_goes_on_where_it_was(
    tmp_path: Path, notes: Path
) -> None:
    vault = tmp_path / "vault"
    process = start(vault, notes)
    assert process.stdout is not None
    done = 0
    for line in process.stdout:
        done = int(json.loads(line)[0])
        if done >= NOTES // 2:
            process.kill()
            break
    process.communicate()
    _, report = steps(start(vault, notes))
    print(f"killed after {done} of {NOTES} notes: {report['unchanged']} kept, "
          f"{report['changed']} read after it")  # fmt: skip
    assert done <= report["unchanged"] < NOTES
    assert report["unchanged"] + report["changed"] == NOTES
    assert report["pending"] == 0 and not report["problems"]
    check = [sys.executable, "-m", "graphmem", "status", "--json", "--vault", str(vault)]
    status = json.loads(subprocess.run(check, capture_output=True, check=True).stdout)
    assert status["graph_seq"] == status["index_seq"] == status["seq"] == report["seq"]
