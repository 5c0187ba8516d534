"""``verify``: a sound vault passes every check, and every check sees the damage it is for."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import apsw
import numpy as np
import pytest

from graphmem.errors import JournalDamagedError
from graphmem.model.care import VerifyReport
from graphmem.model.items import PassageBundle, SameAs
from graphmem.model.operations import (
    AddEvidence,
    MoveMention,
    Operation,
    PutPassage,
    RedirectEntity,
)
from graphmem.store import VaultStore, open_store
from graphmem.store.digest import CLEAN_MARK, write_mark
from graphmem.store.graph.base import EdgeRow, GraphChanges
from graphmem.store.graph.cypher_engine import CypherGraph
from graphmem.store.graph.engines import KUZU
from graphmem.store.index_schema import NEVER
from graphmem.store.journal import SALT_BYTES, chain_hash, hash_of
from graphmem.store.trouble import JOURNAL_FILE
from graphmem.store.vectors import load_extension
from graphmem.store.verify import verify_journal
from tests.store.conftest import ticking
from tests.store.sound import HIDDEN, evidence, passage, sound, statement
from tests.store.told import ACTOR, tell

ALL = (
    "chain operations sequences index file evidence references doubles loops redirects words "
    "counts vectors quotes digits replay terms"
)
# What a quick look leaves out.
SLOW = {"quotes", "digits", "replay", "terms"}


def failed(report: VerifyReport) -> dict[str, str]:
    """The failed checks with their examples; each says what to do."""
    bad = [check for check in report.checks if not check.ok]
    assert report.ok == (not bad)
    assert all(check.advice and check.examples for check in bad)
    return {check.name: "; ".join(check.examples) for check in bad}


def checked(path: Path, harm: Callable[[Path], None], graph: str = "memory") -> dict[str, str]:
    """What fails in a sound vault after harm was done to its files."""
    sound(path, graph).close()
    harm(path)
    _sign(path)
    try:
        store = open_store(path)
    except JournalDamagedError:
        return failed(verify_journal(path))
    try:
        return failed(store.verify())
    finally:
        store.close()


def _sign(path: Path) -> None:
    """Makes the files look as they were closed; an open would mend what the sums give away."""
    mark = json.loads((path / CLEAN_MARK).read_text())
    write_mark(path, CLEAN_MARK, mark["head"], mark["hash"])


@pytest.mark.parametrize("graph", ["kuzu", "memory"])
def test_a_sound_vault_passes_every_check_and_is_not_changed(tmp_path: Path, graph: str) -> None:
    store = sound(tmp_path, graph)
    before = list(store.dump())
    report = store.verify()
    assert failed(report) == {}
    assert " ".join(check.name for check in report.checks) == ALL
    assert all(check.checked > 0 for check in report.checks)
    assert list(store.dump()) == before and store.status().seq == report.seq
    quick = store.verify(quick=True)
    assert {c.name for c in report.checks} - {c.name for c in quick.checks} == SLOW
    store.close()


@pytest.mark.parametrize("seed", range(6))
def test_random_histories_are_structurally_sound(seed: int) -> None:
    store = open_store(None, clock=ticking())
    tell(store, seed, 60)
    # The made-up worlds quote nothing and name facts by numbers.
    assert set(failed(store.verify())) <= {"quotes", "doubles"}
    store.close()


def test_commits_go_on_while_a_vault_is_verified(tmp_path: Path) -> None:
    store = sound(tmp_path, "memory")
    seen: list[int] = []

    def commit(_: str) -> None:
        text = passage(100 + len(seen), f"later {len(seen)}")
        store.writer.commit([PutPassage(after=PassageBundle(passage=text))], actor=ACTOR)
        seen.append(store.view().seq)

    from graphmem.store.verify import Subject, verify

    parts = (store._journal, store._projections, store._writer, store._config)
    report = verify(Subject("here", *parts), tell=commit)
    assert failed(report) == {}
    assert report.seq < seen[0] < seen[-1]
    store.close()


# Harm to the journal.


def on_journal(*statements: str) -> Callable[[Path], None]:
    def harm(path: Path) -> None:
        db = apsw.Connection(str(path / JOURNAL_FILE))
        names = db.execute("SELECT name FROM sqlite_schema WHERE type = 'trigger'").fetchall()
        for (name,) in names:
            db.execute(f"DROP TRIGGER {name}")
        for statement_ in statements:
            db.execute(statement_)
        db.close()

    return harm


@pytest.mark.parametrize(
    ("statement_", "row"),
    [
        ("UPDATE journal SET actor = 'eve' WHERE seq = 4", "row 4"),
        ("UPDATE journal SET payload = x'7b7d' WHERE seq = 5", "row 5"),
        ("UPDATE journal SET hash = zeroblob(32) WHERE seq = 2", "row 2"),
        ("DELETE FROM journal WHERE seq = 6", "row 6"),
        ("UPDATE journal SET salt = NULL WHERE seq = 3", "row 3"),
    ],
)
def test_a_changed_journal_row_is_named(tmp_path: Path, statement_: str, row: str) -> None:
    assert row in checked(tmp_path, on_journal(statement_))["chain"]


def unknown_operation(path: Path) -> None:
    """Adds a row with a sound chain that says nothing this program knows."""
    db = apsw.Connection(str(path / JOURNAL_FILE))
    last, previous = db.execute(
        "SELECT seq, hash FROM journal ORDER BY seq DESC LIMIT 1"
    ).fetchone()
    seq, at, batch, payload, salt = last + 1, "2026-03-01T00:00:00Z", "b", b'{"op":"x"}', b"s"
    inner = hash_of(salt * SALT_BYTES, payload)
    hashed = chain_hash(previous, inner, seq, at, batch, "a", None, "x")
    row = (seq, at, batch, "a", None, "x", payload, salt * SALT_BYTES, inner, hashed)
    db.execute("INSERT INTO journal VALUES(?,?,?,?,?,?,?,?,?,?)", row)
    db.execute("INSERT INTO batch VALUES(?,?,?,?)", (batch, None, seq, seq))
    db.close()


def test_an_unknown_operation_is_named(tmp_path: Path) -> None:
    told = checked(tmp_path, unknown_operation)
    assert "is not a known operation" in told["operations"]


def test_a_journal_that_is_noise_is_told(tmp_path: Path) -> None:
    sound(tmp_path).close()
    (tmp_path / JOURNAL_FILE).write_bytes(b"noise" * 5_000)
    assert "not a database" in failed(verify_journal(tmp_path))["chain"]


# Harm to the index. (name of the check, what its example says, statements)

ENDED = f"7, {NEVER}"
INDEX_HARM: dict[str, tuple[str, str, tuple[str, ...]]] = {
    "no evidence": ("evidence", "fct:0", ("DELETE FROM evidence",)),
    "no entity": ("references", "tool:gone", ("UPDATE part SET entity_id = 'tool:gone'",)),
    "no passage": ("references", "psg:77", ("UPDATE evidence SET passage_id = 'psg:77'",)),
    "no statement": ("references", "stm:77", ("UPDATE link SET source_id = 'stm:77'",)),
    "no source": ("references", "src:77", ("UPDATE passage SET source_id = 'src:77'",)),
    "no subject": ("references", "tool:gone", ("UPDATE fact SET subject_id = 'tool:gone'",)),
    "twice": (
        "doubles",
        "fct:0 is there twice",
        ("INSERT INTO fact SELECT * FROM fact",),
    ),
    "equal facts": (
        "doubles",
        "fct:0 says the same as fct:1",
        (
            f"INSERT INTO fact VALUES('fct:1', 'tool:pump-7', 'tool:oil', {ENDED})",
            "INSERT INTO item SELECT 'fct:1', seq, kind, json, recorded_at FROM item "
            "WHERE id = 'fct:0'",
        ),
    ),
    "fact loop": ("loops", "fct:0", ("UPDATE fact SET object_id = subject_id",)),
    "link loop": ("loops", "lnk:0", ("UPDATE link SET target_id = source_id",)),
    "circle": (
        "redirects",
        "read as itself",
        (f"INSERT INTO redirect VALUES('tool:pump-7', 'tool:pump-7-old', {ENDED})",),
    ),
    "no survivor": (
        "redirects",
        "tool:gone is not there",
        ("UPDATE redirect SET survivor_id = 'tool:gone'",),
    ),
    "merged twice": (
        "redirects",
        "is merged 2 times",
        (f"INSERT INTO redirect VALUES('tool:pump-7-old', 'tool:oil', {ENDED})",),
    ),
    "hidden found": ("words", "number 2 cannot be found", ("DELETE FROM state",)),
    "unhidden": (
        "words",
        "is hidden or gone and can be found",
        ("INSERT INTO state SELECT 'psg:0', kind, at, seq, gone FROM state",),
    ),
    "words lost": ("words", "cannot be found", ("DELETE FROM lexical",)),
    "other words": (
        "terms",
        "“lemon” has",
        (
            "DELETE FROM lexical WHERE rowid = 1",
            "INSERT INTO lexical(rowid, whole, split, stem) VALUES(1, 'lemon', '', '')",
        ),
    ),
    "other text": ("terms", "psg:0", ("UPDATE passage SET search_hash = 'h' WHERE id = 'psg:0'",)),
    "other time": (
        "replay",
        "fact fct:0 of the index",
        ("UPDATE item SET recorded_at = 'x' WHERE id = 'fct:0'",),
    ),
    "not finite": ("vectors", "not finite", ("UPDATE vector SET data = x'0000c07f0000c07f'",)),
    "too short": ("vectors", "1 numbers", ("UPDATE vector SET data = x'0000803f'",)),
    "too long": ("vectors", "length 2.0", ("UPDATE vector SET data = x'0000004000000000'",)),
    "not searched": ("vectors", "not searched", ("DELETE FROM nearest_2",)),
    "searched only": ("vectors", "not stored", ("DELETE FROM vector",)),
}


def on_index(*statements: str) -> Callable[[Path], None]:
    def harm(path: Path) -> None:
        db = apsw.Connection(str(path / "index.sqlite"))
        load_extension(db)
        for statement_ in statements:
            db.execute(statement_)
        db.close()

    return harm


@pytest.mark.parametrize("name", INDEX_HARM)
def test_a_broken_index_is_told(tmp_path: Path, name: str) -> None:
    check, said, statements = INDEX_HARM[name]
    told = checked(tmp_path, on_index(*statements))
    assert said in told[check]


def test_a_page_of_the_index_that_is_lost_is_told(tmp_path: Path) -> None:
    def harm(path: Path) -> None:
        on_index(
            "PRAGMA writable_schema=ON", "DELETE FROM sqlite_schema WHERE name = 'fact_subject'"
        )(path)

    assert "never used" in checked(tmp_path, harm)["index file"]


def test_projections_that_stay_behind_are_told(tmp_path: Path) -> None:
    store = sound(tmp_path)
    on_index("UPDATE meta SET value = '3' WHERE key = 'applied_seq'")(tmp_path)
    assert "index at row 3" in failed(store.verify())["sequences"]
    store.close()


# Harm to the graph.


def on_graph(changes: GraphChanges) -> Callable[[Path], None]:
    def harm(path: Path) -> None:
        graph = CypherGraph(path / "graph.kuzu", KUZU)
        graph.apply(changes, graph.applied_seq)
        graph.close()

    return harm


MENTION = EdgeRow("MENTIONS", "Passage", "psg:0", "Entity", "tool:oil", "mnt:1")
GRAPH_HARM = {
    "node lost": (
        GraphChanges(gone_nodes={"Entity": frozenset({"tool:pump-8"})}),
        {"counts": "Entity: graph 3, index 4", "replay": "tool:pump-8 of the graph"},
    ),
    "edge lost": (
        GraphChanges(gone_edges=(MENTION,)),
        {"counts": "MENTIONS: graph 1, index 2", "replay": "mnt:1 of the graph"},
    ),
    "text changed": (
        GraphChanges(nodes={"Entity": {"tool:oil": {"name": "Tar", "seq": 3}}}),
        {"replay": "tool:oil of the graph"},
    ),
}


@pytest.mark.parametrize("name", GRAPH_HARM)
def test_a_broken_graph_is_told(tmp_path: Path, name: str) -> None:
    changes, expected = GRAPH_HARM[name]
    told = checked(tmp_path, on_graph(changes), "kuzu")
    assert set(told) == set(expected)
    for check, said in expected.items():
        assert said in told[check]


# What a caller could store that the writer does not look at.


def merge(loser: str, survivor: str) -> RedirectEntity:
    return RedirectEntity(after=SameAs(loser_id=loser, survivor_id=survivor, reason="wrong"))


def outside() -> PutPassage:
    said = statement(7, 3, 99).model_copy(update={"passage_id": "psg:7"})
    return PutPassage(after=PassageBundle(passage=passage(7, "short"), statements=(said,)))


STORED: dict[str, tuple[Operation, str, str]] = {
    "merge": (merge("tool:pump-8", "tool:pump-7"), "digits", "against the veto: digits"),
    "seen": (
        MoveMention(
            mention_id="mnt:0", passage_id="psg:0", before="tool:pump-7", after="tool:pump-8"
        ),
        "digits",
        "“Pump 7” is read as tool:pump-8 “Pump 8”",
    ),
    "quote": (
        AddEvidence(after=evidence(5, quote="Pump 9 uses oil")),
        "quotes",
        "evd:5 does not quote",
    ),
    "span": (outside(), "quotes", "stm:7 lies outside"),
}


@pytest.mark.parametrize("name", STORED)
def test_what_should_not_have_been_stored_is_told(tmp_path: Path, name: str) -> None:
    operation, check, said = STORED[name]
    store = sound(tmp_path, "memory")
    store.writer.commit([operation], actor=ACTOR)
    told = failed(store.verify())
    store.close()
    assert set(told) == {check} and said in told[check]


def test_hidden_pending_and_unused_are_counted_and_no_failure(tmp_path: Path) -> None:
    store = sound(tmp_path, "memory")
    store.vector_writer.store(["0" * 20], np.eye(2, dtype=np.float32)[:1])
    report = store.verify()
    store.close()
    assert failed(report) == {}
    notes = {check.name: check.note for check in report.checks}
    assert notes["words"] == "1 hidden"
    assert notes["vectors"] == "1 of no current text, 1 pending"
    assert HIDDEN not in str(report)


def test_purged_rows_are_noted(store: VaultStore) -> None:
    tell(store, 3, 20)
    store._journal.purge([1], at=ticking()(), actor=ACTOR)
    notes = {check.name: check.note for check in store.verify(quick=True).checks}
    assert notes["operations"] == "1 erased by purge"


def test_a_report_reads_as_lines_that_say_what_to_do(tmp_path: Path) -> None:
    sound(tmp_path).close()
    on_index("DELETE FROM evidence")(tmp_path)
    _sign(tmp_path)
    store = open_store(tmp_path)
    shown = str(store.verify(quick=True))
    store.close()
    assert "2 of 12 checks failed" in shown
    assert "FAIL  evidence" in shown and "→  graphmem rebuild" in shown
