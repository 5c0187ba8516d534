"""The online resolver: one key, one entity; it never joins two names."""

from collections.abc import Iterable, Mapping, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphmem.model.items import DeclaredName, Entity
from graphmem.model.scope import Scope
from graphmem.resolve import digit_signature, is_nameable, name_key
from graphmem.resolve.resolver import NameRequest, OnlineResolver, Resolution
from graphmem.vocabulary import EntityType, NameKind


class Shelf:
    """Entities in a dictionary, read as a view reads them."""

    def __init__(self) -> None:
        self.stored: dict[str, Entity] = {}
        self.declared: list[DeclaredName] = []
        self.merged: dict[str, str] = {}

    def entities_named(self, name_keys: Iterable[str], scope: Scope) -> Mapping[str, list[str]]:
        found: dict[str, set[str]] = {}
        for key in name_keys:
            own = {each.id for each in self.stored.values() if each.name_key == key}
            own |= {each.entity_id for each in self.declared if each.key == key}
            if own:
                found[key] = {self.merged.get(each, each) for each in own}
        return {key: sorted(ids) for key, ids in found.items()}

    def entities(self, ids: Iterable[str], scope: Scope) -> Mapping[str, Entity]:
        return {each: self.stored[each] for each in ids if each in self.stored}

    def existing(self, ids: Iterable[str]) -> frozenset[str]:
        return frozenset(each for each in ids if each in self.stored)

    def declared_names(self, entity_id: str) -> list[DeclaredName]:
        return [each for each in self.declared if each.entity_id == entity_id]

    def keep(self, resolution: Resolution) -> Mapping[str, str]:
        for entity in resolution.new:
            assert entity.id not in self.stored
            self.stored[entity.id] = entity
        return resolution.ids


def resolve(shelf: Shelf, *names: str, vote: EntityType | None = None) -> list[str | None]:
    resolution = OnlineResolver(shelf).resolve([NameRequest(name, vote) for name in names])
    shelf.keep(resolution)
    return [resolution.entity(name) for name in names]


NAME = st.from_regex(r"(Room|room|Node|v|Rev) ?[0-9]{1,3}(\.[0-9]{1,2})?[A-Ca-c]?", fullmatch=True)
VOTE = st.sampled_from([None, EntityType.TOOL, EntityType.PERSON])


def partition(batches: Sequence[Sequence[tuple[str, EntityType | None]]]) -> set[frozenset[str]]:
    """Which names meet in one entity when the batches come in this order."""
    shelf = Shelf()
    members: dict[str, set[str]] = {}
    for batch in batches:
        resolution = OnlineResolver(shelf).resolve([NameRequest(*each) for each in batch])
        shelf.keep(resolution)
        for name, _ in batch:
            ident = resolution.entity(name)
            if ident is not None:
                members.setdefault(ident, set()).add(name)
    return {frozenset(each) for each in members.values()}


@given(st.lists(st.tuples(NAME, VOTE), max_size=20), st.data())
def test_any_order_and_batches_give_the_same_partition(
    names: list[tuple[str, EntityType | None]], data: st.DataObject
) -> None:
    shuffled = data.draw(st.permutations(names))
    at = data.draw(st.integers(0, len(names)))
    assert partition([names]) == partition([shuffled[:at], shuffled[at:]])


@given(st.lists(NAME, max_size=20), st.data())
def test_names_that_differ_in_digits_never_share_an_entity(
    names: list[str], data: st.DataObject
) -> None:
    at = data.draw(st.integers(0, len(names)))
    groups = partition([[(name, None) for name in part] for part in (names[:at], names[at:])])
    for group in groups:
        assert len({digit_signature(name) for name in group}) == 1


@given(st.text(max_size=30), st.text(max_size=30))
def test_only_equal_keys_share_an_entity(left: str, right: str) -> None:
    first, second = resolve(Shelf(), left, right)
    if first is not None and first == second:
        assert name_key(left) == name_key(right)
    if is_nameable(left) and is_nameable(right) and name_key(left) == name_key(right):
        assert first == second


@pytest.mark.parametrize(
    "other", ["orion relay", "ORION  RELAY", "Orion\u00a0Relay", "**Orion Relay**", "Ｏrion Relay"]
)
def test_case_space_and_unicode_form_are_one_name(other: str) -> None:
    shelf = Shelf()
    (first,) = resolve(shelf, "Orion Relay", vote=EntityType.TOOL)
    (again,) = resolve(shelf, other, vote=EntityType.PERSON)
    assert first == again == "tool:orion-relay"


@pytest.mark.parametrize("names", [("C", "C#", "C++"), ("Room 101", "Room 102"), ("a b", "a-b")])
def test_near_names_stay_apart(names: tuple[str, ...]) -> None:
    shelf = Shelf()
    ids = [resolve(shelf, name)[0] for name in names]
    assert len(set(ids)) == len(names)


def test_ten_batches_make_one_entity() -> None:
    shelf = Shelf()
    ids = {resolve(shelf, "QHRB")[0] for _ in range(10)}
    assert len(ids) == len(shelf.stored) == 1


@pytest.mark.parametrize("name", ["it", "n/a", "the user", "", "  ", "…", "x" * 201])
def test_placeholders_name_nothing(name: str) -> None:
    assert resolve(Shelf(), name) == [None]


def alias(entity: str, value: str) -> DeclaredName:
    return DeclaredName(
        id="nam:1", kind=NameKind.ALIAS, entity_id=entity, value=value, key=name_key(value)
    )


def test_a_declared_alias_is_the_entity() -> None:
    shelf = Shelf()
    (ident,) = resolve(shelf, "PostgreSQL")
    assert ident is not None
    shelf.declared.append(alias(ident, "PG"))
    assert resolve(shelf, "pg") == [ident]


def test_a_merged_name_keeps_its_own_entity_so_that_the_merge_can_be_undone() -> None:
    shelf = Shelf()
    loser, survivor = resolve(shelf, "Postgres", "PostgreSQL")
    assert loser is not None and survivor is not None
    shelf.merged[loser] = survivor
    assert resolve(shelf, "postgres") == [loser]


def test_a_homograph_bucket_never_takes_the_bare_name() -> None:
    shelf = Shelf()
    shelf.stored["person:mercury"] = Entity(
        id="person:mercury", name="Mercury", name_key="mercury", bucket="singer"
    )
    (ident,) = resolve(shelf, "Mercury", vote=EntityType.PERSON)
    assert ident != "person:mercury"
    assert resolve(shelf, "mercury") == [ident]


def project(shelf: Shelf, ident: str, name: str) -> str:
    found = OnlineResolver(shelf).project(ident, name)
    assert found is not None
    if found.new is not None:
        shelf.stored[found.new.id] = found.new
    if found.declared is not None:
        shelf.declared.append(found.declared)
    return found.id


def test_a_project_is_the_entity_of_its_name() -> None:
    shelf = Shelf()
    (named,) = resolve(shelf, "Relay")
    assert project(shelf, "github.com/acme/relay", "relay") == named
    assert project(shelf, "github.com/acme/relay", "relay") == named
    assert len(shelf.declared) == 1


def test_two_projects_of_one_name_stay_two() -> None:
    shelf = Shelf()
    first = project(shelf, "github.com/acme/relay", "relay")
    second = project(shelf, "github.com/zed/relay", "relay")
    assert first != second
    assert project(shelf, "github.com/zed/relay", "relay") == second
    assert project(shelf, "github.com/acme/relay", "relay") == first


def test_two_projects_of_one_name_in_one_batch_stay_two() -> None:
    resolver = OnlineResolver(Shelf())
    first = resolver.project("github.com/acme/relay", "relay")
    second = resolver.project("github.com/zed/relay", "relay")
    assert first is not None and second is not None and first.id != second.id
