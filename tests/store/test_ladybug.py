"""The suites of the graph store and of healing with ladybug, in a process that has no Kuzu.

A process can load one engine only; see ``tests/store/engines.py``.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from graphmem.errors import VaultError
from graphmem.store.graph.engines import KUZU, LADYBUG
from tests.store.engines import ENGINE_VARIABLE, FILE_ENGINE

REPO = Path(__file__).parents[2]
CONTRACT = ("tests/store/graph/test_contract.py", "tests/store/graph/test_files.py")
SUITES = (
    "tests/store/graph",
    "tests/store/test_compaction.py",
    "tests/store/test_damage.py",
    "tests/store/test_interrupted.py",
    "tests/store/test_pinned_views.py",
    "tests/store/test_purge.py",
)
KILLS = "tests/store/kill/test_kills.py"
pytestmark = pytest.mark.skipif(
    not LADYBUG.installed or LADYBUG.name == FILE_ENGINE,
    reason=f"needs ladybug ({LADYBUG.install}) and a process of its own",
)


def run_suites(*what: str) -> str:
    """Runs suites in a child on ladybug; gives what it printed."""
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *what]
    done = subprocess.run(
        command,
        cwd=REPO,
        env={**os.environ, ENGINE_VARIABLE: LADYBUG.name, "PYTHONPATH": str(REPO)},
        capture_output=True,
        text=True,
        timeout=1_500,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-5_000:] + done.stderr[-2_000:]
    return done.stdout


def passed(told: str) -> int:
    found = re.search(r"(\d+) passed", told)
    return int(found[1]) if found else 0


@pytest.mark.timeout(1_500)
def test_the_contract_of_the_graph_holds_on_ladybug() -> None:
    assert passed(run_suites("-m", "not slow and not bench", *CONTRACT)) > 60


@pytest.mark.slow
@pytest.mark.timeout(1_500)
def test_all_suites_of_the_graph_pass_on_ladybug() -> None:
    told = run_suites("-m", "not bench", *SUITES)
    assert passed(told) > 190


@pytest.mark.slow
@pytest.mark.timeout(1_500)
def test_a_killed_writer_loses_nothing_on_ladybug(capsys: pytest.CaptureFixture[str]) -> None:
    told = run_suites("-s", "-m", "slow", KILLS)
    with capsys.disabled():
        print("", *(line for line in told.splitlines() if LADYBUG.name in line), sep="\n")
    assert passed(told) == 1


def test_a_second_engine_in_one_process_is_refused_before_it_can_crash() -> None:
    KUZU.module()
    with pytest.raises(VaultError, match="mode='client'"):
        LADYBUG.module()
