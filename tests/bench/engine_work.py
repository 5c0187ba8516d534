"""What the bench of the graph engines does in a child: one engine per process, some of them die."""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import numpy as np

from graphmem.store.graph.base import EdgeRow, GraphChanges, GraphStore, Row
from graphmem.store.graph.cypher_engine import CypherGraph
from graphmem.store.graph.engines import ENGINES, MEMORY
from graphmem.store.graph.files import PROBE_BYTES, log_bytes, map_bytes
from graphmem.store.graph.memory import MemoryGraph
from graphmem.store.graph.snapshot import SnapshotBuilder

# Nodes, and as many edges, of a commit; a note with a few facts has about as many.
PER_COMMIT = 20
COMMITS = 200
READS = 100
OPENS = 5
SEED = 7

T = TypeVar("T")


def made_up(nodes: int, edges: int) -> GraphChanges:
    """Entities and statements with skewed mentions and causal links; the same for equal sizes."""
    chance = np.random.default_rng(SEED)
    entities = max(2, nodes * 3 // 5)
    statements = max(2, nodes - entities)
    mentions = edges * 4 // 5
    weights = 1.0 / np.arange(10, entities + 10)
    targets = chance.choice(entities, mentions, p=weights / weights.sum()).tolist()
    sources = chance.integers(0, statements, mentions).tolist()
    ends = chance.integers(0, statements, (edges - mentions, 2)).tolist()
    made = [_mention(f"m{n}", s, t) for n, (s, t) in enumerate(zip(sources, targets, strict=True))]
    made += [_cause(f"c{n}", a, b) for n, (a, b) in enumerate(ends)]
    tables: dict[str, dict[str, Row]] = {
        "Entity": {f"e{n}": {"seq": 1, "name": f"Entity {n}"} for n in range(entities)},
        "Statement": {
            f"s{n}": {"seq": 1, "text": f"Statement {n} about a pump and its coolant."}
            for n in range(statements)
        },
    }
    return GraphChanges(tables, tuple(made))


def _mention(key: str, source: int, target: int) -> EdgeRow:
    row: Row = {"seq": 1, "surface": "pump"}
    return EdgeRow("MENTIONS", "Statement", f"s{source}", "Entity", f"e{target}", key, row)


def _cause(key: str, source: int, target: int) -> EdgeRow:
    row: Row = {"seq": 1, "kind": "causes", "confidence": 0.8}
    return EdgeRow("CAUSES", "Statement", f"s{source}", "Statement", f"s{target}", key, row)


def commit(seq: int) -> GraphChanges:
    """The commit of one sequence: new statements, each with a mention and a long text."""
    keys = [f"n{seq}.{n}" for n in range(PER_COMMIT)]
    rows: dict[str, Row] = {key: {"seq": seq, "text": text_of(key)} for key in keys}
    edges = tuple(
        EdgeRow("MENTIONS", "Statement", key, "Entity", f"e{n % 2}", key, {"seq": seq})
        for n, key in enumerate(keys)
    )
    return GraphChanges({"Statement": rows}, edges)


def text_of(key: str) -> str:
    """The text of a committed statement, from which a damaged one differs."""
    return f"{key} said " * 20


def opened(name: str, path: Path) -> GraphStore:
    """The graph of an engine at a path."""
    return MemoryGraph() if name == MEMORY else CypherGraph(path, ENGINES[name])


def timed(work: Callable[[], T]) -> tuple[float, T]:
    """Seconds and result."""
    begun = time.perf_counter()
    result = work()
    return time.perf_counter() - begun, result


def measure(name: str, folder: Path, nodes: int, edges: int) -> dict[str, float | str]:
    """Seconds, milliseconds and bytes of one engine."""
    path, changes = folder / "graph", made_up(nodes, edges)
    graph, build = _built(name, path, changes)
    found: dict[str, float | str] = {"engine": graph.engine, "build_s": build}
    found["file_bytes"] = path.stat().st_size if path.exists() else 0
    found["snapshot_s"], _ = timed(lambda: SnapshotBuilder(graph.adjacency(), 1))
    commits = [timed(lambda seq=seq: graph.apply(commit(seq), seq))[0] for seq in range(2, COMMITS)]  # type: ignore[misc]
    found["commit_ms"] = statistics.median(commits) * 1e3
    found["commit_p95_ms"] = float(np.quantile(commits, 0.95)) * 1e3
    ids = np.random.default_rng(1).integers(0, max(2, nodes // 3), (READS, 20)).tolist()
    reads = [
        timed(lambda row=row: graph.links_of([f"s{n}" for n in row], ["CAUSES"], 1))[0]
        for row in ids
    ]  # type: ignore[misc]
    found["read_ms"] = statistics.median(reads) * 1e3
    graph.close()
    if name != MEMORY:
        found["log_bytes"] = log_bytes(path)
        found["replay_s"] = _opening(name, path)
    return found


def _built(name: str, path: Path, changes: GraphChanges) -> tuple[GraphStore, float]:
    if name == MEMORY:
        memory = MemoryGraph()
        return memory, timed(lambda: memory.load(changes, 1))[0]
    took, _ = timed(lambda: CypherGraph.build(path, ENGINES[name], changes, 1))
    return CypherGraph(path, ENGINES[name]), took


def _opening(name: str, path: Path) -> float:
    took = []
    for _ in range(OPENS):
        seconds, graph = timed(lambda: opened(name, path))
        took.append(seconds)
        graph.close()
    return statistics.median(took)


def prepare(name: str, path: Path, commits: int) -> None:
    """A built file with a small graph and a log of some commits."""
    CypherGraph.build(path, ENGINES[name], made_up(200, 1_000), 1)
    graph = opened(name, path)
    for seq in range(2, commits + 2):
        graph.apply(commit(seq), seq)
    graph.close()


def write_on(name: str, path: Path) -> None:
    """Commits until it is killed; prints each sequence that is acknowledged."""
    graph = opened(name, path)
    seq = graph.applied_seq
    while True:
        seq += 1
        graph.apply(commit(seq), seq)
        print(seq, flush=True)


def check(name: str, path: Path) -> dict[str, int | bool]:
    """Where the graph stands, and whether it holds exactly what was committed up to there.

    With bounded memory: a damaged file may ask for all there is.
    """
    size = map_bytes(path)
    resource.setrlimit(resource.RLIMIT_AS, (size + PROBE_BYTES, size + PROBE_BYTES))
    engine = ENGINES[name]
    graph = CypherGraph(path, replace(engine, options={**engine.options, "max_db_size": size}))
    seq = graph.applied_seq
    base = made_up(200, 1_000)
    texts = {key: row["text"] for key, row in base.nodes["Statement"].items()}
    ends = {(edge.key, edge.source, edge.target) for edge in base.edges}
    for number in range(2, seq + 1):
        part = commit(number)
        texts |= {key: row["text"] for key, row in part.nodes["Statement"].items()}
        ends |= {(edge.key, edge.source, edge.target) for edge in part.edges}
    stored = {str(row["id"]): row["text"] for row in graph.rows("Statement")}
    rows = [row for label in ("MENTIONS", "CAUSES") for row in graph.rows(label)]
    found = [(row["key"], row["_source"], row["_target"]) for row in rows]
    names = {str(row["id"]): row["name"] for row in graph.rows("Entity")}
    right = (
        stored == texts
        and set(found) == ends
        and len(found) == len(ends)
        and names == {key: row["name"] for key, row in base.nodes["Entity"].items()}
    )
    graph.close()
    return {"seq": seq, "right": right}


def main(arguments: list[str] | None = None) -> int:
    """One piece of work; prints one JSON object, but for ``write``."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("work", choices=("measure", "prepare", "write", "check"))
    parser.add_argument("engine", choices=(MEMORY, *ENGINES))
    parser.add_argument("path", type=Path)
    parser.add_argument("--nodes", type=int, default=0)
    parser.add_argument("--edges", type=int, default=0)
    parser.add_argument("--commits", type=int, default=30)
    given = parser.parse_args(arguments)
    if given.work == "measure":
        print(json.dumps(measure(given.engine, given.path, given.nodes, given.edges)))
    elif given.work == "prepare":
        prepare(given.engine, given.path, given.commits)
    elif given.work == "write":
        write_on(given.engine, given.path)
    else:
        print(json.dumps(check(given.engine, given.path)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
