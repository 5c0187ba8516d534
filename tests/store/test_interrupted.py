"""A commit that is interrupted anywhere: what was acknowledged is there, nothing is half there."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from graphmem.errors import GraphmemError
from graphmem.model.operations import PutPassage
from graphmem.model.scope import EVERYTHING
from graphmem.store import VaultStore, open_store
from tests.store.conftest import ticking
from tests.store.engines import FILE_ENGINE
from tests.store.told import ACTOR, commits, passage, put_notes

POINTS = ("after_journal", "after_index", "in_graph", "before_publish")
# Passages of each commit of the killed process: a partial one would break the multiple.
PER_COMMIT = 3


class Interruption:
    """A hook that raises once, or always, at one point after it was armed."""

    def __init__(self, point: str, error: type[BaseException], *, always: bool = False) -> None:
        self.armed = False
        self._point, self._error, self._always = point, error, always

    def __call__(self, point: str) -> None:
        if self.armed and point == self._point:
            self.armed = self._always
            raise self._error


def assert_whole(store: VaultStore) -> None:
    """The projections hold exactly what a replay of the journal gives."""
    grown = sorted(store.dump())
    assert store.view().seq == store.status().seq
    store.rebuild()
    assert sorted(store.dump()) == grown


@pytest.mark.parametrize("point", POINTS)
def test_a_commit_whose_projection_fails_once_stands(point: str) -> None:
    fault = Interruption(point, OSError)
    store = open_store(None, create=True, fault=fault)
    put_notes(store, "pump one")
    fault.armed = True
    done = store.writer.commit([PutPassage(after=passage(7, "pump two"))], actor=ACTOR)
    assert store.view().seq == done.last_seq
    assert "psg:7" in store.view().passages(["psg:7"], EVERYTHING)
    assert_whole(store)
    store.close()


@pytest.mark.parametrize("point", POINTS)
def test_after_ctrl_c_the_next_commit_brings_the_interrupted_one(point: str) -> None:
    fault = Interruption(point, KeyboardInterrupt)
    store = open_store(None, create=True, fault=fault)
    put_notes(store, "pump one")
    before = store.view().seq
    fault.armed = True
    with pytest.raises(KeyboardInterrupt):
        store.writer.commit([PutPassage(after=passage(7, "pump two"))], actor=ACTOR)
    assert store.view().seq == before
    assert not store.view().passages(["psg:7"], EVERYTHING)
    store.writer.commit([PutPassage(after=passage(8, "pump three"))], actor=ACTOR)
    assert set(store.view().passages(["psg:7", "psg:8"], EVERYTHING)) == {"psg:7", "psg:8"}
    assert_whole(store)
    store.close()


@pytest.mark.parametrize("point", POINTS)
@pytest.mark.parametrize("seed", range(4))
def test_any_history_with_failures_at_every_commit_ends_as_its_replay(
    point: str, seed: int
) -> None:
    fault = Interruption(point, OSError)
    store = open_store(None, create=True, fault=fault, clock=ticking())
    for batch in commits(seed, 20):
        fault.armed = True
        try:
            store.writer.commit(batch, actor=ACTOR)
        except GraphmemError:
            break
    assert_whole(store)
    store.close()


@pytest.mark.parametrize("point", ["after_index", "in_graph"])
@pytest.mark.parametrize("engine", [FILE_ENGINE, "memory"])
def test_a_vault_left_behind_its_journal_is_healed_at_open(
    tmp_path: Path, point: str, engine: str
) -> None:
    fault = Interruption(point, KeyboardInterrupt, always=True)
    store = open_store(tmp_path, create=True, graph=engine, fault=fault, clock=ticking())
    put_notes(store, "pump one")
    fault.armed = True
    with pytest.raises(KeyboardInterrupt):
        store.writer.commit([PutPassage(after=passage(7, "pump two"))], actor=ACTOR)
    store.close()
    again = open_store(tmp_path, clock=ticking())
    assert "psg:7" in again.view().passages(["psg:7"], EVERYTHING)
    assert_whole(again)
    again.close()


KILLED = """
import os, signal, sys
from pathlib import Path
from graphmem.model.operations import PutPassage
from graphmem.store import open_store
from tests.store.told import passage, put_notes
point, folder, per_commit, after = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]), 4
armed = False
def fault(name):
    if armed and name == point:
        os.kill(os.getpid(), signal.SIGKILL)
store = open_store(folder, create=True, graph=sys.argv[4], fault=fault)
put_notes(store, *["pump"] * per_commit)
print(store.view().seq, flush=True)
for number in range(1, 99):
    armed = number == after
    bundles = [passage(number * per_commit + i, "pump") for i in range(per_commit)]
    done = store.writer.commit([PutPassage(after=b) for b in bundles], actor="t")
    print(done.last_seq, flush=True)
"""


@pytest.mark.slow
@pytest.mark.parametrize("point", POINTS)
def test_a_killed_process_leaves_whole_commits_only(tmp_path: Path, point: str) -> None:
    folder = tmp_path / "vault"
    done = subprocess.run(
        [sys.executable, "-c", KILLED, point, str(folder), str(PER_COMMIT), FILE_ENGINE],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
        check=False,
    )
    assert done.returncode == -signal.SIGKILL, done.stderr
    acknowledged = int(done.stdout.split()[-1])
    store = open_store(folder)
    assert store.view().seq == acknowledged + PER_COMMIT
    assert store.view().counts(EVERYTHING)["passage"] == acknowledged - 1 + PER_COMMIT
    assert_whole(store)
    store.close()
