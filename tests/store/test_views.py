"""What a view shows: refusals of bad commits, hidden items, and readers beside a writer."""

from __future__ import annotations

import threading
from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphmem.errors import ConflictError, InvalidInputError
from graphmem.model.operations import (
    AddEvidence,
    MoveMention,
    Operation,
    PutEntity,
    PutFact,
    PutLink,
    PutPassage,
)
from graphmem.model.scope import EVERYTHING, Scope
from graphmem.store import VaultStore, open_store
from graphmem.vocabulary import LinkKind, StateKind
from tests.store.graph.world import (
    START,
    TEXT,
    bundle,
    entity,
    evidence,
    fact,
    link,
    mention,
    state,
    statement,
)
from tests.store.told import ACTOR, matching, passage, put_notes

NOTE = passage(0, TEXT)


@pytest.fixture
def told(store: VaultStore) -> VaultStore:
    put_notes(store, TEXT)
    store.writer.commit([PutEntity(after=entity(name)) for name in "ab"], actor=ACTOR)
    return store


@pytest.mark.parametrize(
    ("operation", "error"),
    [
        (PutPassage(after=NOTE), ConflictError),
        (PutPassage(before=passage(0, "other"), after=None), ConflictError),
        (PutPassage(before=passage(5, TEXT), after=None), ConflictError),
        (PutEntity(after=entity("a")), ConflictError),
        (PutPassage(after=passage(5, TEXT, "src:9")), InvalidInputError),
        (PutFact(after=fact(0, "thing:a", "thing:b")), InvalidInputError),
        (PutFact(after=fact(0, "thing:a", "thing:zz")), InvalidInputError),
        (AddEvidence(after=evidence(0, "fct:0", None, "psg:0")), InvalidInputError),
        (
            PutLink(after=link(0, LinkKind.CAUSES, "stm:x", "stm:y", "psg:0")),
            InvalidInputError,
        ),
        (
            PutPassage(after=bundle("psg:6", "src:0", (), [mention("psg:6", 0, "thing:zz")])),
            InvalidInputError,
        ),
    ],
)
def test_a_commit_that_does_not_fit_writes_nothing(
    told: VaultStore, operation: Operation, error: type[Exception]
) -> None:
    before, seq = list(told.dump()), told.status().seq
    good = PutPassage(after=passage(7, "pump"))
    with pytest.raises(error):
        told.writer.commit([good, operation], actor=ACTOR)
    assert told.status().seq == seq
    assert list(told.dump()) == before


@pytest.mark.parametrize(
    ("mention_id", "before", "after", "error"),
    [
        ("mnt:5.0", "thing:b", "thing:a", ConflictError),
        ("mnt:none", "thing:a", "thing:b", ConflictError),
        ("mnt:5.0", "thing:a", "thing:zz", InvalidInputError),
    ],
)
def test_a_mention_moves_only_from_where_it_is_to_what_is_stored(
    told: VaultStore, mention_id: str, before: str, after: str, error: type[Exception]
) -> None:
    told.writer.commit(
        [PutPassage(after=bundle("psg:5", "src:0", (), [mention("psg:5", 0, "thing:a")]))],
        actor=ACTOR,
    )
    move = MoveMention(mention_id=mention_id, passage_id="psg:5", before=before, after=after)
    with pytest.raises(error):
        told.writer.commit([move], actor=ACTOR)


def test_a_passage_put_and_moved_in_one_commit_is_taken_back_in_one(told: VaultStore) -> None:
    made = bundle("psg:5", "src:0", (), [mention("psg:5", 0, "thing:a")])
    start = list(told.dump(content=True))
    batch: list[Operation] = [
        PutPassage(after=made),
        MoveMention(mention_id="mnt:5.0", passage_id="psg:5", before="thing:a", after="thing:b"),
    ]
    told.writer.commit(batch, actor=ACTOR)
    assert told.view().bundles(["psg:5"])["psg:5"].mentions[0].entity_id == "thing:b"
    told.writer.commit([op.inverse() for op in reversed(batch)], actor=ACTOR)
    assert list(told.dump(content=True)) == start


def test_the_same_key_twice_stores_once(told: VaultStore) -> None:
    first = told.writer.commit([PutPassage(after=passage(7, "x"))], actor=ACTOR, key="k")
    again = told.writer.commit([PutPassage(after=passage(8, "y"))], actor=ACTOR, key="k")
    assert (again.batch, again.last_seq, again.repeated) == (first.batch, first.last_seq, True)
    assert not told.view().existing(["psg:8"])


TOPICS = ("pump seal", "seal ring coolant", "pump coolant OPS-2077", "valve ring pump pump")


def lanes(store: VaultStore, scope: Scope = EVERYTHING) -> dict[str, object]:
    """Everything a reader can measure of the notes."""
    view = store.view()
    graph = view.adjacency(scope)
    words = ("pump", "seal", "coolant", "ring", "valve")
    return {
        "lexical": {w: view.lexical(matching(w), 50, scope) for w in words},
        "frequency": view.document_frequency(words),
        "counts": view.counts(scope),
        "nodes": sorted(graph.key(node) for node in range(graph.node_count)),
        "window": view.in_window(None, None, 50, scope),
    }


@given(hidden=st.sets(st.integers(0, 7), max_size=7), kind=st.sampled_from(list(StateKind)))
@settings(max_examples=25)
def test_a_hidden_passage_is_exactly_like_one_that_never_was(
    hidden: set[int], kind: StateKind
) -> None:
    if kind is StateKind.SNOOZED:  # rests by itself, so it stays in the word statistics
        return
    texts = [TOPICS[number % 4] for number in range(8)]
    with_all, without = open_store(None, create=True), open_store(None, create=True)
    put_notes(with_all, *texts)
    put_notes(without)
    told: list[Operation] = [
        PutPassage(after=passage(number, text))
        for number, text in enumerate(texts)
        if number not in hidden
    ]
    without.writer.commit(told, actor=ACTOR)
    for number in sorted(hidden):
        with_all.writer.commit([state(f"psg:{number}", kind, START, None)], actor=ACTOR)
    assert lanes(with_all) == lanes(without)
    for number in sorted(hidden):
        with_all.writer.commit([state(f"psg:{number}", kind, None, START)], actor=ACTOR)
    fresh = open_store(None, create=True)
    put_notes(fresh, *texts)
    assert lanes(with_all) == lanes(fresh)
    for store in (with_all, without, fresh):
        store.close()


def test_a_fact_lives_as_long_as_any_visible_evidence(told: VaultStore) -> None:
    told.writer.commit(
        [
            PutPassage(after=passage(1, TEXT)),
            PutFact(after=fact(0, "thing:a", "thing:b")),
            AddEvidence(after=evidence(0, "fct:0", None, "psg:0")),
            AddEvidence(after=evidence(1, "fct:0", None, "psg:1")),
        ],
        actor=ACTOR,
    )
    for number, left in ((0, ["fct:0"]), (1, [])):
        forget = state(f"psg:{number}", StateKind.FORGOTTEN, START, None)
        told.writer.commit([forget], actor=ACTOR)
        view = told.view()
        assert [f.id for f in view.facts_about(["thing:a"], EVERYTHING)] == left
        assert bool(view.entities(["thing:a"], EVERYTHING)) == bool(left)
    assert told.view().counts(EVERYTHING)["evidence"] == 0


def test_surfaces_and_votes_count_visible_mentions_only(told: VaultStore) -> None:
    bundles = [bundle(f"psg:{n}", "src:0", (), [mention(f"psg:{n}", 1, "thing:a")]) for n in (5, 6)]
    told.writer.commit([PutPassage(after=item) for item in bundles], actor=ACTOR)
    assert told.view().surfaces("thing:a", EVERYTHING) == {"LanceDB": 2}
    told.writer.commit([state("psg:5", StateKind.FORGOTTEN, START, None)], actor=ACTOR)
    assert told.view().surfaces("thing:a", EVERYTHING) == {"LanceDB": 1}
    assert told.view().type_votes("thing:a", EVERYTHING) == {"tool": 1.0}


def test_a_window_asks_the_time_a_passage_has_now(told: VaultStore) -> None:
    early = passage(5, "x", authored_at=START)
    late = passage(5, "x", authored_at=START + timedelta(days=30))
    told.writer.commit([PutPassage(after=early)], actor=ACTOR)
    told.writer.commit([PutPassage(before=early, after=late)], actor=ACTOR)
    day = timedelta(days=1)
    assert told.view().in_window(START, START + day, 9, EVERYTHING) == []
    then = START + 30 * day
    assert told.view().in_window(then, then + day, 9, EVERYTHING) == ["psg:5"]


def test_a_statement_time_brings_its_passage(told: VaultStore) -> None:
    said = [statement("psg:5", number) for number in range(2)]
    told.writer.commit([PutPassage(after=bundle("psg:5", "src:0", said, ()))], actor=ACTOR)
    day = timedelta(days=1)
    assert told.view().in_window(START, START + day, 9, EVERYTHING) == ["psg:5"]
    assert told.view().in_window(START + day, None, 9, EVERYTHING) == []


def test_readers_beside_a_writer_never_see_part_of_a_commit(tmp_path: object) -> None:
    store = open_store(tmp_path, create=True, graph="memory")  # type: ignore[arg-type]
    put_notes(store)
    problems: list[object] = []
    done = threading.Event()

    def read() -> None:
        try:
            while not done.is_set():
                view = store.view()
                seen = (
                    view.counts(EVERYTHING)["passage"],
                    len(view.lexical(matching("pump"), 9999, EVERYTHING)),
                    view.adjacency(EVERYTHING).node_count,
                    len(view.passages([f"psg:{n}" for n in range(400)], EVERYTHING)),
                )
                if len(set(seen)) > 1 or seen[0] % 5 or seen[0] != view.seq - 1:
                    problems.append((view.seq, seen))
        except Exception as error:
            problems.append(error)

    threads = [threading.Thread(target=read) for _ in range(2)]
    for thread in threads:
        thread.start()
    for number in range(60):
        bundles = [passage(number * 5 + i, "pump") for i in range(5)]
        store.writer.commit([PutPassage(after=b) for b in bundles], actor=ACTOR)
    done.set()
    for thread in threads:
        thread.join()
    store.close()
    assert problems == []


def test_making_the_index_anew_costs_no_more_per_passage_in_a_larger_vault() -> None:
    from time import perf_counter

    def seconds_per_passage(count: int) -> float:
        store = open_store(None, create=True)
        put_notes(store)
        for number in range(count):
            store.writer.commit([PutPassage(after=passage(number, TEXT))], actor=ACTOR)
        started = perf_counter()
        store.rebuild(graph=False)
        spent = perf_counter() - started
        store.close()
        return spent / count

    assert seconds_per_passage(480) < 4 * seconds_per_passage(60)
