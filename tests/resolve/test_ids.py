"""Entity ids and which strings are taken for ids."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphmem.errors import InvalidInputError
from graphmem.model.ids import OBJECT_PREFIXES
from graphmem.resolve import EntityIdKind, ObjectIdKind, entity_id, name_key, parse_id
from graphmem.vocabulary import EntityType

KEYS = st.text(min_size=1, max_size=60).map(name_key).filter(bool)


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        ("maren toft", "thing:maren-toft"),
        ("src_store.ts", "thing:src_store.ts"),
        ("v0.8.2", "thing:v0.8.2"),
        ("水泵", "thing:水泵"),
        ("zoé", "thing:zoé"),
    ],
)
def test_a_plain_name_is_its_own_slug(key: str, expected: str) -> None:
    assert entity_id(EntityType.THING, key, {}) == expected


@pytest.mark.parametrize(
    ("key", "start"), [("c++", "tool:c-"), ("c#", "tool:c-"), ("!", "tool:"), ("x" * 200, "tool:x")]
)
def test_a_slug_that_lost_something_gets_a_hash(key: str, start: str) -> None:
    ident = entity_id(EntityType.TOOL, key, {})
    assert ident.startswith(start)
    assert len(ident) < 110
    assert re.search("[:-][0-9a-f]{8}$", ident)


def test_a_slug_taken_by_another_key_gets_a_hash_and_by_the_same_key_is_kept() -> None:
    first = entity_id(EntityType.PROJECT, "north yard", {})
    assert entity_id(EntityType.PROJECT, "north yard", {first: "north yard"}) == first
    second = entity_id(EntityType.PROJECT, "north-yard", {first: "north yard"})
    assert second != first
    assert second.startswith("project:north-yard-")
    third = entity_id(EntityType.PROJECT, "north-yard", {first: "north yard", second: "other"})
    assert third not in {first, second}


def test_an_empty_key_is_refused() -> None:
    with pytest.raises(InvalidInputError):
        entity_id(EntityType.THING, "", {})


@given(st.lists(KEYS, unique=True, max_size=8))
def test_ids_of_different_keys_differ_and_are_id_shaped(keys: list[str]) -> None:
    taken: dict[str, str] = {}
    for key in keys:
        ident = entity_id(EntityType.THING, key, taken)
        assert ident not in taken
        taken[ident] = key
        assert parse_id(ident) == EntityIdKind(EntityType.THING, ident.partition(":")[2])


@pytest.mark.parametrize("prefix", OBJECT_PREFIXES)
def test_object_prefixes_are_id_shaped(prefix: str) -> None:
    assert parse_id(f"{prefix}:0a1b") == ObjectIdKind(prefix, "0a1b")


@pytest.mark.parametrize("entity_type", list(EntityType))
def test_entity_types_are_id_shaped(entity_type: EntityType) -> None:
    assert parse_id(f"{entity_type.value}:x") == EntityIdKind(entity_type, "x")


@pytest.mark.parametrize(
    "text",
    [
        "redis:6379",
        "Node 200",
        "",
        ":",
        "tool:",
        "tool: redis",
        "Tool:redis",
        "tool:a b",
        "http://x",
    ],
)
def test_names_are_not_id_shaped(text: str) -> None:
    assert parse_id(text) is None
