"""What led to some nodes, or what they led to: breadth-first over causal edges, event by event."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field

import numpy as np

from ._select import TIE_DIGITS, clean_seeds
from .adjacency import Adjacency
from .paths import Path, Step


@dataclass(frozen=True, slots=True)
class CausalEdge:
    """One causal edge with its witness, walked from `step.source` to `step.target`."""

    step: Step
    weight: float
    via: Path
    """Same-event hops from where the walk entered the event to `step.source`; mostly empty."""


@dataclass(frozen=True, slots=True)
class CausalLink:
    """All edges walked from one event to another."""

    source_event: int
    target_event: int
    depth: int
    """Causal hops from a start, from 1."""
    strength: float
    """Product of the heaviest weights along the way, in (0, 1]."""
    edges: tuple[CausalEdge, ...]
    """The heaviest first, at most `witnesses` of them."""
    edge_total: int
    """How many edges there are."""
    repeats: bool
    """True when the target event had been met at this depth or before: not walked again."""


@dataclass(frozen=True, slots=True)
class Event:
    """Nodes that tell of the same thing; `number` is its position among the events found."""

    number: int
    members: tuple[int, ...]
    """By key."""
    depth: int
    """Causal hops from a start; 0 for the starts."""


@dataclass(frozen=True, slots=True)
class CausalTree:
    """The strongest links, their events (by number) and the count before the cut."""

    events: tuple[Event, ...]
    links: tuple[CausalLink, ...]
    link_total: int

    def event(self, number: int) -> Event:
        """The event of this number; KeyError when no kept link touches it."""
        for event in self.events:
            if event.number == number:
                return event
        raise KeyError(number)


@dataclass(slots=True)
class _Group:
    """An event while it is being found: how each member is reached from where it was entered."""

    number: int
    depth: int
    strength: float
    reach: dict[int, Path] = field(default_factory=dict)


def causal_closure(
    adjacency: Adjacency,
    starts: Collection[int],
    *,
    edge_types: Iterable[str],
    depth: int,
    same_event: str | None = None,
    limit: int | None = 50,
    witnesses: int = 3,
) -> CausalTree:
    """The events within `depth` causal hops of `starts`, and the `limit` strongest links.

    `edge_types` are the causal types of one direction; for the other direction call again, since
    a walk that turns round finds siblings, not causes. Nodes joined by `same_event` edges (which
    must be there both ways) are one event: crossing it costs no depth, and the hops stand in
    `CausalEdge.via`. Each event is walked once, so cycles end; links inside an event are left out.

    Links are ordered by (descending strength, depth, keys of the events): a total order in which
    a link comes after one that leads to it, so that the cut leaves a connected tree. A link at
    depth > 1 is evidence for its own edge, not a proven chain. O(v + e log e) of what is reached.

    >>> from graphmem.traversal import CsrAdjacency
    >>> graph = CsrAdjacency.from_edges(["a", "b"], {"caused_by": ([0], [1], [0.5], [7])})
    >>> tree = causal_closure(graph, [0], edge_types=["caused_by"], depth=2)
    >>> [(link.depth, link.strength, link.edges[0].step.edge) for link in tree.links]
    [(1, 0.5, 7)]
    """
    if depth < 0 or witnesses < 1 or (limit is not None and limit < 0):
        raise ValueError("depth and limit start at 0, witnesses at 1")
    walk = _Walk(adjacency, tuple(sorted(set(edge_types))), same_event, witnesses)
    nodes, _ = clean_seeds(adjacency, dict.fromkeys(starts, 1.0))
    level = walk.enter(nodes.tolist(), 0)
    roots = len(walk.groups)
    for hop in range(1, depth + 1):
        level = walk.follow(level, hop)
    links = sorted(walk.links, key=walk.order)
    kept = links[:limit]
    used = {number for link in kept for number in (link.source_event, link.target_event)}
    shown = [group for group in walk.groups if group.number < roots or group.number in used]
    return CausalTree(tuple(map(walk.event, shown)), tuple(kept), len(links))


class _Walk:
    """The state of one closure."""

    def __init__(
        self, adjacency: Adjacency, types: tuple[str, ...], same_event: str | None, witnesses: int
    ) -> None:
        self._adjacency, self._types = adjacency, types
        self._same_event, self._witnesses = same_event, witnesses
        self._home: dict[int, _Group] = {}
        self._names: dict[int, str] = {}
        self.groups: list[_Group] = []
        self.links: list[CausalLink] = []

    def enter(self, nodes: Iterable[int], depth: int) -> list[_Group]:
        """New events for those `nodes` that belong to none yet, with all their members."""
        waiting = sorted(set(nodes), key=self._adjacency.key)
        entries = set(waiting)
        found: list[_Group] = []
        for node in waiting:
            if node not in self._home:
                found.append(self._gather(node, entries, depth))
        return found

    def _gather(self, node: int, entries: set[int], depth: int) -> _Group:
        group = _Group(len(self.groups), depth, 1.0 if depth == 0 else 0.0)
        members = self._component(node)
        reach: dict[int, Path] = {member: () for member in members if member in entries}
        front = list(reach)
        while front:
            fresh: dict[int, Path] = {}
            for step in self._steps(front, self._same_event):
                if step[0].target not in reach and step[0].target not in self._home:
                    fresh.setdefault(step[0].target, (*reach[step[0].source], step[0]))
            reach.update(fresh)
            front = sorted(fresh, key=self._adjacency.key)
        group.reach = reach
        self._home.update(dict.fromkeys(reach, group))
        self._names[group.number] = min(map(self._adjacency.key, reach))
        self.groups.append(group)
        return group

    def _component(self, node: int) -> list[int]:
        """Free nodes joined to `node` by same-event edges, by key."""
        seen, front = {node}, [node]
        while front:
            steps = self._steps(front, self._same_event)
            heads = {step.target for step, _ in steps} - seen
            front = [head for head in heads if head not in self._home]
            seen.update(front)
        return sorted(seen, key=self._adjacency.key)

    def _steps(self, nodes: list[int], edge_type: str | None) -> list[tuple[Step, float]]:
        if edge_type is None or not nodes:
            return []
        hop = self._adjacency.expand(np.array(nodes, np.int32), edge_type)
        columns = (hop.origin.tolist(), hop.target.tolist(), hop.weight.tolist(), hop.edge.tolist())
        return [
            (Step(nodes[origin], target, edge_type, edge), weight)
            for origin, target, weight, edge in zip(*columns, strict=True)
        ]

    def follow(self, level: list[_Group], depth: int) -> list[_Group]:
        """Walk every causal edge out of `level`; returns the events met for the first time."""
        nodes = [node for group in level for node in group.reach]
        edges = [edge for name in self._types for edge in self._steps(nodes, name)]
        found = self.enter((step.target for step, _ in edges), depth)
        between: dict[tuple[int, int], list[CausalEdge]] = {}
        for step, weight in edges:
            source, target = self._home[step.source], self._home[step.target]
            if source is not target:
                edge = CausalEdge(step, min(weight, 1.0), source.reach[step.source])
                between.setdefault((source.number, target.number), []).append(edge)
        fresh = {group.number for group in found}
        for (source_event, target_event), group_edges in between.items():
            link = self._link(source_event, target_event, depth, group_edges, fresh)
            self.links.append(link)
        return found

    def _link(
        self, source: int, target: int, depth: int, edges: list[CausalEdge], fresh: set[int]
    ) -> CausalLink:
        edges.sort(key=self._edge_order)
        strength = self.groups[source].strength * edges[0].weight
        if target in fresh:
            self.groups[target].strength = max(self.groups[target].strength, strength)
        shown = tuple(edges[: self._witnesses])
        return CausalLink(source, target, depth, strength, shown, len(edges), target not in fresh)

    def _edge_order(self, edge: CausalEdge) -> tuple[float, str, str, str, int]:
        key, step = self._adjacency.key, edge.step
        return (-edge.weight, key(step.source), key(step.target), step.edge_type, step.edge)

    def order(self, link: CausalLink) -> tuple[float, int, str, str]:
        """The total order of links: strongest, nearest, then by the least key of each event."""
        names = (self._names[link.source_event], self._names[link.target_event])
        return (-round(link.strength, TIE_DIGITS), link.depth, *names)

    def event(self, group: _Group) -> Event:
        """The finished event."""
        members = tuple(sorted(group.reach, key=self._adjacency.key))
        return Event(group.number, members, group.depth)
