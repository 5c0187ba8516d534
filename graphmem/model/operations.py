"""The journal's operations: resolved, deterministic, each with its inverse.

Every operation takes one thing from ``before`` to ``after`` (None: it does not exist), so its
inverse is the same operation with the two swapped, and replay applies ``after`` without a model.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import Field, TypeAdapter, model_validator

from graphmem.model.base import Model
from graphmem.model.items import (
    DeclaredName,
    Entity,
    Evidence,
    Fact,
    Link,
    PassageBundle,
    Root,
    SameAs,
    Source,
    State,
)

# Written into every row; a reader refuses a payload of a higher version than its own.
PAYLOAD_VERSION = 1


class _Operation(Model):
    version: int = PAYLOAD_VERSION

    def inverse(self) -> Self:
        """The operation that takes back this one."""
        swapped = {"before": getattr(self, "after", None), "after": getattr(self, "before", None)}
        return self.model_copy(update=swapped)


class _Change(_Operation):
    """An operation whose two sides may be absent, but not both."""

    @model_validator(mode="after")
    def _says_something(self) -> Self:
        if getattr(self, "after", None) is None and getattr(self, "before", None) is None:
            raise ValueError("an operation needs a before or an after")
        return self


class PutSource(_Change):
    """A source was read, read again in another version, or taken back."""

    op: Literal["put_source"] = "put_source"
    after: Source | None
    before: Source | None = None


class PutPassage(_Change):
    """A passage with its statements and mentions."""

    op: Literal["put_passage"] = "put_passage"
    after: PassageBundle | None
    before: PassageBundle | None = None


class PutEntity(_Change):
    """An entity came into being."""

    op: Literal["put_entity"] = "put_entity"
    after: Entity | None
    before: Entity | None = None


class PutFact(_Change):
    """A fact was asserted for the first time."""

    op: Literal["put_fact"] = "put_fact"
    after: Fact | None
    before: Fact | None = None


class AddEvidence(_Change):
    """A fact was sighted."""

    op: Literal["add_evidence"] = "add_evidence"
    after: Evidence | None
    before: Evidence | None = None


class PutLink(_Change):
    """A link between statements."""

    op: Literal["link"] = "link"
    after: Link | None
    before: Link | None = None


class RedirectEntity(_Change):
    """A merge, or with ``after`` None its removal."""

    op: Literal["redirect_entity"] = "redirect_entity"
    after: SameAs | None
    before: SameAs | None = None


class MoveMention(_Operation):
    """A mention goes to another entity; both sides are entity ids."""

    op: Literal["move_mention"] = "move_mention"
    mention_id: str
    passage_id: str
    after: str
    before: str


class Name(_Change):
    """An alias, rename, retype or external id."""

    op: Literal["name"] = "name"
    after: DeclaredName | None
    before: DeclaredName | None = None


class SetState(_Operation):
    """One state of one item is set (a time) or lifted (None)."""

    op: Literal["set_state"] = "set_state"
    after: State
    before: State


class Annotate(_Operation):
    """A free label on an item; never changes what the item says."""

    op: Literal["annotate"] = "annotate"
    target_id: str
    label: str
    after: str | None
    before: str | None = None


class DeclarePredicate(_Operation):
    """A vault's own predicate declaration (JSON of a predicate spec)."""

    op: Literal["declare_predicate"] = "declare_predicate"
    predicate: str
    after: str | None
    before: str | None = None


class DeclareRoot(_Change):
    """A root of ``sync``."""

    op: Literal["declare_root"] = "declare_root"
    after: Root | None
    before: Root | None = None


class Cursor(_Operation):
    """How far a reader has come in a source that grows."""

    op: Literal["cursor"] = "cursor"
    name: str
    after: str | None
    before: str | None = None


class Decide(_Operation):
    """What a person decided on a proposal or a conflict."""

    op: Literal["decide"] = "decide"
    proposal_id: str
    after: str | None
    before: str | None = None


class Purge(_Operation):
    """Payload and salt of earlier rows were erased; it has no inverse by design."""

    op: Literal["purge"] = "purge"
    seqs: tuple[int, ...]

    def inverse(self) -> Self:
        """Raises ValueError: what was erased cannot come back."""
        raise ValueError("a purge cannot be undone")


Operation = Annotated[
    PutSource
    | PutPassage
    | PutEntity
    | PutFact
    | AddEvidence
    | PutLink
    | RedirectEntity
    | MoveMention
    | Name
    | SetState
    | Annotate
    | DeclarePredicate
    | DeclareRoot
    | Cursor
    | Decide
    | Purge,
    Field(discriminator="op"),
]

OPERATION_ADAPTER: TypeAdapter[Operation] = TypeAdapter(Operation)


def parse_operation(payload: str | bytes) -> Operation:
    """The operation in a journal payload; raises pydantic.ValidationError on anything else."""
    return OPERATION_ADAPTER.validate_json(payload)


def payload_of(operation: Any) -> str:
    """The canonical JSON of an operation, as the journal hashes it."""
    return str(operation.model_dump_json())
