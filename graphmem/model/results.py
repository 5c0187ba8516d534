"""What the public API returns; frozen, printable, and dumped as they are by ``--json``."""

from __future__ import annotations

from typing import Any

from graphmem.model.base import Model, UtcDatetime
from graphmem.vocabulary import (
    Direction,
    EdgeType,
    EntityType,
    Intent,
    Lane,
    LinkKind,
    Polarity,
    Refusal,
    Stance,
    StatementKind,
)


class Result(Model):
    """A result that prints as readable text, in a terminal and in a notebook."""

    def __str__(self) -> str:
        from graphmem.model.show import show

        return show(self)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {str(self).splitlines()[0]}>"

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(type(self).__name__ if cycle else str(self))

    def _repr_html_(self) -> str:
        from graphmem.model.show import show_html

        return show_html(self)


class Problem(Model):
    """One input that was not read, or only in part; ``line`` counts from 1."""

    path: str
    reason: str
    line: int | None = None
    fatal: bool = True


class IngestReport(Result):
    """What an ingest or sync did. Counts of derived items are of new ones."""

    read: int = 0
    changed: int = 0
    unchanged: int = 0
    absent: int = 0
    returned: int = 0
    passages: int = 0
    statements: int = 0
    entities: int = 0
    facts: int = 0
    evidence: int = 0
    links: int = 0
    refused: dict[Refusal, int] = {}
    problems: tuple[Problem, ...] = ()
    warnings: tuple[Problem, ...] = ()
    seconds: float = 0.0


class StoredItem(Model):
    """What became of one candidate of ``remember``."""

    kind: str
    id: str | None
    outcome: str
    reason: Refusal | None = None
    text: str = ""


class RememberResult(Result):
    """The ids stored or merged, and what was refused and why.

    ``repeated``: an earlier call with the same key stored it, this one stored nothing.
    """

    source_id: str
    passage_ids: tuple[str, ...]
    items: tuple[StoredItem, ...] = ()
    repeated: bool = False


class Span(Model):
    """A place in a source: character offsets of the passage's text and a line of the file."""

    source_id: str
    uri: str
    title: str
    passage_id: str
    start: int
    end: int
    line: int | None = None


class PathStep(Model):
    """One edge of a path with the witness that supports it."""

    source_id: str
    target_id: str
    edge: EdgeType
    kind: LinkKind | None = None
    source_text: str
    target_text: str
    quote: str = ""
    witness_id: str | None = None
    span: Span | None = None


class LaneRank(Model):
    """Where a lane placed a hit; ranks count from 1."""

    lane: Lane
    rank: int
    score: float


class Hit(Model):
    """One passage that answers, with its best statement quoted and the path to it."""

    passage_id: str
    score: float
    span: Span
    heading_path: tuple[str, ...]
    quote: str
    statement_id: str | None = None
    statement_kind: StatementKind | None = None
    text: str
    authored_at: UtcDatetime | None = None
    lanes: tuple[LaneRank, ...] = ()
    path: tuple[PathStep, ...] = ()


class CausalEdge(Model):
    """A causal edge between two events with up to three witnesses; ``depth`` counts causal hops."""

    kind: LinkKind
    cause_id: str
    effect_id: str
    cause: str
    effect: str
    depth: int
    confidence: float
    via_same_event: bool = False
    witnesses: tuple[Witness, ...] = ()


class Witness(Model):
    """The quoted text that says a causal edge."""

    link_id: str
    quote: str
    span: Span
    connective: str | None = None
    extractor: str
    confidence: float


class CausalResult(Result):
    """What led to the start, or what it led to; edges beyond depth 1 are evidence, not proof."""

    question: str
    starts: tuple[str, ...]
    direction: Direction
    depth: int
    edges: tuple[CausalEdge, ...] = ()
    total: int = 0
    truncated: bool = False
    note: str = ""


class Answer(Result):
    """The answer to a question. ``supported`` False means: nothing stored supports one."""

    question: str
    seq: int
    intent: Intent
    direction: Direction | None = None
    intent_confidence: float
    window: tuple[UtcDatetime | None, UtcDatetime | None] | None = None
    window_text: str | None = None
    entities: tuple[str, ...] = ()
    supported: bool
    reason: str = ""
    hits: tuple[Hit, ...] = ()
    chain: tuple[CausalEdge, ...] = ()
    truncated: bool = False
    vectors_pending: int = 0
    note: str = ""


class EvidenceView(Model):
    """A quoted sighting of a fact."""

    id: str
    quote: str
    span: Span
    stance: Stance
    extractor: str
    confidence: float
    seen_at: UtcDatetime | None = None


class FactView(Model):
    """A fact as it stands for this reader at this moment; ``derived`` marks inverse readings."""

    id: str
    subject_id: str
    subject: str
    predicate: str
    object_id: str | None
    object: str
    polarity: Polarity
    valid_from: UtcDatetime | None = None
    valid_to: UtcDatetime | None = None
    closed_by: str | None = None
    current: bool = True
    derived: bool = False
    evidence: tuple[EvidenceView, ...] = ()


class EntityView(Model):
    """An entity with the spellings it was seen under."""

    id: str
    name: str
    type: EntityType
    type_votes: dict[EntityType, float] = {}
    aliases: tuple[str, ...] = ()
    mentions: int = 0
    facts: tuple[FactView, ...] = ()
    total_facts: int = 0


class KgResult(Result):
    """Facts about exactly the named entities; ``matched_by`` says which way the name was found.

    ``cursor`` gives the next page of the same query; empty on the last one.
    """

    query: str
    matched_by: str
    seq: int
    as_of: UtcDatetime | None = None
    entities: tuple[EntityView, ...] = ()
    truncated: bool = False
    cursor: str = ""
    suggestions: tuple[str, ...] = ()


class GotItem(Model):
    """One opened id: its kind and its content as plain data."""

    id: str
    kind: str
    text: str
    data: dict[str, object] = {}
    status: str = "present"


class GetResult(Result):
    """The opened ids in the order asked, and the ids nothing is known of."""

    items: tuple[GotItem, ...] = ()
    missing: tuple[str, ...] = ()
    truncated: bool = False


class VaultStatus(Result):
    """What a vault holds and how its parts stand."""

    path: str
    format: int
    seq: int
    graph_engine: str
    graph_seq: int
    index_seq: int
    embedder: str
    embedder_dimension: int
    vectors: int
    vectors_pending: int
    counts: dict[str, int] = {}
    roots: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


class EngineInfo(Result):
    """A graph engine and its version, None when it is not installed."""

    name: str
    version: str | None = None
    install: str = ""


class EngineReport(Result):
    """Which engine has a vault's graph, the size of its file and log, and the engines there are."""

    path: str
    engine: str
    file: str | None
    file_bytes: int
    log_bytes: int
    switched: bool = False
    engines: tuple[EngineInfo, ...] = ()


CausalEdge.model_rebuild()
