"""A vault's folder: made, locked, healed from damage, and bound to one embedder."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from graphmem.embed import EmbedderIdentity
from graphmem.errors import (
    EmbedderMismatchError,
    InvalidInputError,
    VaultError,
    VaultFormatError,
    VaultLockedError,
    VaultNotFoundError,
)
from graphmem.model.operations import PutPassage
from graphmem.model.scope import EVERYTHING, Scope
from graphmem.store import VaultStore, open_store
from graphmem.store.lock import VaultLock
from tests.store.conftest import ticking
from tests.store.graph.world import bundle, statement
from tests.store.told import ACTOR, matching, passage, put_notes

HOLDER = """
import sys, time
from pathlib import Path
from graphmem.store.lock import VaultLock
lock = VaultLock(Path(sys.argv[1]))
print("held", flush=True)
sys.stdin.readline()
"""


def test_a_missing_vault_is_not_made_by_accident(tmp_path: Path) -> None:
    with pytest.raises(VaultNotFoundError, match="graphmem init"):
        open_store(tmp_path / "none")
    assert not (tmp_path / "none").exists()


def test_a_vault_of_another_format_is_refused(tmp_path: Path) -> None:
    open_store(tmp_path, create=True, graph="memory").close()
    file = tmp_path / "vault.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), "format": 99}))
    with pytest.raises(VaultFormatError, match="99"):
        open_store(tmp_path)


def test_a_vault_held_by_another_process_names_it(tmp_path: Path) -> None:
    open_store(tmp_path, create=True, graph="memory").close()
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as holder:
        assert holder.stdin is not None
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(VaultLockedError, match=f"in use by process {holder.pid}") as caught:
            open_store(tmp_path)
        assert caught.value.pid == holder.pid
        holder.kill()
    open_store(tmp_path).close()


def test_a_second_open_in_one_process_says_so(tmp_path: Path) -> None:
    store = open_store(tmp_path, create=True, graph="memory")
    with pytest.raises(VaultLockedError, match="already open in this process") as caught:
        open_store(tmp_path)
    assert caught.value.pid == os.getpid()
    store.close()
    open_store(tmp_path).close()


def test_a_failed_open_gives_the_lock_back(tmp_path: Path) -> None:
    open_store(tmp_path, create=True, graph="memory").close()
    (tmp_path / "vault.json").write_text("no configuration")
    with pytest.raises(VaultError):
        open_store(tmp_path)
    VaultLock(tmp_path).release()


def test_a_closed_store_refuses_reads_and_closes_twice(store: VaultStore) -> None:
    store.close()
    store.close()
    with pytest.raises(VaultError, match="closed"):
        store.view()


@pytest.mark.parametrize("lost", ["graph.kuzu", "index.sqlite"])
@pytest.mark.parametrize("how", ["deleted", "overwritten"])
def test_a_lost_projection_is_made_again_at_open(tmp_path: Path, lost: str, how: str) -> None:
    store = open_store(tmp_path, create=True, clock=ticking())
    put_notes(store, "pump one", "pump two", "seal three")
    before = sorted(store.dump())
    store.close()
    for file in tmp_path.glob(f"{lost}*"):
        file.unlink()
    if how == "overwritten":
        (tmp_path / lost).write_bytes(b"this is no database of any kind. " * 400)
    again = open_store(tmp_path, clock=ticking())
    assert sorted(again.dump()) == before
    again.close()


def test_a_removed_passage_takes_no_other_edge_with_it_when_the_vault_is_opened_again(
    tmp_path: Path,
) -> None:
    store = open_store(tmp_path, create=True, clock=ticking())
    put_notes(store, "pump one", "pump two")
    gone = bundle("psg:9", "src:0", [statement("psg:9", 0)], ())
    store.writer.commit([PutPassage(after=gone)], actor=ACTOR)
    store.writer.commit([PutPassage(before=gone, after=None)], actor=ACTOR)
    before = sorted(store.dump())
    store.close()
    again = open_store(tmp_path, clock=ticking())
    after = sorted(again.dump())
    again.close()
    assert after == before


def test_a_projection_ahead_of_its_journal_is_made_again(tmp_path: Path) -> None:
    store = open_store(tmp_path, create=True, graph="memory", clock=ticking())
    store.close()
    empty = (tmp_path / "journal.sqlite").read_bytes()
    store = open_store(tmp_path, graph="memory", clock=ticking())
    put_notes(store, "pump one")
    store.close()
    (tmp_path / "journal.sqlite").write_bytes(empty)
    again = open_store(tmp_path)
    assert again.view().seq == 0
    assert again.view().counts(EVERYTHING)["passage"] == 0
    again.close()


IDENTITY = EmbedderIdentity(name="tiny", dimension=3, canary="c1")


def embedded(store: VaultStore) -> None:
    store.bind_embedder(IDENTITY)
    while pending := store.vector_writer.pending(2):
        rows = np.eye(3, dtype=np.float32)[[len(text) % 3 for _, text in pending]]
        store.vector_writer.store([key for key, _ in pending], rows)


@pytest.mark.parametrize("change", [{"name": "other"}, {"dimension": 4}, {"canary": "c2"}])
def test_another_embedder_is_refused_for_good(tmp_path: Path, change: dict[str, object]) -> None:
    store = open_store(tmp_path, create=True, graph="memory")
    store.bind_embedder(IDENTITY)
    store.close()
    again = open_store(tmp_path)
    fields = {"name": "tiny", "dimension": 3, "canary": "c1", **change}
    with pytest.raises(EmbedderMismatchError, match="embed everything again"):
        again.bind_embedder(EmbedderIdentity(**fields))  # type: ignore[arg-type]
    again.bind_embedder(IDENTITY)
    again.close()


def test_vectors_survive_a_rebuild_of_the_index(store: VaultStore) -> None:
    put_notes(store, "one", "fifteen", "four")
    embedded(store)
    asked = np.array([1, 0, 0], np.float32)
    before = store.view().nearest(asked, 9, EVERYTHING)
    assert len(before) == 3
    store.rebuild(graph=False)
    assert store.view().nearest(asked, 9, EVERYTHING) == before
    assert store.view().pending_vectors() == 0


def test_the_nearest_are_sought_among_visible_passages_only(store: VaultStore) -> None:
    put_notes(store, *["same text"] * 40)
    odd = passage(99, "same text", audience="private")
    store.writer.commit([PutPassage(after=odd)], actor=ACTOR)
    embedded(store)
    asked = np.ones(3, np.float32)
    private = Scope(audiences=frozenset({"private"}))
    assert [hit.id for hit in store.view().nearest(asked, 5, private)] == ["psg:99"]
    assert [hit.id for hit in store.view().lexical(matching("same"), 5, private)] == ["psg:99"]


@pytest.mark.parametrize(
    "row", [[0.0, 0.0, 0.0], [float("nan"), 0.0, 1.0], [float("inf"), 0.0, 0.0], [3.0, 4.0, 0.0]]
)
def test_a_vector_that_is_no_unit_vector_is_refused(store: VaultStore, row: list[float]) -> None:
    store.bind_embedder(IDENTITY)
    with pytest.raises(InvalidInputError):
        store.vector_writer.store(["h"], np.array([row], np.float32))
    assert store.status().vectors == 0
