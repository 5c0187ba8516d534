"""Lost, damaged, foreign and unreadable files: healed from the journal, or told what to do."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from random import Random

import apsw
import numpy as np
import pytest

from graphmem.embed import EmbedderIdentity
from graphmem.errors import VaultError
from graphmem.model.operations import PutPassage
from graphmem.model.scope import EVERYTHING
from graphmem.store import VaultStore, open_store
from graphmem.store.graph.engines import ENGINES
from tests.store.conftest import ticking
from tests.store.engines import FILE_ENGINE
from tests.store.told import ACTOR, passage, put_notes, tell

REPO = Path(__file__).parents[2]


def made(path: Path) -> list[str]:
    """A vault with a history; gives its exact dump."""
    store = open_store(path, create=True, graph=FILE_ENGINE, clock=ticking())
    tell(store, 11, 40)
    told = list(store.dump())
    store.close()
    return told


def dumped(store: VaultStore) -> list[str]:
    told = list(store.dump())
    store.close()
    return told


def overwrite(path: Path, start: int, data: bytes) -> None:
    with path.open("r+b") as file:
        file.seek(start)
        file.write(data)


def cut(path: Path) -> None:
    with path.open("r+b") as file:
        file.truncate(path.stat().st_size // 2)


def scramble(path: Path) -> None:
    """Noise over the second half of every page: sound header, damaged content."""
    noise = Random(3)
    for start in range(4096, path.stat().st_size - 2048, 4096):
        overwrite(path, start + 2048, noise.randbytes(2048))


DAMAGE: dict[str, Callable[[Path], object]] = {
    "lost": Path.unlink,
    "empty": lambda path: path.write_bytes(b""),
    "noise": lambda path: path.write_bytes(Random(1).randbytes(50_000)),
    "header": lambda path: overwrite(path, 0, b"x" * 64),
    "half": cut,
    "scrambled": scramble,
}


@pytest.mark.parametrize("damage", DAMAGE)
@pytest.mark.parametrize("name", ["index.sqlite", ENGINES[FILE_ENGINE].file])
def test_a_damaged_projection_is_made_again_at_open(tmp_path: Path, name: str, damage: str) -> None:
    told = made(tmp_path)
    DAMAGE[damage](tmp_path / name)
    assert dumped(open_store(tmp_path, clock=ticking())) == told


def test_an_index_of_another_version_is_made_again_and_keeps_its_vectors(tmp_path: Path) -> None:
    store = open_store(tmp_path, create=True, graph="memory", clock=ticking())
    put_notes(store, "pump")
    store.bind_embedder(EmbedderIdentity(name="tiny", dimension=2, canary="c"))
    [(key, _)] = store.vector_writer.pending(9)
    store.vector_writer.store([key], np.eye(2, dtype=np.float32)[:1])
    told = dumped(store)
    with apsw.Connection(str(tmp_path / "index.sqlite")) as db:
        db.execute("DROP TABLE part")
        db.execute("CREATE TABLE part(id TEXT, other_column TEXT)")
        db.execute("UPDATE meta SET value = '0.0' WHERE key = 'version'")
    db.close()
    again = open_store(tmp_path, clock=ticking())
    assert again.status().vectors_pending == 0
    assert dumped(again) == told


def test_an_open_that_failed_leaves_nothing_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = made(tmp_path)

    def failing(*_: object) -> None:
        raise OSError("no space left")

    with monkeypatch.context() as patched:
        patched.setattr("graphmem.store.vault.replay", failing)
        with pytest.raises(OSError, match="space"):
            open_store(tmp_path)
    assert dumped(open_store(tmp_path, clock=ticking())) == told


def test_a_folder_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    made(tmp_path)
    (tmp_path / "lock").unlink()
    (tmp_path / "lock").mkdir()
    with pytest.raises(VaultError, match="cannot write"):
        open_store(tmp_path)


def test_a_vault_cannot_be_made_where_a_file_is(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("x")
    with pytest.raises(VaultError, match="cannot make a vault"):
        open_store(tmp_path / "notes.txt", create=True, graph=FILE_ENGINE)


WRITER = """
import sys
from pathlib import Path
from graphmem.model.operations import PutPassage
from graphmem.store import open_store
from tests.store.told import passage, put_notes
folder = Path(sys.argv[1])
store = open_store(folder, create=True, graph=sys.argv[2])
head = store.view().seq
if not head:
    put_notes(store)
    head = 1
print(head, flush=True)
for _ in range(10_000):
    numbers = range(head, head + 3)
    told = [PutPassage(after=passage(n, f"pump {n}")) for n in numbers]
    head = store.writer.commit(told, actor="t").last_seq
    print(head, flush=True)
"""
KILLS = 12


@pytest.mark.slow
def test_a_writer_killed_again_and_again_loses_nothing_it_acknowledged(tmp_path: Path) -> None:
    chance = Random(20261)
    folder = tmp_path / "vault"
    for _ in range(KILLS):
        child = subprocess.Popen(
            [sys.executable, "-c", WRITER, str(folder), FILE_ENGINE],
            cwd=REPO,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": str(REPO)},
        )
        assert child.stdout is not None
        with child.stdout as told:
            acknowledged = [int(told.readline()) for _ in range(chance.randrange(2, 12))][-1]
            time.sleep(chance.random() * 0.02)
            os.kill(child.pid, signal.SIGKILL)
            rest = [int(line) for line in told if line.endswith("\n")]
        child.wait(30)
        acknowledged = max([acknowledged, *rest])
        store = open_store(folder, clock=ticking())
        view = store.view()
        assert acknowledged <= view.seq <= acknowledged + 3
        assert view.passage_count(EVERYTHING) == view.seq - 1
        assert (view.seq - 1) % 3 == 0
        assert view.adjacency(EVERYTHING).node_count == view.seq - 1
        grown = list(store.dump())
        store.rebuild()
        assert list(store.dump()) == grown
        store.writer.commit(
            [PutPassage(after=passage(view.seq + i, "pump")) for i in range(3)], actor=ACTOR
        )
        store.close()
