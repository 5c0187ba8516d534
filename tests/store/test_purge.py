"""A purge erases: no file of the vault holds the words any more, and the chain still verifies."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from graphmem.embed import EmbedderIdentity
from graphmem.errors import InvalidInputError
from graphmem.model.operations import Purge, PutPassage
from graphmem.model.scope import EVERYTHING
from graphmem.store import VaultStore, open_store
from tests.store.conftest import ticking
from tests.store.engines import FILE_ENGINE
from tests.store.test_interrupted import Interruption
from tests.store.told import ACTOR, matching, passage, put_notes

SECRET = "hunter2xyzzy"


def told(path: Path, engine: str, fault: Interruption) -> tuple[VaultStore, int]:
    store = open_store(path, create=True, graph=engine, clock=ticking(), fault=fault)
    put_notes(store, "pump one")
    done = store.writer.commit([PutPassage(after=passage(7, f"the {SECRET} word"))], actor=ACTOR)
    store.bind_embedder(EmbedderIdentity(name="tiny", dimension=2, canary="c"))
    pending = store.vector_writer.pending(9)
    rows = np.eye(2, dtype=np.float32)[[0] * len(pending)]
    store.vector_writer.store([key for key, _ in pending], rows)
    return store, done.first_seq


def holders(path: Path) -> list[str]:
    """The files in which the secret stands."""
    files = [file for file in path.iterdir() if file.is_file()]
    return sorted(file.name for file in files if SECRET.encode() in file.read_bytes())


@pytest.mark.parametrize("engine", [FILE_ENGINE, "memory"])
def test_what_is_purged_is_in_no_file_and_no_answer(tmp_path: Path, engine: str) -> None:
    store, seq = told(tmp_path, engine, Interruption("never", OSError))
    assert "journal.sqlite-wal" in holders(tmp_path) or "journal.sqlite" in holders(tmp_path)
    store.writer.commit([Purge(seqs=(seq,))], actor=ACTOR)
    assert holders(tmp_path) == []
    assert not store.view().passages(["psg:7"], EVERYTHING)
    assert not store.view().lexical(matching(SECRET), 9, EVERYTHING)
    assert store.status().vectors == 1
    grown = list(store.dump())
    store.rebuild()
    assert list(store.dump()) == grown
    store.close()
    assert holders(tmp_path) == []


@pytest.mark.parametrize("error", [OSError, KeyboardInterrupt])
def test_an_interrupted_purge_is_finished(tmp_path: Path, error: type[BaseException]) -> None:
    fault = Interruption("after_journal", error)
    store, seq = told(tmp_path, FILE_ENGINE, fault)
    fault.armed = True
    try:
        store.writer.commit([Purge(seqs=(seq,))], actor=ACTOR)
    except KeyboardInterrupt:
        store.close()
        store = open_store(tmp_path, clock=ticking())
    assert holders(tmp_path) == []
    assert not store.view().passages(["psg:7"], EVERYTHING)
    store.close()


def test_a_purge_of_unknown_rows_changes_nothing(tmp_path: Path) -> None:
    store, seq = told(tmp_path, "memory", Interruption("never", OSError))
    with pytest.raises(InvalidInputError):
        store.writer.commit([Purge(seqs=(seq, 99))], actor=ACTOR)
    assert store.view().passages(["psg:7"], EVERYTHING)
    store.close()
