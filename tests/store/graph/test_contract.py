"""The contract of a graph store, run over every engine."""

from __future__ import annotations

import threading
from datetime import datetime

import pytest

from graphmem.errors import InvalidInputError, VaultError
from graphmem.model.operations import (
    AddEvidence,
    PutEntity,
    PutFact,
    PutLink,
    PutPassage,
    PutSource,
)
from graphmem.store.graph.base import EdgeRow, GraphChanges, GraphStore, Value
from graphmem.store.graph.changes import NothingStored, project
from graphmem.store.graph.schema import DUMP_ORDER, NODE_TABLES, REL_TABLES
from graphmem.vocabulary import LinkKind, Stance
from tests.store.graph.world import (
    START,
    bundle,
    entity,
    evidence,
    fact,
    link,
    mention,
    source,
    statement,
    told,
)

ONE, TWO = "psg:0-0", "psg:0-1"
SAID = statement(ONE, 0)
THEN = statement(TWO, 0)
OPERATIONS = (
    PutSource(after=source(0, [ONE, TWO])),
    PutEntity(after=entity("a")),
    PutEntity(after=entity("b")),
    PutPassage(after=bundle(ONE, "src:0", [SAID], [mention(ONE, 0, "thing:a", SAID.id)])),
    PutPassage(after=bundle(TWO, "src:0", [THEN], [mention(TWO, 0, "thing:b")])),
    PutFact(after=fact(1, "thing:a", "thing:b")),
    AddEvidence(after=evidence(1, "fct:1", SAID, ONE)),
    AddEvidence(after=evidence(2, "fct:1", None, TWO, stance=Stance.CONTRADICTS)),
    PutFact(after=fact(2, "thing:b", None)),
    AddEvidence(after=evidence(3, "fct:2", THEN, TWO)),
    PutLink(after=link(1, LinkKind.PREVENTS, SAID.id, THEN.id, ONE)),
    PutLink(after=link(2, LinkKind.SAME_EVENT, SAID.id, THEN.id, TWO)),
)
LAST = len(OPERATIONS)
CHANGES = project(told(OPERATIONS), NothingStored())


def rows(graph: GraphStore) -> dict[str, list[dict[str, Value]]]:
    return {table: [dict(row) for row in graph.rows(table)] for table in graph.tables()}


def person(key: str, seq: int = 1, **columns: Value) -> GraphChanges:
    return GraphChanges(nodes={"Entity": {key: {"seq": seq, "name": "n", **columns}}})


def same_as(one: str, two: str, key: str = "k") -> EdgeRow:
    return EdgeRow("SAME_AS", "Entity", one, "Entity", two, key, {"seq": 1})


def test_an_empty_graph_has_applied_nothing(graph: GraphStore) -> None:
    assert graph.applied_seq == 0
    assert set(graph.counts()) == set(DUMP_ORDER) == {*NODE_TABLES, *REL_TABLES}
    assert not any(graph.counts().values())
    assert graph.engine


def test_apply_sets_rows_and_sequence(graph: GraphStore) -> None:
    graph.apply(CHANGES, LAST)
    assert graph.applied_seq == LAST
    sizes = {table: size for table, size in graph.counts().items() if size}
    assert sizes == {
        **{"Source": 1, "Passage": 2, "Statement": 2, "Entity": 2, "Alias": 2, "Fact": 2},
        **{"CONTAINS": 4, "NEXT": 1, "MENTIONS": 2, "NAMES": 2, "SUBJECT": 2, "OBJECT": 1},
        **{"EVIDENCE": 3, "CAUSES": 1, "SAME_EVENT": 1},
    }


def test_load_gives_what_apply_gives(graph: GraphStore) -> None:
    from graphmem.store.graph.memory import MemoryGraph

    memory = MemoryGraph()
    memory.apply(CHANGES, LAST)
    graph.load(CHANGES, LAST)
    assert (rows(graph), graph.applied_seq) == (rows(memory), LAST)


def test_load_refuses_a_graph_that_holds_something(graph: GraphStore) -> None:
    graph.apply(person("a"), 1)
    with pytest.raises(InvalidInputError):
        graph.load(CHANGES, 2)


def test_rows_have_every_column_and_relations_their_ends(graph: GraphStore) -> None:
    graph.apply(CHANGES, LAST)
    for table in (*NODE_TABLES.values(), *REL_TABLES.values()):
        ends = {"_source", "_target"} if table.name in REL_TABLES else set()
        names = {column.name for column in table.columns} | ends
        assert all(set(row) == names for row in graph.rows(table.name))


@pytest.mark.parametrize(
    "text",
    ["", "a'b\"c`", "nul\0 tab\t\n", "🙂 é e\u0301", "$rows {x} // DROP", "x" * 100_000],
    ids=["empty", "quotes", "control", "unicode", "cypher", "long"],
)
def test_text_comes_back_as_it_went_in(graph: GraphStore, text: str) -> None:
    graph.apply(person("a", name=text), 1)
    graph.apply(GraphChanges(nodes={"Alias": {f"k{text[:50]}": {"seq": 2, "key": text}}}), 2)
    assert [row["name"] for row in graph.rows("Entity")] == [text]
    assert [row["id"] for row in graph.rows("Alias")] == [f"k{text[:50]}"]


def test_lone_surrogates_are_replaced(graph: GraphStore) -> None:
    graph.apply(person("a\ud800", name="x\udfffy"), 1)
    (row,) = graph.rows("Entity")
    assert (row["id"], row["name"]) == ("a\ufffd", "x\ufffdy")


def test_zoned_times_become_naive_utc(graph: GraphStore) -> None:
    zoned = datetime.fromisoformat("2026-03-01T05:00:00.123456+05:00")
    graph.apply(person("a", recorded_at=zoned), 1)
    (row,) = graph.rows("Entity")
    assert row["recorded_at"] == datetime(2026, 3, 1, 0, 0, 0, 123456)


def test_rows_of_one_batch_may_leave_out_different_columns(graph: GraphStore) -> None:
    one = {"seq": 1, "subject_id": "a", "valid_from": None}
    two = {"seq": 1, "literal": "x", "valid_from": START, "predicate": None}
    graph.apply(GraphChanges(nodes={"Fact": {"fct:1": one, "fct:2": two}}), 1)
    found = [(r["subject_id"], r["literal"], r["valid_from"]) for r in graph.rows("Fact")]
    assert found == [("a", None, None), (None, "x", START.replace(tzinfo=None))]


def test_a_stored_node_keeps_columns_that_are_not_given_and_its_edges(graph: GraphStore) -> None:
    nodes = {"a": {"seq": 1, "name": "old", "bucket": "b"}, "b": {"seq": 1}}
    graph.apply(GraphChanges(nodes={"Entity": nodes}, edges=(same_as("a", "b"),)), 1)
    graph.apply(person("a", seq=2, name="new"), 2)
    row = next(iter(graph.rows("Entity")))
    assert (row["name"], row["bucket"], row["seq"]) == ("new", "b", 2)
    assert graph.counts()["SAME_AS"] == 1


def test_states_change_a_stored_node_and_never_create_one(graph: GraphStore) -> None:
    graph.apply(person("a"), 1)
    states = {key: {"forgotten_at": START} for key in ("a", "missing")}
    graph.apply(GraphChanges(nodes={"Entity": states}), 2)
    (row,) = graph.rows("Entity")
    assert (row["forgotten_at"], row["seq"]) == (START.replace(tzinfo=None), 1)
    graph.apply(GraphChanges(nodes={"Entity": {"a": {"forgotten_at": None}}}), 3)
    assert [row["forgotten_at"] for row in graph.rows("Entity")] == [None]


@pytest.mark.parametrize("bulk", [False, True])
def test_an_edge_to_a_missing_node_is_left_out(graph: GraphStore, bulk: bool) -> None:
    changes = GraphChanges(nodes=person("a").nodes, edges=(same_as("a", "missing"),))
    (graph.load if bulk else graph.apply)(changes, 1)
    assert graph.counts()["Entity"] == 1
    assert graph.counts()["SAME_AS"] == 0


def test_an_edge_is_removed_whatever_its_target(graph: GraphStore) -> None:
    nodes = {key: {"seq": 1} for key in "abc"}
    edges = (same_as("a", "b", "one"), same_as("a", "c", "two"))
    graph.apply(GraphChanges(nodes={"Entity": nodes}, edges=edges), 1)
    gone = (same_as("a", "c", "one"), same_as("b", "c", "two"), same_as("a", "b", "never"))
    graph.apply(GraphChanges(gone_edges=gone), 2)
    assert [row["key"] for row in graph.rows("SAME_AS")] == ["two"]


def test_an_edge_may_be_replaced_in_one_batch(graph: GraphStore) -> None:
    nodes = {key: {"seq": 1} for key in "abc"}
    graph.apply(GraphChanges(nodes={"Entity": nodes}, edges=(same_as("a", "b"),)), 1)
    moved = GraphChanges(gone_edges=(same_as("a", "b"),), edges=(same_as("a", "c"),))
    graph.apply(moved, 2)
    assert [row["_target"] for row in graph.rows("SAME_AS")] == ["c"]


def test_a_removed_node_takes_its_edges_and_may_begin_anew(graph: GraphStore) -> None:
    nodes = {"a": {"seq": 1, "bucket": "x"}, "b": {"seq": 1}}
    graph.apply(GraphChanges(nodes={"Entity": nodes}, edges=(same_as("a", "b"),)), 1)
    again = GraphChanges(nodes=person("a", 2).nodes, gone_nodes={"Entity": frozenset({"a", "z"})})
    graph.apply(again, 2)
    assert [row["bucket"] for row in graph.rows("Entity")] == [None, None]
    assert graph.counts()["SAME_AS"] == 0


@pytest.mark.parametrize(
    "changes",
    [
        GraphChanges(nodes={"Nope": {"a": {"seq": 1}}}),
        person("a", nope=1),
        person("a", name=5),
        person("a", bucket=True),
        GraphChanges(nodes={"Entity": {"a": {"seq": "1"}}}),
        GraphChanges(edges=(EdgeRow("NOPE", "Entity", "a", "Entity", "b", "k"),)),
        GraphChanges(edges=(EdgeRow("SAME_AS", "Fact", "a", "Entity", "b", "k"),)),
        GraphChanges(nodes=person("b").nodes, gone_nodes={"Nope": frozenset("a")}),
    ],
)
def test_what_the_schema_does_not_know_is_refused_whole(
    graph: GraphStore, changes: GraphChanges
) -> None:
    graph.apply(person("kept"), 1)
    with pytest.raises(InvalidInputError):
        graph.apply(changes, 2)
    assert graph.applied_seq == 1
    assert [row["id"] for row in graph.rows("Entity")] == ["kept"]


def test_an_empty_commit_moves_the_sequence(graph: GraphStore) -> None:
    graph.apply(GraphChanges(), 7)
    assert graph.applied_seq == 7
    assert list(graph.rows("Meta")) == []


@pytest.mark.parametrize(
    ("ids", "max_seq", "expected"),
    [
        (["thing:a"], LAST, ["fct:1"]),
        (["thing:b"], LAST, ["fct:1", "fct:2"]),
        (["thing:b", "thing:a", "thing:b"], LAST, ["fct:1", "fct:2"]),
        (["thing:b"], 6, ["fct:1"]),
        (["missing"], LAST, []),
        ([], LAST, []),
    ],
)
def test_facts_about_entities(
    graph: GraphStore, ids: list[str], max_seq: int, expected: list[str]
) -> None:
    graph.apply(CHANGES, LAST)
    assert graph.facts_about(ids, max_seq) == expected


def test_evidence_of_facts_in_statements_and_passages(graph: GraphStore) -> None:
    graph.apply(CHANGES, LAST)
    found = graph.evidence_of(["fct:2", "fct:1", "fct:9"], LAST)
    assert found == {"fct:1": ["evd:1", "evd:2"], "fct:2": ["evd:3"]}
    assert graph.evidence_of(["fct:1"], 7) == {"fct:1": ["evd:1"]}


def test_links_of_statements_either_way(graph: GraphStore) -> None:
    graph.apply(CHANGES, LAST)
    labels = ["CAUSES", "SAME_EVENT", "SUPERSEDES"]
    assert graph.links_of([SAID.id], labels, LAST) == ["lnk:1", "lnk:2"]
    assert graph.links_of([THEN.id], ["CAUSES"], LAST) == ["lnk:1"]
    assert graph.links_of([THEN.id], labels, 11) == ["lnk:1"]


def test_links_of_refuses_an_unknown_label(graph: GraphStore) -> None:
    with pytest.raises(InvalidInputError):
        graph.links_of([SAID.id], ["X]->() DETACH DELETE n //"], 1)


def test_adjacency_has_witness_passages_and_weights(graph: GraphStore) -> None:
    graph.apply(CHANGES, LAST)
    found = graph.adjacency()
    evidence_columns = found.edges["EVIDENCE"]
    assert dict(zip(evidence_columns.key, evidence_columns.weight.tolist(), strict=True)) == {
        **{"evd:1": 1.0, "evd:2": 0.0, "evd:3": 1.0}
    }
    assert [found.keys[p] for p in evidence_columns.passage] == [ONE, TWO, TWO]
    causes = found.edges["CAUSES"]
    assert [found.keys[causes.source[0]], found.keys[causes.target[0]]] == [SAID.id, THEN.id]
    assert [found.tables[found.keys.index(key)] for key in (ONE, "fct:1")] == ["Passage", "Fact"]


def test_readers_in_threads_see_whole_commits_while_a_writer_writes(graph: GraphStore) -> None:
    done = threading.Event()
    seen: list[int] = []
    errors: list[BaseException] = []

    def read() -> None:
        try:
            while not done.is_set():
                seen.append(len(graph.facts_about(["thing:a"], 10**6)))
        except BaseException as error:
            errors.append(error)

    graph.apply(person("thing:a"), 1)
    threads = [threading.Thread(target=read) for _ in range(2)]
    for thread in threads:
        thread.start()
    for number in range(10):
        two = [f"fct:{number}.{half}" for half in range(2)]
        nodes = {key: {"seq": number + 2} for key in two}
        edges = tuple(
            EdgeRow("SUBJECT", "Fact", key, "Entity", "thing:a", key, {"seq": 1}) for key in two
        )
        graph.apply(GraphChanges(nodes={"Fact": nodes}, edges=edges), number + 2)
    done.set()
    for thread in threads:
        thread.join()
    assert not errors
    assert graph.facts_about(["thing:a"], 10**6) == sorted(
        f"fct:{n}.{half}" for n in range(10) for half in range(2)
    )
    assert all(size % 2 == 0 for size in seen)


def test_a_closed_graph_refuses_work(graph: GraphStore) -> None:
    graph.apply(CHANGES, LAST)
    graph.close()
    graph.close()
    for call in (
        lambda: graph.apply(GraphChanges(), 99),
        lambda: graph.load(GraphChanges(), 99),
        lambda: graph.facts_about(["thing:a"], 99),
        lambda: list(graph.rows("Entity")),
        graph.counts,
        graph.adjacency,
    ):
        with pytest.raises(VaultError):
            call()
