"""What a vault holds: sources, passages, statements, mentions, entities, facts, evidence, links.

Items hold only what was read or said. Effective status, an entity's type and the closing of a
fact are derived when reading.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from graphmem.model.base import Model, UtcDatetime
from graphmem.vocabulary import (
    Audience,
    EntityType,
    Granularity,
    LinkKind,
    Modality,
    NameKind,
    Origin,
    PassageRole,
    Polarity,
    SourceKind,
    Stance,
    StateKind,
    StatementKind,
)

# A name longer than this is a sentence; also the bound that keeps ids and keys small.
MAX_NAME_CHARS = 200


class TimeInterval(Model):
    """A half-open interval [start, end) in UTC with the exactness the text had."""

    start: UtcDatetime | None = None
    end: UtcDatetime | None = None
    granularity: Granularity = Granularity.DAY

    @model_validator(mode="after")
    def _forward(self) -> TimeInterval:
        if self.start is not None and self.end is not None and self.start >= self.end:
            raise ValueError("an interval must end after it starts")
        return self


class RecordMeta(Model):
    """What a decision record says of itself; references are as written (``0007``, a file name)."""

    number: str | None = None
    status: str | None = None
    supersedes: tuple[str, ...] = ()
    superseded_by: tuple[str, ...] = ()


class PassageRef(Model):
    """Where a passage stands in the current version of its source (offsets in characters)."""

    passage_id: str
    start: int
    line: int


class Source(Model):
    """Something that was read. ``layout`` is the order of its current passages.

    ``authored_at`` comes from the content; ``file_modified_at`` never stands in for it.
    """

    id: str
    kind: SourceKind
    uri: str
    title: str
    content_hash: str
    project: str
    root_id: str | None = None
    session_kind: str | None = None
    authored_at: UtcDatetime | None = None
    file_modified_at: UtcDatetime | None = None
    record: RecordMeta | None = None
    layout: tuple[PassageRef, ...] = ()


class Passage(Model):
    """Verbatim text of a source, at most 800 characters, under its heading path."""

    id: str
    source_id: str
    text: str
    text_hash: str
    heading_path: tuple[str, ...] = ()
    role: PassageRole = PassageRole.BODY
    speaker: str | None = None
    authored_at: UtcDatetime | None = None
    origin: Origin = Origin.OWNER
    audience: Audience = Audience.SHARED


class Statement(Model):
    """One clause-sized claim; offsets are into its passage's text.

    ``event_key`` is a normal form of who did what (head lemma, polarity, arguments with their
    roles, digits); statements of equal key say the same thing. Empty: too vague to compare.
    """

    id: str
    passage_id: str
    kind: StatementKind
    start: int
    end: int
    polarity: Polarity = Polarity.POSITIVE
    modality: Modality = Modality.ASSERTED
    time: TimeInterval | None = None
    event_key: str = ""
    extractor: str
    revision: int
    confidence: float = Field(ge=0, le=1, default=1.0)


class Mention(Model):
    """A name as it stands in a passage, the entity it was resolved to, and its vote on the type."""

    id: str
    passage_id: str
    statement_id: str | None = None
    entity_id: str
    surface: str
    start: int
    end: int
    type_vote: EntityType | None = None
    vote_weight: float = Field(ge=0, default=1.0)
    extractor: str
    seen_at: UtcDatetime | None = None


class PassageBundle(Model):
    """A passage with all that was read from it; one journal row."""

    passage: Passage
    statements: tuple[Statement, ...] = ()
    mentions: tuple[Mention, ...] = ()


class Entity(Model):
    """A thing with a name. ``name`` is the surface first seen; the type is derived from votes.

    ``bucket`` separates homographs and is empty unless declared or on strong evidence.
    """

    id: str
    name: str = Field(min_length=1, max_length=MAX_NAME_CHARS)
    name_key: str = Field(min_length=1)
    bucket: str = ""


class DeclaredName(Model):
    """An alias, rename, type or external id that a user, an agent or a source declared."""

    id: str
    kind: NameKind
    entity_id: str
    value: str = Field(min_length=1, max_length=500)
    key: str
    origin: Origin = Origin.OWNER


class EntityObject(Model):
    """A fact's object that is an entity."""

    kind: Literal["entity"] = "entity"
    entity_id: str
    surface: str = ""

    @property
    def key(self) -> str:
        """The part of a fact's identity."""
        return self.entity_id


class LiteralObject(Model):
    """A fact's object that is a value."""

    kind: Literal["literal"] = "literal"
    value: str = Field(min_length=1, max_length=500)

    @property
    def key(self) -> str:
        """The part of a fact's identity."""
        return f"literal={self.value}"


FactObject = Annotated[EntityObject | LiteralObject, Field(discriminator="kind")]


class Fact(Model):
    """A reified triple; holds only what was asserted, closing is derived."""

    id: str
    subject_id: str
    subject_surface: str = ""
    predicate: str = Field(min_length=1, max_length=100)
    object: FactObject
    polarity: Polarity = Polarity.POSITIVE
    valid_from: UtcDatetime | None = None
    valid_to: UtcDatetime | None = None

    @model_validator(mode="after")
    def _sound(self) -> Fact:
        if self.valid_from and self.valid_to and self.valid_from >= self.valid_to:
            raise ValueError("a fact must end after it starts")
        if isinstance(self.object, EntityObject) and self.object.entity_id == self.subject_id:
            raise ValueError("a fact cannot link an entity to itself")
        return self


class Evidence(Model):
    """Why a fact is believed: a quoted span of a passage. ``seen_at`` is the passage's own time."""

    id: str
    fact_id: str
    passage_id: str
    statement_id: str | None = None
    quote: str
    start: int
    end: int
    stance: Stance = Stance.SUPPORTS
    extractor: str
    revision: int
    origin: Origin = Origin.OWNER
    audience: Audience = Audience.SHARED
    confidence: float = Field(ge=0, le=1, default=1.0)
    declared_project: bool = False
    seen_at: UtcDatetime | None = None


class Link(Model):
    """A link between two statements with its witness, a quoted span of a passage.

    Causal kinds run from cause to effect, ``supersedes`` from the newer to the older.
    """

    id: str
    kind: LinkKind
    source_id: str
    target_id: str
    passage_id: str
    quote: str = ""
    start: int = 0
    end: int = 0
    connective: str | None = None
    confidence: float = Field(ge=0, le=1, default=1.0)
    extractor: str
    revision: int
    seen_at: UtcDatetime | None = None

    @model_validator(mode="after")
    def _no_loop(self) -> Link:
        if self.source_id == self.target_id:
            raise ValueError("a link cannot join a statement to itself")
        return self


class SameAs(Model):
    """A merge: the loser is read as the survivor until the redirect is removed."""

    loser_id: str
    survivor_id: str
    reason: str


class Root(Model):
    """A folder or file that ``sync`` reads again."""

    id: str
    path: str
    pattern: str = "**/*"
    ignore: tuple[str, ...] = ()
    project: str
    origin: Origin = Origin.OWNER


class State(Model):
    """One state of one item; ``at`` is None when the state was lifted."""

    target_id: str
    kind: StateKind
    at: UtcDatetime | None
