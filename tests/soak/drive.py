"""Runs the soak and counts: errors, lost and doubled writes, memory of the owner, latencies."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median, quantiles

import psutil

import graphmem
from graphmem.serve.runtime import read_holder
from graphmem.serve.start import find_owner
from graphmem.settings import Settings
from tests.conftest import REPO
from tests.soak.plan import CREW, Event, Kind, Phases, environment, events_of, note
from tests.soak.workers import SEED

# Processes get this long to start before the first phase, in seconds.
START_S = 15.0
# The first reads load what later ones use; they count for errors, not for latency, in seconds.
WARM_S = 5.0
# Seconds around a moment over which the owner's memory is taken.
MEMORY_WINDOW_S = 10.0
# How much longer than planned the processes may take before they count as hanging, in seconds.
HANG_S = 120.0
_NUMBER = re.compile(r"Checkpoint ([a-z]+-\d+(?:-\d+)?) was taken")


@dataclass(frozen=True, slots=True)
class Soak:
    """What a soak found; memory in MiB, latencies in milliseconds."""

    processes: int
    seconds: float
    actions: int
    writes: int
    errors: tuple[str, ...]
    lost: tuple[str, ...]
    doubled: tuple[str, ...]
    unasked: tuple[str, ...]
    owners: int
    rss_early: float
    rss_late: float
    quiet_p95: float
    mixed_p95: float

    def lines(self) -> Iterable[str]:
        """The figures for people."""
        yield f"soak: {self.processes} processes, {self.seconds:.0f} s of reads and writes"
        yield f"  actions {self.actions}, writes {self.writes}, errors {len(self.errors)}"
        yield f"  lost {len(self.lost)}, doubled {len(self.doubled)}, owners {self.owners}"
        yield f"  owner's memory {self.rss_early:.0f} -> {self.rss_late:.0f} MiB " + (
            f"({self.rss_late / self.rss_early:.2f} times)"
        )
        yield (
            f"  reads p95 {self.quiet_p95:.0f} ms alone, {self.mixed_p95:.0f} ms beside writes "
            + (f"({self.mixed_p95 / self.quiet_p95:.2f} times)")
        )


class _Memory(threading.Thread):
    """Samples the resident size of the vault's owner once a second."""

    def __init__(self, vault: Path) -> None:
        super().__init__(daemon=True)
        self._vault, self._over = vault, threading.Event()
        self.samples: list[tuple[float, float]] = []
        self.pids: set[int] = set()

    def run(self) -> None:
        """Samples until it is told to stop."""
        while not self._over.wait(1.0):
            holder = read_holder(self._vault)
            if holder is None:
                continue
            try:
                size = psutil.Process(holder.pid).memory_info().rss
            except psutil.NoSuchProcess:
                continue
            self.pids.add(holder.pid)
            self.samples.append((time.time(), size / 2**20))

    def at(self, moment: float) -> float:
        """The size around a moment, in MiB."""
        near = [size for at, size in self.samples if abs(at - moment) <= MEMORY_WINDOW_S / 2]
        return median(near)

    def stop(self) -> None:
        """Takes no more samples."""
        self._over.set()
        self.join()


def soak(
    folder: Path,
    settings: Settings,
    *,
    quiet_s: float,
    mixed_s: float,
    crew: Sequence[Kind] = CREW,
) -> Soak:
    """Lets the crew work on a fresh vault in ``folder`` and counts what came of it."""
    vault = folder / "vault"
    _seed(vault, settings)
    phases = Phases.of(time.time() + START_S, quiet_s, mixed_s)
    memory = _Memory(vault)
    memory.start()
    events = _work(folder, vault, settings, phases, crew)
    memory.stop()
    _end(vault)
    stored = _stored(vault, settings)
    return _counted(events, stored, memory, phases)


def _seed(vault: Path, settings: Settings) -> None:
    text, fact = note(SEED)
    with graphmem.open(vault, mode="client", settings=settings) as memory:
        memory.remember(text, facts=[fact])


def _work(
    folder: Path, vault: Path, settings: Settings, phases: Phases, crew: Sequence[Kind]
) -> list[Event]:
    moments = json.dumps([phases.begin, phases.mixed_from, phases.mixed_until, phases.end])
    running, files = [], []
    for number, kind in enumerate(crew):
        name = f"{kind}-{number}"
        files.append(folder / f"{name}.jsonl")
        words = ["-m", "tests.soak.workers", kind, name, str(vault), moments]
        with files[-1].open("w") as out, (folder / f"{name}.err").open("w") as errors:
            running.append(
                subprocess.Popen(
                    [sys.executable, *words],
                    stdout=out,
                    stderr=errors,
                    cwd=REPO,
                    env=environment(settings),
                )
            )
    left = phases.end - time.time() + HANG_S
    deadline = time.monotonic() + left
    events: list[Event] = []
    for process, file in zip(running, files, strict=True):
        process.wait(timeout=max(1.0, deadline - time.monotonic()))
        events += events_of(file)
        if process.returncode:
            said = file.with_suffix(".err").read_text()[-500:]
            raise AssertionError(f"{file.stem} ended with {process.returncode}: {said}")
    return events


def _end(vault: Path) -> None:
    """Ends the owner as a user would."""
    if find_owner(vault) is not None:
        words = [sys.executable, "-m", "graphmem", "serve", "--stop", "--vault", str(vault)]
        subprocess.run(words, check=True, capture_output=True)


def _stored(vault: Path, settings: Settings) -> Counter[str]:
    """How many passages carry each number."""
    with graphmem.open(vault, mode="embedded", settings=settings) as memory:
        rows = [json.loads(line) for line in memory.dump(content=True)]
    texts = [str(row["passage"]["text"]) for row in rows if row["kind"] == "passage"]
    return Counter(number for text in texts for number in _NUMBER.findall(text))


def _counted(events: list[Event], stored: Counter[str], memory: _Memory, phases: Phases) -> Soak:
    seconds = phases.mixed_until - phases.mixed_from
    told = {event.number for event in events if event.action == "write" and not event.error}
    reads = [e for e in events if e.action == "read" and e.kind in ("mcp", "notebook")]
    mixed = [e.ms for e in reads if phases.writing(e.at)]
    warm_from = phases.begin + WARM_S
    quiet = [e.ms for e in reads if e.at >= warm_from and not phases.writing(e.at)]
    failed = [f"{e.worker} {e.action}: {e.error}" for e in events if e.error]
    return Soak(
        processes=len({event.worker for event in events}),
        seconds=seconds,
        actions=len(events),
        writes=len(told),
        errors=tuple(failed),
        lost=tuple(sorted(told - set(stored))),
        doubled=tuple(sorted(number for number, times in stored.items() if times > 1)),
        unasked=tuple(sorted(set(stored) - told - {SEED})),
        owners=len(memory.pids),
        rss_early=memory.at(phases.mixed_from + seconds / 3),
        rss_late=memory.at(phases.mixed_until - MEMORY_WINDOW_S / 2),
        quiet_p95=quantiles(quiet, n=20)[-1],
        mixed_p95=quantiles(mixed, n=20)[-1],
    )
