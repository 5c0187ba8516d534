"""Batches applied one by one, merged, and loaded in bulk give the same tables and snapshots."""

from __future__ import annotations

from copy import deepcopy
from pathlib import Path
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from graphmem.model.operations import (
    DeclareRoot,
    MoveMention,
    PutEntity,
    PutPassage,
    PutSource,
    RedirectEntity,
)
from graphmem.store.graph.base import GraphStore
from graphmem.store.graph.changes import NothingStored, project
from graphmem.store.graph.cypher_engine import CypherGraph
from graphmem.store.graph.engines import ENGINES
from graphmem.store.graph.memory import MemoryGraph
from graphmem.store.graph.snapshot import SnapshotBuilder
from graphmem.vocabulary import StateKind
from tests.store.engines import FILE_ENGINE
from tests.store.graph.edges import edge_list
from tests.store.graph.world import (
    START,
    ToldRow,
    World,
    bundle,
    entity,
    mention,
    source,
    state,
    statement,
    told,
)


def tables(store: GraphStore) -> dict[str, list[dict[str, object]]]:
    return {table: [dict(row) for row in store.rows(table)] for table in store.tables()}


def tell(random: Random, batches: int, size: int) -> list[tuple[list[ToldRow], World, World]]:
    """Batches of rows, each with the world before and after it."""
    world, seq, result = World(random), 0, []
    for _ in range(batches):
        before = deepcopy(world)
        operations = [operation for _ in range(size) for operation in world.step()]
        rows = told(operations, seq + 1)
        seq += len(rows)
        result.append((rows, before, deepcopy(world)))
    return result


@given(random=st.randoms(use_true_random=False), size=st.integers(1, 40), late=st.booleans())
@settings(max_examples=150, suppress_health_check=[HealthCheck.too_slow])
def test_batches_one_by_one_equal_all_rows_at_once(random: Random, size: int, late: bool) -> None:
    one_by_one, at_once = MemoryGraph(), MemoryGraph()
    builder = SnapshotBuilder(one_by_one.adjacency(), 0)
    rows: list[ToldRow] = []
    for batch, before, after in tell(random, 6, size):
        rows += batch
        changes = project(batch, after if late else before)
        one_by_one.apply(changes, len(rows))
        builder.advance(changes, len(rows))
    at_once.load(project(rows, NothingStored()), len(rows))
    assert tables(one_by_one) == tables(at_once)
    fresh = SnapshotBuilder(at_once.adjacency(), len(rows))
    ids = sorted(key for key in at_once.adjacency().keys)
    hidden = frozenset(random.sample(ids, len(ids) // 5))
    for hide in (frozenset[str](), hidden):
        assert edge_list(builder.snapshot(hide)) == edge_list(fresh.snapshot(hide))


@given(random=st.randoms(use_true_random=False))
@settings(
    max_examples=6,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
def test_an_engine_and_memory_hold_the_same_rows(
    random: Random, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path, engine = tmp_path_factory.mktemp("graph") / "a", ENGINES[FILE_ENGINE]
    filed, memory = CypherGraph(path, engine), MemoryGraph()
    rows: list[ToldRow] = []
    for batch, before, _ in tell(random, 4, 25):
        rows += batch
        changes = project(batch, before)
        filed.apply(changes, len(rows))
        memory.apply(changes, len(rows))
    assert tables(filed) == tables(memory)
    assert filed.counts() == memory.counts()
    assert edge_list(SnapshotBuilder(filed.adjacency(), 1).snapshot()) == edge_list(
        SnapshotBuilder(memory.adjacency(), 1).snapshot()
    )
    filed.close()
    CypherGraph.build(path, engine, project(rows, NothingStored()), len(rows))
    built = CypherGraph(path, engine)
    assert (tables(built), built.applied_seq) == (tables(memory), len(rows))
    built.close()


def applied(*operations: object) -> MemoryGraph:
    graph = MemoryGraph()
    rows = told(operations)  # type: ignore[arg-type]
    graph.apply(project(rows, NothingStored()), len(rows))
    return graph


PASSAGE = "psg:0-0"
BUNDLE = bundle(
    PASSAGE,
    "src:0",
    [statement(PASSAGE, 0)],
    [mention(PASSAGE, 0, "thing:a"), mention(PASSAGE, 1, "thing:a", "stm:0-0.0")],
)
BASE = (
    PutSource(after=source(0)),
    PutEntity(after=entity("a")),
    PutEntity(after=entity("b")),
    PutPassage(after=BUNDLE),
)


def test_what_is_created_and_taken_back_in_one_batch_leaves_no_change() -> None:
    take_back = [operation.inverse() for operation in reversed(BASE)]
    changes = project(told([*BASE, *take_back]), NothingStored())
    assert not changes.nodes and not changes.edges


def test_every_inverse_takes_its_operation_back() -> None:
    graph = applied(*BASE)
    rows = told([operation.inverse() for operation in reversed(BASE)], 5)
    graph.apply(project(rows, NothingStored()), 8)
    assert not any(graph.counts().values())


def test_a_purged_row_changes_nothing() -> None:
    changes = project([ToldRow(1, START, None)], NothingStored())
    assert changes == project([], NothingStored())


def test_a_bundle_becomes_passage_statements_and_mentions_of_both_levels() -> None:
    graph = applied(*BASE)
    assert [row["_source"] for row in graph.rows("MENTIONS")] == [PASSAGE, "stm:0-0.0"]
    (said,) = graph.rows("Statement")
    assert said["text"] == BUNDLE.passage.text[:9]
    assert said["seq"] == 4


def test_times_are_stored_as_naive_utc() -> None:
    (row,) = applied(PutEntity(after=entity("a"))).rows("Entity")
    assert row["recorded_at"] == told([BASE[0]])[0].at.replace(tzinfo=None)


def test_iso_times_of_rows_are_read() -> None:
    (row,) = told([PutEntity(after=entity("a"))])
    text = ToldRow(row.seq, "2026-03-01T00:00:01Z", row.operation)  # type: ignore[arg-type]
    changes = project([text], NothingStored())
    assert changes.nodes["Entity"]["thing:a"]["recorded_at"] == START.replace(tzinfo=None, second=1)


def test_an_entity_is_found_by_an_alias_of_its_own_name() -> None:
    graph = applied(PutEntity(after=entity("a")))
    (alias,) = graph.rows("Alias")
    (edge,) = graph.rows("NAMES")
    assert (alias["key"], edge["_target"]) == ("a", "thing:a")


def test_layout_gives_next_edges_and_a_new_layout_replaces_them() -> None:
    passages = [f"psg:0-{i}" for i in range(3)]
    before, after = source(0, passages), source(0, [passages[0], passages[2]])
    puts = [PutPassage(after=bundle(p, "src:0", (), ())) for p in passages]
    graph = applied(PutSource(after=before), *puts)
    assert [row["key"] for row in graph.rows("NEXT")] == ["psg:0-0>psg:0-1", "psg:0-1>psg:0-2"]
    rows = told([PutSource(before=before, after=after)], 5)
    graph.apply(project(rows, NothingStored()), 5)
    assert [row["key"] for row in graph.rows("NEXT")] == ["psg:0-0>psg:0-2"]


def test_a_moved_mention_keeps_its_columns() -> None:
    move = MoveMention(
        mention_id="mnt:0-0.1", passage_id=PASSAGE, before="thing:a", after="thing:b"
    )  # fmt: skip
    moved = list(applied(*BASE, move).rows("MENTIONS"))[1]
    assert (moved["_target"], moved["surface"], moved["seq"]) == ("thing:b", "LanceDB", 5)


def test_a_passage_read_again_changes_only_what_is_said_anew() -> None:
    moved = BUNDLE.mentions[1].model_copy(update={"entity_id": "thing:b"})
    again = BUNDLE.model_copy(update={"mentions": (BUNDLE.mentions[0], moved)})
    graph = applied(*BASE)
    rows = told([PutPassage(before=BUNDLE, after=again)], 5)
    graph.apply(project(rows, NothingStored()), 5)
    found = [(row["key"], row["_target"], row["seq"]) for row in graph.rows("MENTIONS")]
    assert found == [("mnt:0-0.0", "thing:a", 4), ("mnt:0-0.1", "thing:b", 5)]
    assert [row["seq"] for row in graph.rows("Passage")] == [4]
    changes = project(rows, NothingStored())
    assert [edge.target for edge in changes.gone_edges] == ["thing:a"]


def test_a_redirect_is_an_edge_and_its_removal_takes_it_away() -> None:
    world = World(Random(0), entities={"thing:a": entity("a"), "thing:b": entity("b")})
    told_redirect: list[object] = []
    while not told_redirect:
        told_redirect = list(world.tell_redirect())
    (redirect,) = told_redirect
    assert isinstance(redirect, RedirectEntity)
    assert applied(*BASE, redirect).counts()["SAME_AS"] == 1
    assert applied(*BASE, redirect, redirect.inverse()).counts()["SAME_AS"] == 0


@pytest.mark.parametrize("target", ["src:0", PASSAGE, "stm:0-0.0", "thing:a"])
def test_a_state_is_a_column_and_leaves_the_time_of_recording(target: str) -> None:
    forget = state(target, StateKind.FORGOTTEN, START, None)
    plain, hidden = applied(*BASE), applied(*BASE, forget)
    changed = [
        (row, old)
        for table in ("Source", "Passage", "Statement", "Entity")
        for row, old in zip(hidden.rows(table), plain.rows(table), strict=True)
        if row != old
    ]
    ((row, old),) = changed
    assert row == {**old, "forgotten_at": START.replace(tzinfo=None)}
    assert tables(applied(*BASE, forget, forget.inverse())) == tables(plain)


def test_a_state_outlives_the_item_it_stands_on() -> None:
    forget = state(PASSAGE, StateKind.FORGOTTEN, START, None)
    again = applied(*BASE, forget, BASE[3].inverse(), BASE[3])
    (row,) = again.rows("Passage")
    assert row["forgotten_at"] == START.replace(tzinfo=None)


def test_states_of_links_and_roots_become_meta_rows() -> None:
    from graphmem.model.items import Root

    root = DeclareRoot(after=Root(id="root:1", path="/n", project="p"))
    graph = applied(root, state("lnk:1", StateKind.FORGOTTEN, START, None))
    assert [row["id"] for row in graph.rows("Meta")] == ["root:root:1", "state:forgotten:lnk:1"]


def test_rows_of_one_journal_do_not_depend_on_the_process(tmp_path: Path) -> None:
    assert tables(applied(*BASE)) == tables(applied(*BASE))


@pytest.mark.parametrize("cut", range(1, 8))
def test_an_item_removed_and_told_again_loses_edges_of_others_wherever_batches_end(
    cut: int,
) -> None:
    passages = [PASSAGE, "psg:0-1"]
    other = PutPassage(after=bundle(passages[1], "src:0", (), ()))
    layout = PutSource(before=source(0), after=source(0, passages))
    story = [*BASE, other, layout, BASE[3].inverse(), BASE[3]]
    at_once, in_two = applied(*story), MemoryGraph()
    rows = told(story)
    for part in (rows[:cut], rows[cut:]):
        in_two.apply(project(part, NothingStored()), part[-1].seq)
    assert at_once.counts()["NEXT"] == 0
    assert tables(at_once) == tables(in_two)
