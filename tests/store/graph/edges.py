"""A snapshot as comparable data."""

from __future__ import annotations

import numpy as np

from graphmem.store.graph.snapshot import GraphSnapshot

Edge = tuple[str, str, str, float, str | None]


def edge_list(snapshot: GraphSnapshot) -> list[object]:
    """Node ids with their passages, then all edges in the order ``expand`` gives them."""
    nodes = np.arange(snapshot.node_count, dtype=np.int32)
    keys = [snapshot.key(node) for node in range(snapshot.node_count)]
    parents = [keys[p] if p >= 0 else None for p in snapshot.passage_of(nodes).tolist()]
    return [*zip(keys, parents, strict=True), *all_edges(snapshot)]


def all_edges(snapshot: GraphSnapshot, *types: str) -> list[Edge]:
    """(type, source, target, weight, witness) of every edge of the types, or of all."""
    nodes = np.arange(snapshot.node_count, dtype=np.int32)
    found: list[Edge] = []
    for kind in types or snapshot.edge_types:
        hop = snapshot.expand(nodes, kind)
        for origin, target, weight, edge in zip(
            hop.origin.tolist(),
            hop.target.tolist(),
            hop.weight.tolist(),
            hop.edge.tolist(),
            strict=True,
        ):
            ends = snapshot.key(origin), snapshot.key(target)
            found.append((kind, *ends, round(weight, 6), snapshot.witness(edge)))
    return found
