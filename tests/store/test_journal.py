"""The journal: append-only, chained by hashes, and still whole after a purge."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

from graphmem.errors import InvalidInputError, JournalDamagedError, VaultFormatError
from graphmem.model.operations import Cursor, Operation, Purge
from graphmem.store.journal import SALT_BYTES, Journal
from tests.store.graph.world import START


def cursors(*values: str) -> list[Operation]:
    return [Cursor(name="chat", after=value) for value in values]


def salt(size: int) -> bytes:
    return bytes(range(size))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "journal.sqlite"


@pytest.fixture
def journal(path: Path) -> Iterator[Journal]:
    opened = Journal.open(path, salt)
    opened.append(cursors("one", "two", "three"), at=START, actor="a", key="k")
    opened.append(cursors("four"), at=START, actor="a")
    yield opened
    opened.close()


def change(path: Path, statement: str, *values: object, guarded: bool = False) -> None:
    """Runs SQL as an intruder would: past the triggers unless ``guarded``."""
    db = apsw.Connection(str(path))
    try:
        if not guarded:
            for name in ("journal_no_update", "journal_no_delete"):
                db.execute(f"DROP TRIGGER {name}")
        db.execute(statement, values)
    finally:
        db.close()


def test_rows_come_back_in_order_with_what_was_said_of_them(journal: Journal) -> None:
    rows = list(journal.rows())
    assert [row.seq for row in rows] == [1, 2, 3, 4]
    assert [row.operation for row in rows] == cursors("one", "two", "three", "four")
    assert [(row.batch, row.key) for row in rows] == [("batch:1", "k")] * 3 + [("batch:4", None)]
    assert [row.seq for row in journal.rows(after=2)] == [3, 4]
    assert [len(batch) for batch in journal.batches()] == [3, 1]
    assert journal.head == 4


def test_a_repeated_key_gives_the_earlier_batch_and_writes_nothing(journal: Journal) -> None:
    again = journal.append(cursors("other"), at=START, actor="b", key="k")
    assert (again.first_seq, again.last_seq, again.repeated) == (1, 3, True)
    assert journal.head == 4


def test_an_empty_batch_is_refused(journal: Journal) -> None:
    with pytest.raises(InvalidInputError):
        journal.append([], at=START, actor="a")


def test_an_untouched_chain_verifies(journal: Journal) -> None:
    assert journal.verify() is None


@pytest.mark.parametrize(
    ("statement", "first_bad"),
    [
        ("UPDATE journal SET payload = x'7b7d' WHERE seq = 2", 2),
        ("UPDATE journal SET actor = 'owner' WHERE seq = 3", 3),
        ("UPDATE journal SET at = '2020-01-01T00:00:00Z' WHERE seq = 1", 1),
        ("UPDATE journal SET key = 'other' WHERE seq = 4", 4),
        ("UPDATE journal SET batch = 'batch:9' WHERE seq = 4", 4),
        ("UPDATE journal SET op = 'purge' WHERE seq = 2", 2),
        ("UPDATE journal SET salt = zeroblob(16) WHERE seq = 2", 2),
        ("UPDATE journal SET salt = NULL WHERE seq = 2", 2),
        ("DELETE FROM journal WHERE seq = 2", 2),
        ("UPDATE journal SET seq = 9 WHERE seq = 4", 4),
    ],
)
def test_tampering_is_found_at_the_first_bad_row(
    path: Path, journal: Journal, statement: str, first_bad: int
) -> None:
    change(path, statement)
    assert journal.verify() == first_bad


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE journal SET actor = 'owner' WHERE seq = 2",
        "UPDATE journal SET payload = x'7b7d' WHERE seq = 2",
        "UPDATE journal SET payload = NULL, salt = NULL, actor = 'x' WHERE seq = 2",
        "DELETE FROM journal WHERE seq = 4",
        "DELETE FROM batch",
        "UPDATE batch SET key = 'free'",
    ],
)
def test_the_table_itself_refuses_changes(path: Path, journal: Journal, statement: str) -> None:
    with pytest.raises(apsw.ConstraintError, match="append-only"):
        change(path, statement, guarded=True)
    assert journal.verify() is None


def test_a_purge_erases_the_payload_from_the_file_and_keeps_the_chain(path: Path) -> None:
    journal = Journal.open(path, salt)
    secret = "a-very-particular-secret"
    journal.append(cursors("one", secret, "three"), at=START, actor="a")
    journal.purge([2], at=START, actor="owner")
    assert journal.verify() is None
    rows = list(journal.rows())
    assert [row.operation is None for row in rows] == [False, True, False, False]
    assert rows[3].operation == Purge(seqs=(2,))
    journal.close()
    for file in path.parent.iterdir():
        assert secret.encode() not in file.read_bytes()


def test_a_purge_of_an_unknown_row_changes_nothing(journal: Journal) -> None:
    with pytest.raises(InvalidInputError, match="77"):
        journal.purge([1, 77], at=START, actor="owner")
    assert journal.head == 4
    assert all(row.operation is not None for row in journal.rows())


def test_salts_come_from_the_given_source_and_differ_from_the_payload(path: Path) -> None:
    asked: list[int] = []

    def counting(size: int) -> bytes:
        asked.append(size)
        return salt(size)

    journal = Journal.open(path, counting)
    journal.append(cursors("one", "two"), at=START, actor="a")
    journal.close()
    assert asked == [SALT_BYTES, SALT_BYTES]


def test_everything_is_there_after_opening_again(path: Path, journal: Journal) -> None:
    before = list(journal.rows())
    other = Journal.open(path, salt)
    assert list(other.rows()) == before
    other.close()


def test_a_journal_of_a_newer_format_is_refused(path: Path, journal: Journal) -> None:
    change(path, "PRAGMA user_version = 99")
    with pytest.raises(VaultFormatError, match="upgrade"):
        Journal.open(path, salt)


@pytest.mark.parametrize(
    ("payload", "error"),
    [
        ('{"op": "cursor", "version": 99, "name": "c", "after": "1"}', VaultFormatError),
        ('{"op": "unheard_of", "version": 99}', VaultFormatError),
        ('{"op": "unheard_of", "version": 1}', JournalDamagedError),
        ("no json", JournalDamagedError),
    ],
)
def test_a_payload_that_cannot_be_read_is_told_apart_from_a_newer_one(
    path: Path, journal: Journal, payload: str, error: type[Exception]
) -> None:
    change(path, "UPDATE journal SET payload = CAST(? AS BLOB) WHERE seq = 2", payload)
    with pytest.raises(error, match="row 2"):
        list(journal.rows())


def test_a_file_that_is_no_journal_is_refused(path: Path) -> None:
    path.write_bytes(b"certainly not a database, and long enough to be one" * 100)
    with pytest.raises(JournalDamagedError, match="backup"):
        Journal.open(path, salt)
