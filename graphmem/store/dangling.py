"""What of a journal refers to something that is not there, and the operations that let go of it.

After rows were lost, items may refer to lost ones. They are taken back by ordinary operations in
a commit of their own, so that replay needs no rule for it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from graphmem.model.items import (
    DeclaredName,
    Entity,
    EntityObject,
    Evidence,
    Fact,
    Link,
    PassageBundle,
    SameAs,
    Source,
)
from graphmem.model.operations import (
    AddEvidence,
    MoveMention,
    Name,
    Operation,
    PutEntity,
    PutFact,
    PutLink,
    PutPassage,
    PutSource,
    RedirectEntity,
)

_KINDS: dict[type, type] = {
    Source: PutSource,
    PassageBundle: PutPassage,
    Entity: PutEntity,
    Fact: PutFact,
    Evidence: AddEvidence,
    Link: PutLink,
    DeclaredName: Name,
    SameAs: RedirectEntity,
}
_PUTS = tuple(_KINDS.values())


class Standing:
    """The items that stand after all operations, and those of them that hang in the air."""

    def __init__(self, operations: Iterable[Operation]) -> None:
        self._items: dict[str, Any] = {}
        for operation in operations:
            self._take(operation)

    def _take(self, operation: Operation) -> None:
        if isinstance(operation, MoveMention):
            self._move(operation)
        elif isinstance(operation, _PUTS):
            put: Any = operation
            before, after = put.before, put.after
            if before is not None:
                self._items.pop(_key(before), None)
            if after is not None:
                self._items[_key(after)] = after

    def _move(self, move: MoveMention) -> None:
        bundle = self._items.get(move.passage_id)
        if isinstance(bundle, PassageBundle):
            mentions = tuple(
                m.model_copy(update={"entity_id": move.after}) if m.id == move.mention_id else m
                for m in bundle.mentions
            )
            self._items[move.passage_id] = bundle.model_copy(update={"mentions": mentions})

    def let_go(self) -> list[Operation]:
        """Operations after which nothing refers to what is not there and no fact lacks evidence.

        Sources whose passages are lost are made to be read again by the next ``sync``.
        """
        told: list[Operation] = []
        while changes := list(self._round()):
            for before, after in changes:
                del self._items[_key(before)]
                if after is not None:
                    self._items[_key(after)] = after
                told.append(_KINDS[type(before)](before=before, after=after))
        return told

    def _round(self) -> Iterator[tuple[Any, Any]]:
        known = set(self._items) | {p for item in self._items.values() for p in _part_ids(item)}
        proven = {e.fact_id for e in self._items.values() if isinstance(e, Evidence)}
        for item in self._items.values():
            after = _without(item, known)
            if isinstance(item, Fact) and item.id not in proven:
                after = None
            if after is not item:
                yield item, after


def _key(item: Any) -> str:
    match item:
        case PassageBundle():
            return str(item.passage.id)
        case SameAs():
            return f"redirect of {item.loser_id}"
        case _:
            return str(item.id)


def _part_ids(item: Any) -> Iterator[str]:
    if isinstance(item, PassageBundle):
        yield from (s.id for s in item.statements)
        yield from (m.id for m in item.mentions)


def _without(item: Any, known: set[str]) -> Any:
    """The item itself when all it refers to is known, else what may stay of it, or None."""
    match item:
        case Source():
            layout = tuple(place for place in item.layout if place.passage_id in known)
            if len(layout) == len(item.layout):
                return item
            return item.model_copy(update={"layout": layout, "content_hash": ""})
        case PassageBundle():
            if item.passage.source_id not in known:
                return None
            mentions = tuple(m for m in item.mentions if m.entity_id in known)
            same = len(mentions) == len(item.mentions)
            return item if same else item.model_copy(update={"mentions": mentions})
        case _:
            return item if set(_ends(item)) <= known else None


def _ends(item: Any) -> Iterator[str]:
    match item:
        case Fact():
            yield item.subject_id
            if isinstance(item.object, EntityObject):
                yield item.object.entity_id
        case Evidence():
            yield from (item.fact_id, item.passage_id)
            if item.statement_id is not None:
                yield item.statement_id
        case Link():
            yield from (item.source_id, item.target_id, item.passage_id)
        case DeclaredName():
            yield item.entity_id
        case SameAs():
            yield from (item.loser_id, item.survivor_id)
        case _:
            return
