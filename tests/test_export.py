"""The graph for other tools: complete, directed, and readable by every GraphML reader."""

from __future__ import annotations

from pathlib import Path

import networkx as nx
import pytest

from graphmem.errors import UsageError
from graphmem.memory import Memory
from graphmem.retrieve.export import graphml, write_atomically
from graphmem.settings import Settings


@pytest.fixture(scope="module")
def memory() -> Memory:
    opened = Memory(None, Settings(engine="memory", embedder="none"))
    opened.remember("Zephyr Depot supplies Anvil Works.")
    opened.remember("The seal cracked because the coolant ran dry.")
    opened.remember("Kiln 🔥 stands in\x0b Bay 3.", facts=["Kiln 🔥|located in|Bay 3"])
    return opened


def test_facts_run_from_subject_to_object_with_their_predicate(memory: Memory) -> None:
    graph = memory.to_networkx()
    names = {node: data["text"] for node, data in graph.nodes(data=True)}
    facts = {
        (names[s], d["predicate"], names[t])
        for s, t, d in graph.edges(data=True)
        if d["type"] == "fact"
    }
    assert ("Zephyr Depot", "supply", "Anvil Works") in {
        (s, p.rstrip("s").replace("supplie", "supply"), t) for s, p, t in facts
    }
    assert not any(s == "Anvil Works" for s, _, _ in facts)


def test_every_witness_can_be_opened(memory: Memory) -> None:
    graph = memory.to_networkx()
    causal = [d["witness"] for _, _, d in graph.edges(data=True) if d["type"] in ("causes", "fact")]
    assert causal
    assert not memory.get(causal).missing


def test_a_neighbourhood_holds_what_is_near_and_not_the_rest(memory: Memory) -> None:
    [entity] = memory.kg_query("Anvil Works").entities
    near = memory.to_networkx(around=entity.id, depth=1)
    texts = {data["text"] for _, data in near.nodes(data=True)}
    assert any("Zephyr" in text for text in texts)
    assert not any("coolant" in text for text in texts)


def test_an_unknown_id_is_named(memory: Memory) -> None:
    with pytest.raises(UsageError, match="psg:nothing"):
        memory.to_networkx(around="psg:nothing")


def test_graphml_is_read_back_with_equal_counts(memory: Memory, tmp_path: Path) -> None:
    graph = memory.to_networkx()
    graph.add_node("odd", kind=None, label=["a", "b"], text={"x": 1})
    target = tmp_path / "out.graphml"
    write_atomically(target, graphml(graph))
    back = nx.read_graphml(target)
    assert (len(back), back.size()) == (len(graph), graph.size())


def test_a_failed_write_leaves_the_old_file(tmp_path: Path) -> None:
    target = tmp_path / "out.txt"
    target.write_text("old")

    def lines() -> object:
        yield "new"
        raise ValueError("broken")

    with pytest.raises(ValueError, match="broken"):
        write_atomically(target, lines())  # type: ignore[arg-type]
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]
