"""A hidden item is exactly like one that was never told, in every read and count."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphmem.model.items import SameAs
from graphmem.model.operations import (
    AddEvidence,
    Operation,
    PutEntity,
    PutFact,
    PutLink,
    PutPassage,
    PutSource,
    RedirectEntity,
)
from graphmem.model.scope import EVERYTHING, Scope
from graphmem.store import VaultStore, open_store
from graphmem.text import escape
from graphmem.vocabulary import LinkKind, StateKind
from tests.store.conftest import ticking
from tests.store.graph.world import (
    START,
    bundle,
    entity,
    evidence,
    fact,
    link,
    mention,
    source,
    state,
    statement,
)
from tests.store.told import ACTOR, matching, tell

NAMES = "abc"
HOMES = ("psg:0", "psg:1", "psg:2")
IDS = {
    "passage": HOMES,
    "statement": [f"stm:{n}.{i}" for n in range(3) for i in range(2)],
    "entity": [f"thing:{name}" for name in NAMES],
    "fact": ["fct:0", "fct:1"],
    "evidence": ["evd:0", "evd:1", "evd:2"],
    "link": ["lnk:0", "lnk:1"],
}


def telling(without: frozenset[str] = frozenset()) -> Iterable[Operation]:
    """A small vault in which everything hangs together, without some items and their parts."""

    def here(*ids: str) -> bool:
        return not without & set(ids)

    yield PutSource(after=source(0))
    for name in NAMES:
        if here(f"thing:{name}"):
            yield PutEntity(after=entity(name))
    said = {home: [statement(home, i) for i in range(2)] for home in HOMES}
    for number, home in enumerate(HOMES):
        kept = [s for s in said[home] if here(s.id)]
        named = [
            mention(home, i, f"thing:{NAMES[(number + i) % 3]}", said[home][i].id)
            for i in range(2)
            if here(f"thing:{NAMES[(number + i) % 3]}", said[home][i].id)
        ]
        if here(home):
            yield PutPassage(after=bundle(home, "src:0", kept, named))
    for number, (one, two) in enumerate((("a", "b"), ("b", "c"))):
        proofs = [
            evidence(number + i, f"fct:{number}", said[home][0], home)
            for i, home in enumerate(HOMES[number : number + 2])
            if number + i < 2 or number == 1
        ]
        proofs = proofs[:1] if number == 0 else proofs
        seen = [p for p in proofs if here(p.id, p.passage_id, str(p.statement_id))]
        if seen and here(f"fct:{number}", f"thing:{one}", f"thing:{two}"):
            yield PutFact(after=fact(number, f"thing:{one}", f"thing:{two}"))
            yield from (AddEvidence(after=proof) for proof in seen)
    for number in range(2):
        one, two = said[HOMES[number]][0].id, said[HOMES[number + 1]][1].id
        if here(f"lnk:{number}", one, two, HOMES[number], HOMES[number + 1]):
            yield PutLink(after=link(number, LinkKind.CAUSES, one, two, HOMES[number]))


def seen(store: VaultStore, scope: Scope = EVERYTHING) -> dict[str, object]:
    view = store.view()
    graph = view.adjacency(scope)
    nodes = list(range(graph.node_count))
    return {
        "sources": view.sources(["src:0"], scope),
        "passages": view.passages(IDS["passage"], scope),
        "statements": view.statements(IDS["statement"], scope),
        "mentions": view.mentions_of(HOMES, scope),
        "entities": view.entities(IDS["entity"], scope),
        "facts": view.facts(IDS["fact"], scope),
        "evidence": view.evidence(IDS["evidence"], scope),
        "links": view.links(IDS["link"], scope),
        "around": [view.facts_about([e], scope) for e in IDS["entity"]],
        "proofs": view.evidence_of(IDS["fact"], scope),
        "linked": view.links_of(IDS["statement"], frozenset(LinkKind), scope),
        "surfaces": [view.surfaces(e, scope) for e in IDS["entity"]],
        "votes": [view.type_votes(e, scope) for e in IDS["entity"]],
        "named": view.entities_named(NAMES, scope),
        "near": view.name_keys_with_token(["a"], 5, scope),
        "window": view.in_window(START, None, 99, scope),
        "lexical": view.lexical(matching("kuzu"), 99, scope),
        "frequency": view.document_frequency([escape("kuzu")]),
        "counts": {k: n for k, n in view.counts(scope).items() if k != "entity"},
        "nodes": [graph.key(node) for node in nodes],
    }


def fresh(operations: Iterable[Operation]) -> VaultStore:
    store = open_store(None, create=True, clock=ticking())
    store.writer.commit(list(operations), actor=ACTOR)
    return store


@pytest.mark.parametrize("kind", [kind for kind in StateKind if kind is not StateKind.SNOOZED])
@pytest.mark.parametrize(
    "hidden",
    [*HOMES, *IDS["statement"], *IDS["entity"], *IDS["fact"], *IDS["evidence"], *IDS["link"]],
)
def test_what_is_hidden_is_as_if_it_had_never_been_told(hidden: str, kind: StateKind) -> None:
    store, never = fresh(telling()), fresh(telling(frozenset({hidden})))
    everything = seen(store)
    store.writer.commit([state(hidden, kind, START, None)], actor=ACTOR)
    assert seen(store) == seen(never)
    store.writer.commit([state(hidden, kind, None, START)], actor=ACTOR)
    assert seen(store) == everything


@given(hidden=st.sets(st.sampled_from([*HOMES, *IDS["statement"], *IDS["entity"], "fct:0"])))
@settings(max_examples=25)
def test_any_hidden_set_is_as_if_it_had_never_been_told(hidden: set[str]) -> None:
    store, never = fresh(telling()), fresh(telling(frozenset(hidden)))
    for ident in sorted(hidden):
        store.writer.commit([state(ident, StateKind.FORGOTTEN, START, None)], actor=ACTOR)
    assert seen(store) == seen(never)


def test_a_hidden_source_takes_everything_with_it(store: VaultStore) -> None:
    store.writer.commit(list(telling()), actor=ACTOR)
    store.writer.commit([state("src:0", StateKind.FORGOTTEN, START, None)], actor=ACTOR)
    assert set(store.view().counts(EVERYTHING).values()) == {0}
    assert store.view().adjacency(EVERYTHING).node_count == 0
    assert store.view().document_frequency([escape("kuzu")]) == {escape("kuzu"): 0}


def test_who_was_merged_into_a_hidden_entity_is_hidden_with_it(store: VaultStore) -> None:
    store.writer.commit(list(telling()), actor=ACTOR)
    merges = [("thing:a", "thing:b"), ("thing:b", "thing:c")]
    told = [SameAs(loser_id=one, survivor_id=two, reason="same") for one, two in merges]
    store.writer.commit([RedirectEntity(after=same) for same in told], actor=ACTOR)
    assert store.view().survivor("thing:a") == "thing:c"
    assert len(store.view().facts_about(["thing:a"], EVERYTHING)) == 2
    store.writer.commit([state("thing:c", StateKind.FORGOTTEN, START, None)], actor=ACTOR)
    view = store.view()
    assert not view.entities(IDS["entity"], EVERYTHING)
    assert view.counts(EVERYTHING)["mention"] == view.counts(EVERYTHING)["fact"] == 0
    assert not any(view.mentions_of(HOMES, EVERYTHING).values())


@given(seed=st.integers(0, 2**32))
@settings(max_examples=40)
def test_counts_are_the_numbers_of_what_the_reads_give(seed: int) -> None:
    store = open_store(None, create=True, clock=ticking())
    tell(store, seed, 30)
    view = store.view()
    passages = [f"psg:{s}-{n}" for s in range(3) for n in range(3)]
    statements = view.statements_of(passages, EVERYTHING).values()
    numbers = {
        "source": len(view.sources([f"src:{n}" for n in range(3)], EVERYTHING)),
        "passage": len(view.passages(passages, EVERYTHING)),
        "statement": sum(map(len, statements)),
        "mention": sum(map(len, view.mentions_of(passages, EVERYTHING).values())),
        "entity": len(view.entities([f"thing:{n}" for n in "abcd"], EVERYTHING)),
        "fact": len(view.facts([f"fct:{n}" for n in range(3)], EVERYTHING)),
        "evidence": len(view.evidence([f"evd:{n}" for n in range(40)], EVERYTHING)),
        "link": len(view.links([f"lnk:{n}" for n in range(5)], EVERYTHING)),
    }
    assert view.counts(EVERYTHING) == numbers
    store.close()
