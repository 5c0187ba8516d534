"""What the rest of the engine may ask of the store; no SQL, no Cypher, no engine types.

A ``View`` is pinned to one published sequence and is what every read uses; the ``Writer`` is the
only way in. The catalogue of a view answers the look-ups that decide what an ingest must write.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from graphmem.model.items import (
    DeclaredName,
    Entity,
    Evidence,
    Fact,
    Link,
    Mention,
    Passage,
    PassageBundle,
    Root,
    Source,
    Statement,
)
from graphmem.model.operations import Operation
from graphmem.model.scope import Scope
from graphmem.vocabulary import EntityType, LinkKind, StateKind


@dataclass(frozen=True, slots=True)
class Committed:
    """The journal rows of one commit; ``repeated`` when the key had been committed before."""

    batch: str
    first_seq: int
    last_seq: int
    repeated: bool = False


class Writer(Protocol):
    """The one write path."""

    def commit(
        self, operations: Sequence[Operation], *, actor: str, key: str | None = None
    ) -> Committed:
        """Journal, index, graph, publish; all or nothing.

        Raises ConflictError when a ``before`` is not what is stored, InvalidInputError for an
        operation that would break an invariant (dangling end, fact without evidence).
        """
        ...

    def committed_under(self, prefix: str) -> Mapping[str, tuple[Operation, ...]]:
        """The commits whose key begins so, in order: key and operations, purged ones left out."""
        ...


@dataclass(frozen=True, slots=True)
class Scored:
    """An id with a lane's score, best first, ties by id."""

    id: str
    score: float


class View(Protocol):
    """Everything a reader may ask, at one published sequence. Cheap to make, safe in any thread.

    Every method hides forgotten items; with the default scope it also hides archived, absent and
    snoozed ones. A hidden item is exactly like an absent one, in counts too.
    """

    @property
    def seq(self) -> int:
        """The published sequence this view is pinned to."""
        ...

    # items by id, visible ones only; unknown or hidden ids are left out of the mapping
    def sources(self, ids: Iterable[str], scope: Scope) -> Mapping[str, Source]: ...
    def passages(self, ids: Iterable[str], scope: Scope) -> Mapping[str, Passage]: ...
    def statements(self, ids: Iterable[str], scope: Scope) -> Mapping[str, Statement]: ...
    def statements_of(
        self, passage_ids: Iterable[str], scope: Scope
    ) -> Mapping[str, tuple[Statement, ...]]:
        """The statements of each passage in text order."""
        ...

    def mentions_of(
        self, passage_ids: Iterable[str], scope: Scope
    ) -> Mapping[str, tuple[Mention, ...]]:
        """The mentions of each passage in text order."""
        ...

    def entities(self, ids: Iterable[str], scope: Scope) -> Mapping[str, Entity]: ...
    def facts(self, ids: Iterable[str], scope: Scope) -> Mapping[str, Fact]: ...
    def evidence(self, ids: Iterable[str], scope: Scope) -> Mapping[str, Evidence]: ...
    def links(self, ids: Iterable[str], scope: Scope) -> Mapping[str, Link]: ...

    # names
    def entities_named(self, name_keys: Iterable[str], scope: Scope) -> Mapping[str, list[str]]:
        """For each known key the ids (redirects resolved, sorted) of entities of exactly it,
        by own name, declared alias or external id."""
        ...

    def name_keys_with_token(self, tokens: Sequence[str], limit: int, scope: Scope) -> list[str]:
        """Name keys that hold all tokens (folded words of a name), most mentioned first."""
        ...

    def surfaces(self, entity_id: str, scope: Scope) -> Mapping[str, int]:
        """The spellings an entity was mentioned under, with their counts."""
        ...

    def type_votes(self, entity_id: str, scope: Scope) -> Mapping[EntityType, float]:
        """The weighted votes on an entity's type, a declared type aside."""
        ...

    def declared_names(self, entity_id: str) -> list[DeclaredName]: ...
    def survivor(self, entity_id: str) -> str:
        """The entity an id is read as (itself when it was not merged)."""
        ...

    # the graph
    def facts_about(self, entity_ids: Sequence[str], scope: Scope) -> list[Fact]:
        """Facts whose subject or object is one of the entities and that have eligible evidence,
        sorted by id."""
        ...

    def evidence_of(
        self, fact_ids: Iterable[str], scope: Scope
    ) -> Mapping[str, tuple[Evidence, ...]]: ...
    def links_of(
        self, statement_ids: Iterable[str], kinds: frozenset[LinkKind], scope: Scope
    ) -> list[Link]:
        """Links of the kinds with either end among the statements, sorted by id."""
        ...

    def adjacency(self, scope: Scope) -> GraphAdjacency:
        """The traversal snapshot: passages, statements and entities as int32 handles."""
        ...

    # search
    def lexical(self, match: str, limit: int, scope: Scope) -> list[Scored]:
        """Passages by BM25 for an FTS expression made by ``graphmem.text.match_expression``."""
        ...

    def document_frequency(self, terms: Sequence[str]) -> Mapping[str, int]:
        """In how many visible passages each index token stands."""
        ...

    def nearest(self, vector: NDArray[np.float32], limit: int, scope: Scope) -> list[Scored]:
        """Passages by cosine similarity, exact."""
        ...

    def vectors(self, passage_ids: Sequence[str]) -> NDArray[np.float32]:
        """Unit vectors, one row per id; an all-zero row where none is stored."""
        ...

    def in_window(
        self, start: datetime | None, end: datetime | None, limit: int, scope: Scope
    ) -> list[str]:
        """Passages whose own or whose statements' time meets [start, end), by time then id."""
        ...

    def pending_vectors(self) -> int:
        """How many visible passages have no vector yet."""
        ...

    # what an ingest must know, hidden items included
    def source_by_uri(self, project: str, uri: str) -> Source | None: ...
    def source_list(self, root_id: str | None = None) -> list[Source]: ...
    def existing(self, ids: Iterable[str]) -> frozenset[str]:
        """Which of the ids (any kind) are stored, hidden or not."""
        ...

    def bundles(self, passage_ids: Iterable[str]) -> Mapping[str, PassageBundle]: ...
    def statements_by_event(self, event_keys: Iterable[str]) -> Mapping[str, list[str]]:
        """The statement ids of each event key, sorted."""
        ...

    def states(self, target_ids: Iterable[str]) -> Mapping[str, Mapping[StateKind, datetime]]:
        """The states that are set, per item."""
        ...

    def roots(self) -> list[Root]: ...
    def cursor(self, name: str) -> str | None: ...
    def counts(self, scope: Scope) -> Mapping[str, int]:
        """Visible items by kind; reads all of them."""
        ...

    def passage_count(self, scope: Scope) -> int:
        """How many passages are visible: what a query may ask for each time."""
        ...


class GraphAdjacency(Protocol):
    """A traversal adjacency (see ``graphmem.traversal``) whose handles map to ids."""

    @property
    def node_count(self) -> int: ...
    @property
    def edge_types(self) -> tuple[str, ...]: ...
    def expand(self, nodes: NDArray[np.int32], edge_type: str) -> Any:
        """A ``graphmem.traversal.Hop``."""
        ...

    def key(self, node: int) -> str:
        """The id of a node."""
        ...

    def handle(self, item_id: str) -> int | None:
        """The node of a visible id."""
        ...

    def passage_of(self, nodes: NDArray[np.int32]) -> NDArray[np.int32]:
        """For each node its passage's handle (itself for passages), -1 for entities."""
        ...

    def witness(self, edge: int) -> str | None:
        """The id of the link, evidence or mention behind an edge handle of ``expand``."""
        ...


class VectorWriter(Protocol):
    """Where vectors go; they are no part of journal or dump."""

    def pending(self, limit: int) -> list[tuple[str, str]]:
        """(text hash, text to embed) of passages without a vector, at most ``limit``."""
        ...

    def store(self, hashes: Sequence[str], vectors: NDArray[np.float32]) -> None:
        """Adds vectors; zero and non-finite rows are refused with InvalidInputError."""
        ...


class Store(Protocol):
    """An open vault's storage."""

    @property
    def writer(self) -> Writer: ...
    @property
    def vector_writer(self) -> VectorWriter: ...
    def view(self, seq: int | None = None) -> View:
        """A view of the newest published sequence (only that one is served)."""
        ...

    def rebuild(self, *, graph: bool = True, index: bool = True) -> None:
        """Makes the projections anew from the journal; vectors are kept by text hash."""
        ...

    def dump(self, *, content: bool) -> Iterable[str]:
        """Sorted JSON lines of what the projections hold: exact, or content only."""
        ...

    def close(self) -> None: ...
