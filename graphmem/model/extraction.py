"""What extractors take and give: passages in, candidates out. Nothing here is trusted or stored.

Offsets are characters of the passage's text. A reference to a statement or mention is its
position in the lists of an ``Extraction``; ``passage`` positions count within one call.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from graphmem.model.items import TimeInterval
from graphmem.vocabulary import (
    EntityType,
    LinkKind,
    Modality,
    PassageRole,
    Polarity,
    Refusal,
    SourceKind,
    StatementKind,
)


@dataclass(frozen=True, slots=True)
class PassageInput:
    """One passage as an extractor sees it; all passages of a source come in one call, in order.

    ``masked`` are [start, end) spans that are code or markup: they may hold names (a code span)
    but never prose. ``project_name`` is what "we" means in a decision record, else None.
    """

    source_key: str
    text: str
    role: PassageRole = PassageRole.BODY
    kind: SourceKind = SourceKind.NOTE
    title: str = ""
    heading_path: tuple[str, ...] = ()
    speaker: str | None = None
    authored_at: datetime | None = None
    project_name: str | None = None
    masked: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class StatementCandidate:
    """A claim found in a passage."""

    start: int
    end: int
    kind: StatementKind
    polarity: Polarity = Polarity.POSITIVE
    modality: Modality = Modality.ASSERTED
    time: TimeInterval | None = None
    event_key: str = ""
    confidence: float = 1.0


@dataclass(frozen=True, slots=True)
class MentionCandidate:
    """A name found in a passage; ``statement`` is the position of the claim it stands in."""

    start: int
    end: int
    surface: str
    type_vote: EntityType | None = None
    vote_weight: float = 1.0
    statement: int | None = None


@dataclass(frozen=True, slots=True)
class MentionTerm:
    """A triple's end that is a mention of the same passage."""

    mention: int


@dataclass(frozen=True, slots=True)
class ProjectTerm:
    """A triple's end that is the source's project ("we" in a decision record)."""

    surface: str


@dataclass(frozen=True, slots=True)
class NamedTerm:
    """A triple's end that names an entity outside the span (a heading, a resolved pronoun)."""

    name: str
    type_vote: EntityType | None = None


@dataclass(frozen=True, slots=True)
class LiteralTerm:
    """A triple's end that is a value."""

    value: str


Term = MentionTerm | ProjectTerm | NamedTerm | LiteralTerm


@dataclass(frozen=True, slots=True)
class TripleCandidate:
    """A subject-predicate-object claim with the span that says it."""

    subject: Term
    predicate: str
    object: Term
    start: int
    end: int
    statement: int | None = None
    polarity: Polarity = Polarity.POSITIVE
    modality: Modality = Modality.ASSERTED
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    confidence: float = 1.0


@dataclass(frozen=True, slots=True)
class StatementRef:
    """A statement of any passage of the same source in the same call."""

    passage: int
    statement: int


@dataclass(frozen=True, slots=True)
class CausalCandidate:
    """A causal claim from ``cause`` to ``effect``; the span (of ``passage``) is its witness."""

    kind: LinkKind
    cause: StatementRef
    effect: StatementRef
    passage: int
    start: int
    end: int
    connective: str | None = None
    confidence: float = 1.0


@dataclass(frozen=True, slots=True)
class Extraction:
    """All candidates of one passage; causal candidates stand with the passage of their witness."""

    statements: tuple[StatementCandidate, ...] = ()
    mentions: tuple[MentionCandidate, ...] = ()
    triples: tuple[TripleCandidate, ...] = ()
    causes: tuple[CausalCandidate, ...] = ()
    dropped: dict[Refusal, int] = field(default_factory=dict)


class Extractor(Protocol):
    """Text to candidates; writes nothing, raises nothing on odd text."""

    @property
    def name(self) -> str:
        """Stands on every derived item."""
        ...

    @property
    def revision(self) -> int:
        """Raised whenever the same text would give other candidates."""
        ...

    def extract(self, passages: Sequence[PassageInput]) -> list[Extraction]:
        """One extraction per passage, in order; sources may be mixed in one call."""
        ...
