"""Entity ids made of type and name key, and which strings are id-shaped."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from graphmem.errors import InvalidInputError
from graphmem.model.ids import OBJECT_PREFIXES
from graphmem.vocabulary import EntityType

# Longer slugs are cut and get a hash; ids are read by people and typed into shells.
MAX_SLUG_CHARS = 80
# Bytes of the hash behind a slug: the first that gives a free id is used.
HASH_BYTES = (4, 8, 16)

# Letters and digits of any script (with their marks), and the joints an id can carry.
_NOT_SLUG = re.compile(r"[^\w.\u0300-\u036f-]+")
_BODY = re.compile(r"\S+")


@dataclass(frozen=True, slots=True)
class EntityIdKind:
    """An id-shaped string of an entity: its frozen type and the rest."""

    type: EntityType
    body: str
    kind: Literal["entity"] = "entity"


@dataclass(frozen=True, slots=True)
class ObjectIdKind:
    """An id-shaped string of another item: its prefix and the rest."""

    prefix: str
    body: str
    kind: Literal["object"] = "object"


IdKind = EntityIdKind | ObjectIdKind


def _slug(key: str) -> str:
    return _NOT_SLUG.sub("-", key).strip("-")[:MAX_SLUG_CHARS].rstrip("-")


def _hashed(slug: str, key: str, size: int) -> str:
    data = key.encode("utf-8", "surrogatepass")
    digest = hashlib.blake2s(data, digest_size=size).hexdigest()
    return f"{slug}-{digest}" if slug else digest


def _candidates(key: str) -> list[str]:
    slug = _slug(key)
    plain = [slug] if slug and slug == key.replace(" ", "-") else []
    return plain + [_hashed(slug, key, size) for size in HASH_BYTES]


def entity_id(entity_type: EntityType, name_key: str, taken: Mapping[str, str]) -> str:
    """The id ``type:slug`` of a new entity of this name key.

    The slug gets a short hash when it is empty, when it lost characters of the key, or when
    ``taken`` (id to name key of existing entities) gives it to another key. Raises
    InvalidInputError for an empty key.

    >>> entity_id(EntityType.PERSON, "maren toft", {})
    'person:maren-toft'
    >>> entity_id(EntityType.TOOL, "c++", {})
    'tool:c-61321478'
    """
    if not name_key:
        raise InvalidInputError("an entity needs a name: its name key is empty")
    ids = [f"{entity_type.value}:{body}" for body in _candidates(name_key)]
    free = (ident for ident in ids if taken.get(ident, name_key) == name_key)
    return next(free, ids[-1])


def parse_id(text: str) -> IdKind | None:
    """What kind of id a string looks like; None for names, also for ``redis:6379``.

    >>> parse_id("tool:redis")
    EntityIdKind(type=<EntityType.TOOL: 'tool'>, body='redis', kind='entity')
    >>> parse_id("redis:6379")
    """
    prefix, colon, body = text.partition(":")
    if not colon or not _BODY.fullmatch(body):
        return None
    if prefix in OBJECT_PREFIXES:
        return ObjectIdKind(prefix, body)
    if prefix in set(EntityType):
        return EntityIdKind(EntityType(prefix), body)
    return None
