"""The graph for other tools: a networkx graph, and GraphML that every reader accepts."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np

from graphmem.errors import UsageError
from graphmem.model.base import iso
from graphmem.model.items import EntityObject
from graphmem.model.scope import Scope
from graphmem.store.protocols import GraphAdjacency, View
from graphmem.vocabulary import EdgeType

# Only one direction of each pair: the reverse edges are what traversal adds. Facts come apart.
_STORED = (
    EdgeType.CONTAINS,
    EdgeType.MENTIONS,
    EdgeType.CAUSES,
    EdgeType.SAME_EVENT,
    EdgeType.NEXT,
    EdgeType.SUPERSEDES,
)
# Longest label of a node, in characters; the whole text is in ``text``.
LABEL_CHARS = 60


def to_networkx(
    view: View, *, around: str | None, depth: int, scope: Scope
) -> nx.MultiDiGraph[str]:
    """Passages, statements and entities with their edges; ``around`` keeps one neighbourhood.

    Nodes have ``kind``, ``label`` and ``text``; edges have ``type`` and ``witness`` (an id), facts
    also their ``predicate`` and the id of the ``fact``.
    Raises UsageError when ``around`` is not a visible id.
    """
    adjacency = view.adjacency(scope)
    nodes = _nodes(adjacency, around, depth)
    graph: nx.MultiDiGraph[str] = nx.MultiDiGraph()
    keys = [adjacency.key(int(node)) for node in nodes]
    texts = _texts(view, keys, scope)
    for key in keys:
        kind, text = texts.get(key, ("unknown", key))
        label = " ".join(text.split())[:LABEL_CHARS]
        graph.add_node(key, kind=kind, label=label, text=text)
    for source, target, edge_type, witness in _edges(adjacency, nodes):
        if target in graph:
            graph.add_edge(source, target, type=edge_type, witness=witness)
    _add_facts(graph, view, [key for key in keys if texts.get(key, ("",))[0] == "entity"], scope)
    return graph


def _add_facts(graph: nx.MultiDiGraph[str], view: View, entities: list[str], scope: Scope) -> None:
    """Facts between entities of the graph, from subject to object."""
    facts = view.facts_about(entities, scope) if entities else []
    evidence = view.evidence_of([fact.id for fact in facts], scope)
    for fact in facts:
        if not isinstance(fact.object, EntityObject):
            continue
        source, target = view.survivor(fact.subject_id), view.survivor(fact.object.entity_id)
        if source in graph and target in graph:
            graph.add_edge(
                source,
                target,
                type=str(EdgeType.FACT),
                predicate=fact.predicate,
                fact=fact.id,
                witness=evidence[fact.id][0].id,
            )


def _nodes(adjacency: GraphAdjacency, around: str | None, depth: int) -> Any:
    if around is None:
        return np.arange(adjacency.node_count, dtype=np.int32)
    start = adjacency.handle(around)
    if start is None:
        raise UsageError(f"{around!r} is not the id of a passage, statement or entity here")
    seen = frontier = np.array([start], dtype=np.int32)
    for _ in range(depth):
        hops = [adjacency.expand(frontier, name).target for name in adjacency.edge_types]
        reached = np.unique(np.concatenate(hops)) if hops else frontier[:0]
        frontier = np.setdiff1d(reached, seen).astype(np.int32)
        seen = np.union1d(seen, frontier).astype(np.int32)
    return seen


def _texts(view: View, keys: list[str], scope: Scope) -> dict[str, tuple[str, str]]:
    texts = {k: ("passage", p.text) for k, p in view.passages(keys, scope).items()}
    statements = view.statements(keys, scope)
    passages = view.passages({s.passage_id for s in statements.values()}, scope)
    for key, statement in statements.items():
        text = passages[statement.passage_id].text[statement.start : statement.end]
        texts[key] = (f"statement:{statement.kind}", text)
    texts |= {k: ("entity", e.name) for k, e in view.entities(keys, scope).items()}
    return texts


def _edges(adjacency: GraphAdjacency, nodes: Any) -> Iterator[tuple[str, str, str, str]]:
    for edge_type in _STORED:
        hop = adjacency.expand(nodes, edge_type)
        for origin, target, edge in zip(hop.origin, hop.target, hop.edge, strict=True):
            source = adjacency.key(int(nodes[int(origin)]))
            witness = adjacency.witness(int(edge)) or ""
            if edge_type is EdgeType.SAME_EVENT and source > adjacency.key(int(target)):
                continue  # stored once, walked both ways
            yield source, adjacency.key(int(target)), str(edge_type), witness


def graphml(graph: nx.MultiDiGraph[str]) -> Iterator[str]:
    """The graph as lines of GraphML; lists, times and empty values are written as text."""
    clean: nx.MultiDiGraph[str] = nx.MultiDiGraph()
    for node, data in graph.nodes(data=True):
        clean.add_node(_text(node), **{k: _text(v) for k, v in data.items()})
    for source, target, data in graph.edges(data=True):
        clean.add_edge(_text(source), _text(target), **{k: _text(v) for k, v in data.items()})
    yield from nx.generate_graphml(clean, named_key_ids=True)


def _text(value: object) -> str:
    """A value as text that XML 1.0 allows (no control characters, no lone surrogates)."""
    match value:
        case None:
            text = ""
        case str():
            text = value
        case datetime():
            text = iso(value)
        case _:
            text = json.dumps(value, ensure_ascii=False, default=str)
    return "".join(c if _allowed(c) else " " for c in text)


def _allowed(char: str) -> bool:
    code = ord(char)
    return char in "\t\n\r" or 0x20 <= code <= 0xD7FF or 0xE000 <= code <= 0xFFFD or code > 0xFFFF


def write_atomically(path: Path, lines: Iterable[str]) -> None:
    """Writes lines to a file beside ``path`` and renames it, so that a reader sees all or nothing.

    Raises UsageError when the folder cannot be written.
    """
    try:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}") from error
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.writelines(f"{line}\n" for line in lines)
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
