"""A caller's idempotency key in the journal: what was asked under it, and what that stored."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from graphmem.errors import KeyReusedError, UsageError
from graphmem.model.base import digest
from graphmem.model.ids import SOURCE_PREFIX
from graphmem.model.items import State
from graphmem.model.operations import (
    AddEvidence,
    Operation,
    PutEntity,
    PutFact,
    PutLink,
    PutPassage,
    PutSource,
    SetState,
)
from graphmem.store.protocols import Writer
from graphmem.vocabulary import StateKind

# Longest key of a caller, in characters.
MAX_KEY_CHARS = 256


@dataclass(frozen=True, slots=True)
class Receipt:
    """Names the commits of one call: by the hash of its key, then that of what it asked."""

    shown: str
    prefix: str
    content: str

    @classmethod
    def of(cls, key: str | None, call: str, **arguments: object) -> Receipt | None:
        """The receipt of a call, None without a key; raises UsageError for a useless key."""
        if key is None:
            return None
        if not key.strip() or len(key) > MAX_KEY_CHARS:
            raise UsageError(f"an idempotency key has 1 to {MAX_KEY_CHARS} characters")
        content = digest(call, json.dumps(arguments, sort_keys=True, default=str))
        return cls(key, f"key:{digest(key)}:", content)

    def name(self, number: int) -> str:
        """The journal's key of a commit of this call; the first is 0."""
        return f"{self.prefix}{self.content}:{number}"

    def stored(self, writer: Writer) -> list[tuple[Operation, ...]]:
        """What earlier attempts of the call committed.

        Raises KeyReusedError when the key was used for another call.
        """
        found = writer.committed_under(self.prefix)
        if any(not name.startswith(f"{self.prefix}{self.content}:") for name in found):
            raise KeyReusedError(
                f"the key {self.shown!r} was used for another call; nothing was stored, take "
                "another key"
            )
        return list(found.values())


@dataclass(slots=True)
class Earlier:
    """What earlier attempts of a run stored, as its report counts it."""

    commits: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    sources: set[str] = field(default_factory=set)
    returned: set[str] = field(default_factory=set)


def earlier(batches: Iterable[Iterable[Operation]]) -> Earlier:
    """The counts of what was committed."""
    found = Earlier()
    for batch in batches:
        found.commits += 1
        for operation in batch:
            _count(found, operation)
    return found


def _count(found: Earlier, operation: Operation) -> None:
    counts = found.counts
    match operation:
        case PutSource(after=source) if source is not None:
            found.sources.add(source.id)
        case PutPassage(after=bundle, before=None) if bundle is not None:
            counts["passages"] += 1
            counts["statements"] += len(bundle.statements)
        case PutEntity(before=None):
            counts["entities"] += 1
        case PutFact(before=None):
            counts["facts"] += 1
        case AddEvidence(before=None):
            counts["evidence"] += 1
        case PutLink(after=link) if link is not None:
            counts["links"] += 1
        case SetState(after=state) if _hides_a_source(state):
            if state.at is None:
                found.returned.add(state.target_id)
            else:
                counts["absent"] += 1
        case _:
            pass


def _hides_a_source(state: State) -> bool:
    return state.kind is StateKind.ABSENT and state.target_id.startswith(f"{SOURCE_PREFIX}:")
