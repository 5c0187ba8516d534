"""kg_query gives the facts of exactly the named entity, as they stood then, with evidence."""

from datetime import UTC, datetime

import pytest

from graphmem.errors import UsageError
from graphmem.model.scope import EVERYTHING, Scope
from graphmem.retrieve import kg_query
from graphmem.retrieve.kg import MAX_LIMIT
from graphmem.vocabulary import Origin, StateKind
from tests.retrieve.vault import NOW, Vault


def day(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@pytest.fixture
def vault() -> Vault:
    made = Vault()
    (one,) = made.note(
        "n1.md",
        "Node 200 runs on Atlas. Node 200 is located in Bay 3.",
        mentions=[("Node 200", "thing:node-200"), ("Atlas", "tool:atlas")],
        at=day("2026-01-01"),
    )
    (two,) = made.note(
        "n2.md",
        "Node 2000 runs on Borealis.",
        mentions=[("Node 2000", "thing:node-2000"), ("Borealis", "tool:borealis")],
    )
    (three,) = made.note("n3.md", "Node 200 moved to Bay 5.", at=day("2026-06-01"))
    made.fact("thing:node-200", "runs_on", "tool:atlas", one, "Node 200 runs on Atlas")
    made.fact(
        "thing:node-200", "located_in", "Bay 3", one, "Node 200 is located in Bay 3",
        start=day("2026-01-01"),
    )  # fmt: skip
    made.fact(
        "thing:node-200", "located_in", "Bay 5", three, "Node 200 moved to Bay 5",
        start=day("2026-06-01"),
    )  # fmt: skip
    made.fact("thing:node-2000", "runs_on", "tool:borealis", two, "Node 2000 runs on Borealis")
    made.passages = [one, two, three]  # type: ignore[attr-defined]
    made.commit()
    return made


def test_a_name_gives_its_own_facts_and_never_those_of_another_number(vault: Vault) -> None:
    found = kg_query(vault.view(), "node 200", scope=EVERYTHING, now=NOW)
    assert found.matched_by == "name"
    assert [entity.id for entity in found.entities] == ["thing:node-200"]
    assert {fact.object for fact in found.entities[0].facts} == {"Atlas", "Bay 5"}
    assert all(fact.evidence for fact in found.entities[0].facts)


def test_a_number_that_differs_is_not_found_by_search(vault: Vault) -> None:
    found = kg_query(vault.view(), "Node 20", scope=EVERYTHING, now=NOW)
    assert (found.matched_by, found.entities) == ("none", ())


def test_an_id_and_a_part_of_a_name_say_how_they_were_found(vault: Vault) -> None:
    assert kg_query(vault.view(), "tool:atlas", scope=EVERYTHING, now=NOW).matched_by == "id"
    found = kg_query(vault.view(), "200", scope=EVERYTHING, now=NOW)
    assert found.matched_by == "search"
    assert [entity.name for entity in found.entities] == ["Node 200"]


def test_as_of_gives_the_value_of_then_and_history_gives_both(vault: Vault) -> None:
    then = Scope(as_of=day("2026-03-01"))
    found = kg_query(vault.view(), "Node 200", scope=then, now=NOW)
    assert {f.object for f in found.entities[0].facts} == {"Atlas", "Bay 3"}
    found = kg_query(vault.view(), "Node 200", scope=Scope(include_history=True), now=NOW)
    places = {f.object: f for f in found.entities[0].facts if f.predicate == "located_in"}
    assert places["Bay 3"].valid_to == day("2026-06-01")
    assert places["Bay 3"].closed_by == places["Bay 5"].id
    assert not places["Bay 3"].current


def test_the_object_sees_the_inverse_predicate_marked_as_derived(vault: Vault) -> None:
    (entity,) = kg_query(vault.view(), "Atlas", scope=EVERYTHING, now=NOW).entities
    (fact,) = entity.facts
    assert (fact.subject, fact.predicate, fact.object) == ("Atlas", "runs", "Node 200")
    assert fact.derived


def test_evidence_of_another_origin_than_the_scope_allows_is_as_if_absent(vault: Vault) -> None:
    only_agent = Scope(origins=frozenset({Origin.AGENT}))
    found = kg_query(vault.view(), "thing:node-200", scope=only_agent, now=NOW)
    assert all(not entity.facts for entity in found.entities)


def test_a_forgotten_source_takes_its_closing_with_it(vault: Vault) -> None:
    vault.state(vault.passages[2], StateKind.FORGOTTEN)  # type: ignore[attr-defined]
    found = kg_query(vault.commit(), "Node 200", scope=EVERYTHING, now=NOW)
    assert {f.object for f in found.entities[0].facts} == {"Atlas", "Bay 3"}


@pytest.mark.parametrize("limit", [0, -5])
def test_a_limit_below_one_is_refused(vault: Vault, limit: int) -> None:
    with pytest.raises(UsageError, match="limit"):
        kg_query(vault.view(), "Atlas", scope=EVERYTHING, now=NOW, limit=limit)


def test_a_hub_is_capped_with_its_true_total_and_paged_by_a_cursor() -> None:
    made = Vault()
    text = " ".join(f"Hub stores item-{n}." for n in range(300))
    (key,) = made.note("hub.md", text, mentions=[("Hub", "tool:hub")])
    for n in range(300):
        made.fact("tool:hub", "store", f"item-{n}", key, f"Hub stores item-{n}.")
    view = made.commit()
    first = kg_query(view, "Hub", scope=EVERYTHING, now=NOW)
    assert first.truncated
    assert (len(first.entities[0].facts), first.entities[0].total_facts) == (50, 300)
    huge = kg_query(view, "Hub", scope=EVERYTHING, now=NOW, limit=1_000_000)
    assert len(huge.entities[0].facts) <= MAX_LIMIT
    seen: list[str] = []
    cursor = None
    for _ in range(10):
        page = kg_query(view, "Hub", scope=EVERYTHING, now=NOW, limit=100, cursor=cursor)
        seen += [fact.id for fact in page.entities[0].facts]
        if not page.truncated:
            break
        cursor = seen[-1]
    assert (len(seen), len(set(seen))) == (300, 300)
    with pytest.raises(UsageError, match="cursor"):
        kg_query(view, "Hub", scope=EVERYTHING, now=NOW, cursor="fct:none")
