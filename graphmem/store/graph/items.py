"""How each item looks in the graph: its nodes and edges as rows. Pure; knows no engine.

A projection of an item is ``Parts``: nodes by (table, id) and edges by (label, key).
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import pairwise

from graphmem.model.items import (
    DeclaredName,
    Entity,
    EntityObject,
    Evidence,
    Fact,
    Link,
    LiteralObject,
    Mention,
    Passage,
    PassageBundle,
    SameAs,
    Source,
    Statement,
)
from graphmem.store.graph.base import EdgeRow, Row, Value
from graphmem.store.graph.schema import cell, label_of


@dataclass(frozen=True, slots=True)
class Parts:
    """The nodes and edges of one item, without ``seq`` and ``recorded_at``."""

    nodes: dict[tuple[str, str], Row] = field(default_factory=dict)
    edges: dict[tuple[str, str], EdgeRow] = field(default_factory=dict)


def _row(**columns: object) -> dict[str, Value]:
    return {name: cell(value) for name, value in columns.items()}


def _parts(nodes: Iterable[tuple[str, Row]], edges: Iterable[EdgeRow]) -> Parts:
    return Parts(
        {(table, str(row["id"])): row for table, row in nodes},
        {(edge.label, edge.key): edge for edge in edges},
    )


def source_parts(source: Source) -> Parts:
    """The source and the order of its passages (an edge between each two neighbours)."""
    record = None if source.record is None else source.record.model_dump_json()
    row = _row(
        id=source.id,
        kind=source.kind,
        uri=source.uri,
        title=source.title,
        content_hash=source.content_hash,
        project=source.project,
        root_id=source.root_id,
        session_kind=source.session_kind,
        record=record,
        authored_at=source.authored_at,
        file_modified_at=source.file_modified_at,
    )
    order = [place.passage_id for place in source.layout]
    pairs = pairwise(order)
    edges = (_next_edge(source.id, one, two) for one, two in pairs if one != two)
    return _parts([("Source", row)], edges)


def _next_edge(source_id: str, one: str, two: str) -> EdgeRow:
    row = _row(source_id=source_id)
    return EdgeRow("NEXT", "Passage", one, "Passage", two, f"{one}>{two}", row)


def bundle_parts(bundle: PassageBundle) -> Parts:
    """A passage, its statements and its mentions with the edges that hold them together."""
    passage = bundle.passage
    nodes = [("Passage", _passage_row(passage))]
    nodes += [("Statement", _statement_row(item, passage.text)) for item in bundle.statements]
    edges = [EdgeRow("CONTAINS", "Source", passage.source_id, "Passage", passage.id, passage.id)]
    edges += [
        EdgeRow("CONTAINS", "Passage", passage.id, "Statement", item.id, item.id)
        for item in bundle.statements
    ]
    edges += [mention_edge(mention) for mention in bundle.mentions]
    return _parts(nodes, edges)


def _passage_row(passage: Passage) -> Row:
    return _row(
        id=passage.id,
        source_id=passage.source_id,
        text=passage.text,
        text_hash=passage.text_hash,
        heading_path=json.dumps(passage.heading_path, ensure_ascii=False),
        role=passage.role,
        speaker=passage.speaker,
        origin=passage.origin,
        audience=passage.audience,
        authored_at=passage.authored_at,
    )


def _statement_row(statement: Statement, text: str) -> Row:
    time = statement.time
    return _row(
        id=statement.id,
        passage_id=statement.passage_id,
        text=text[statement.start : statement.end],
        kind=statement.kind,
        polarity=statement.polarity,
        modality=statement.modality,
        event_key=statement.event_key,
        extractor=statement.extractor,
        start=statement.start,
        end=statement.end,
        time_start=None if time is None else time.start,
        time_end=None if time is None else time.end,
        time_granularity=None if time is None else time.granularity,
        revision=statement.revision,
        confidence=float(statement.confidence),
    )


def mention_edge(mention: Mention) -> EdgeRow:
    """The edge of a mention, from its statement or else its passage."""
    in_statement = mention.statement_id is not None
    row = _row(
        surface=mention.surface,
        extractor=mention.extractor,
        type_vote=mention.type_vote,
        start=mention.start,
        end=mention.end,
        vote_weight=float(mention.vote_weight),
        seen_at=mention.seen_at,
    )
    table = "Statement" if in_statement else "Passage"
    source = mention.statement_id or mention.passage_id
    return EdgeRow("MENTIONS", table, source, "Entity", mention.entity_id, mention.id, row)


def entity_parts(entity: Entity) -> Parts:
    """The entity and an alias of its own name."""
    row = _row(id=entity.id, name=entity.name, name_key=entity.name_key, bucket=entity.bucket)
    alias = _row(
        id=f"{entity.id}#name", key=entity.name_key, value=entity.name, kind="name", origin=None
    )
    return _parts([("Entity", row), ("Alias", alias)], [_names_edge(alias, entity.id)])


def name_parts(name: DeclaredName) -> Parts:
    """A declared name of any kind as an alias; ``kind`` tells a spelling from a retype."""
    alias = _row(id=name.id, key=name.key, value=name.value, kind=name.kind, origin=name.origin)
    return _parts([("Alias", alias)], [_names_edge(alias, name.entity_id)])


def _names_edge(alias: Row, entity_id: str) -> EdgeRow:
    key = str(alias["id"])
    return EdgeRow("NAMES", "Alias", key, "Entity", entity_id, key, {"kind": alias["kind"]})


def fact_parts(fact: Fact) -> Parts:
    """The fact and the edges to its ends; a literal object is a column."""
    end = fact.object
    row = _row(
        id=fact.id,
        subject_id=fact.subject_id,
        predicate=fact.predicate,
        object_id=end.entity_id if isinstance(end, EntityObject) else None,
        literal=end.value if isinstance(end, LiteralObject) else None,
        polarity=fact.polarity,
        valid_from=fact.valid_from,
        valid_to=fact.valid_to,
    )
    edges = [_end_edge("SUBJECT", fact.id, fact.subject_id, fact.subject_surface)]
    if isinstance(end, EntityObject):
        edges.append(_end_edge("OBJECT", fact.id, end.entity_id, end.surface))
    return _parts([("Fact", row)], edges)


def _end_edge(label: str, fact_id: str, entity_id: str, surface: str) -> EdgeRow:
    return EdgeRow(label, "Fact", fact_id, "Entity", entity_id, fact_id, _row(surface=surface))


def evidence_parts(evidence: Evidence) -> Parts:
    """The edge from a fact to the statement, or else the passage, that says it."""
    row = _row(
        stance=evidence.stance,
        quote=evidence.quote,
        passage_id=evidence.passage_id,
        extractor=evidence.extractor,
        origin=evidence.origin,
        audience=evidence.audience,
        start=evidence.start,
        end=evidence.end,
        revision=evidence.revision,
        confidence=float(evidence.confidence),
        declared_project=evidence.declared_project,
        seen_at=evidence.seen_at,
    )
    table = "Passage" if evidence.statement_id is None else "Statement"
    target = evidence.statement_id or evidence.passage_id
    edge = EdgeRow("EVIDENCE", "Fact", evidence.fact_id, table, target, evidence.id, row)
    return _parts([], [edge])


def link_parts(link: Link) -> Parts:
    """One edge per witness between two statements."""
    row = _row(
        kind=link.kind,
        connective=link.connective,
        quote=link.quote,
        passage_id=link.passage_id,
        extractor=link.extractor,
        start=link.start,
        end=link.end,
        revision=link.revision,
        confidence=float(link.confidence),
        seen_at=link.seen_at,
    )
    ends = ("Statement", link.source_id, "Statement", link.target_id)
    return _parts([], [EdgeRow(label_of(link.kind), *ends, link.id, row)])


def redirect_parts(redirect: SameAs) -> Parts:
    """The edge from a merged entity to the one it is read as; one per loser."""
    ends = ("Entity", redirect.loser_id, "Entity", redirect.survivor_id)
    return _parts([], [EdgeRow("SAME_AS", *ends, redirect.loser_id, {"reason": redirect.reason})])


def meta_parts(key: str, value: str) -> Parts:
    """A row of plain text under a key that no other table holds."""
    return _parts([("Meta", _row(id=key, value=value))], [])
