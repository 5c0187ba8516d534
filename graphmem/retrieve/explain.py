"""From what a WHY question names to what explains it: a best-first walk with a grammar.

An explanation follows causal edges. It may cross to another telling of the same event, and from a
decision to the one it superseded, where the consequences of the old decision are the reasons for
the new one.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from graphmem.model.items import Statement
from graphmem.retrieve.anchors import Anchors
from graphmem.retrieve.context import Question
from graphmem.traversal import Path, Step
from graphmem.vocabulary import Direction, EdgeType, Polarity, StatementKind

# What a step keeps of a chain's strength. Crossing to another telling is nearly sure; a sibling's
# own reason explains the sibling, but what the record's layout says of its decision it says of
# every sentence of the decision.
SAME_EVENT = 0.95
SUPERSEDES = 0.95
SIBLING_SHARED = 0.9
SIBLING_OWN = 0.4
EXPLICIT = 0.9
LAYOUT = 0.8
# What a chain is worth that ends here: with a connective the text itself says so; by the layout of
# a record any sentence of a section counts; a problem of the predecessor is nearly a reason.
END_EXPLICIT = 1.0
END_PROBLEM = 0.8
END_LAYOUT = 0.5
# Confidence from which an edge is one that the text states; layout edges have 0.6.
STATED = 0.75
# States looked at: enough for five hops from ten anchors, a bound for hubs.
MAX_STATES = 600
# Anchor statements weaker than this share of the best are not what the question asks about.
ANCHOR_SHARE = 0.6
MAX_ANCHORS = 12
# A chain weaker than this is no reason to reorder; the best chains within the share come first.
MIN_STRENGTH = 0.45
SHARE_OF_BEST = 0.8


class _Phase(IntEnum):
    """What the walk has done last; decides what may follow."""

    ANCHOR = 0
    SIBLING = 1
    SAME = 2
    CAUSE = 3
    OLD = 4
    PROBLEM = 5


@dataclass(frozen=True, slots=True)
class Explanation:
    """A passage that explains what was asked, with the statement and path that say so."""

    passage_id: str
    statement_id: str
    strength: float
    path: Path
    stated: bool
    """Whether the last edge is stated by a connective in the text."""


@dataclass(frozen=True, slots=True)
class _State:
    node: int
    phase: _Phase
    strength: float
    path: Path
    stated: bool = False


def explanations(question: Question, anchors: Anchors) -> list[Explanation]:
    """The best explanation per passage, strongest first, ties in text order.

    Only those near the strongest are given; none when no chain is strong enough. Empty for other
    intents than WHY. O(states * edges per node).
    """
    direction = question.guess.direction
    if direction is None:
        return []
    ways = {Direction.BACK, Direction.FORWARD} if direction is Direction.BOTH else {direction}
    ends: list[_State] = []
    for way in sorted(ways):
        ends += _walk(question, _starts(question, anchors), way is Direction.BACK)
    found = _by_passage(question, ends)
    bar = max(MIN_STRENGTH, SHARE_OF_BEST * max((e.strength for e in found), default=0.0))
    return [item for item in found if item.strength >= bar]


def _starts(question: Question, anchors: Anchors) -> list[_State]:
    best = max(anchors.statements.values(), default=0.0)
    ordered = sorted(anchors.statements.items(), key=lambda pair: (-round(pair[1], 9), pair[0]))
    states = []
    for statement_id, match in ordered[:MAX_ANCHORS]:
        handle = question.adjacency.handle(statement_id)
        if handle is not None and match >= ANCHOR_SHARE * best:
            states.append(_State(handle, _Phase.ANCHOR, match, ()))
    return states


def _walk(question: Question, starts: list[_State], back: bool) -> list[_State]:
    """Every state where an explanation may end, each (node, phase) by its strongest way."""
    queue = [(-state.strength, number, state) for number, state in enumerate(starts)]
    heapq.heapify(queue)
    counter = len(queue)
    done: set[tuple[int, _Phase]] = set()
    ends: list[_State] = []
    while queue and len(done) < MAX_STATES:
        _, _, state = heapq.heappop(queue)
        if (state.node, state.phase) in done:
            continue
        done.add((state.node, state.phase))
        if state.phase in (_Phase.CAUSE, _Phase.PROBLEM):
            ends.append(state)
        if _hops(state.path) >= question.plan.depth:
            continue
        for following in _next(question, state, back):
            heapq.heappush(queue, (-following.strength, counter, following))
            counter += 1
    return ends


def _hops(path: Path) -> int:
    """Edges of the path, crossing a passage to a sibling not counted."""
    return sum(step.edge_type not in (EdgeType.PART_OF, EdgeType.CONTAINS) for step in path)


def _next(question: Question, state: _State, back: bool) -> Iterator[_State]:
    causal = EdgeType.CAUSED_BY if back else EdgeType.CAUSES
    if state.phase is _Phase.ANCHOR:
        yield from _siblings(question, state)
    if state.phase is not _Phase.OLD:
        for step, weight in _edges(question, state.node, causal):
            stated = weight >= STATED
            keep = (EXPLICIT if stated else LAYOUT) * _from(state, stated)
            yield _after(state, step, _Phase.CAUSE, keep, stated)
        for step, _ in _edges(question, state.node, EdgeType.SAME_EVENT):
            yield _after(state, step, _Phase.SAME, SAME_EVENT * _from(state, False), False)
    if back and state.phase is not _Phase.PROBLEM:
        for step, _ in _edges(question, state.node, EdgeType.SUPERSEDES):
            yield _after(state, step, _Phase.OLD, SUPERSEDES * _from(state, False), False)
    if state.phase is _Phase.OLD:
        for step, weight in _edges(question, state.node, EdgeType.CAUSES):
            keep = EXPLICIT if weight >= STATED else LAYOUT
            yield _after(state, step, _Phase.PROBLEM, keep, False)


def _from(state: _State, stated: bool) -> float:
    if state.phase is not _Phase.SIBLING:
        return 1.0
    return SIBLING_OWN if stated else SIBLING_SHARED


def _after(state: _State, step: Step, phase: _Phase, keep: float, stated: bool) -> _State:
    return _State(step.target, phase, state.strength * keep, (*state.path, step), stated)


def _siblings(question: Question, state: _State) -> Iterator[_State]:
    for up, _ in _edges(question, state.node, EdgeType.PART_OF):
        for down, _ in _edges(question, up.target, EdgeType.CONTAINS):
            if down.target != state.node:
                path = (*state.path, up, down)
                yield _State(down.target, _Phase.SIBLING, state.strength, path)


def _edges(question: Question, node: int, edge_type: EdgeType) -> Iterator[tuple[Step, float]]:
    hop = question.adjacency.expand(np.array([node], np.int32), edge_type.value)
    columns = (hop.target.tolist(), hop.weight.tolist(), hop.edge.tolist())
    for target, weight, edge in zip(*columns, strict=True):
        yield Step(node, target, edge_type.value, edge), weight


def _by_passage(question: Question, ends: list[_State]) -> list[Explanation]:
    keys = {state.node: question.adjacency.key(state.node) for state in ends}
    statements = question.view.statements(set(keys.values()), question.scope)
    best: dict[str, tuple[Explanation, int]] = {}
    for state in ends:
        statement = statements.get(keys[state.node])
        if statement is None:
            continue
        strength = state.strength * _end(state, statement)
        rank = (-round(strength, 9), statement.start, statement.id)
        known = best.get(statement.passage_id)
        if known is None or rank < _rank(known[0], known[1]):
            item = Explanation(
                statement.passage_id, statement.id, strength, state.path, state.stated
            )
            best[statement.passage_id] = (item, statement.start)
    ordered = sorted(best.values(), key=lambda pair: _rank(*pair))
    return [item for item, _ in ordered]


def _rank(item: Explanation, start: int) -> tuple[float, int, str]:
    return (-round(item.strength, 9), start, item.statement_id)


def _end(state: _State, statement: Statement) -> float:
    if state.stated:
        return END_EXPLICIT
    bad = statement.kind is StatementKind.PROBLEM or statement.polarity is Polarity.NEGATIVE
    return END_PROBLEM if state.phase is _Phase.PROBLEM and bad else END_LAYOUT
