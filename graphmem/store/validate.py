"""Whether a commit would keep the invariants; looks at the newest state, writes nothing."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from graphmem.errors import ConflictError, InvalidInputError
from graphmem.model.items import EntityObject, PassageBundle
from graphmem.model.operations import (
    AddEvidence,
    DeclareRoot,
    MoveMention,
    Name,
    Operation,
    PutEntity,
    PutFact,
    PutLink,
    PutPassage,
    PutSource,
    RedirectEntity,
    SetState,
)
from graphmem.store.index_apply import text_key
from graphmem.store.view import StoreView

_KINDS: dict[type, str] = {
    PutSource: "source",
    PutPassage: "passage",
    PutEntity: "entity",
    PutFact: "fact",
    AddEvidence: "evidence",
    PutLink: "link",
    Name: "name",
    DeclareRoot: "root",
}


def _ident(item: Any) -> str:
    return str(item.passage.id if isinstance(item, PassageBundle) else item.id)


class Draft:
    """What the items of a commit would be, over what is stored."""

    def __init__(self, view: StoreView, operations: Sequence[Operation]) -> None:
        self._view, self._operations = view, operations
        self._stored = self._load()
        self._new: dict[str, str | None] = {}
        self._redirects: dict[str, str | None] = {}
        self._last = _last_of_each(operations)
        self._added, self._removed = self._parts()

    def _load(self) -> dict[str, str]:
        wanted: dict[str, set[str]] = {}
        for operation in self._operations:
            kind = _KINDS.get(type(operation))
            if kind is not None:
                sides = (getattr(operation, "before", None), getattr(operation, "after", None))
                wanted.setdefault(kind, set()).update(_ident(s) for s in sides if s is not None)
            elif isinstance(operation, MoveMention):
                wanted.setdefault("passage", set()).add(operation.passage_id)
            elif (key := text_key(operation)) is not None:
                wanted.setdefault(operation.op, set()).add(key)
        found: dict[str, str] = {}
        for kind, ids in wanted.items():
            found |= self._view.json_of(kind, ids)
        return found

    def _parts(self) -> tuple[set[str], set[str]]:
        """The ids of statements and mentions the commit ends with, and of those it takes away."""
        told: set[str] = set()
        for operation in self._operations:
            if isinstance(operation, PutPassage):
                told |= _part_ids(operation.before) | _part_ids(operation.after)
        kept: set[str] = set()
        for operation in self._last:
            if isinstance(operation, PutPassage):
                kept |= _part_ids(operation.after)
        return kept, told - kept

    def check(self) -> None:
        """Raises ConflictError or InvalidInputError for the first operation that does not fit."""
        for operation in self._operations:
            if type(operation) in _KINDS:
                self._check_before(operation)
            elif isinstance(operation, MoveMention):
                self._check_move(operation)
            elif (key := text_key(operation)) is not None:
                self._check_text(key, operation)
        self._check_states()
        self._check_redirects()
        self._check_ends()
        self._check_removed()
        self._check_evidence()

    def _current(self, ident: str) -> str | None:
        return self._new[ident] if ident in self._new else self._stored.get(ident)

    def _check_move(self, move: MoveMention) -> None:
        text = self._current(move.passage_id)
        bundle = None if text is None else PassageBundle.model_validate_json(text)
        mentions = () if bundle is None else bundle.mentions
        moved = next((m for m in mentions if m.id == move.mention_id), None)
        if bundle is None or moved is None or moved.entity_id != move.before:
            raise ConflictError(
                f"move_mention: {move.mention_id} is not at {move.before}; read it again and retry"
            )
        after = moved.model_copy(update={"entity_id": move.after})
        changed = tuple(after if m.id == moved.id else m for m in bundle.mentions)
        self._new[move.passage_id] = bundle.model_copy(
            update={"mentions": changed}
        ).model_dump_json()

    def _check_before(self, operation: Any) -> None:
        before, after = operation.before, operation.after
        ident = _ident(after if before is None else before)
        current = self._current(ident)
        expected = None if before is None else before.model_dump_json()
        if current != expected:
            problem = "exists already" if before is None else "is not what is stored"
            raise ConflictError(f"{operation.op}: {ident} {problem}; read it again and retry")
        if before is not None:
            self._new[ident] = None
        if after is not None:
            self._new[_ident(after)] = after.model_dump_json()

    def _check_ends(self) -> None:
        needed = list(_ends(op for op in self._last if not self._moved_away(op)))
        outside = {end for _, end in needed if self._new.get(end) is None} - self._added
        known = self._view.existing(outside)
        for where, end in needed:
            gone = end in self._removed or (end in self._new and self._new[end] is None)
            if end in outside and (gone or end not in known):
                raise InvalidInputError(f"{where} refers to {end}, which is not stored")

    def _moved_away(self, operation: Operation) -> bool:
        """Whether it moves a mention of a passage that is removed afterwards."""
        return isinstance(operation, MoveMention) and not self._stays(operation.passage_id)

    def _check_text(self, key: str, operation: Any) -> None:
        before, after = (
            None if side is None else json.dumps(side)
            for side in (operation.before, operation.after)
        )
        if self._current(key) != before:
            raise ConflictError(f"{operation.op}: {key} is not what is stored; read it again")
        self._new[key] = after

    def _check_states(self) -> None:
        changes = [op for op in self._operations if isinstance(op, SetState)]
        stored = self._view.states({op.after.target_id for op in changes})
        now = {(target, kind): at for target, set_ in stored.items() for kind, at in set_.items()}
        for change in changes:
            before, after = change.before, change.after
            key = (after.target_id, after.kind)
            if (before.target_id, before.kind) != key or now.get(key) != before.at:
                raise ConflictError(
                    f"set_state: {after.target_id} is not {after.kind} as told; read it again"
                )
            now.pop(key, None)
            if after.at is not None:
                now[key] = after.at

    def _check_redirects(self) -> None:
        changes = [op for op in self._operations if isinstance(op, RedirectEntity)]
        for change in changes:
            loser = _loser(change)
            before = None if change.before is None else change.before.survivor_id
            if self._redirect_of(loser) != before:
                raise ConflictError(f"redirect_entity: {loser} is not merged as told")
            self._redirects[loser] = None if change.after is None else change.after.survivor_id
        for loser in self._redirects:
            self._check_no_cycle(loser)

    def _redirect_of(self, loser: str) -> str | None:
        if loser in self._redirects:
            return self._redirects[loser]
        return self._view.redirects([loser]).get(loser)

    def _check_no_cycle(self, start: str) -> None:
        passed, current = {start}, self._redirect_of(start)
        while current is not None:
            if current in passed:
                raise InvalidInputError(f"{start} would be merged into itself")
            passed.add(current)
            current = self._redirect_of(current)

    def _check_removed(self) -> None:
        """What is removed must not be referred to by anything that stays as it is."""
        removed = {ident for ident, text in self._new.items() if text is None} | self._removed
        for end, who in self._view.referring(removed) if removed else ():
            if who not in self._new and who not in self._redirects:
                raise InvalidInputError(f"{end} cannot be removed: {who} refers to it")

    def _check_evidence(self) -> None:
        """Every fact that is touched must have evidence afterwards."""
        changes = [op for op in self._operations if isinstance(op, AddEvidence)]
        added = {op.after.id: op.after.fact_id for op in changes if op.after is not None}
        gone = {op.before.id: op.before.fact_id for op in changes if op.before is not None}
        told = {op.after.id for op in self._operations if isinstance(op, PutFact) and op.after}
        facts = {fact for fact in told | set(gone.values()) if self._stays(fact)}
        facts -= {fact for ident, fact in added.items() if self._new.get(ident) is not None}
        stored = self._view.evidence_ids(facts)
        for fact in sorted(facts):
            if not stored.get(fact, set()) - set(gone):
                raise InvalidInputError(f"fact {fact} has no evidence; add it in the same commit")

    def _stays(self, ident: str) -> bool:
        return self._new[ident] is not None if ident in self._new else True


def _loser(change: RedirectEntity) -> str:
    side = change.before if change.after is None else change.after
    if side is None:
        raise InvalidInputError("a redirect needs a before or an after")
    return side.loser_id


def _part_ids(bundle: PassageBundle | None) -> set[str]:
    if bundle is None:
        return set()
    return {s.id for s in bundle.statements} | {m.id for m in bundle.mentions}


def _last_of_each(operations: Sequence[Operation]) -> list[Operation]:
    """The operations that decide what an item is after all of them."""
    found: dict[object, Operation] = {}
    for operation in operations:
        match operation:
            case MoveMention():
                found["move", operation.mention_id] = operation
            case RedirectEntity():
                found["redirect", _loser(operation)] = operation
            case _ if type(operation) in _KINDS:
                sides = getattr(operation, "after", None), getattr(operation, "before", None)
                found[_ident(sides[0] or sides[1])] = operation
            case _:
                pass
    return list(found.values())


def _ends(operations: Iterable[Operation]) -> Iterable[tuple[str, str]]:
    """(who refers, id) of every reference that must exist after the commit."""
    for operation in operations:
        match operation:
            case PutPassage(after=PassageBundle() as bundle):
                yield bundle.passage.id, bundle.passage.source_id
                for mention in bundle.mentions:
                    yield mention.id, mention.entity_id
            case PutFact(after=fact) if fact is not None:
                yield fact.id, fact.subject_id
                if isinstance(fact.object, EntityObject):
                    yield fact.id, fact.object.entity_id
            case AddEvidence(after=evidence) if evidence is not None:
                yield evidence.id, evidence.fact_id
                yield evidence.id, evidence.passage_id
                if evidence.statement_id is not None:
                    yield evidence.id, evidence.statement_id
            case PutLink(after=link) if link is not None:
                yield link.id, link.source_id
                yield link.id, link.target_id
                yield link.id, link.passage_id
            case MoveMention(mention_id=mention_id, after=entity_id):
                yield mention_id, entity_id
            case RedirectEntity(after=redirect) if redirect is not None:
                yield redirect.loser_id, redirect.survivor_id
            case _:
                pass
