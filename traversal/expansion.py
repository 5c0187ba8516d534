"""One-hop link expansion: the comparator that replaced meta-path push in Hindsight."""

import math
from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from ._select import TIE_DIGITS, clean_seeds
from .adjacency import Adjacency, Hop, Nodes, expand_heaviest
from .paths import Path, Step

ENTITY_SLOPE = 0.5  # Hindsight: 1, 2, 3 shared entities are worth 0.46, 0.76, 0.91


@dataclass(frozen=True, slots=True)
class LinkTypes:
    """Which edge types play which part in the expansion."""

    to_entity: str
    """From a node to the entities it mentions."""
    from_entity: str
    """From an entity back to the nodes that mention it."""
    semantic: tuple[str, ...] = ()
    causal: tuple[str, ...] = ()
    per_entity: int = 200
    """Nodes read per entity at most: the bound on a hub."""


@dataclass(frozen=True, slots=True)
class Expanded:
    """A neighbour of the seeds; `score` in 0..3 is the sum of the three signals."""

    node: int
    score: float
    entity: float
    semantic: float
    causal: float
    shared_entities: int
    path: Path
    """Through the strongest signal."""


@dataclass(slots=True)
class _Signals:
    entities: set[int]
    entity_path: Path
    semantic: float = 0.0
    semantic_path: Path = ()
    causal: float = 0.0
    causal_path: Path = ()


def link_expansion(
    adjacency: Adjacency, seeds: Collection[int], *, types: LinkTypes, limit: int | None = None
) -> list[Expanded]:
    """The nodes one link away from the seeds (seeds excluded), best first; ties by key.

    Score = tanh(0.5 * distinct entities shared with any seed) + heaviest semantic edge + heaviest
    causal edge, weights above 1 counting as 1. O(edges of the seeds + entities * per_entity).

    Reference: Hindsight's link expansion (2026).

    >>> from graphmem.traversal import CsrAdjacency
    >>> graph = CsrAdjacency.from_edges(["a", "b"], {"similar": ([0], [1], [0.75], [7])})
    >>> [hit.score for hit in link_expansion(
    ...     graph, [0], types=LinkTypes("mentions", "mentioned_in", semantic=("similar",)))]
    [0.75]
    """
    nodes, _ = clean_seeds(adjacency, dict.fromkeys(seeds, 1.0))
    nodes = np.array(sorted(nodes.tolist(), key=adjacency.key), np.int32)
    found: dict[int, _Signals] = {}
    _shared_entities(adjacency, nodes, types, found)
    for name in sorted(types.semantic):
        _direct(adjacency.expand(nodes, name), nodes, name, found, causal=False)
    for name in sorted(types.causal):
        _direct(adjacency.expand(nodes, name), nodes, name, found, causal=True)
    for seed in nodes.tolist():
        found.pop(seed, None)
    hits = [_expanded(node, signals) for node, signals in found.items()]
    hits.sort(key=lambda hit: (-round(hit.score, TIE_DIGITS), adjacency.key(hit.node)))
    return hits[:limit]


def _shared_entities(
    adjacency: Adjacency, nodes: Nodes, types: LinkTypes, found: dict[int, _Signals]
) -> None:
    mention: dict[int, Step] = {}
    for source, target, _, edge in _edges(adjacency.expand(nodes, types.to_entity), nodes):
        mention.setdefault(target, Step(source, target, types.to_entity, edge))
    entities = np.array(sorted(mention, key=adjacency.key), np.int32)
    back = expand_heaviest(adjacency, entities, types.from_entity, types.per_entity)
    for entity, node, _, edge in _edges(back, entities):
        path = (mention[entity], Step(entity, node, types.from_entity, edge))
        found.setdefault(node, _Signals(set(), path)).entities.add(entity)


def _direct(hop: Hop, nodes: Nodes, name: str, found: dict[int, _Signals], *, causal: bool) -> None:
    for source, node, weight, edge in _edges(hop, nodes):
        signals = found.setdefault(node, _Signals(set(), ()))
        value, path = min(weight, 1.0), (Step(source, node, name, edge),)
        if causal and value > signals.causal:
            signals.causal, signals.causal_path = value, path
        elif not causal and value > signals.semantic:
            signals.semantic, signals.semantic_path = value, path


def _edges(hop: Hop, nodes: Nodes) -> list[tuple[int, int, float, int]]:
    source = nodes[hop.origin].tolist()
    columns = (source, hop.target.tolist(), hop.weight.tolist(), hop.edge.tolist())
    return list(zip(*columns, strict=True))


def _expanded(node: int, signals: _Signals) -> Expanded:
    shared = len(signals.entities)
    entity = math.tanh(ENTITY_SLOPE * shared)
    routes = (
        (signals.causal, signals.causal_path),
        (signals.semantic, signals.semantic_path),
        (entity, signals.entity_path),
    )
    path = max(routes, key=lambda route: route[0])[1]
    score = entity + signals.semantic + signals.causal
    return Expanded(node, score, entity, signals.semantic, signals.causal, shared, path)
