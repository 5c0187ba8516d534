"""What would break an invariant is refused, whole, with the reason."""

from __future__ import annotations

import pytest

from graphmem.errors import ConflictError, InvalidInputError
from graphmem.model.items import Root, SameAs
from graphmem.model.operations import (
    AddEvidence,
    Annotate,
    Cursor,
    Decide,
    DeclarePredicate,
    DeclareRoot,
    Operation,
    PutEntity,
    PutFact,
    PutPassage,
    PutSource,
    RedirectEntity,
)
from graphmem.store import VaultStore
from graphmem.vocabulary import StateKind
from tests.store.graph.world import START, bundle, entity, evidence, fact, source, state, statement
from tests.store.test_hiding import HOMES, telling
from tests.store.told import ACTOR

ROOT = Root(id="root:1", path="/notes", project="p")


def same(loser: str, survivor: str) -> SameAs:
    return SameAs(loser_id=f"thing:{loser}", survivor_id=f"thing:{survivor}", reason="same")


@pytest.fixture
def told(store: VaultStore) -> VaultStore:
    store.writer.commit(list(telling()), actor=ACTOR)
    store.writer.commit(
        [
            Cursor(name="chat", after="1"),
            DeclareRoot(after=ROOT),
            RedirectEntity(after=same("a", "b")),
            state("psg:2", StateKind.ARCHIVED, START, None),
        ],
        actor=ACTOR,
    )
    return store


def refused(store: VaultStore, operations: list[Operation], error: type[Exception]) -> None:
    before = list(store.dump())
    with pytest.raises(error):
        store.writer.commit(operations, actor=ACTOR)
    assert list(store.dump()) == before


@pytest.mark.parametrize(
    "operation",
    [
        Cursor(name="chat", after="2"),
        Cursor(name="chat", before="0", after="2"),
        Annotate(target_id="psg:0", label="star", before="x", after="y"),
        DeclarePredicate(predicate="uses", before="{}", after=None),
        Decide(proposal_id="p", before="yes", after="no"),
        DeclareRoot(after=ROOT),
        DeclareRoot(before=ROOT.model_copy(update={"path": "/other"}), after=None),
        RedirectEntity(after=same("a", "c")),
        RedirectEntity(before=same("b", "c"), after=None),
        state("psg:2", StateKind.ARCHIVED, START, None),
        state("psg:2", StateKind.FORGOTTEN, None, START),
    ],
    ids=lambda operation: operation.op,
)
def test_a_before_that_is_not_what_is_stored_is_a_conflict(
    told: VaultStore, operation: Operation
) -> None:
    refused(told, [operation], ConflictError)


def stored_bundle(home: str) -> PutPassage:
    made = next(
        op
        for op in telling()
        if isinstance(op, PutPassage) and op.after is not None and op.after.passage.id == home
    )
    return made.inverse()


@pytest.mark.parametrize(
    "operations",
    [
        [PutSource(before=source(0), after=None)],
        [stored_bundle(HOMES[0])],
        [
            PutPassage(
                before=stored_bundle(HOMES[0]).before,
                after=bundle(HOMES[0], "src:0", [statement(HOMES[0], 1)], ()),
            )
        ],
        [PutEntity(before=entity("a"), after=None)],
        [PutFact(before=fact(0, "thing:a", "thing:b"), after=None)],
    ],
    ids=["source", "passage", "statement", "entity", "fact"],
)
def test_what_others_refer_to_is_not_removed(told: VaultStore, operations: list[Operation]) -> None:
    refused(told, operations, InvalidInputError)


def test_the_last_evidence_goes_only_with_its_fact(told: VaultStore) -> None:
    said = statement(HOMES[0], 0)
    last = AddEvidence(before=evidence(0, "fct:0", said, HOMES[0]), after=None)
    refused(told, [last], InvalidInputError)
    gone = PutFact(before=fact(0, "thing:a", "thing:b"), after=None)
    told.writer.commit([last, gone], actor=ACTOR)
    assert not told.view().existing(["fct:0", "evd:0"])


def test_one_of_two_pieces_of_evidence_may_go(told: VaultStore) -> None:
    said = statement(HOMES[1], 0)
    one = AddEvidence(before=evidence(1, "fct:1", said, HOMES[1]), after=None)
    told.writer.commit([one], actor=ACTOR)
    assert told.view().existing(["fct:1", "evd:1", "evd:2"]) == {"fct:1", "evd:2"}


@pytest.mark.parametrize("merges", [[("b", "a")], [("b", "c"), ("c", "a")], [("c", "c")]])
def test_a_merge_into_itself_is_refused(told: VaultStore, merges: list[tuple[str, str]]) -> None:
    told_now: list[Operation] = [RedirectEntity(after=same(*ends)) for ends in merges]
    refused(told, told_now, InvalidInputError)
