"""Whether a commit would keep the invariants; looks at the newest state, writes nothing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from graphmem.errors import ConflictError, InvalidInputError
from graphmem.model.items import EntityObject, PassageBundle
from graphmem.model.operations import (
    AddEvidence,
    Name,
    Operation,
    PutEntity,
    PutFact,
    PutLink,
    PutPassage,
    PutSource,
    RedirectEntity,
)
from graphmem.store.view import StoreView

_KINDS: dict[type, str] = {
    PutSource: "source",
    PutPassage: "passage",
    PutEntity: "entity",
    PutFact: "fact",
    AddEvidence: "evidence",
    PutLink: "link",
    Name: "name",
}


def _ident(item: Any) -> str:
    return str(item.passage.id if isinstance(item, PassageBundle) else item.id)


class Draft:
    """What the items of a commit would be, over what is stored."""

    def __init__(self, view: StoreView, operations: Sequence[Operation]) -> None:
        self._view, self._operations = view, operations
        self._stored = self._load()
        self._new: dict[str, str | None] = {}
        self._added, self._removed = self._parts()

    def _load(self) -> dict[str, str]:
        wanted: dict[str, set[str]] = {}
        for operation in self._operations:
            kind = _KINDS.get(type(operation))
            if kind is not None:
                sides = (getattr(operation, "before", None), getattr(operation, "after", None))
                wanted.setdefault(kind, set()).update(_ident(s) for s in sides if s is not None)
        found: dict[str, str] = {}
        for kind, ids in wanted.items():
            found |= self._view.json_of(kind, ids)
        return found

    def _parts(self) -> tuple[set[str], set[str]]:
        added: set[str] = set()
        removed: set[str] = set()
        for operation in self._operations:
            if isinstance(operation, PutPassage):
                for side, ids in ((operation.before, removed), (operation.after, added)):
                    if side is not None:
                        ids.update(s.id for s in side.statements)
                        ids.update(m.id for m in side.mentions)
        return added, removed - added

    def check(self) -> None:
        """Raises ConflictError or InvalidInputError for the first operation that does not fit."""
        for operation in self._operations:
            if type(operation) in _KINDS:
                self._check_before(operation)
        self._check_ends()
        self._check_evidence()

    def _check_before(self, operation: Any) -> None:
        before, after = operation.before, operation.after
        ident = _ident(after if before is None else before)
        current = self._new[ident] if ident in self._new else self._stored.get(ident)
        expected = None if before is None else before.model_dump_json()
        if current != expected:
            problem = "exists already" if before is None else "is not what is stored"
            raise ConflictError(f"{operation.op}: {ident} {problem}; read it again and retry")
        if before is not None:
            self._new[ident] = None
        if after is not None:
            self._new[_ident(after)] = after.model_dump_json()

    def _check_ends(self) -> None:
        needed = list(_ends(self._operations))
        outside = {end for _, end in needed if self._new.get(end) is None} - self._added
        known = self._view.existing(outside)
        for where, end in needed:
            gone = end in self._removed or (end in self._new and self._new[end] is None)
            if end in outside and (gone or end not in known):
                raise InvalidInputError(f"{where} refers to {end}, which is not stored")

    def _check_evidence(self) -> None:
        facts = [
            op.after.id
            for op in self._operations
            if isinstance(op, PutFact) and op.after is not None
        ]
        backed = {
            op.after.fact_id
            for op in self._operations
            if isinstance(op, AddEvidence) and op.after is not None
        }
        bare = [fact for fact in facts if fact not in backed]
        stored = self._view.backed_facts(bare)
        for fact in bare:
            if fact not in stored:
                raise InvalidInputError(f"fact {fact} has no evidence; add it in the same commit")


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
                yield evidence.id, evidence.statement_id or evidence.passage_id
            case PutLink(after=link) if link is not None:
                yield link.id, link.source_id
                yield link.id, link.target_id
                yield link.id, link.passage_id
            case RedirectEntity(after=redirect) if redirect is not None:
                yield redirect.loser_id, redirect.survivor_id
            case _:
                pass
