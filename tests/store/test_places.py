"""Vaults that are copied, moved, synced, opened by many at once, or told by a clock that jumps."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random

import pytest

from graphmem.errors import JournalDamagedError, VaultError, VaultLockedError
from graphmem.memory import Memory
from graphmem.model.operations import PutPassage
from graphmem.model.scope import EVERYTHING
from graphmem.settings import Settings
from graphmem.store import open_store
from graphmem.store.journal import Journal
from tests.store.conftest import ticking
from tests.store.kill.batches import ACTOR, key_of, make
from tests.store.told import passage, put_notes

REPO = Path(__file__).parents[2]
COPIES = 8


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def dumped(path: Path) -> list[str]:
    store = open_store(path, clock=ticking())
    try:
        return list(store.dump())
    finally:
        store.close()


@pytest.mark.parametrize("engine", ["kuzu", "memory"])
def test_opening_a_healthy_vault_writes_nothing_to_its_files(tmp_path: Path, engine: str) -> None:
    store = open_store(tmp_path, create=True, graph=engine, clock=ticking())
    put_notes(store, "pump one", "pump two")
    store.close()
    open_store(tmp_path).close()
    before = contents(tmp_path)
    store = open_store(tmp_path)
    assert store.view().counts(EVERYTHING)["passage"] == 2
    store.close()
    assert contents(tmp_path) == before


def test_a_copy_of_a_closed_vault_is_a_vault_of_its_own(tmp_path: Path) -> None:
    store = open_store(tmp_path / "one", create=True, clock=ticking())
    put_notes(store, "pump one")
    store.close()
    before = contents(tmp_path / "one")
    shutil.copytree(tmp_path / "one", tmp_path / "two")
    first, second = (open_store(tmp_path / name, clock=ticking()) for name in ("one", "two"))
    second.writer.commit([PutPassage(after=passage(7, "pump two"))], actor=ACTOR)
    assert "psg:7" not in first.view().passages(["psg:7"], EVERYTHING)
    first.close()
    second.close()
    kept = ("journal.sqlite", "graph.kuzu", "index.sqlite", "vault.json")
    assert all(contents(tmp_path / "one")[name] == before[name] for name in kept)


@pytest.mark.slow
@pytest.mark.parametrize("removing", [False, True])
def test_a_copy_made_while_a_writer_runs_is_a_beginning_of_what_it_was_told(
    tmp_path: Path, removing: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    batches, chance = make(11, 400, removing=removing), Random(4)
    batches.save(tmp_path / "batches")
    child = subprocess.Popen(
        [sys.executable, "-c", WRITER, str(tmp_path / "vault"), str(tmp_path / "batches")],
        cwd=REPO,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(REPO)},
    )
    assert child.stdout is not None
    child.stdout.readline()
    copies = []
    for number in range(COPIES):
        time.sleep(chance.random() * 0.2)
        _copy_as_cp(tmp_path / "vault", tmp_path / f"copy{number}")
        copies.append(tmp_path / f"copy{number}")
    running = child.poll() is None
    child.kill()
    acknowledged = max(int(line) for line in child.communicate()[0].split())
    outcomes = [_opened(copy, batches.told) for copy in copies]
    with capsys.disabled():
        print(f"\ncopied {COPIES} times while written: opened with {outcomes} of {acknowledged}")
    assert running
    assert [each for each in outcomes if isinstance(each, int)]
    store = open_store(tmp_path / "vault")
    assert store.status().seq >= batches.first_seq(acknowledged + 1) - 1
    store.close()


WRITER = """
import sys
from pathlib import Path
from graphmem.store import open_store
from tests.store.kill.batches import ACTOR, Batches
batches = Batches.load(Path(sys.argv[2]))
store = open_store(Path(sys.argv[1]), create=True)
for number, batch in enumerate(batches.told, 1):
    store.writer.commit(batch, actor=ACTOR)
    print(number, flush=True)
"""


def _copy_as_cp(vault: Path, copy: Path) -> None:
    """File by file, as cp -r does it; a file that is gone meanwhile is left out."""
    copy.mkdir()
    for path in vault.iterdir():
        try:
            shutil.copy(path, copy / path.name)
        except FileNotFoundError:
            continue


def _opened(copy: Path, told: tuple[tuple[object, ...], ...]) -> int | str:
    """How many batches a copy holds, all of them whole; or the clear error it gives."""
    try:
        store = open_store(copy)
    except JournalDamagedError:
        return "damaged"
    grown = list(store.dump())
    store.rebuild()
    assert list(store.dump()) == grown
    store.close()
    journal = Journal.open(copy / "journal.sqlite", os.urandom)
    assert journal.verify() is None
    stored = list(journal.batches())
    journal.close()
    assert [len(batch) for batch in stored] == [len(batch) for batch in told[: len(stored)]]
    return len(stored)


def test_a_journal_a_sync_program_renamed_is_not_taken_for_an_empty_one(tmp_path: Path) -> None:
    store = open_store(tmp_path, create=True, clock=ticking())
    put_notes(store, "pump one")
    store.close()
    told = dumped(tmp_path)
    other = tmp_path / "journal (conflicted copy).sqlite"
    (tmp_path / "journal.sqlite").rename(other)
    before = contents(tmp_path)
    with pytest.raises(VaultError, match=r"conflicted copy.*put it back"):
        open_store(tmp_path)
    assert {k: v for k, v in contents(tmp_path).items() if k != "owner.json"} == before
    shutil.copy(other, tmp_path / "journal.sqlite")
    store = open_store(tmp_path, clock=ticking())
    assert any("conflicted copy" in warning for warning in store.status().warnings)
    store.close()
    assert dumped(tmp_path) == told


def test_a_deleted_lock_file_lets_nobody_else_in(tmp_path: Path) -> None:
    store = open_store(tmp_path, create=True, clock=ticking())
    put_notes(store, "pump one")
    (tmp_path / "lock").unlink()
    said = _open_elsewhere(tmp_path)
    assert said.startswith(VaultLockedError.__name__) and str(os.getpid()) in said
    store.writer.commit([PutPassage(after=passage(7, "pump two"))], actor=ACTOR)
    store.close()
    assert _open_elsewhere(tmp_path) == "3"


def _open_elsewhere(vault: Path) -> str:
    script = (
        "import sys\nfrom pathlib import Path\nfrom graphmem.errors import GraphmemError\n"
        "from graphmem.store import open_store\n"
        "try:\n    store = open_store(Path(sys.argv[1]))\n    print(store.view().seq)\n"
        "    store.close()\n"
        "except GraphmemError as error:\n    print(type(error).__name__, error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(vault)],
        cwd=REPO,
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "PYTHONPATH": str(REPO)},
        check=True,
    )
    return done.stdout.strip()


@pytest.mark.parametrize("engine", ["kuzu", "memory"])
def test_a_vault_moved_while_open_is_said_and_goes_on_where_it_is(
    tmp_path: Path, engine: str
) -> None:
    store = open_store(tmp_path / "here", create=True, graph=engine, clock=ticking())
    put_notes(store, "pump one")
    (tmp_path / "here").rename(tmp_path / "there")
    with pytest.raises(VaultError, match="moved, replaced or deleted"):
        store.writer.commit([PutPassage(after=passage(7, "pump two"))], actor=ACTOR)
    assert _open_elsewhere(tmp_path / "there").startswith(VaultLockedError.__name__)
    store.close()
    again = open_store(tmp_path / "there", clock=ticking())
    assert again.view().seq == 2
    again.writer.commit([PutPassage(after=passage(7, "pump two"))], actor=ACTOR)
    again.close()


def test_a_journal_replaced_while_open_takes_no_more_writes(tmp_path: Path) -> None:
    store = open_store(tmp_path, create=True, clock=ticking())
    put_notes(store, "pump one")
    shutil.copy(tmp_path / "journal.sqlite", tmp_path / "fresh")
    os.replace(tmp_path / "fresh", tmp_path / "journal.sqlite")
    with pytest.raises(VaultError, match="nothing was written"):
        store.writer.commit([PutPassage(after=passage(7, "pump two"))], actor=ACTOR)
    store.close()


def jumping(seed: int) -> Callable[[], datetime]:
    """A clock that goes back by hours again and again."""
    chance, start = Random(seed), datetime(2026, 3, 1, tzinfo=UTC)
    return lambda: start + timedelta(hours=chance.uniform(-48, 48))


@pytest.mark.parametrize("engine", ["kuzu", "memory"])
def test_a_clock_that_goes_backwards_changes_no_order(tmp_path: Path, engine: str) -> None:
    batches = make(9, 40)
    for part in range(4):  # a fresh clock at each open, none of them in order
        store = open_store(tmp_path, create=True, graph=engine, clock=jumping(part))
        for number in range(part * 10 + 1, part * 10 + 11):
            done = store.writer.commit(batches.told[number - 1], actor=ACTOR, key=key_of(number))
            assert done.first_seq == batches.first_seq(number)
        grown = list(store.dump())
        store.rebuild()
        assert list(store.dump()) == grown
        store.close()
    journal = Journal.open(tmp_path / "journal.sqlite", os.urandom)
    times = [row.at for row in journal.rows()]
    assert journal.verify() is None
    assert times != sorted(times)
    assert [tuple(r.operation for r in b) for b in journal.batches()][-1] == batches.told[39]
    journal.close()


def test_notes_told_under_a_clock_that_goes_backwards_are_all_found(tmp_path: Path) -> None:
    settings = Settings(embedder="none", engine="memory")
    for part in range(3):
        with Memory(tmp_path, settings, clock=jumping(part)) as memory:
            for number in range(3):
                memory.remember(f"Orion{part}{number} moved to Berlin because rent rose.")
                assert memory.search(f"Orion{part}{number}").hits
            assert memory.status().counts["passage"] == 3 * (part + 1)


RACER = """
import sys
import graphmem
from graphmem.settings import Settings
name, vault = sys.argv[1:]
print("ready", flush=True)
sys.stdin.readline()
settings = Settings(embedder="none", idle_exit="5s")
with graphmem.open(vault, mode="client", settings=settings) as memory:
    for number in range(3):
        memory.remember(f"Racer {name} wrote line {number}.", key=f"{name}-{number}")
print("done", flush=True)
"""


@pytest.mark.slow
def test_three_processes_that_make_one_vault_at_once_all_write(tmp_path: Path) -> None:
    racers = [
        subprocess.Popen(
            [sys.executable, "-c", RACER, name, str(tmp_path / "vault")],
            cwd=REPO,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": str(REPO)},
        )
        for name in "abc"
    ]
    for racer in racers:
        assert racer.stdout is not None and racer.stdout.readline() == "ready\n"
    for racer in racers:
        assert racer.stdin is not None
        racer.stdin.write("go\n")
        racer.stdin.flush()
    said = [racer.communicate(timeout=200) for racer in racers]
    assert [out for out, _ in said] == ["done\n"] * 3, said
    settings = Settings(embedder="none")
    with _patient(tmp_path / "vault", settings) as memory:
        assert memory.status().counts["passage"] == 9
        for name in "abc":
            for number in range(3):
                text = f"Racer {name} wrote line {number}."
                assert any(text in hit.text for hit in memory.search(text, limit=20).hits)


def _patient(vault: Path, settings: Settings) -> Memory:
    """The vault once its owner has left."""
    deadline = time.monotonic() + 60
    while True:
        try:
            return Memory(vault, settings)
        except VaultLockedError:
            assert time.monotonic() < deadline
        time.sleep(0.2)
