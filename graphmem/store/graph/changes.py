"""Journal rows to graph changes: a pure fold in which later rows win.

Applying batch by batch and loading the merged changes of all rows give equal tables.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Protocol

from graphmem.model.base import iso
from graphmem.model.items import (
    DeclaredName,
    Entity,
    Evidence,
    Fact,
    Link,
    Mention,
    PassageBundle,
    Root,
    SameAs,
    Source,
    State,
)
from graphmem.model.operations import (
    AddEvidence,
    Annotate,
    Cursor,
    Decide,
    DeclarePredicate,
    DeclareRoot,
    MoveMention,
    Name,
    Operation,
    Purge,
    PutEntity,
    PutFact,
    PutLink,
    PutPassage,
    PutSource,
    RedirectEntity,
    SetState,
)
from graphmem.store.graph.base import EdgeRow, GraphChanges, Row, Value
from graphmem.store.graph.items import (
    Parts,
    bundle_parts,
    entity_parts,
    evidence_parts,
    fact_parts,
    link_parts,
    mention_edge,
    meta_parts,
    name_parts,
    redirect_parts,
    source_parts,
)
from graphmem.store.graph.schema import STATE_COLUMNS, cell, table_of
from graphmem.vocabulary import StateKind

NodeKey = tuple[str, str]
EdgeKey = tuple[str, str]


class ProjectedRow(Protocol):
    """What the projection reads of a journal row; ``operation`` is None when it was purged.

    ``at`` is a time or its ISO form.
    """

    @property
    def seq(self) -> int: ...
    @property
    def at(self) -> datetime | str: ...
    @property
    def operation(self) -> Operation | None: ...


class Lookup(Protocol):
    """What operations do not carry. Answers from before the rows or from any later time both do."""

    def mention(self, mention_id: str) -> Mention | None:
        """A stored mention."""
        ...

    def states(self, target_ids: Iterable[str]) -> Mapping[str, Mapping[StateKind, datetime]]:
        """The states set on ids; they outlive the item, so that forgetting is not undone by
        storing the same thing again."""
        ...


class NothingStored:
    """The look-up for a projection that begins at the first journal row."""

    def mention(self, mention_id: str) -> Mention | None:
        """None: all mentions are in the rows."""
        return None

    def states(self, target_ids: Iterable[str]) -> Mapping[str, Mapping[StateKind, datetime]]:
        """Nothing: all states are in the rows."""
        return {}


def project(rows: Iterable[ProjectedRow], lookup: Lookup) -> GraphChanges:
    """The net change of consecutive journal rows.

    Roots, cursors, predicates, decisions, annotations, and the states of mentions, evidence and
    links become ``Meta`` rows; a purge and a purged row change nothing. A state does not touch
    ``seq`` and ``recorded_at`` of its item; a moved mention takes those of its move.
    """
    fold = _Fold(lookup)
    for row in rows:
        if row.operation is not None:
            fold.take(row.seq, row.at, row.operation)
    return fold.changes()


@dataclass(slots=True)
class _Node:
    existed: bool
    removed: bool = False  # at some point in the batch, so old edges are gone
    row: Row | None = None  # written in this batch, and not removed since


@dataclass(slots=True)
class _Fold:
    lookup: Lookup
    nodes: dict[NodeKey, _Node] = field(default_factory=dict)
    states: dict[str, dict[str, Value]] = field(default_factory=dict)
    new: dict[EdgeKey, EdgeRow] = field(default_factory=dict)
    gone: dict[tuple[str, str, str, str], EdgeRow] = field(default_factory=dict)
    incident: dict[NodeKey, set[EdgeKey]] = field(default_factory=dict)

    def take(self, seq: int, at: datetime | str, operation: Operation) -> None:
        at = datetime.fromisoformat(at) if isinstance(at, str) else at
        written = {"seq": seq, "recorded_at": cell(at)}
        match operation:
            case SetState():
                self._set_state(operation, written)
            case MoveMention():
                self._move(operation, written)
            case Purge():
                pass
            case _:
                before, after = _sides(operation)
                self._change(before, after, written)

    def _change(self, before: Parts, after: Parts, written: Row) -> None:
        """Takes ``before`` to ``after``; what both say alike keeps its row."""
        for edge_key, edge in before.edges.items():
            if after.edges.get(edge_key) != edge:
                self._remove_edge(edge)
        for key in before.nodes:
            if key not in after.nodes:
                self._remove_node(key)
        for key, row in after.nodes.items():
            if before.nodes.get(key) != row:
                self._put_node(key, {**row, **written}, existed=key in before.nodes)
        for edge_key, edge in after.edges.items():
            if before.edges.get(edge_key) != edge:
                self._put_edge(replace(edge, row={**edge.row, **written}))

    def _put_node(self, key: NodeKey, row: Row, *, existed: bool) -> None:
        self.nodes.setdefault(key, _Node(existed)).row = row

    def _remove_node(self, key: NodeKey) -> None:
        node = self.nodes.setdefault(key, _Node(existed=True))
        node.removed, node.row = True, None
        for edge_key in self.incident.pop(key, set()):
            edge = self.new.get(edge_key)
            if edge is not None and key in _ends(edge):
                del self.new[edge_key]

    def _put_edge(self, edge: EdgeRow) -> None:
        edge_key = (edge.label, edge.key)
        self.new[edge_key] = edge
        for end in _ends(edge):
            self.incident.setdefault(end, set()).add(edge_key)

    def _remove_edge(self, edge: EdgeRow) -> None:
        edge_key = (edge.label, edge.key)
        if self.new.pop(edge_key, None) is None:
            self.gone[(*edge_key, edge.source_table, edge.source)] = edge

    def _set_state(self, operation: SetState, written: Row) -> None:
        state = operation.after
        if table_of(state.target_id) is None:
            self._change(_state_parts(operation.before), _state_parts(state), written)
        else:
            column = STATE_COLUMNS[state.kind]
            self.states.setdefault(state.target_id, {})[column] = cell(state.at)

    def _move(self, move: MoveMention, written: Row) -> None:
        pending = self.new.get(("MENTIONS", move.mention_id))
        if pending is None:
            mention = self.lookup.mention(move.mention_id)
            if mention is None:
                return
            pending = mention_edge(mention.model_copy(update={"entity_id": move.before}))
        self._remove_edge(pending)
        self._put_edge(replace(pending, target=move.after, row={**pending.row, **written}))

    def changes(self) -> GraphChanges:
        """What the rows taken so far amount to."""
        nodes: dict[str, dict[str, Row]] = {}
        gone: dict[str, set[str]] = {}
        for (table, key), node in self.nodes.items():
            if node.removed and node.existed:
                gone.setdefault(table, set()).add(key)
            if node.row is not None:
                nodes.setdefault(table, {})[key] = node.row
        self._add_states(nodes)
        return GraphChanges(
            nodes=nodes,
            edges=tuple(self.new.values()),
            gone_edges=tuple(self.gone.values()),
            gone_nodes={table: frozenset(keys) for table, keys in gone.items()},
        )

    def _add_states(self, nodes: dict[str, dict[str, Row]]) -> None:
        """Completes rows of nodes that begin anew, and adds the states of the others."""
        begun = [
            (table, key)
            for (table, key), node in self.nodes.items()
            if node.row is not None
            and table_of(key) == table
            and (node.removed or not node.existed)
        ]
        stored = self.lookup.states([key for _, key in begun])
        for table, key in begun:
            kept = stored.get(key, {})
            columns = {column: cell(kept.get(kind)) for kind, column in STATE_COLUMNS.items()}
            nodes[table][key] = {**nodes[table][key], **columns}
        for key, states in self.states.items():
            table = table_of(key) or ""
            if (table, key) not in self.nodes or key in nodes.get(table, {}):
                rows = nodes.setdefault(table, {})
                rows[key] = {**rows.get(key, {}), **states}


def _ends(edge: EdgeRow) -> tuple[NodeKey, NodeKey]:
    return (edge.source_table, edge.source), (edge.target_table, edge.target)


def _state_parts(state: State) -> Parts:
    """The state of a mention, a piece of evidence or a link, which have no state columns."""
    if state.at is None:
        return Parts()
    return meta_parts(f"state:{state.kind}:{state.target_id}", iso(state.at))


_Sided = (
    PutSource
    | PutPassage
    | PutEntity
    | PutFact
    | AddEvidence
    | PutLink
    | RedirectEntity
    | Name
    | Annotate
    | DeclarePredicate
    | DeclareRoot
    | Cursor
    | Decide
)


def _sides(operation: _Sided) -> tuple[Parts, Parts]:
    """The parts before and after an operation."""
    return _after(operation.inverse()), _after(operation)


def _after(operation: _Sided) -> Parts:
    match operation:
        case PutSource(after=Source() as source):
            return source_parts(source)
        case PutPassage(after=PassageBundle() as bundle):
            return bundle_parts(bundle)
        case PutEntity(after=Entity() as entity):
            return entity_parts(entity)
        case PutFact(after=Fact() as fact):
            return fact_parts(fact)
        case AddEvidence(after=Evidence() as evidence):
            return evidence_parts(evidence)
        case PutLink(after=Link() as link):
            return link_parts(link)
        case RedirectEntity(after=SameAs() as redirect):
            return redirect_parts(redirect)
        case Name(after=DeclaredName() as name):
            return name_parts(name)
        case _:
            return _meta(operation)


def _meta(operation: _Sided) -> Parts:
    """The ``Meta`` row of an operation that is no node or edge; nothing when it has no after."""
    match operation:
        case DeclareRoot(after=Root() as root):
            return meta_parts(f"root:{root.id}", root.model_dump_json())
        case Annotate(after=str(text)):
            return meta_parts(f"label:{operation.label}:{operation.target_id}", text)
        case DeclarePredicate(after=str(text)):
            return meta_parts(f"predicate:{operation.predicate}", text)
        case Cursor(after=str(text)):
            return meta_parts(f"cursor:{operation.name}", text)
        case Decide(after=str(text)):
            return meta_parts(f"decision:{operation.proposal_id}", text)
        case _:
            return Parts()
