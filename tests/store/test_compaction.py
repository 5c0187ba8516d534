"""Folding the graph's log while the vault is read and written."""

from __future__ import annotations

import os
import signal
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from graphmem.model.operations import Purge, PutPassage
from graphmem.model.scope import EVERYTHING
from graphmem.store import VaultStore, open_store
from graphmem.store.graph.engines import ENGINES
from tests.store.conftest import ticking
from tests.store.engines import FILE_ENGINE
from tests.store.told import ACTOR, passage, put_notes, tell

REPO = Path(__file__).parents[2]
FILE = ENGINES[FILE_ENGINE].file
POINTS = (
    "compact_built",
    "compact_caught_up",
    "compact_closed",
    "compact_swapped",
    "compact_done",
)


def opened(folder: Path, **more: object) -> VaultStore:
    return open_store(folder, create=True, graph=FILE_ENGINE, clock=ticking(), **more)  # type: ignore[arg-type]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[VaultStore]:
    made = opened(tmp_path, max_log_bytes=1_000)
    yield made
    made.close()


def graph_files(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir() if path.name.startswith("graph")}


def put(store: VaultStore, first: int, count: int = 3) -> int:
    told = [PutPassage(after=passage(first + i, f"pump {first + i}")) for i in range(count)]
    return store.writer.commit(told, actor=ACTOR).last_seq


def test_folding_empties_the_log_and_keeps_every_row(store: VaultStore, tmp_path: Path) -> None:
    tell(store, 5, 40)
    before = list(store.dump())
    assert store.needs_compaction()
    assert store.compact()
    assert not store.needs_compaction()
    assert list(store.dump()) == before
    assert graph_files(tmp_path) == {FILE}
    put_notes(store, "after")
    again = list(store.dump())
    store.close()
    reopened = opened(tmp_path)
    assert list(reopened.dump()) == again
    reopened.close()


def test_an_empty_graph_and_one_in_memory_have_nothing_to_fold(store: VaultStore) -> None:
    assert not store.compact()
    memory = open_store(None, create=True)
    put_notes(memory, "pump")
    assert not memory.needs_compaction() and not memory.compact()
    memory.close()


def test_a_view_from_before_the_swap_goes_on_unchanged(store: VaultStore) -> None:
    put_notes(store, "pump one", "pump two")
    view = store.view()
    seen = view.adjacency(EVERYTHING).node_count
    put(store, 10)
    assert store.compact()
    put(store, 20)
    assert view.adjacency(EVERYTHING).node_count == seen
    assert set(view.passages(["psg:0", "psg:10", "psg:20"], EVERYTHING)) == {"psg:0"}
    assert store.view().adjacency(EVERYTHING).node_count == seen + 6


class During:
    """Does something once when the compaction comes to a point."""

    def __init__(self, point: str) -> None:
        self.point, self.work = point, lambda: None

    def __call__(self, point: str) -> None:
        if point == self.point:
            self.point = ""
            self.work()


def in_thread(work: object) -> None:
    thread = threading.Thread(target=work)  # type: ignore[arg-type]
    thread.start()
    thread.join(60)
    assert not thread.is_alive()


def test_commits_made_while_the_file_is_built_are_in_it(tmp_path: Path) -> None:
    during = During("compact_built")
    store = opened(tmp_path, fault=during)
    put_notes(store, "pump")
    during.work = lambda: [put(store, n) for n in range(10, 400, 3)]  # type: ignore[func-returns-value]
    assert store.compact()
    grown = list(store.dump())
    assert store.status().graph_seq == store.status().seq
    store.close()
    again = opened(tmp_path)
    assert list(again.dump()) == grown
    again.rebuild()
    assert list(again.dump()) == grown
    again.close()


@pytest.mark.parametrize("point", ["compact_built", "compact_caught_up"])
def test_a_purge_meanwhile_leaves_no_copy_of_what_it_erased(tmp_path: Path, point: str) -> None:
    during = During(point)
    store = opened(tmp_path, fault=during)
    put_notes(store, "zanzibar one", "pump two")

    def purge() -> None:
        store.writer.commit([Purge(seqs=(2,))], actor=ACTOR)

    during.work = lambda: in_thread(purge)
    assert not store.compact()
    store.close()
    assert graph_files(tmp_path) <= {FILE, f"{FILE}.wal"}
    assert not any(b"zanzibar" in path.read_bytes() for path in tmp_path.iterdir())


def test_a_rebuild_meanwhile_wins(tmp_path: Path) -> None:
    during = During("compact_built")
    store = opened(tmp_path, fault=during)
    put_notes(store, "pump")
    during.work = lambda: in_thread(store.rebuild)
    before = list(store.dump())
    assert not store.compact()
    assert list(store.dump()) == before
    assert store.compact()
    store.close()


def test_closing_ends_a_run_that_is_under_way(tmp_path: Path) -> None:
    during = During("compact_built")
    store = opened(tmp_path, fault=during)
    tell(store, 3, 30)
    told = list(store.dump())
    closing = threading.Thread(target=store.close)
    during.work = closing.start
    folded = store.compact()
    closing.join(60)
    assert not closing.is_alive()
    assert not folded or graph_files(tmp_path) == {FILE}
    assert not store.compact()
    again = opened(tmp_path)
    assert list(again.dump()) == told
    again.close()


def test_only_one_run_at_a_time(tmp_path: Path) -> None:
    during, second = During("compact_built"), []
    store = opened(tmp_path, fault=during)
    put_notes(store, "pump")
    during.work = lambda: in_thread(lambda: second.append(store.compact()))
    assert store.compact()
    assert second == [False]
    store.close()


KILLED = """
import os, signal, sys
from pathlib import Path
from graphmem.store import open_store
from tests.store.test_compaction import put
from tests.store.told import tell
point, folder, engine = sys.argv[1], Path(sys.argv[2]), sys.argv[3]
def fault(name):
    if name == "compact_built":
        print(put(store, 900), flush=True)
    if name == point:
        os.kill(os.getpid(), signal.SIGKILL)
store = open_store(folder, create=True, graph=engine, fault=fault)
tell(store, 8, 30)
store.compact()
"""


@pytest.mark.slow
@pytest.mark.parametrize("point", POINTS)
def test_a_kill_at_any_step_of_a_compaction_loses_nothing(tmp_path: Path, point: str) -> None:
    folder = tmp_path / "vault"
    done = subprocess.run(
        [sys.executable, "-c", KILLED, point, str(folder), FILE_ENGINE],
        cwd=REPO,
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "PYTHONPATH": str(REPO)},
        check=False,
    )
    assert done.returncode == -signal.SIGKILL, done.stderr
    store = opened(folder)
    assert store.view().seq == int(done.stdout)
    assert set(store.view().passages(["psg:900"], EVERYTHING)) == {"psg:900"}
    healed = list(store.dump())
    store.rebuild()
    assert list(store.dump()) == healed
    assert graph_files(folder) <= {FILE, f"{FILE}.wal"}
    store.close()


# Passages stored before the measured compaction: its build then takes some seconds.
STORED = 6_000
# A write during compaction may take so many times the median of a quiet one: two cores are shared
# by reader, writer and the building child.
SLOWER = 20.0


@pytest.mark.slow
def test_reads_and_writes_go_on_during_a_compaction(tmp_path: Path) -> None:
    store = opened(tmp_path)
    put_notes(store)
    for first in range(0, STORED, 500):
        put(store, first, 500)
    pinned = store.view()
    seen = pinned.passage_count(EVERYTHING)
    number = STORED
    quiet = []
    for _ in range(100):
        quiet.append(timed_put(store, number))
        number += 1
    long_log = log_size(tmp_path)
    reads: list[float] = []
    stop = threading.Event()
    reader = threading.Thread(target=keep_reading, args=(store, reads, stop))
    folded: list[bool] = []
    folding = threading.Thread(target=lambda: folded.append(store.compact()))
    reader.start()
    folding.start()
    busy = []
    while folding.is_alive():
        busy.append(timed_put(store, number))
        number += 1
    stop.set()
    folding.join()
    reader.join()
    median, p95 = statistics.median(quiet), float(np.quantile(busy, 0.95))
    print(
        f"\n{FILE_ENGINE}: {len(busy)} writes and {len(reads)} reads during a compaction of "
        f"{STORED} passages; writes p95 {p95 * 1e3:.1f} ms, worst {max(busy) * 1e3:.0f} ms, "
        f"quiet median {median * 1e3:.1f} ms: {p95 / median:.1f} times; "
        f"log {long_log} to {log_size(tmp_path)} bytes"
    )
    assert folded == [True]
    assert len(busy) > 5 and len(reads) > 5
    assert p95 <= SLOWER * median
    assert store.view().passage_count(EVERYTHING) == number
    assert pinned.passage_count(EVERYTHING) == seen
    assert log_size(tmp_path) < long_log / 5
    store.close()


def log_size(folder: Path) -> int:
    return (folder / f"{FILE}.wal").stat().st_size


def timed_put(store: VaultStore, number: int) -> float:
    begun = time.perf_counter()
    put(store, number, 1)
    return time.perf_counter() - begun


def keep_reading(store: VaultStore, took: list[float], stop: threading.Event) -> None:
    while not stop.is_set():
        begun = time.perf_counter()
        assert store.view().passages(["psg:0"], EVERYTHING)
        took.append(time.perf_counter() - begun)
        time.sleep(0.01)
