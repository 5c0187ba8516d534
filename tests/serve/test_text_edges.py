"""Text at the edge of what can be stored: embedded and served do the same with it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, get_args

import pytest

import graphmem
from graphmem.errors import GraphmemError, InvalidInputError, UsageError
from graphmem.model.inputs import CauseInput, FactInput
from graphmem.serve.opening import Mode
from graphmem.settings import Settings
from tests.serve.conftest import end_owners

MODES = [mode for mode in get_args(Mode) if mode != "auto"]


@pytest.fixture(scope="module", params=MODES)
def memory(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[graphmem.MemoryLike]:
    vault = tmp_path_factory.mktemp("edges") / "vault"
    settings = Settings(embedder="none", idle_exit="60s")
    with graphmem.open(vault, mode=request.param, settings=settings) as opened:
        yield opened
    end_owners(vault)


@pytest.mark.parametrize(
    "arguments",
    [
        {"text": "Half \ud800 a character."},
        {"text": "One.", "facts": ["A\ud800|uses|B"]},
        {"text": "One.", "facts": [FactInput("A", "uses", "B\udfff")]},
        {"text": "One.", "because": ["It was \udc80."]},
        {"text": "One.", "causes": [CauseInput("a\ud800", "b")]},
        {"text": "One.", "project": "\ud800"},
        {"text": "One.", "key": "\ud800"},
        {"text": ""},
        {"text": " \n\t"},
    ],
)
def test_what_cannot_be_stored_is_refused_and_nothing_is(
    memory: graphmem.MemoryLike, arguments: dict[str, Any]
) -> None:
    before = memory.status().seq
    with pytest.raises(InvalidInputError, match=r"Unicode|unicode|empty"):
        memory.remember(**arguments)
    assert memory.status().seq == before


def test_control_characters_and_nul_come_back_as_they_were(memory: graphmem.MemoryLike) -> None:
    text = "A\0b stays\x07 whole \u202e and 🔥 too."
    stored = memory.remember(text, facts=["Nul\0name|uses|B"])
    assert memory.get(stored.passage_ids[0]).items[0].text == text
    memory.rebuild()
    assert memory.get(stored.passage_ids[0]).items[0].text == text
    assert list(memory.dump())


@pytest.mark.parametrize("text", ["why \ud800", "\0", "a\0b", "\u202e", "🔥", "x" * 20_000])
def test_a_strange_question_is_answered(memory: graphmem.MemoryLike, text: str) -> None:
    assert memory.search(text).model_dump_json()
    assert memory.kg_query(text).model_dump_json()
    assert memory.find_causal_links(text).model_dump_json()
    assert memory.get(text).missing


@pytest.mark.parametrize("text", ["", " ", "\n\t"])
def test_an_empty_question_is_refused_or_has_no_answer(
    memory: graphmem.MemoryLike, text: str
) -> None:
    assert not memory.search(text).supported
    for call in (memory.kg_query, memory.find_causal_links):
        with pytest.raises(UsageError, match="needed"):
            call(text)


@pytest.mark.parametrize("limit", [0, -5, -(10**30)])
def test_a_limit_below_one_is_refused_by_name(memory: graphmem.MemoryLike, limit: int) -> None:
    for call in (memory.kg_query, memory.search):
        with pytest.raises(GraphmemError, match="limit"):
            call("Orion", limit=limit)
    with pytest.raises(GraphmemError, match="depth"):
        memory.find_causal_links("Orion", depth=limit)


@pytest.mark.parametrize("limit", [10**6, 10**30])
def test_a_limit_too_large_is_taken_as_the_largest(memory: graphmem.MemoryLike, limit: int) -> None:
    assert memory.kg_query("Orion", limit=limit).matched_by == "none"
    assert memory.search("Orion?", limit=limit, max_tokens=limit).hits == ()
    assert memory.find_causal_links("Orion", depth=limit).edges == ()
