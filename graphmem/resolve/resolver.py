"""The online resolver: which entity a name means, by exact key, declared alias or external id.

It never joins on likeness. The same key gets the same entity in any batch and order; only the
type inside a new id depends on which vote came first.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from graphmem.model.base import digest
from graphmem.model.items import DeclaredName, Entity
from graphmem.model.scope import Scope
from graphmem.resolve.ids import entity_id
from graphmem.resolve.names import is_nameable, name_key
from graphmem.vocabulary import EntityType, NameKind, Origin

# Archived, absent and snoozed entities still are what their name means.
_ALL: Final = Scope(include_hidden=True)
# Stands before the hash in the id of a declared name.
NAME_PREFIX: Final = "nam"


class Catalogue(Protocol):
    """The part of a ``View`` that resolving needs."""

    def entities_named(self, name_keys: Iterable[str], scope: Scope) -> Mapping[str, list[str]]: ...
    def entities(self, ids: Iterable[str], scope: Scope) -> Mapping[str, Entity]: ...
    def existing(self, ids: Iterable[str]) -> frozenset[str]: ...
    def declared_names(self, entity_id: str) -> list[DeclaredName]: ...


@dataclass(frozen=True, slots=True)
class NameRequest:
    """A spelling to resolve and what it was taken for."""

    surface: str
    vote: EntityType | None = None
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class Resolution:
    """The entity of each name key, and the entities that are new. Unnameable names are missing."""

    ids: Mapping[str, str]
    new: tuple[Entity, ...] = ()

    def entity(self, surface: str) -> str | None:
        """The entity a spelling means, or None when it cannot name one."""
        return self.ids.get(name_key(surface))


@dataclass(frozen=True, slots=True)
class ProjectResolution:
    """A project's entity with what must be stored for it."""

    id: str
    new: Entity | None = None
    declared: DeclaredName | None = None


class OnlineResolver:
    """Resolves names against one view; what it made new it knows in later calls too."""

    def __init__(self, view: Catalogue) -> None:
        self._view = view
        self._known: dict[str, str] = {}
        self._made: dict[str, str] = {}
        self._projects: dict[str, str] = {}

    def resolve(self, requests: Sequence[NameRequest]) -> Resolution:
        """The entities of all requested names; a name seen for the first time gets a new one."""
        first: dict[str, str] = {}
        votes: dict[str, dict[EntityType, float]] = {}
        for request in requests:
            if not is_nameable(request.surface):
                continue
            key = name_key(request.surface)
            first.setdefault(key, _shown(request.surface))
            tally = votes.setdefault(key, {})
            if request.vote is not None:
                tally[request.vote] = tally.get(request.vote, 0.0) + request.weight
        self._look_up(first)
        new = [
            self._create(key, name, _winner(votes[key]))
            for key, name in sorted(first.items())
            if key not in self._known
        ]
        ids = {key: self._known[key] for key in first}
        return Resolution(ids, tuple(entity for entity in new if entity is not None))

    def project(self, project: str, name: str) -> ProjectResolution | None:
        """The entity of a project: the one declared for its id, else the one of its name.

        Two projects of one name stay two entities: the second gets a bucket of its own. None when
        the project has no usable name.
        """
        if not is_nameable(name) or not name_key(project):
            return None
        known = self._projects.get(project) or self._declared_for(project)
        if known is not None:
            return ProjectResolution(known)
        resolution = self.resolve([NameRequest(name, EntityType.PROJECT)])
        ident = resolution.ids[name_key(name)]
        new = resolution.new[0] if resolution.new else None
        owners = self._owners(ident)
        if project in owners:
            return ProjectResolution(ident)
        if owners:
            new = self._bucketed(name, project)
            ident = new.id
        self._projects[project] = ident
        return ProjectResolution(ident, new, _external_id(ident, project))

    def _declared_for(self, project: str) -> str | None:
        key = name_key(project)
        ids = self._view.entities_named([key], _ALL).get(key, [])
        return next((each for each in ids if project in self._owners(each)), None)

    def _owners(self, ident: str) -> set[str]:
        """The projects whose entity this is."""
        stored = {
            name.value
            for name in self._view.declared_names(ident)
            if name.kind is NameKind.EXTERNAL_ID and name.origin is Origin.SYSTEM
        }
        return stored | {project for project, each in self._projects.items() if each == ident}

    def _bucketed(self, name: str, project: str) -> Entity:
        key = name_key(name)
        bucket = digest(project)
        ident = entity_id(EntityType.PROJECT, f"{key} {bucket}", self._made)
        self._made[ident] = f"{key} {bucket}"
        return Entity(id=ident, name=_shown(name), name_key=key, bucket=bucket)

    def _look_up(self, keys: Iterable[str]) -> None:
        unknown = sorted(key for key in keys if key not in self._known)
        if not unknown:
            return
        named = self._view.entities_named(unknown, _ALL)
        entities = self._view.entities({each for ids in named.values() for each in ids}, _ALL)
        for key, ids in named.items():
            own = [each for each in ids if each in entities and entities[each].name_key == key]
            plain = [each for each in own if not entities[each].bucket]
            chosen = next(iter(plain), None) or self._merged_away(key) or next(iter(ids), None)
            if chosen is not None and not (own and not plain and chosen in own):
                self._known[key] = chosen

    def _merged_away(self, key: str) -> str | None:
        """The entity of exactly this key that a redirect hides: a new mention stays its own, so
        that undoing the merge gives it back."""
        candidates = [entity_id(each, key, {}) for each in EntityType]
        found = self._view.entities(candidates, _ALL)
        return next((each for each in sorted(found) if found[each].name_key == key), None)

    def _create(self, key: str, name: str, kind: EntityType) -> Entity | None:
        """A new entity; None when the id is this key's own and only hidden from the view."""
        taken = dict(self._made)
        ident = entity_id(kind, key, taken)
        is_new = True
        while ident in self._view.existing([ident]):
            known = self._view.entities([ident], _ALL).get(ident)
            if known is None or (known.name_key == key and not known.bucket):
                is_new = False
                break
            taken[ident] = f"{known.name_key} {known.bucket}"
            ident = entity_id(kind, key, taken)
        self._made[ident] = key
        self._known[key] = ident
        return Entity(id=ident, name=name, name_key=key) if is_new else None


def _shown(surface: str) -> str:
    return " ".join(surface.split())


def _winner(votes: Mapping[EntityType, float]) -> EntityType:
    return min(votes, key=lambda kind: (-votes[kind], kind.value), default=EntityType.THING)


def _external_id(ident: str, project: str) -> DeclaredName:
    key = name_key(project)
    return DeclaredName(
        id=f"{NAME_PREFIX}:{digest(NameKind.EXTERNAL_ID.value, ident, key)}",
        kind=NameKind.EXTERNAL_ID,
        entity_id=ident,
        value=project,
        key=key,
        origin=Origin.SYSTEM,
    )
