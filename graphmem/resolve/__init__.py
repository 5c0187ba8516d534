"""Entity resolution: names, vetoes and ids. It may split one thing in two, never join two."""

from graphmem.resolve.ids import EntityIdKind, IdKind, ObjectIdKind, entity_id, parse_id
from graphmem.resolve.names import digit_signature, is_nameable, name_key
from graphmem.resolve.veto import VetoReason, veto

__all__ = [
    "EntityIdKind",
    "IdKind",
    "ObjectIdKind",
    "VetoReason",
    "digit_signature",
    "entity_id",
    "is_nameable",
    "name_key",
    "parse_id",
    "veto",
]
