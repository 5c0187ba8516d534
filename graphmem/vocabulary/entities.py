"""Closed vocabulary of entity types; a type is a vote, and the prefix of an entity id."""

from __future__ import annotations

from enum import StrEnum


class EntityType(StrEnum):
    """What an entity is taken for; ``THING`` is the type of a name nobody voted on."""

    PERSON = "person"
    ORGANIZATION = "org"
    PROJECT = "project"
    TOOL = "tool"
    PLACE = "place"
    EVENT = "event"
    CONCEPT = "concept"
    DOCUMENT = "document"
    VERSION = "version"
    TICKET = "ticket"
    PATH = "path"
    THING = "thing"


class NameKind(StrEnum):
    """What a declared name says of an entity."""

    ALIAS = "alias"
    RENAME = "rename"
    RETYPE = "retype"
    EXTERNAL_ID = "external_id"
