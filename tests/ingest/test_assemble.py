"""Assembling: nothing an extractor gives is trusted, and everything dropped is counted."""

import math
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from graphmem.ingest.assemble import Assembled, Layer, PassageInfo, assemble
from graphmem.model.extraction import (
    CausalCandidate,
    Extraction,
    LiteralTerm,
    MentionCandidate,
    MentionTerm,
    NamedTerm,
    ProjectTerm,
    StatementCandidate,
    StatementRef,
    TripleCandidate,
)
from graphmem.model.items import EntityObject, LiteralObject, Passage
from graphmem.resolve.resolver import OnlineResolver
from graphmem.store import open_store
from graphmem.vocabulary import LinkKind, Modality, Polarity, Refusal, StatementKind

TEXT = "Zephyr Depot supplies Anvil Works. Anvil Works audits Zephyr Depot."
SEEN = datetime(2026, 3, 1, tzinfo=UTC)
DEPOT = MentionCandidate(0, 12, "Zephyr Depot")
WORKS = MentionCandidate(22, 33, "Anvil Works")
FIRST = StatementCandidate(0, 33, StatementKind.FACT)
SECOND = StatementCandidate(35, 66, StatementKind.FACT)
SUPPLIES = TripleCandidate(MentionTerm(0), "supplies", MentionTerm(1), 0, 33, 0)
BASE = Extraction((FIRST, SECOND), (DEPOT, WORKS), (SUPPLIES,))


def passage(source: str, text: str = TEXT) -> Passage:
    return Passage(
        id=f"psg:{source}", source_id=f"src:{source}", text=text, text_hash="h", authored_at=SEEN
    )


def run(*extractions: Extraction, sources: str = "a") -> Assembled:
    infos = [
        PassageInfo(passage(sources[min(at, len(sources) - 1)]), "north-yard", "north-yard")
        for at in range(len(extractions))
    ]
    store = open_store(None, create=True)
    try:
        layer = Layer("plain", 1, extractions)
        return assemble(infos, [layer], OnlineResolver(store.view()))
    finally:
        store.close()


def with_triple(**changes: object) -> Extraction:
    return replace(BASE, triples=(replace(SUPPLIES, **changes),))  # type: ignore[arg-type]


def test_direction_is_kept_and_two_relations_of_one_pair_stay_two() -> None:
    back = TripleCandidate(MentionTerm(1), "audits", MentionTerm(0), 35, 66)
    found = run(replace(BASE, triples=(SUPPLIES, back)))
    read = {
        (fact.subject_surface, fact.predicate, fact.object.surface)
        for fact in found.facts.values()
        if isinstance(fact.object, EntityObject)
    }
    assert read == {
        ("Zephyr Depot", "supplies", "Anvil Works"),
        ("Anvil Works", "audits", "Zephyr Depot"),
    }


def test_items_carry_quote_surface_time_and_statement() -> None:
    found = run(BASE)
    (evidence,) = found.evidence.values()
    assert evidence.quote == "Zephyr Depot supplies Anvil Works"
    assert (evidence.seen_at, evidence.statement_id) == (SEEN, found.bundles[0].statements[0].id)
    assert [mention.seen_at for mention in found.bundles[0].mentions] == [SEEN, SEEN]


@pytest.mark.parametrize(
    ("extraction", "reason"),
    [
        (with_triple(end=400), Refusal.BAD_SPAN),
        (with_triple(start=-1), Refusal.BAD_SPAN),
        (with_triple(start=33, end=33), Refusal.BAD_SPAN),
        (with_triple(subject=MentionTerm(7)), Refusal.UNKNOWN_REFERENCE),
        (with_triple(subject=MentionTerm(-1)), Refusal.UNKNOWN_REFERENCE),
        (with_triple(subject=LiteralTerm("x")), Refusal.UNKNOWN_REFERENCE),
        (with_triple(object=NamedTerm("zephyr  depot")), Refusal.SELF_LOOP),
        (with_triple(object=NamedTerm("it")), Refusal.PLACEHOLDER),
        (with_triple(object=NamedTerm(" ")), Refusal.EMPTY),
        (with_triple(object=NamedTerm("x" * 201)), Refusal.TOO_LONG),
        (with_triple(object=LiteralTerm(" ")), Refusal.EMPTY),
        (with_triple(object=LiteralTerm("x" * 501)), Refusal.TOO_LONG),
        (with_triple(object=LiteralTerm("x"), predicate="runs_on"), Refusal.UNKNOWN_REFERENCE),
        (with_triple(predicate=" "), Refusal.EMPTY),
        (with_triple(predicate="p" * 101), Refusal.TOO_LONG),
        (with_triple(modality=Modality.HEDGED), Refusal.NOT_ASSERTED),
        (with_triple(modality=Modality.REPORTED), Refusal.NOT_ASSERTED),
        (with_triple(valid_from=SEEN, valid_to=SEEN), Refusal.REVERSED_INTERVAL),
    ],
)
def test_an_unsound_triple_is_dropped_and_counted(extraction: Extraction, reason: Refusal) -> None:
    found = run(extraction)
    assert found.facts == {}
    assert found.refused == {reason: 1}
    assert [outcome.reason for outcome in found.outcomes] == [reason]


@pytest.mark.parametrize(
    ("mention", "reason"),
    [
        (replace(DEPOT, end=11), Refusal.BAD_SPAN),
        (replace(DEPOT, start=0, end=900), Refusal.BAD_SPAN),
        (MentionCandidate(33, 34, "."), Refusal.PLACEHOLDER),
    ],
)
def test_an_unsound_mention_is_dropped_with_what_stands_on_it(
    mention: MentionCandidate, reason: Refusal
) -> None:
    found = run(replace(BASE, mentions=(mention, WORKS)))
    assert found.refused == {reason: 1, Refusal.UNKNOWN_REFERENCE: 1}
    assert [each.surface for each in found.bundles[0].mentions] == ["Anvil Works"]


def test_negation_is_kept_as_polarity() -> None:
    (fact,) = run(with_triple(polarity=Polarity.NEGATIVE)).facts.values()
    assert fact.polarity is Polarity.NEGATIVE


def test_we_is_the_project_and_the_evidence_says_so() -> None:
    found = run(with_triple(subject=ProjectTerm("We")))
    (evidence,) = found.evidence.values()
    (fact,) = found.facts.values()
    assert evidence.declared_project
    assert {entity.id: entity.name for entity in found.entities}[fact.subject_id] == "north-yard"


def test_a_literal_predicate_takes_the_words_of_an_entity() -> None:
    (fact,) = run(with_triple(predicate="has_status")).facts.values()
    assert fact.object == LiteralObject(value="Anvil Works")


def test_one_fact_sighted_twice_is_one_fact_with_two_pieces_of_evidence() -> None:
    found = run(BASE, BASE, sources="ab")
    assert (len(found.facts), len(found.evidence), len(found.entities)) == (1, 2, 2)


CAUSE = CausalCandidate(LinkKind.CAUSES, StatementRef(0, 0), StatementRef(0, 1), 0, 0, 66)


def with_cause(**changes: object) -> Extraction:
    cause = replace(CAUSE, **changes)  # type: ignore[arg-type]
    return replace(BASE, triples=(), causes=(cause,))


@pytest.mark.parametrize(
    ("extraction", "reason"),
    [
        (with_cause(effect=StatementRef(0, 0)), Refusal.SELF_LOOP),
        (with_cause(effect=StatementRef(0, 9)), Refusal.UNKNOWN_REFERENCE),
        (with_cause(effect=StatementRef(1, 0)), Refusal.UNKNOWN_REFERENCE),
        (with_cause(effect=StatementRef(-1, 0)), Refusal.UNKNOWN_REFERENCE),
        (with_cause(passage=5), Refusal.UNKNOWN_REFERENCE),
        (with_cause(kind=LinkKind.SAME_EVENT), Refusal.UNKNOWN_REFERENCE),
        (with_cause(end=99), Refusal.BAD_SPAN),
    ],
)
def test_an_unsound_cause_is_dropped_and_counted(extraction: Extraction, reason: Refusal) -> None:
    found = run(extraction, replace(BASE, triples=()), sources="ab")
    assert found.links == {}
    assert found.refused == {reason: 1}


def test_a_cause_may_join_passages_of_one_source() -> None:
    found = run(with_cause(effect=StatementRef(1, 0)), replace(BASE, triples=()), sources="a")
    assert found.refused == {Refusal.SELF_LOOP: 1}  # both passages have one id here
    (link,) = run(with_cause(), sources="a").links.values()
    assert (link.quote, link.confidence) == (TEXT[:66], 1.0)


@pytest.mark.parametrize(("given", "kept"), [(math.nan, 0.0), (math.inf, 0.0), (7.0, 1.0)])
def test_confidence_is_a_number_between_0_and_1(given: float, kept: float) -> None:
    (evidence,) = run(with_triple(confidence=given)).evidence.values()
    assert evidence.confidence == kept
