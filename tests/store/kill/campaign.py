"""Kills the writer of one vault again and again and checks the vault after each kill."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from graphmem.model.scope import EVERYTHING
from graphmem.store import open_store
from graphmem.store.journal import Journal
from tests.store.engines import FILE_ENGINE
from tests.store.kill.batches import make, passage_id, purged
from tests.store.kill.plan import SMALL_LOG_BYTES, Kill, plan

REPO = Path(__file__).parents[3]
# Engines whose vaults are killed, by their name in vault.json.
ENGINES = (FILE_ENGINE,)
# Kills that one vault goes through.
KILLS_PER_VAULT = 26
# A writer that says nothing for so long hangs, in seconds.
HANG_S = 120.0
# More batches than a vault takes before it is left.
BATCHES = 600


@dataclass(slots=True)
class Tally:
    """What happened in numbers."""

    kills: Counter[str] = field(default_factory=Counter)
    acknowledged: int = 0
    unacknowledged_kept: int = 0
    survived: int = 0
    rebuilt: int = 0
    rows: int = 0

    def add(self, other: Tally) -> None:
        """Takes the numbers of another vault in."""
        self.kills += other.kills
        self.acknowledged += other.acknowledged
        self.unacknowledged_kept += other.unacknowledged_kept
        self.survived += other.survived
        self.rebuilt += other.rebuilt
        self.rows += other.rows

    def __str__(self) -> str:
        each = ", ".join(f"{count} {name}" for name, count in sorted(self.kills.items()))
        return (
            f"killed {self.kills.total()} times: {each}; {self.acknowledged} batches "
            f"acknowledged, 0 lost, {self.unacknowledged_kept} stored whole without "
            f"acknowledgement, 0 partial, {self.rows} journal rows replayed alike, "
            f"{self.rebuilt} times a graph was found damaged and built anew"
        )


class Process:
    """One writer; it has imported everything and waits for its order."""

    def __init__(self) -> None:
        self._child = subprocess.Popen(
            [sys.executable, "-m", "tests.store.kill.writer"],
            cwd=REPO,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": str(REPO)},
        )
        assert self._child.stdin is not None and self._child.stdout is not None
        self._orders, self._said = self._child.stdin, self._child.stdout
        self.number = 0  # the last batch that was acknowledged

    def run(self, order: dict[str, object], kill: Kill) -> int:
        """Gives the order, kills as told, and returns the exit code."""
        guard = threading.Timer(HANG_S, self._child.kill)
        guard.start()
        try:
            with self._orders, self._said:
                json.dump(order, self._orders)
                self._orders.write("\n")
                self._orders.flush()
                if not kill.point and self._wait_for(kill):
                    time.sleep(kill.seconds)
                    os.kill(self._child.pid, signal.SIGKILL)
                for line in self._said:
                    self._hear(line)
            return self._child.wait(HANG_S)
        finally:
            assert guard.is_alive(), "the writer hangs"
            guard.cancel()

    def _wait_for(self, kill: Kill) -> bool:
        word = {"open": "opening", "write": "open", "close": "closing"}[kill.phase]
        left = kill.after
        begun = False
        for line in self._said:
            self._hear(line)
            begun = begun or line.strip() == word
            if begun:
                if left == 0:
                    return True
                left -= 1
        return False

    def _hear(self, line: str) -> None:
        if line.endswith("\n") and line[0].isdigit():
            self.number = int(line.split(maxsplit=1)[0])

    def end(self) -> None:
        """Ends a writer that got no order."""
        self._child.kill()
        self._child.communicate()


class Campaign:
    """One vault that is carried from kill to kill without being healed in between.

    Without ``removing`` no node of the graph is ever removed, so that its log is replayed at each
    open; with it, most opens build the graph anew.

    The checks run on copies of it: one is opened, which heals it, and one has only its journal.
    """

    def __init__(self, folder: Path, engine: str, seed: int, *, removing: bool = True) -> None:
        self._folder, self._engine = folder, engine
        folder.mkdir(parents=True)
        self._batches = make(seed, BATCHES, removing=removing)
        self._batches.save(folder / "batches")
        self._vault = folder / "vault"
        self._present = 0
        self.tally = Tally()

    def run(self, kills: Sequence[Kill]) -> Tally:
        """Carries out the kills; an AssertionError says what was lost or is half there."""
        following = Process()
        try:
            for kill in kills:
                process, following = following, Process()
                self._kill(process, kill)
        finally:
            following.end()
        return self.tally

    def _kill(self, process: Process, kill: Kill) -> None:
        code = process.run(self._order(kill), kill)
        assert code in (0, -signal.SIGKILL), f"the writer ended with {code} at {kill}"
        if code:
            self.tally.kills[kill.name] += 1
        else:
            self.tally.survived += 1
        acknowledged = max(self._present, process.number)
        self.tally.acknowledged += max(0, process.number - self._present)
        if not (self._vault / "vault.json").exists():
            assert not acknowledged
            return
        with self._copies() as (healed, replayed):
            present, dump = self._check_healed(healed, kill)
            assert acknowledged <= present <= acknowledged + 1, f"{kill}: {acknowledged}, {present}"
            _take_journal(healed, replayed)
            assert dump == _dump(replayed), f"{kill}: the vault is not its replay"
        self.tally.unacknowledged_kept += present - acknowledged
        self._present = present

    def _order(self, kill: Kill) -> dict[str, object]:
        return {
            "folder": str(self._vault),
            "batches": str(self._folder / "batches"),
            "engine": self._engine,
            "first": self._present + 1,
            "count": kill.count,
            "phase": kill.phase,
            "point": kill.point,
            "nth": kill.nth,
            "log_bytes": SMALL_LOG_BYTES if kill.phase == "close" else None,
        }

    @contextmanager
    def _copies(self) -> Iterator[tuple[Path, Path]]:
        healed, replayed = self._folder / "healed", self._folder / "replayed"
        shutil.copytree(self._vault, healed)
        yield healed, replayed
        shutil.rmtree(healed)
        shutil.rmtree(replayed)

    def _check_healed(self, vault: Path, kill: Kill) -> tuple[int, list[str]]:
        """Opens the vault; the batches it holds, all of them whole and visible, and its dump."""
        store = open_store(vault)
        try:
            status = store.status()
            view = store.view()
            assert status.seq == status.graph_seq == status.index_seq == view.seq, kill
            rows = self._told_in(vault)
            self.tally.rows += status.seq
            self.tally.rebuilt += bool(store.troubles())
            asked = {passage_id(n): n for n in range(1, rows + 3)}
            shown = {asked[key] for key in view.passages(list(asked), EVERYTHING)}
            assert shown == set(range(1, rows + 1)) - purged(rows), kill
            return rows, list(store.dump())
        finally:
            store.close()

    def _told_in(self, vault: Path) -> int:
        """How many batches the journal holds, each compared with what was told."""
        journal = Journal.open(vault / "journal.sqlite", os.urandom)
        try:
            assert journal.verify() is None
            stored = list(journal.batches())
        finally:
            journal.close()
        erased = self._erased(len(stored))
        for number, rows in enumerate(stored, 1):
            told = self._batches.told[number - 1]
            assert len(rows) == len(told), f"batch {number} is partial"
            for row, operation in zip(rows, told, strict=True):
                expected = None if row.seq in erased else operation
                assert row.operation == expected, f"row {row.seq} is not what was told"
        return len(stored)

    def _erased(self, numbers: int) -> set[int]:
        return {self._batches.first_seq(number) + 1 for number in purged(numbers)}


def _take_journal(vault: Path, fresh: Path) -> None:
    """A folder with nothing but what a replay from zero needs; the vault must be closed."""
    fresh.mkdir()
    for name in ("vault.json", "journal.sqlite"):
        shutil.copy(vault / name, fresh / name)
    assert not (vault / "journal.sqlite-wal").exists()


def _dump(vault: Path) -> list[str]:
    store = open_store(vault)
    try:
        return list(store.dump())
    finally:
        store.close()


def campaigns(folder: Path, engine: str, kills: int, seed: int) -> Iterator[Tally]:
    """The numbers of each of some vaults that share the kills; every other one removes nodes."""
    vaults = max(1, round(kills / KILLS_PER_VAULT))
    for number in range(vaults):
        campaign = Campaign(
            folder / f"{engine}{number}", engine, seed + number, removing=number % 2 == 1
        )
        yield campaign.run(plan(-(-kills // vaults), seed + number))
