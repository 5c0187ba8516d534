"""A journal that lost rows: named, served read-only, and gone on without once that is decided."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import apsw
import pytest

from graphmem.errors import VaultReadOnlyError
from graphmem.model.operations import PutPassage
from graphmem.model.scope import EVERYTHING
from graphmem.store import VaultStore, open_store
from graphmem.store.damage import ranges
from graphmem.store.repair import accept_loss, plan_repair
from tests.store.conftest import ticking
from tests.store.damaging import of_files
from tests.store.told import ACTOR, passage, put_notes, tell

NOTES = [f"pump {n} leaks" for n in range(30)]


def noted(path: Path) -> list[str]:
    """A vault of one source with a passage per commit; gives its exact dump."""
    store = open_store(path, create=True, graph="memory", clock=ticking())
    put_notes(store, *NOTES[:1])
    for number in range(1, len(NOTES)):
        store.writer.commit([PutPassage(after=passage(number, NOTES[number]))], actor=ACTOR)
    told = list(store.dump())
    store.close()
    return told


def reopened(path: Path) -> VaultStore:
    return open_store(path, clock=ticking())


def _warnings(path: Path) -> tuple[str, ...]:
    store = reopened(path)
    told = store.status().warnings
    store.close()
    return told


def by_hand(path: Path, *statements: str) -> None:
    """Changes the journal as a program would that knows nothing of it."""
    with apsw.Connection(str(path / "journal.sqlite")) as db:
        for name in ("journal_no_delete", "journal_no_update"):
            db.execute(f"DROP TRIGGER {name}")
        for statement in statements:
            db.execute(statement)
    db.close()


CHANGES: dict[str, tuple[str, list[int]]] = {
    "a payload": ("UPDATE journal SET payload = CAST('{}' AS BLOB) WHERE seq = 5", [5]),
    "two payloads": ("UPDATE journal SET payload = salt WHERE seq IN (5, 9)", [5, 9]),
    "an actor": ("UPDATE journal SET actor = 'someone' WHERE seq = 7", [7]),
    "a time": ("UPDATE journal SET at = '2020-01-01' WHERE seq = 31", [31]),
    "a missing row": ("DELETE FROM journal WHERE seq = 12", [12]),
    "missing rows": ("DELETE FROM journal WHERE seq BETWEEN 10 AND 14 OR seq = 20",
                     [10, 11, 12, 13, 14, 20]),
    "the first row": ("DELETE FROM journal WHERE seq = 1", [1]),
    "the end": ("DELETE FROM journal WHERE seq > 28", [29, 30, 31]),
}  # fmt: skip


@pytest.mark.parametrize("what", CHANGES)
def test_every_damaged_row_is_named_and_all_others_are_served(tmp_path: Path, what: str) -> None:
    told = noted(tmp_path)
    statement, lost = CHANGES[what]
    by_hand(tmp_path, statement)
    for _ in range(2):  # a first open must not hide it from the second one
        store = reopened(tmp_path)
        assert of_files(list(store.dump())) == of_files(told)
        [warning] = store.status().warnings
        assert f" {ranges(lost)} cannot be read" in warning
        with pytest.raises(VaultReadOnlyError, match="backup restore") as refused:
            store.writer.commit([PutPassage(after=passage(99, "new"))], actor=ACTOR)
        assert list(refused.value.seqs) == lost
        with pytest.raises(VaultReadOnlyError):
            store.rebuild()
        assert of_files(list(store.dump())) == of_files(told)
        store.close()


MENDED = {
    "a stored hash": "UPDATE journal SET hash = zeroblob(32) WHERE seq = 8",
    "an inner hash": "UPDATE journal SET inner = zeroblob(32) WHERE seq = 8",
    "a batch": "UPDATE batch SET last_seq = 99 WHERE first_seq = 5",
    "a lost trigger": "SELECT 1",
}


@pytest.mark.parametrize("what", MENDED)
def test_damage_that_loses_nothing_is_mended_and_told(tmp_path: Path, what: str) -> None:
    told = noted(tmp_path)
    by_hand(tmp_path, "DROP TRIGGER batch_no_update", MENDED[what])
    store = reopened(tmp_path)
    [warning] = store.status().warnings
    assert "journal.sqlite.damaged-1" in warning
    assert (tmp_path / "journal.sqlite.damaged-1").exists()
    assert list(store.dump()) == told
    store.writer.commit([PutPassage(after=passage(99, "new"))], actor=ACTOR)
    store.close()
    assert _warnings(tmp_path) == (warning,)


@pytest.mark.parametrize("what", CHANGES)
def test_the_loss_is_accepted_and_the_vault_goes_on(tmp_path: Path, what: str) -> None:
    noted(tmp_path)
    statement, lost = CHANGES[what]
    by_hand(tmp_path, statement)
    planned = plan_repair(tmp_path)
    assert planned.damage is not None
    assert list(planned.damage.seqs) == lost
    assert not list(tmp_path.glob("*.damaged-*"))
    done = accept_loss(tmp_path)
    assert done.aside == tmp_path / "journal.sqlite.damaged-1"
    assert done.dangling == planned.dangling
    store = reopened(tmp_path)
    kept = 0 if 1 in lost else len(NOTES) - sum(2 <= seq <= 31 for seq in lost)
    assert store.view().passage_count(EVERYTHING) == kept
    assert store.view().seq == 31 + len(done.dangling)
    grown = list(store.dump())
    store.rebuild()
    assert list(store.dump()) == grown
    put_notes(store, "again") if 1 in lost else store.writer.commit(
        [PutPassage(after=passage(99, "new"))], actor=ACTOR
    )
    store.close()
    assert plan_repair(tmp_path).damage is None


@pytest.mark.parametrize("seed", range(6))
def test_what_refers_to_a_lost_row_is_let_go(tmp_path: Path, seed: int) -> None:
    store = open_store(tmp_path, create=True, graph="memory", clock=ticking())
    tell(store, 100 + seed, 60)
    head = store.view().seq
    store.close()
    lost = sorted({1 + (seed * 37 + n * 11) % head for n in range(6)})
    by_hand(tmp_path, f"DELETE FROM journal WHERE seq IN ({', '.join(map(str, lost))})")
    done = accept_loss(tmp_path)
    assert done.damage is not None
    assert list(done.damage.seqs) == lost
    store = reopened(tmp_path)
    assert not _dangling(store)
    grown = list(store.dump())
    store.rebuild()
    assert list(store.dump()) == grown
    store.close()


def _dangling(store: VaultStore) -> list[str]:
    """References of living rows to what is not there, and facts without evidence."""
    queries = (
        "SELECT id FROM passage p WHERE gone = 1<<62 AND source_id NOT IN "
        "(SELECT id FROM source WHERE gone = 1<<62)",
        "SELECT id FROM evidence WHERE gone = 1<<62 AND (fact_id NOT IN "
        "(SELECT id FROM fact WHERE gone = 1<<62) OR passage_id NOT IN "
        "(SELECT id FROM passage WHERE gone = 1<<62))",
        "SELECT id FROM fact WHERE gone = 1<<62 AND id NOT IN "
        "(SELECT fact_id FROM evidence WHERE gone = 1<<62)",
        "SELECT id FROM fact WHERE gone = 1<<62 AND subject_id NOT IN "
        "(SELECT item_id FROM name WHERE kind = 'own' AND gone = 1<<62)",
        "SELECT id FROM link WHERE gone = 1<<62 AND (source_id NOT IN "
        "(SELECT id FROM part WHERE gone = 1<<62) OR target_id NOT IN "
        "(SELECT id FROM part WHERE gone = 1<<62))",
        "SELECT id FROM part WHERE gone = 1<<62 AND entity_id NOT IN "
        "(SELECT item_id FROM name WHERE kind = 'own' AND gone = 1<<62)",
    )
    with store._projections.readers.reading() as db:
        return [row[0] for query in queries for row in db.execute(query).fetchall()]


def test_a_restored_journal_is_served_in_full_again(tmp_path: Path) -> None:
    told = noted(tmp_path)
    intact = (tmp_path / "journal.sqlite").read_bytes()
    by_hand(tmp_path, "DELETE FROM journal WHERE seq IN (4, 30)")
    (tmp_path / "index.sqlite").unlink()
    store = reopened(tmp_path)
    assert store.view().passage_count(EVERYTHING) == len(NOTES) - 2
    store.close()
    (tmp_path / "journal.sqlite").write_bytes(intact)
    store = reopened(tmp_path)
    assert list(store.dump()) == told
    store.close()


def test_an_index_changed_by_another_program_is_made_again(tmp_path: Path) -> None:
    told = noted(tmp_path)
    with apsw.Connection(str(tmp_path / "index.sqlite")) as db:
        db.execute("DELETE FROM item WHERE id = 'psg:3'")
    db.close()
    store = reopened(tmp_path)
    assert list(store.dump()) == told
    assert "index.sqlite.damaged" in store.status().warnings[0]
    store.close()
    assert "index.sqlite.damaged" in _warnings(tmp_path)[0]


def test_the_command_shows_the_loss_and_changes_nothing_until_told(tmp_path: Path) -> None:
    noted(tmp_path)
    by_hand(tmp_path, "DELETE FROM journal WHERE seq = 12")
    told = _command("repair-journal", "--vault", str(tmp_path))
    assert told.returncode == 1
    assert "row 12 (unknown): it is missing; lost" in told.stdout
    assert "nothing was changed" in told.stdout
    assert _command("status", "--vault", str(tmp_path)).stdout.count("repair-journal") == 1
    told = _command("repair-journal", "--accept-loss", "--vault", str(tmp_path))
    assert (told.returncode, "journal.sqlite.damaged-1" in told.stdout) == (0, True), told.stderr
    told = _command("repair-journal", "--vault", str(tmp_path))
    assert (told.returncode, "nothing to do" in told.stdout) == (0, True)


def _command(*arguments: str) -> subprocess.CompletedProcess[str]:
    repo = Path(__file__).parents[2]
    return subprocess.run(
        [sys.executable, "-m", "graphmem", *arguments],
        env={**os.environ, "PYTHONPATH": str(repo)},
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
