"""remember: what the caller states is stored, merged or refused, item by item."""

from collections.abc import Sequence
from typing import Any

import pytest

from graphmem.errors import InvalidInputError, KeyReusedError, UsageError
from graphmem.ingest import CauseInput, FactInput, remember
from graphmem.model.results import RememberResult
from graphmem.model.scope import EVERYTHING
from graphmem.store.protocols import Store
from graphmem.vocabulary import LinkKind, Origin, Polarity, Refusal
from tests.ingest.conftest import NOW
from tests.ingest.plain_extractor import PlainExtractor

SEAL = "The seal cracked because the coolant ran dry."


def say(
    store: Store,
    text: str,
    *,
    facts: Sequence[str | FactInput] = (),
    because: Sequence[str] = (),
    causes: Sequence[CauseInput] = (),
    origin: Origin = Origin.AGENT,
    key: str | None = None,
) -> RememberResult:
    return remember(
        store,
        text,
        facts=facts,
        because=because,
        causes=causes,
        origin=origin,
        key=key,
        project="yard",
        extractor=PlainExtractor(),
        clock=lambda: NOW,
    )


def outcomes(result: RememberResult) -> list[tuple[str, Refusal | None]]:
    return [(item.outcome, item.reason) for item in result.items]


def texts_of(store: Store, link_id: str) -> tuple[str, str]:
    view = store.view()
    link = view.links([link_id], EVERYTHING)[link_id]
    found = view.statements([link.source_id, link.target_id], EVERYTHING)
    passages = view.passages({each.passage_id for each in found.values()}, EVERYTHING)

    def text(ident: str) -> str:
        said = found[ident]
        return passages[said.passage_id].text[said.start : said.end]

    return text(link.source_id), text(link.target_id)


def test_the_text_is_read_by_the_extractor_as_well(store: Store) -> None:
    result = say(store, SEAL)
    ids = [
        each.id
        for each in store.view().statements_of(result.passage_ids, EVERYTHING)[
            result.passage_ids[0]
        ]
    ]
    (link,) = store.view().links_of(ids, frozenset({LinkKind.CAUSES}), EVERYTHING)
    assert link.extractor == "plain"
    assert texts_of(store, link.id) == ("the coolant ran dry", "The seal cracked")


def test_a_second_time_changes_nothing_and_says_merged(store: Store) -> None:
    first = say(store, SEAL, facts=["Valve V-3|feeds|Tank 2"], because=["The tank was empty."])
    seq = store.view().seq
    again = say(store, SEAL, facts=["Valve V-3|feeds|Tank 2"], because=["The tank was empty."])
    assert outcomes(first) == [("stored", None)] * 2
    assert outcomes(again) == [("merged", None)] * 2
    assert [item.id for item in again.items] == [item.id for item in first.items]
    assert store.view().seq == seq


def test_a_fact_known_from_elsewhere_is_merged_and_gains_evidence(store: Store) -> None:
    (first,) = say(store, "One.", facts=["Orion|uses|Basalt"]).items
    (second,) = say(store, "Two.", facts=["orion|uses|BASALT"]).items
    assert (second.outcome, second.id) == ("merged", first.id)
    assert first.id is not None
    assert len(store.view().evidence_of([first.id], EVERYTHING)[first.id]) == 2


def test_each_item_is_answered_by_itself(store: Store) -> None:
    result = say(
        store,
        SEAL,
        facts=["Pump|has status|broken", "it|uses|Basalt", "Orion|uses|orion"],
        causes=[
            CauseInput("The coolant ran dry", "the seal cracked"),
            CauseInput("x", " "),
            CauseInput("the seal cracked", "the seal cracked"),
            CauseInput("w" * 801, "the seal cracked"),
        ],
    )
    assert outcomes(result) == [
        ("stored", None),
        ("refused", Refusal.PLACEHOLDER),
        ("refused", Refusal.SELF_LOOP),
        ("stored", None),
        ("refused", Refusal.EMPTY),
        ("refused", Refusal.SELF_LOOP),
        ("refused", Refusal.TOO_LONG),
    ]
    assert len(result.passage_ids) == 1


def test_because_leads_to_the_main_claim_of_the_text(store: Store) -> None:
    result = say(store, "We dropped LanceDB.", because=["Its index was lost twice."])
    (item,) = result.items
    assert item.id is not None
    assert texts_of(store, item.id) == ("Its index was lost twice", "We dropped LanceDB")
    passages = store.view().passages(result.passage_ids, EVERYTHING)
    assert [passages[each].text for each in result.passage_ids] == [
        "We dropped LanceDB.",
        "Its index was lost twice.",
    ]


def test_a_later_call_about_the_same_text_keeps_the_earlier_causes(store: Store) -> None:
    say(store, "We dropped LanceDB.", because=["Its index was lost twice."])
    later = say(store, "We dropped LanceDB.", because=["It was slow."])
    assert outcomes(later) == [("stored", None)]
    assert len(later.passage_ids) == 3


def test_origin_and_extractor_are_the_callers(store: Store) -> None:
    for origin, extractor in ((Origin.AGENT, "agent"), (Origin.OWNER, "owner")):
        result = say(store, f"Note by {origin}.", facts=["Orion|uses|Slate"], origin=origin)
        ident = result.items[0].id
        assert ident is not None
        found = store.view().evidence_of([ident], EVERYTHING)[ident]
        assert (origin, extractor) in {(each.origin, each.extractor) for each in found}


def test_negation_and_validity_are_kept(store: Store) -> None:
    fact = FactInput("Orion", "runs on", "Slate", Polarity.NEGATIVE, valid_from=NOW)
    (item,) = say(store, "Orion note.", facts=[fact]).items
    assert item.id is not None
    stored = store.view().facts([item.id], EVERYTHING)[item.id]
    assert (stored.predicate, stored.polarity, stored.valid_from) == (
        "runs_on",
        Polarity.NEGATIVE,
        NOW,
    )


def test_a_key_used_again_gives_what_the_first_call_stored(store: Store) -> None:
    asked = {"facts": ["Orion|uses|Basalt"], "because": ["Chalk broke."], "key": "k1"}
    first = say(store, "Orion moved.", **asked)  # type: ignore[arg-type]
    say(store, "Orion moved.", because=["It was old."])
    seq = store.view().seq
    again = say(store, "Orion moved.", **asked)  # type: ignore[arg-type]
    assert again == first.model_copy(update={"repeated": True})
    assert store.view().seq == seq


@pytest.mark.parametrize(
    "other", [{"text": "Another text."}, {"because": ["Else."]}, {"origin": Origin.OWNER}]
)
def test_a_key_used_for_something_else_is_refused(store: Store, other: dict[str, Any]) -> None:
    say(store, "One text.", key="k1")
    seq = store.view().seq
    with pytest.raises(KeyReusedError, match="'k1'"):
        say(store, **{"text": "One text.", "key": "k1", **other})
    assert store.view().seq == seq


def test_two_keys_for_the_same_text_are_one_note(store: Store) -> None:
    first = say(store, "One text.", key="k1")
    second = say(store, "One text.", key="k2")
    assert (second.source_id, second.repeated) == (first.source_id, False)
    assert len(store.view().source_list()) == 1


@pytest.mark.parametrize("key", ["", "  ", "k" * 257])
def test_a_useless_key_is_refused(store: Store, key: str) -> None:
    with pytest.raises(UsageError, match="key"):
        say(store, "One text.", key=key)


@pytest.mark.parametrize("text", ["", "  \n", "x" * 100_001])
def test_empty_and_huge_texts_are_refused(store: Store, text: str) -> None:
    with pytest.raises(InvalidInputError):
        say(store, text)


@pytest.mark.parametrize("fact", ["a|b", "a|b|c|d", "||", "plain words"])
def test_an_unreadable_fact_is_refused_and_nothing_is_stored(store: Store, fact: str) -> None:
    with pytest.raises(InvalidInputError, match=r"subject\|predicate\|object"):
        say(store, "Text.", facts=[fact])
    assert store.view().source_list() == []


def test_a_phrase_across_two_passages_becomes_a_passage(store: Store) -> None:
    text = "".join(f"Filler sentence number {at} stands here. " for at in range(40))
    phrase = text[300:1000]
    result = say(store, text + "We dropped LanceDB.", because=[phrase])
    assert outcomes(result) == [("stored", None)]
