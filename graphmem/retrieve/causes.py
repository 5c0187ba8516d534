"""What led to something, or what it led to: causal edges grouped by event, each with witnesses."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from graphmem.errors import UsageError
from graphmem.model.ids import OBJECT_PREFIXES
from graphmem.model.items import Statement
from graphmem.model.results import CausalEdge, CausalResult
from graphmem.model.scope import EVERYTHING, Scope
from graphmem.resolve import parse_id
from graphmem.retrieve.anchors import find_anchors, sentence_of
from graphmem.retrieve.context import Question, Reading, printable, read_passages
from graphmem.retrieve.kg import find_entities
from graphmem.retrieve.retriever import Retriever
from graphmem.retrieve.trace import Tracer, tracer
from graphmem.store.protocols import View
from graphmem.text import match_expression, query_terms, tokenize
from graphmem.traversal import CausalLink, CausalTree, causal_closure
from graphmem.vocabulary import CAUSAL_KINDS, Direction, EdgeType

# Events shown; the strongest under a total order.
DEFAULT_LIMIT = 50
MAX_DEPTH = 10
MAX_WITNESSES = 3
# Reply size at which whole edges are left off, in characters of JSON.
MAX_REPLY_CHARS = 60_000
# Statements that a start may stand for; an entity is mentioned in many.
MAX_STARTS = 100
# Statements taken for a question that names no clause exactly, and the share of the best match
# they must reach.
MAX_MATCHES = 3
MATCH_SHARE = 0.7
# Passages searched for the exact text of a clause.
EXACT_POOL = 50

_BEYOND = "edges beyond depth 1 are evidence for each edge, not a proven chain"


def find_causal_links(
    view: View,
    retriever: Retriever,
    id_or_question: str,
    *,
    direction: Direction = Direction.BACK,
    depth: int = 3,
    limit: int = DEFAULT_LIMIT,
    scope: Scope = EVERYTHING,
) -> CausalResult:
    """The causal edges within ``depth`` hops of the start, strongest first.

    The start is an id (statement, passage, entity, fact, evidence, link, source), the exact text
    of a clause, a name, or a question. Statements of the same event are one event: crossing it
    costs no depth and marks the edge ``via_same_event``. ``total`` counts the edges before the
    cut. Raises UsageError for an empty start and a depth or limit below 1.
    """
    if depth < 1 or limit < 1:
        raise UsageError("depth and limit must be at least 1")
    if not id_or_question.strip():
        raise UsageError("an id or a question is needed")
    depth, limit = min(depth, MAX_DEPTH), min(limit, DEFAULT_LIMIT)
    asked = printable(id_or_question.strip())
    starts, note = _starts(view, retriever, asked, scope, direction)
    edges, total = _edges(view, starts, direction, depth, limit, scope)
    kept = _fitting(edges)
    if starts and not edges:
        note = (
            "nothing stored says what led to it"
            if _back(direction)
            else ("nothing stored says what it led to")
        )
    elif any(edge.depth > 1 for edge in kept):
        note = f"{note}; {_BEYOND}" if note else _BEYOND
    return CausalResult(
        question=asked,
        starts=tuple(starts),
        direction=direction,
        depth=depth,
        edges=tuple(kept),
        total=total,
        truncated=len(kept) < total,
        note=note,
    )


def _back(direction: Direction) -> bool:
    return direction is not Direction.FORWARD


def _edges(
    view: View, starts: Sequence[str], direction: Direction, depth: int, limit: int, scope: Scope
) -> tuple[list[CausalEdge], int]:
    adjacency = view.adjacency(scope)
    handles = [handle for key in starts if (handle := adjacency.handle(key)) is not None]
    ways = {
        Direction.BACK: (EdgeType.CAUSED_BY,),
        Direction.FORWARD: (EdgeType.CAUSES,),
        Direction.BOTH: (EdgeType.CAUSED_BY, EdgeType.CAUSES),
    }[direction]
    found: list[tuple[CausalTree, EdgeType]] = []
    for way in ways:
        tree = causal_closure(
            adjacency,
            handles,
            edge_types=[way.value],
            depth=depth,
            same_event=EdgeType.SAME_EVENT.value,
            limit=limit,
            witnesses=MAX_WITNESSES,
        )
        found.append((tree, way))
    paths = [(edge.step,) for tree, _ in found for link in tree.links for edge in link.edges]
    trace = tracer(view, adjacency, paths, scope)
    pairs = [
        (link.strength, edge)
        for tree, way in found
        for link in tree.links
        if (edge := _edge(trace, link, way is EdgeType.CAUSED_BY)) is not None
    ]
    pairs.sort(key=lambda p: (-round(p[0], 9), p[1].depth, p[1].cause_id, p[1].effect_id))
    return [edge for _, edge in pairs[:limit]], sum(tree.link_total for tree, _ in found)


def _edge(trace: Tracer, found: CausalLink, back: bool) -> CausalEdge | None:
    links = [(edge, link) for edge in found.edges if (link := trace.link_of(edge.step)) is not None]
    if not links:
        return None
    first, link = links[0]
    source, target = (trace.adjacency.key(n) for n in (first.step.source, first.step.target))
    cause, effect = (target, source) if back else (source, target)
    witnesses = {item.id: trace.witness(item) for _, item in links}
    return CausalEdge(
        kind=link.kind,
        cause_id=cause,
        effect_id=effect,
        cause=trace.text(cause),
        effect=trace.text(effect),
        depth=found.depth,
        confidence=link.confidence,
        via_same_event=any(edge.via for edge, _ in links),
        witnesses=tuple(w for w in witnesses.values() if w is not None),
    )


def _fitting(edges: Sequence[CausalEdge]) -> list[CausalEdge]:
    kept: list[CausalEdge] = []
    used = 0
    for edge in edges:
        used += len(edge.model_dump_json())
        if used > MAX_REPLY_CHARS and kept:
            break
        kept.append(edge)
    return kept


def _starts(
    view: View, retriever: Retriever, text: str, scope: Scope, direction: Direction
) -> tuple[list[str], str]:
    """The statements that a start stands for, and how they were found where that is not plain."""
    prefix, colon, _ = text.partition(":")
    if colon and prefix in OBJECT_PREFIXES and parse_id(text) is not None:
        found = _of_item(view, text, scope, direction)
        return found, "" if found else f"nothing is known of {text}"
    exact = _exact(view, text, scope)
    if exact:
        return exact, ""
    entities = find_entities(view, text, scope)
    if entities:
        return _of_entities(view, entities, scope), ""
    asked = retriever.understand(text, view=view, scope=scope)
    return _matching(asked, retriever)


def _of_item(view: View, item_id: str, scope: Scope, direction: Direction) -> list[str]:
    ids = [item_id]
    if view.statements(ids, scope):
        return ids
    link = view.links(ids, scope).get(item_id)
    if link is not None:
        ends = (link.target_id,) if direction is Direction.BACK else (link.source_id,)
        return list(ends if direction is not Direction.BOTH else (link.source_id, link.target_id))
    if view.passages(ids, scope):
        return [s.id for s in view.statements_of(ids, scope).get(item_id, ())][:MAX_STARTS]
    source = view.sources(ids, scope).get(item_id)
    if source is not None:
        passages = [ref.passage_id for ref in source.layout]
        found = view.statements_of(passages, scope)
        return [s.id for key in passages for s in found.get(key, ())][:MAX_STARTS]
    evidence = list(view.evidence(ids, scope).values())
    evidence += view.evidence_of(ids, scope).get(item_id, ())
    return list(dict.fromkeys(e.statement_id for e in evidence if e.statement_id))[:MAX_STARTS]


def _of_entities(view: View, ids: Sequence[str], scope: Scope) -> list[str]:
    """Statements that mention the entities and take part in a causal link."""
    adjacency = view.adjacency(scope)
    handles = [handle for key in ids if (handle := adjacency.handle(key)) is not None]
    hop = adjacency.expand(np.array(handles, np.int32), EdgeType.MENTIONED_IN.value)
    keys = list(dict.fromkeys(adjacency.key(node) for node in hop.target.tolist()))
    statements = sorted(view.statements(keys, scope))
    linked = view.links_of(statements, CAUSAL_KINDS, scope)
    causal = {end for link in linked for end in (link.source_id, link.target_id)}
    return [key for key in statements if key in causal][:MAX_STARTS]


def _normal(text: str) -> tuple[str, ...]:
    return tokenize(text).whole


def _exact(view: View, text: str, scope: Scope) -> list[str]:
    """Statements whose words are exactly the given ones, else those whose sentence is."""
    wanted = _normal(text)
    match = match_expression(query_terms(text))
    if not wanted or not match:
        return []
    passages = [hit.id for hit in view.lexical(match, EXACT_POOL, scope)]
    reading = read_passages(view, passages, scope)
    statements = [s for key in passages for s in reading.statements.get(key, ())]
    clause = [s for s in statements if _normal(reading.text(s)) == wanted]
    return sorted(s.id for s in clause or _of_sentence(reading, statements, wanted))


def _of_sentence(
    reading: Reading, statements: Sequence[Statement], wanted: tuple[str, ...]
) -> list[Statement]:
    return [
        s
        for s in statements
        if _normal(sentence_of(reading.passages[s.passage_id].text, s.start, s.end)) == wanted
    ]


def _matching(asked: Question, retriever: Retriever) -> tuple[list[str], str]:
    """The statements that fit a question best, those in causal links first."""
    anchors = retriever.lanes(asked).anchors or find_anchors(asked, ())
    best = max(anchors.statements.values(), default=0.0)
    near = {key: v for key, v in anchors.statements.items() if v >= MATCH_SHARE * best}
    linked = asked.view.links_of(sorted(near), CAUSAL_KINDS, asked.scope)
    causal = {end for link in linked for end in (link.source_id, link.target_id)}
    order = sorted(near, key=lambda key: (key not in causal, -round(near[key], 9), key))
    if not order:
        return [], "no statement stored fits the question"
    return order[:MAX_MATCHES], "started from the statements that fit the question best"
