"""Paths and causal edges as results: every step with its texts and the witness that says it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from graphmem.model.items import Entity, Evidence, Link, Statement
from graphmem.model.results import CausalEdge, PathStep, Witness
from graphmem.model.scope import Scope
from graphmem.retrieve.places import Places, places
from graphmem.store.protocols import GraphAdjacency, View
from graphmem.traversal import Path, Step, causal_order
from graphmem.vocabulary import CAUSAL_KINDS, EdgeType

# Characters of a passage shown as the end of a step; its whole text is under its id.
TEXT_CHARS = 160
_CAUSAL = (EdgeType.CAUSES, EdgeType.CAUSED_BY)


@dataclass(frozen=True)
class Tracer:
    """What is needed to print some paths; read once for all of them."""

    adjacency: GraphAdjacency
    statements: Mapping[str, Statement]
    entities: Mapping[str, Entity]
    links: Mapping[str, Link]
    evidence: Mapping[str, Evidence]
    where: Places

    def steps(self, path: Path) -> tuple[PathStep, ...]:
        """The path edge by edge."""
        return tuple(self._step(step) for step in path)

    def _step(self, step: Step) -> PathStep:
        source, target = self.adjacency.key(step.source), self.adjacency.key(step.target)
        witness = self.adjacency.witness(step.edge) if step.edge >= 0 else None
        link = self.links.get(witness or "")
        item = link or self.evidence.get(witness or "")
        span = self.where.span(item.passage_id, item.start, item.end) if item else None
        return PathStep(
            source_id=source,
            target_id=target,
            edge=EdgeType(step.edge_type),
            kind=link.kind if link else None,
            source_text=self.text(source),
            target_text=self.text(target),
            quote=item.quote if item else "",
            witness_id=witness if item else None,
            span=span,
        )

    def text(self, item_id: str) -> str:
        """What an end of a step says: a statement, a name, or how a passage begins."""
        if item_id in self.statements:
            statement = self.statements[item_id]
            passage = self.where.passages.get(statement.passage_id)
            return passage.text[statement.start : statement.end] if passage else item_id
        if item_id in self.entities:
            return self.entities[item_id].name
        if item_id in self.where.passages:
            text = self.where.passages[item_id].text
            return text if len(text) <= TEXT_CHARS else text[: TEXT_CHARS - 1] + "…"
        return item_id

    def link_of(self, step: Step) -> Link | None:
        """The causal link behind a step."""
        witness = self.adjacency.witness(step.edge) if step.edge >= 0 else None
        link = self.links.get(witness or "")
        return link if link is not None and link.kind in CAUSAL_KINDS else None

    def witness(self, link: Link) -> Witness | None:
        """A link as the witness of an edge."""
        span = self.where.span(link.passage_id, link.start, link.end)
        if span is None:
            return None
        return Witness(
            link_id=link.id,
            quote=link.quote,
            span=span,
            connective=link.connective,
            extractor=link.extractor,
            confidence=link.confidence,
        )


def tracer(view: View, adjacency: GraphAdjacency, paths: Iterable[Path], scope: Scope) -> Tracer:
    """Everything that the steps of the paths touch."""
    steps = [step for path in paths for step in path]
    keys = list(
        dict.fromkeys(adjacency.key(n) for step in steps for n in (step.source, step.target))
    )
    witnesses = [w for step in steps if step.edge >= 0 and (w := adjacency.witness(step.edge))]
    statements = view.statements(keys, scope)
    links = view.links(witnesses, scope)
    evidence = view.evidence(witnesses, scope)
    passages = [
        *(item.passage_id for item in statements.values()),
        *(item.passage_id for item in links.values()),
        *(item.passage_id for item in evidence.values()),
        *keys,
    ]
    where = places(view, passages, scope)
    return Tracer(adjacency, statements, view.entities(keys, scope), links, evidence, where)


def causal_chain(trace: Tracer, paths: Sequence[Path]) -> tuple[CausalEdge, ...]:
    """The causal edges along the paths, each once, causes before effects.

    ``depth`` counts causal hops from the anchor; ``via_same_event`` marks an edge that the path
    entered over another telling of its event.
    """
    edges: dict[str, CausalEdge] = {}
    ends: dict[str, tuple[int, int]] = {}
    for path in paths:
        depth, crossed = 0, False
        for step in path:
            crossed = crossed or step.edge_type == EdgeType.SAME_EVENT
            if step.edge_type not in _CAUSAL:
                continue
            depth += 1
            link = trace.link_of(step)
            back = step.edge_type == EdgeType.CAUSED_BY
            cause, effect = (step.target, step.source) if back else (step.source, step.target)
            if link is not None and link.id not in edges:
                edges[link.id] = _edge(trace, link, cause, effect, depth, crossed)
                ends[link.id] = (cause, effect)
            crossed = False
    order = {node: n for n, node in enumerate(causal_order(ends.values(), trace.adjacency.key))}
    ranked = sorted(edges, key=lambda key: (order[ends[key][0]], order[ends[key][1]], key))
    return tuple(edges[key] for key in ranked)


def _edge(
    trace: Tracer, link: Link, cause: int, effect: int, depth: int, crossed: bool
) -> CausalEdge:
    cause_id, effect_id = trace.adjacency.key(cause), trace.adjacency.key(effect)
    witness = trace.witness(link)
    return CausalEdge(
        kind=link.kind,
        cause_id=cause_id,
        effect_id=effect_id,
        cause=trace.text(cause_id),
        effect=trace.text(effect_id),
        depth=depth,
        confidence=link.confidence,
        via_same_event=crossed,
        witnesses=(witness,) if witness else (),
    )
