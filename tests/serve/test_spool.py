"""Notes in the spool are stored once, whatever dies in between."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphmem.errors import UsageError, VaultBusyError
from graphmem.serve import spool
from graphmem.serve.spool import Note


def keep(_: Path, reason: str) -> None:
    raise AssertionError(reason)


def put(vault: Path, *texts: str) -> list[Note]:
    notes = [Note(f"key{n}", {"text": text}) for n, text in enumerate(texts)]
    for note in notes:
        spool.put(vault, note)
    return notes


def test_notes_come_out_in_the_order_they_went_in(tmp_path: Path) -> None:
    notes = put(tmp_path, "one", "two — “ünïcode”", "\ud800")
    found: list[Note] = []
    assert spool.drain(tmp_path, found.append, keep) == 3
    assert found == notes
    assert spool.drain(tmp_path, found.append, keep) == 0
    assert list((tmp_path / spool.FOLDER).iterdir()) == []


def test_a_note_whose_drain_died_comes_again_with_the_same_key(tmp_path: Path) -> None:
    (note,) = put(tmp_path, "one")
    seen: list[Note] = []

    def dies(each: Note) -> None:
        seen.append(each)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        spool.drain(tmp_path, dies, keep)
    assert spool.drain(tmp_path, seen.append, keep) == 1
    assert seen == [note, note]


def test_a_busy_vault_leaves_all_notes_for_the_next_time(tmp_path: Path) -> None:
    put(tmp_path, "one", "two")

    def busy(_: Note) -> None:
        raise VaultBusyError("full")

    with pytest.raises(VaultBusyError):
        spool.drain(tmp_path, busy, keep)
    assert len(spool.waiting(tmp_path)) == 2


def test_what_can_never_be_stored_is_kept_aside_and_the_rest_goes_on(tmp_path: Path) -> None:
    put(tmp_path, "one", "two")
    spool.waiting(tmp_path)[0].write_text("{half")
    told: list[Path] = []
    assert spool.drain(tmp_path, lambda _: None, lambda file, _: told.append(file)) == 1
    assert [file.read_text() for file in told] == ["{half"]
    assert spool.waiting(tmp_path) == []


def test_a_refusal_of_the_store_keeps_the_note(tmp_path: Path) -> None:
    put(tmp_path, "one")

    def refuses(_: Note) -> None:
        raise UsageError("too long")

    told: list[str] = []
    assert spool.drain(tmp_path, refuses, lambda _, reason: told.append(reason)) == 0
    assert told == ["too long"]


def test_half_written_notes_are_no_notes(tmp_path: Path) -> None:
    put(tmp_path, "one")
    (tmp_path / spool.FOLDER / "0-x.1.part").write_text("{")
    assert len(spool.waiting(tmp_path)) == 1
