"""What only a graph in files can get wrong: locks, failures, damage, kills, the log."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from random import Random

import pytest

from graphmem.errors import ProjectionDamagedError, VaultError, VaultLockedError
from graphmem.store.graph.base import GraphChanges
from graphmem.store.graph.changes import project
from graphmem.store.graph.cypher_engine import CypherGraph
from graphmem.store.graph.engines import Engine
from graphmem.store.graph.files import probe
from graphmem.store.graph.memory import MemoryGraph
from tests.store.graph.test_contract import CHANGES, LAST, person, rows
from tests.store.graph.test_projection import tell

OPEN_IN_CHILD = "import sys, {0}; held = {0}.Database(sys.argv[1])"


def test_a_second_open_in_the_process_is_refused(tmp_path: Path, engine: Engine) -> None:
    path = tmp_path / "graph"
    graph = CypherGraph(path, engine)
    link = tmp_path / "link"
    link.symlink_to(path)
    for name in (path, link):
        with pytest.raises(VaultLockedError):
            CypherGraph(name, engine)
    graph.close()
    CypherGraph(path, engine).close()


def test_a_file_that_another_process_holds_is_locked(tmp_path: Path, engine: Engine) -> None:
    path = tmp_path / "graph"
    CypherGraph(path, engine).close()
    opening = OPEN_IN_CHILD.format(engine.module_name)
    holder = f"{opening}; print('open', flush=True); input()"
    command = [sys.executable, "-c", holder, str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None and child.stdout.readline() == b"open\n"
        with pytest.raises(VaultLockedError):
            CypherGraph(path, engine)
        child.kill()
    CypherGraph(path, engine).close()


def test_what_was_applied_is_there_after_reopening(tmp_path: Path, engine: Engine) -> None:
    graph = CypherGraph(tmp_path / "graph", engine)
    graph.apply(CHANGES, LAST)
    stored = rows(graph)
    graph.close()
    again = CypherGraph(tmp_path / "graph", engine)
    assert (rows(again), again.applied_seq) == (stored, LAST)
    again.close()


def test_a_failed_statement_leaves_everything_as_it_was(tmp_path: Path, engine: Engine) -> None:
    graph = CypherGraph(tmp_path / "graph", engine)
    graph.apply(person("kept"), 1)
    too_big = {"b": {"seq": 2}, "c": {"seq": 2**70}}
    with pytest.raises(VaultError, match="row 1"):
        graph.apply(GraphChanges(nodes={"Alias": {"x": {"seq": 2}}, "Entity": too_big}), 2)
    assert graph.applied_seq == 1
    assert {k: v for k, v in graph.counts().items() if v} == {"Entity": 1}
    graph.apply(person("next"), 2)
    assert (graph.applied_seq, graph.counts()["Entity"]) == (2, 2)
    graph.close()


def test_the_log_grows_with_commits_and_a_built_file_has_none(
    tmp_path: Path, engine: Engine
) -> None:
    path = tmp_path / "graph"
    graph = CypherGraph(path, engine)
    empty = graph.log_bytes()
    graph.apply(CHANGES, LAST)
    assert graph.log_bytes() > empty
    stored = rows(graph)
    graph.close()
    CypherGraph.build(path, engine, CHANGES, LAST)
    built = CypherGraph(path, engine)
    assert (rows(built), built.applied_seq, built.log_bytes()) == (stored, LAST, 0)
    built.apply(person("after"), LAST + 1)
    assert built.counts()["Entity"] == 3
    built.close()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["graph", "graph.wal"]


def test_a_log_left_without_its_file_is_not_replayed(tmp_path: Path, engine: Engine) -> None:
    path = tmp_path / "graph"
    graph = CypherGraph(path, engine)
    graph.apply(CHANGES, LAST)
    graph.close()
    path.unlink()
    fresh = CypherGraph(path, engine)
    assert fresh.applied_seq == 0
    fresh.close()


@pytest.mark.parametrize("content", [b"not a graph" * 1000, b"\0" * 8192, b""])
def test_a_file_that_is_no_graph_is_reported_as_damaged(
    tmp_path: Path, engine: Engine, content: bytes
) -> None:
    path = tmp_path / "graph"
    path.write_bytes(content)
    if content:
        with pytest.raises(ProjectionDamagedError):
            CypherGraph(path, engine)
        assert not probe(path, engine)
    else:
        CypherGraph(path, engine).close()


def test_a_cut_off_checkpoint_is_reported_as_damaged(tmp_path: Path, engine: Engine) -> None:
    path = tmp_path / "graph"
    CypherGraph(path, engine).close()
    Path(f"{path}.shadow").write_bytes(b"x")
    with pytest.raises(ProjectionDamagedError):
        CypherGraph(path, engine)


def test_another_schema_version_is_reported_as_damaged(tmp_path: Path, engine: Engine) -> None:
    path = tmp_path / "graph"
    module = engine.module()
    database = module.Database(str(path))
    connection = module.Connection(database)
    connection.execute("CREATE NODE TABLE Meta (id STRING PRIMARY KEY, value STRING)")
    connection.close()
    database.close()
    with pytest.raises(ProjectionDamagedError):
        CypherGraph(path, engine)


def test_a_probe_accepts_a_sound_file_and_changes_nothing(tmp_path: Path, engine: Engine) -> None:
    path = tmp_path / "graph"
    assert probe(path, engine)
    graph = CypherGraph(path, engine)
    graph.apply(CHANGES, LAST)
    graph.close()
    before = {p.name: p.read_bytes() for p in tmp_path.iterdir()}
    assert probe(path, engine)
    assert {p.name: p.read_bytes() for p in tmp_path.iterdir()} == before


def test_a_probe_survives_a_file_with_damaged_pages(tmp_path: Path, engine: Engine) -> None:
    path = tmp_path / "graph"
    CypherGraph.build(path, engine, CHANGES, LAST)
    assert probe(path, engine)
    content = bytearray(path.read_bytes())
    content[4096:] = bytes(len(content) - 4096)
    path.write_bytes(content)
    assert not probe(path, engine)


def test_a_probe_ends_at_its_time_out(tmp_path: Path, engine: Engine) -> None:
    path = tmp_path / "graph"
    CypherGraph(path, engine).close()
    assert not probe(path, engine, timeout=0.001)


# Random histories whose log is replayed; each deletes about a dozen nodes with their relations.
HISTORIES = 100


def replayed(engine: Engine, path: Path, seed: int) -> int:
    """Replays the log of a random history and compares every row; gives the nodes removed."""
    grown, told, last, removed = CypherGraph(path, engine), MemoryGraph(), 0, 0
    for batch, before, _ in tell(Random(seed), 6, 40):
        last += len(batch)
        changes = project(batch, before)
        removed += sum(map(len, changes.gone_nodes.values()))
        grown.apply(changes, last)
        told.apply(changes, last)
    grown.close()
    again = CypherGraph(path, engine)
    assert rows(again) == rows(told), f"seed {seed}"
    again.close()
    return removed


def test_a_log_that_deleted_both_ends_of_relations_replays_exactly(
    tmp_path: Path, engine: Engine
) -> None:
    assert sum(replayed(engine, tmp_path / f"graph{seed}", seed) for seed in range(4)) > 20


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_logs_of_many_random_deletions_replay_exactly(tmp_path: Path, engine: Engine) -> None:
    removed = 0
    for seed in range(HISTORIES):
        folder = tmp_path / str(seed)
        folder.mkdir()
        removed += replayed(engine, folder / "graph", seed)
        shutil.rmtree(folder)
    print(f"\n{engine.name}: replayed {HISTORIES} logs with {removed} removed nodes, none differs")


WRITER = """
import sys
from pathlib import Path
from graphmem.store.graph.base import GraphChanges
from graphmem.store.graph.cypher_engine import CypherGraph
from graphmem.store.graph.engines import ENGINES
graph = CypherGraph(Path(sys.argv[1]), ENGINES[sys.argv[2]])
seq = graph.applied_seq
while True:
    seq += 1
    nodes = {f"e{seq}.{i}": {"seq": seq, "name": "x" * 500} for i in range(20)}
    graph.apply(GraphChanges(nodes={"Entity": nodes}), seq)
    print(seq, flush=True)
"""


@pytest.mark.slow
def test_a_kill_loses_nothing_acknowledged_and_leaves_no_half_commit(
    tmp_path: Path, engine: Engine
) -> None:
    path = tmp_path / "graph"
    for wait in (0.05, 0.11, 0.17, 0.23, 0.4):
        command = [sys.executable, "-c", WRITER, str(path), engine.name]
        with subprocess.Popen(command, stdout=subprocess.PIPE) as child:
            assert child.stdout is not None and child.stdout.readline()
            time.sleep(wait)
            os.kill(child.pid, signal.SIGKILL)
            acknowledged = [int(line) for line in child.stdout.read().split()]
        assert probe(path, engine)
        graph = CypherGraph(path, engine)
        assert graph.applied_seq >= max(acknowledged, default=1)
        assert graph.counts()["Entity"] == 20 * graph.applied_seq
        graph.close()
