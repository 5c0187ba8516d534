"""Vaults to damage, ways to damage their files, and a process that opens what is left of them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

REPO = Path(__file__).parents[2]
PAGE = 4096

# Makes a vault with content in every file, and leaves it by a clean close or by SIGKILL.
MAKER = """
import json, os, signal, sys
from pathlib import Path
from graphmem.store import open_store
from tests.store.conftest import ticking
from tests.store.told import commits, passage, put_notes, tell
from graphmem.errors import InvalidInputError
from graphmem.model.operations import PutPassage
folder, killed, graph = Path(sys.argv[1]), sys.argv[2] == "killed", sys.argv[3]
store = open_store(folder, create=True, graph=graph, clock=ticking())
tell(store, 11, 40)
store.rebuild()
store.close()
store = open_store(folder, clock=ticking())
for n in range(900, 930):
    store.writer.commit([PutPassage(after=passage(n, f"pump {n} leaks"))], actor="t")
rows = [(r.seq, None if r.operation is None else r.operation.model_dump_json())
        for r in store._journal.rows()]
facts = {"dump": list(store.dump()), "rows": rows}
(folder.parent / f"{folder.name}.json").write_text(json.dumps(facts))
if killed:
    os.kill(os.getpid(), signal.SIGKILL)
store.close()
"""

# Opens one folder after the other and tells of each what it found; one line per folder.
OPENER = """
import json, logging, sys, traceback
from pathlib import Path
from graphmem.errors import GraphmemError, VaultReadOnlyError
from graphmem.model.operations import PutPassage
from graphmem.store import open_store
from graphmem.store.compare import index_differences
from tests.store.conftest import ticking
from tests.store.told import passage
logging.disable(logging.CRITICAL)
for line in sys.stdin:
    folder = Path(line.strip())
    told = {"folder": folder.name}
    try:
        store = open_store(folder, clock=ticking())
        told["warnings"] = list(store.status().warnings)
        told["dump"] = list(store.dump())
        if store._journal.damage() is None:
            with store._projections.readers.writing() as db:
                told["differences"] = [d.id for d in index_differences(db, store._journal)]
        told["rows"] = [
            (r.seq, None if r.operation is None else r.operation.model_dump_json())
            for r in store._journal.rows()
        ]
        try:
            store.writer.commit([PutPassage(after=passage(99_999, "new"))], actor="t")
            told["lost"] = None
        except VaultReadOnlyError as error:
            told["lost"], told["message"] = list(error.seqs), str(error)
        store.close()
    except GraphmemError as error:
        told["error"] = f"{type(error).__name__}: {error}"
    except BaseException:
        told["error"] = traceback.format_exc()
    print(json.dumps(told), flush=True)
"""


@dataclass(frozen=True)
class Made:
    """A vault on disk that is copied before it is damaged, and what it holds."""

    folder: Path
    dump: list[str]
    rows: dict[int, str | None]


def _environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(REPO)}


def make(folder: Path, *, killed: bool, graph: str = "kuzu") -> Made:
    """A vault left by a clean close, or by a killed process."""
    how = "killed" if killed else "closed"
    child = subprocess.run(
        [sys.executable, "-c", MAKER, str(folder), how, graph],
        cwd=REPO, env=_environment(), capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert child.returncode == (-9 if killed else 0), child.stderr
    facts = json.loads((folder.parent / f"{folder.name}.json").read_text())
    return Made(folder, facts["dump"], dict(facts["rows"]))


def of_files(dump: list[str]) -> list[str]:
    """The lines of the index: a graph in memory is made of the rows that can be read."""
    return [line for line in dump if "index" in json.loads(line)]


def overwrite(path: Path, start: int, data: bytes) -> None:
    with path.open("r+b") as file:
        file.seek(start)
        file.write(data)


def _flip(place: int, mask: int) -> Callable[[Path], None]:
    def damage(path: Path) -> None:
        old = path.read_bytes()[place]
        overwrite(path, place, bytes([old ^ mask]))

    return damage


def _cut(length: int) -> Callable[[Path], None]:
    return lambda path: os.truncate(path, length)


def _zero(start: int) -> Callable[[Path], None]:
    return lambda path: overwrite(path, start, bytes(min(PAGE, path.stat().st_size - start)))


def damages(path: Path, seed: int, flips: int) -> Iterator[tuple[str, Callable[[Path], None]]]:
    """Truncations, zeroed pages and flipped bits, at places chosen by the seed."""
    chance, size = Random(seed), path.stat().st_size
    for part in (0, 1, size // 4, size // 2, size - PAGE, size - 1):
        if 0 <= part < size:
            yield f"cut to {part}", _cut(part)
    for page in sorted({0, *(chance.randrange(max(1, size // PAGE)) for _ in range(4))}):
        yield f"page {page} zeroed", _zero(page * PAGE)
    for _ in range(flips):
        place, mask = chance.randrange(size), 1 << chance.randrange(8)
        yield f"bit {mask} flipped at {place}", _flip(place, mask)


def opened(made: Made, folder: Path, name: str, seed: int, flips: int) -> list[dict[str, Any]]:
    """Damages copies of a vault and opens them all in one process, which must outlive it."""
    folders = []
    for number, (what, damage) in enumerate(damages(made.folder / name, seed, flips)):
        copy = folder / f"{number}"
        shutil.copytree(made.folder, copy)
        damage(copy / name)
        folders.append((copy, what))
    child = subprocess.run(
        [sys.executable, "-c", OPENER],
        input="".join(f"{copy}\n" for copy, _ in folders),
        cwd=REPO, env=_environment(), capture_output=True, text=True, timeout=500, check=False,
    )  # fmt: skip
    told = [json.loads(line) for line in child.stdout.splitlines()]
    reached = folders[len(told)][1] if len(told) < len(folders) else ""
    assert child.returncode == 0, f"{name}: died ({child.returncode}) at: {reached}\n{child.stderr}"
    for copy, _ in folders:
        shutil.rmtree(copy)
    return [{**each, "what": what} for each, (_, what) in zip(told, folders, strict=True)]
