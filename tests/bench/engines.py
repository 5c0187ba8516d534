"""The graph engines beside each other: speed, kills in the middle of commits, damaged files.

    python -m tests.bench.engines --nodes 100000 --edges 500000 --json out.json

The graph is made up. Every engine runs in processes of its own; outcomes are of the engine alone,
before graphmem heals it from the journal.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

from graphmem.store.graph.engines import ENGINES, MEMORY
from graphmem.store.graph.files import remove_files
from tests.bench.stats import show_progress, table

REPO = Path(__file__).parents[2]
# A child that takes longer hangs, in seconds.
HANGS_S = 900.0
# Commits in the log of a file that is damaged.
LOGGED = 30
PAGE = 4096

Damage = Callable[[Path, Random], None]


def run(work: str, engine: str, path: Path, *more: str) -> subprocess.CompletedProcess[str]:
    """One piece of work of an engine in a child."""
    return subprocess.run(
        [sys.executable, "-m", "tests.bench.engine_work", work, engine, str(path), *more],
        cwd=REPO,
        env={**os.environ, "PYTHONPATH": str(REPO)},
        capture_output=True,
        text=True,
        timeout=HANGS_S,
        check=False,
    )


def outcome(engine: str, path: Path, acknowledged: int) -> str:
    """What opening and reading everything gives after a kill or damage."""
    done = run("check", engine, path)
    if done.returncode < 0:
        return "aborts"
    if done.returncode > 0:
        return "refuses"
    told = json.loads(done.stdout)
    if not told["right"]:
        return "wrong"
    return "whole" if told["seq"] >= acknowledged else "prefix"


def kill_often(engine: str, folder: Path, kills: int) -> Counter[str]:
    """Outcomes after killing a writer again and again, on one file."""
    chance, path, found = Random(3), folder / "graph", Counter[str]()
    run("prepare", engine, path, "--commits", "1")
    for number in range(kills):
        child = subprocess.Popen(
            [sys.executable, "-m", "tests.bench.engine_work", "write", engine, str(path)],
            cwd=REPO,
            env={**os.environ, "PYTHONPATH": str(REPO)},
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        with child:
            assert child.stdout is not None
            first = child.stdout.readline()
            time.sleep(chance.random() * 0.2)
            child.send_signal(signal.SIGKILL)
            lines = [first, *(line for line in child.stdout if line.endswith("\n"))]
        told = outcome(engine, path, max((int(line) for line in lines if line.strip()), default=0))
        found[told] += 1
        if told != "whole":
            remove_files(path)
            run("prepare", engine, path, "--commits", "1")
        show_progress(f"{engine} kills", number + 1, kills)
    return found


def _flip(path: Path, chance: Random) -> None:
    data = bytearray(path.read_bytes())
    at = chance.randrange(len(data))
    data[at] ^= 1 << chance.randrange(8)
    path.write_bytes(data)


def _cut(path: Path, chance: Random) -> None:
    os.truncate(path, chance.randrange(path.stat().st_size))


def _zero(path: Path, chance: Random) -> None:
    data = bytearray(path.read_bytes())
    at = chance.randrange(max(1, len(data) // PAGE)) * PAGE
    size = min(PAGE, len(data) - at)
    data[at : at + size] = bytes(size)
    path.write_bytes(data)


DAMAGES: dict[str, tuple[str, Damage]] = {
    "log, one bit flipped": (".wal", _flip),
    "log cut off": (".wal", _cut),
    "log, 4 KB zeroed": (".wal", _zero),
    "file, one bit flipped": ("", _flip),
    "file cut off": ("", _cut),
    "file, 4 KB zeroed": ("", _zero),
}


def damage_often(engine: str, folder: Path, times: int) -> dict[str, Counter[str]]:
    """Outcomes per kind of damage, each on a fresh copy of one file with its log."""
    sound = folder / "sound"
    run("prepare", engine, sound, "--commits", str(LOGGED))
    found: dict[str, Counter[str]] = {}
    for kind, (suffix, harm) in DAMAGES.items():
        chance, found[kind] = Random(kind), Counter()
        for number in range(times):
            path = folder / "graph"
            remove_files(path)
            for part in ("", ".wal"):
                shutil.copy(f"{sound}{part}", f"{path}{part}")
            harm(Path(f"{path}{suffix}"), chance)
            found[kind][outcome(engine, path, LOGGED + 1)] += 1
            show_progress(f"{engine}, {kind}", number + 1, times)
    return found


SPEED = (
    ("fresh graph built, s", "build_s", 1.0, ".1f"),
    ("file, MB", "file_bytes", 1e-6, ".1f"),
    ("snapshot for traversal, s", "snapshot_s", 1.0, ".2f"),
    ("commit of 20 nodes and edges, ms", "commit_ms", 1.0, ".1f"),
    ("the same, 95th percentile, ms", "commit_p95_ms", 1.0, ".1f"),
    ("links of 20 statements, ms", "read_ms", 1.0, ".2f"),
    ("log after 198 commits, MB", "log_bytes", 1e-6, ".2f"),
    ("opened with that log, s", "replay_s", 1.0, ".2f"),
)
OUTCOMES = ("whole", "prefix", "refuses", "aborts", "wrong")


def report(found: dict[str, dict[str, Any]]) -> str:
    """The tables of everything that was measured."""
    names = list(found)
    rows = [[label, *(_cell(found[n]["speed"], *how) for n in names)] for label, *how in SPEED]
    parts = [table(["", *(found[n]["speed"]["engine"] for n in names)], rows)]
    harmed = [
        [f"{name}: {kind}", *(str(counts.get(each, 0)) for each in OUTCOMES)]
        for name in names
        for kind, counts in found[name].get("survived", {}).items()
    ]
    if harmed:
        parts.append(table(["", *OUTCOMES], harmed))
    return "\n\n".join(parts)


def _cell(speed: dict[str, Any], key: str, factor: float, form: str) -> str:
    return f"{speed[key] * factor:{form}}" if speed.get(key) else "-"


def bench(engine: str, given: argparse.Namespace) -> dict[str, Any]:
    """Everything about one engine."""
    with tempfile.TemporaryDirectory(prefix="graphmem-engines-") as name:
        folder = Path(name)
        sizes = ("--nodes", str(given.nodes), "--edges", str(given.edges))
        done = run("measure", engine, folder, *sizes)
        if done.returncode != 0:
            raise RuntimeError(f"{engine} could not be measured: {done.stderr[-2000:]}")
        found: dict[str, Any] = {"speed": json.loads(done.stdout)}
        if engine != MEMORY:
            remove_files(folder / "graph")
            survived = {"kill in a commit": kill_often(engine, folder, given.kills)}
            remove_files(folder / "graph")
            survived |= damage_often(engine, folder, given.damages)
            found["survived"] = survived
    return found


def main(arguments: list[str] | None = None) -> int:
    """Prints the tables; returns 2 when an engine that was named is not installed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, help="accepted as by the other benches, not needed")
    parser.add_argument("--json", type=Path, help="write the numbers to this file")
    parser.add_argument("--engines", nargs="+", default=[MEMORY, *ENGINES])
    parser.add_argument("--nodes", type=int, default=100_000)
    parser.add_argument("--edges", type=int, default=500_000)
    parser.add_argument("--kills", type=int, default=30)
    parser.add_argument("--damages", type=int, default=20, help="per kind of damage")
    given = parser.parse_args(arguments)
    for name in given.engines:
        if name != MEMORY and (name not in ENGINES or not ENGINES[name].installed):
            print(f"the engine {name} is not installed", file=sys.stderr)
            return 2
    found = {name: bench(name, given) for name in given.engines}
    print(f"{given.nodes} nodes, {given.edges} edges; outcomes are counts")
    print(report(found))
    if given.json:
        given.json.write_text(f"{json.dumps(found, indent=2)}\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
