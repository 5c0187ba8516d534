"""A fact ends when a later value of the same single-valued predicate begins, and only then."""

from datetime import UTC, datetime
from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphmem.model.items import EntityObject, Evidence, Fact, LiteralObject
from graphmem.retrieve.closing import close
from graphmem.vocabulary import Origin, Polarity, Stance

NOW = datetime(2031, 6, 1, tzinfo=UTC)


def day(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def fact(
    key: str,
    predicate: str,
    value: str,
    start: str | None = None,
    end: str | None = None,
    polarity: Polarity = Polarity.POSITIVE,
) -> Fact:
    return Fact(
        id=f"fct:{key}",
        subject_id="thing:s",
        predicate=predicate,
        object=LiteralObject(value=value),
        polarity=polarity,
        valid_from=day(start) if start else None,
        valid_to=day(end) if end else None,
    )


def seen(
    *facts: Fact,
    at: str | None = None,
    origin: Origin = Origin.OWNER,
    stance: Stance = Stance.SUPPORTS,
) -> dict[str, list[Evidence]]:
    return {
        item.id: [
            Evidence(
                id=f"evd:{item.id}",
                fact_id=item.id,
                passage_id="psg:1",
                quote="q",
                start=0,
                end=1,
                stance=stance,
                extractor="test",
                revision=1,
                origin=origin,
                seen_at=day(at) if at else None,
            )
        ]
        for item in facts
    }


def test_facts_of_other_predicates_stay_open() -> None:
    facts = [
        fact("a", "works_at", "Halden Works", "2031-01-01"),
        fact("b", "administer", "Halden Works wiki", "2031-02-01"),
        fact("c", "request", "safety audit", "2031-03-01"),
    ]
    found = close(facts, seen(*facts), NOW)
    assert [found[f.id].current for f in facts] == [True, True, True]
    assert all(interval.end is None for interval in found.values())


@pytest.mark.parametrize(
    ("moment", "version"),
    [
        ("2031-04-09", "4.1"),
        ("2031-04-10", "4.2"),
        ("2031-04-10T00:00:00", "4.2"),
        ("2031-02-28", None),
    ],
)
def test_at_the_change_over_instant_only_the_new_value_holds(
    moment: str, version: str | None
) -> None:
    old = fact("a", "has_version", "4.1", "2031-03-01", "2031-04-10")
    new = fact("b", "has_version", "4.2", "2031-04-10")
    found = close([old, new], seen(old, new), day(moment))
    current = [f.object.key for f in (old, new) if found[f.id].current]
    assert current == ([f"literal={version}"] if version else [])


def test_import_order_decides_nothing_and_a_message_stamp_places_an_undated_fact() -> None:
    bay3 = fact("a", "located_in", "Bay 3", "2025-02-02")
    bay5 = fact("b", "located_in", "Bay 5")
    evidence = {**seen(bay3, at="2025-02-03"), **seen(bay5, at="2025-06-10")}
    for order in permutations([bay3, bay5]):
        found = close(order, evidence, NOW)
        assert found[bay3.id].end == day("2025-06-10")
        assert found[bay3.id].closed_by == bay5.id
        assert found[bay5.id].current and found[bay5.id].start is None


def test_a_fact_without_any_time_neither_closes_nor_is_closed() -> None:
    undated = fact("a", "located_in", "Bay 3")
    dated = fact("b", "located_in", "Bay 5", "2025-01-01")
    found = close([undated, dated], seen(undated, dated), NOW)
    assert found[undated.id].current and found[dated.id].current


def test_untrusted_text_closes_no_fact_of_the_owner_but_the_owner_closes_it() -> None:
    mine = fact("a", "works_at", "A", "2030-01-01")
    theirs = fact("b", "works_at", "B", "2030-02-01")
    evidence = {**seen(mine), **seen(theirs, origin=Origin.UNTRUSTED)}
    assert close([mine, theirs], evidence, NOW)[mine.id].current
    evidence = {**seen(mine, origin=Origin.UNTRUSTED), **seen(theirs)}
    assert not close([mine, theirs], evidence, NOW)[mine.id].current


def test_a_fact_without_visible_support_closes_nothing() -> None:
    old, new = fact("a", "works_at", "A", "2030-01-01"), fact("b", "works_at", "B", "2030-02-01")
    assert close([old, new], seen(old), NOW)[old.id].current
    denied = {**seen(old), **seen(new, stance=Stance.CONTRADICTS)}
    assert close([old, new], denied, NOW)[old.id].current


def test_a_restated_value_is_not_its_own_successor_and_a_denial_ends_it() -> None:
    first = fact("a", "works_at", "A", "2030-01-01")
    again = fact("b", "works_at", "A", "2030-02-01")
    found = close([first, again], seen(first, again), NOW)
    assert found[first.id].current and found[again.id].current
    left = fact("c", "works_at", "A", "2030-03-01", polarity=Polarity.NEGATIVE)
    found = close([first, left], seen(first, left), NOW)
    assert found[first.id].end == day("2030-03-01")


def test_a_value_that_returns_is_current_again() -> None:
    facts = [fact(k, "located_in", v, s) for k, v, s in [
        ("a", "Bay 3", "2030-01-01"), ("b", "Bay 5", "2030-02-01"), ("c", "Bay 3", "2030-03-01"),
    ]]  # fmt: skip
    found = close(facts, seen(*facts), NOW)
    assert [found[f.id].current for f in facts] == [False, False, True]
    assert found[facts[0].id].end == day("2030-02-01")


def test_merged_entities_are_one_value() -> None:
    one = fact("a", "works_at", "x", "2030-01-01").model_copy(
        update={"object": EntityObject(entity_id="org:halden")}
    )
    two = fact("b", "works_at", "x", "2030-02-01").model_copy(
        update={"object": EntityObject(entity_id="org:halden-works")}
    )
    found = close([one, two], seen(one, two), NOW, lambda key: "org:halden")
    assert found[one.id].current and found[two.id].current


def test_an_asserted_end_before_the_successor_stays() -> None:
    old = fact("a", "works_at", "A", "2030-01-01", "2030-02-01")
    new = fact("b", "works_at", "B", "2030-05-01")
    interval = close([old, new], seen(old, new), NOW)[old.id]
    assert (interval.end, interval.closed_by) == (day("2030-02-01"), None)


@given(
    st.lists(
        st.tuples(st.sampled_from("ABC"), st.integers(1, 28)), min_size=1, max_size=6, unique=True
    ),
    st.randoms(use_true_random=False),
)
def test_any_order_of_the_facts_gives_the_same_intervals(
    values: list[tuple[str, int]], random: object
) -> None:
    facts = [fact(f"{v}{d}", "works_at", v, f"2030-01-{d:02}") for v, d in values]
    shuffled = list(facts)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    found = close(facts, seen(*facts), NOW)
    assert found == close(shuffled, seen(*facts), NOW)
    for interval in found.values():
        assert interval.end is None or interval.start is None or interval.start < interval.end
