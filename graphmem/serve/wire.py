"""What goes over the wire: requests, errors and paths, the same for both ends."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Annotated, Any, Self

from pydantic import AfterValidator, ConfigDict, Field, WithJsonSchema, model_validator

from graphmem import errors
from graphmem.memory import DEFAULT_DEPTH, DEFAULT_FACTS, DEFAULT_LIMIT
from graphmem.model.base import Model, UtcDatetime
from graphmem.model.inputs import CauseInput, FactInput
from graphmem.model.scope import EVERYTHING, Scope
from graphmem.serve.runtime import OWNER_ROLE
from graphmem.vocabulary import Direction, LinkKind, Origin, Polarity

API = "/api/v1"
# Largest body of a request, in bytes.
MAX_BODY_BYTES = 4 * 1024 * 1024
# Largest count a caller may name: keeps integers small enough for every engine.
MAX_COUNT = 10_000
# The media type of replies that come line by line.
LINES = "application/x-ndjson"
# What an idempotency key of a request looks like.
KEY_HEADER = "Idempotency-Key"
KEY_FORM = re.compile(r"[\x21-\x7e]{1,128}")

# Largest budget of a reply a caller may name, in tokens.
MAX_TOKENS = 1_000_000


def _at_most(most: int) -> AfterValidator:
    """Takes a number beyond the bound as the bound: more is not there anyway (BR-37)."""
    return AfterValidator(lambda number: min(number, most))


Count = Annotated[int, Field(ge=1, json_schema_extra={"maximum": MAX_COUNT}), _at_most(MAX_COUNT)]
Budget = Annotated[
    int, Field(ge=1, json_schema_extra={"maximum": MAX_TOKENS}), _at_most(MAX_TOKENS)
]
Hops = Annotated[int, Field(ge=0, json_schema_extra={"maximum": MAX_COUNT}), _at_most(MAX_COUNT)]


class Request(Model):
    """What a caller sends; text is valid Unicode all through."""

    @model_validator(mode="after")
    def _is_unicode(self) -> Self:
        try:
            self.model_dump_json()
        except ValueError:
            raise ValueError("the text is no valid Unicode") from None
        return self


class IngestRequest(Request):
    """Absolute paths on the owner's machine."""

    paths: tuple[str, ...] = Field(min_length=1)
    project: str | None = None
    pattern: str | None = None
    origin: Origin = Origin.OWNER


class SyncRequest(Request):
    """No arguments."""


class WireFact(Model):
    """A stated fact."""

    subject: str
    predicate: str
    object: str
    polarity: Polarity = Polarity.POSITIVE
    valid_from: UtcDatetime | None = None
    valid_to: UtcDatetime | None = None

    @classmethod
    def of(cls, fact: FactInput) -> WireFact:
        """The fact as it travels."""
        return cls(
            subject=fact.subject,
            predicate=fact.predicate,
            object=fact.object,
            polarity=fact.polarity,
            valid_from=fact.valid_from,
            valid_to=fact.valid_to,
        )

    def fact(self) -> FactInput:
        """The fact as callers state it."""
        return FactInput(
            self.subject,
            self.predicate,
            self.object,
            self.polarity,
            self.valid_from,
            self.valid_to,
        )


class WireCause(Model):
    """A stated cause."""

    cause: str
    effect: str
    kind: LinkKind = LinkKind.CAUSES

    def stated(self) -> CauseInput:
        """The cause as callers state it."""
        return CauseInput(self.cause, self.effect, self.kind)


class RememberRequest(Request):
    """See ``Memory.remember``; a fact may be written subject|predicate|object."""

    text: str
    facts: tuple[str | WireFact, ...] = ()
    because: tuple[str, ...] = ()
    causes: tuple[WireCause, ...] = ()
    project: str = ""
    origin: Origin = Origin.OWNER
    key: str | None = None


class SearchRequest(Request):
    """See ``Memory.search``."""

    question: str
    limit: Count = DEFAULT_LIMIT
    max_tokens: Budget | None = None
    recipe: str = "default"
    scope: Scope = EVERYTHING


class KgRequest(Request):
    """See ``Memory.kg_query``."""

    name: str
    as_of: UtcDatetime | None = None
    include_history: bool = False
    limit: Count = DEFAULT_FACTS
    cursor: str | None = None
    scope: Scope = EVERYTHING


class CausesRequest(Request):
    """See ``Memory.find_causal_links``."""

    start: str
    direction: Direction = Direction.BACK
    depth: Count = DEFAULT_DEPTH
    scope: Scope = EVERYTHING


class GetRequest(Request):
    """See ``Memory.get``."""

    ids: tuple[str, ...]
    scope: Scope = EVERYTHING


class GraphRequest(Request):
    """See ``Memory.to_networkx``."""

    around: str | None = None
    depth: Hops = 2
    scope: Scope = EVERYTHING


class RebuildRequest(Request):
    """Which projections to make anew."""

    graph: bool = True
    index: bool = True


class VerifyRequest(Request):
    """``quick`` leaves out what reads every text or replays the journal."""

    quick: bool = False


class ExportRequest(Request):
    """``content`` leaves out what depends on the order of arrival."""

    content: bool = False


def _array(length: int) -> WithJsonSchema:
    """A plain schema of a fixed length, for readers that know no ``prefixItems``."""
    return WithJsonSchema({"type": "array", "minItems": length, "maxItems": length})


class GraphReply(Model):
    """A graph: nodes as (id, data), edges as (source, target, data)."""

    nodes: tuple[Annotated[tuple[str, dict[str, Any]], _array(2)], ...]
    edges: tuple[Annotated[tuple[str, str, dict[str, Any]], _array(3)], ...]


class Hello(Model):
    """Who answers: the process that serves the vault at a real path.

    Fields of another version are passed over: this is what tells versions apart.
    """

    model_config = ConfigDict(extra="ignore")

    name: str = "graphmem"
    version: str
    pid: int
    vault: str
    role: str = OWNER_ROLE
    stopping: bool = False


class ErrorBody(Model):
    """What went wrong, by the name of the class in ``graphmem.errors``."""

    code: str
    message: str
    details: dict[str, bool | int | float | str | None] = {}


class ErrorReply(Model):
    """Every refusal has this form."""

    error: ErrorBody


# HTTP status per class, the first that fits.
_STATUS: tuple[tuple[type[Exception], int], ...] = (
    (errors.KeyReusedError, 409),
    (errors.UsageError, 400),
    (errors.VaultNotFoundError, 404),
    (errors.ConflictError, 409),
    (errors.VaultLockedError, 423),
    (errors.VaultBusyError, 429),
    (errors.GraphmemError, 503),
)
# Attributes that travel with an error.
_DETAILS = ("pid", "seq", "path", "retry_after_s", "stopping", "theirs", "ours")


def status_of(error: errors.GraphmemError) -> int:
    """The HTTP status that says an error best."""
    return next(status for kind, status in _STATUS if isinstance(error, kind))


def packed(error: errors.GraphmemError) -> ErrorReply:
    """An error as it travels."""
    details = {name: getattr(error, name) for name in _DETAILS if hasattr(error, name)}
    body = ErrorBody(code=type(error).__name__, message=str(error), details=details)
    return ErrorReply(error=body)


def unpacked(body: ErrorBody) -> errors.GraphmemError:
    """The error that was packed; an unknown class comes back as VaultError."""
    kind = getattr(errors, body.code, None)
    if not (isinstance(kind, type) and issubclass(kind, errors.GraphmemError)):
        kind = errors.VaultError
    try:
        return kind(body.message, **body.details)
    except TypeError:
        return errors.VaultError(body.message)


def utc(value: datetime | None) -> datetime | None:
    """The moment, checked to have a zone; raises UsageError for one without."""
    if value is not None and value.tzinfo is None:
        raise errors.UsageError("a time needs a zone; graphmem stores UTC")
    return value
