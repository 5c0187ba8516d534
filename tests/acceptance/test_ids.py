"""Every id that any call returns is accepted by every other call."""

from __future__ import annotations

import pytest

from graphmem.errors import UsageError
from graphmem.extractors import SpacyExtractor
from graphmem.memory import Memory
from graphmem.model.ids import MENTION_PREFIX, OBJECT_PREFIXES
from graphmem.model.results import RememberResult
from graphmem.model.scope import EVERYTHING
from graphmem.vocabulary import Direction
from tests.acceptance.records import asked, ids_of
from tests.cases.vaults import vault

# What a result may name; a mention is shown as the entity and the passage it joins.
ITEM_PREFIXES = set(OBJECT_PREFIXES) - {MENTION_PREFIX}
# Ids opened at once: the most that a call takes.
PAGE = 200


def _opened(records: Memory, ids: set[str]) -> set[str]:
    """Opens all ids; gives the ids that stand in what was opened."""
    ordered, found = sorted(ids), set()
    for start in range(0, len(ordered), PAGE):
        page = ordered[start : start + PAGE]
        result = records.get(page)
        assert result.missing == ()
        assert [item.id for item in result.items] == page
        assert all(item.text for item in result.items)
        found |= set(ids_of([item.model_dump(mode="json") for item in result.items]))
    return found


@pytest.fixture(scope="module")
def returned(records: Memory) -> set[str]:
    """The ids in the answers to all questions, and in the facts and causes of what they name."""
    found: set[str] = set()
    for question in asked():
        for result in (
            records.search(question),
            records.find_causal_links(question, direction=Direction.BOTH),
        ):
            found |= set(ids_of(result))
    found |= _opened(records, found)
    for entity_id in [each for each in found if each.partition(":")[0] not in OBJECT_PREFIXES]:
        found |= set(ids_of(records.kg_query(entity_id, include_history=True)))
    return found


def test_get_opens_every_id_and_the_ids_in_what_it_opened(
    records: Memory, returned: set[str]
) -> None:
    kinds = {each.partition(":")[0] for each in returned}
    assert kinds >= ITEM_PREFIXES
    inner = _opened(records, returned)
    _opened(records, inner)


def test_causes_start_from_every_id(records: Memory, returned: set[str]) -> None:
    for each in sorted(returned):
        result = records.find_causal_links(each, direction=Direction.BOTH, depth=1)
        assert "fits the question" not in result.note, (each, result.note)


def test_kg_query_takes_every_entity_id(records: Memory, returned: set[str]) -> None:
    entities = {each for each in returned if each.partition(":")[0] not in OBJECT_PREFIXES}
    view = records._store.view()
    passages = [ref.passage_id for source in view.source_list() for ref in source.layout]
    for mentions in view.mentions_of(passages, EVERYTHING).values():
        entities |= {mention.entity_id for mention in mentions}
    assert len(entities) > 50
    for each in sorted(entities):
        result = records.kg_query(each)
        assert (result.matched_by, [found.id for found in result.entities]) == ("id", [each])


def test_search_links_every_entity_id(records: Memory, returned: set[str]) -> None:
    for each in sorted(returned):
        if each.partition(":")[0] not in OBJECT_PREFIXES:
            assert each in records.search(f"what about {each}?").entities


def _remember(records: Memory) -> RememberResult:
    return records.remember(
        "We dropped LanceDB.", facts=["Orion|uses|Basalt"], because="Its index was lost twice."
    )


def test_remembered_ids_are_opened_and_repeat(extractor: SpacyExtractor) -> None:
    with vault(extractor) as memory:
        stored = _remember(memory)
        ids = set(ids_of(stored))
        assert len(ids) >= 4
        _opened(memory, ids)
        again = _remember(memory)
        assert set(ids_of(again)) == ids
        assert {item.outcome for item in again.items} == {"merged"}


def test_ids_of_nothing_are_missing_and_never_an_error(records: Memory) -> None:
    wrong = ["psg:0", "stm:ffffffffffffffffffff", "tool:nothing-of-that-name", "x", "redis:6379"]
    assert records.get(wrong).missing == tuple(wrong)
    with pytest.raises(UsageError):
        records.get([])
