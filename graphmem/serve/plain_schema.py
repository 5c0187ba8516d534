"""JSON Schema that every client reads: no references, no null unions, no lists of types (BR-30)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

# What is kept of a schema; the rest some clients refuse.
_KEPT = frozenset({"type", "enum", "description", "minimum", "maximum", "minLength", "maxLength"})


def plain_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The schema of ``plain_values``: what may be null is left out instead.

    >>> maybe = {"anyOf": [{"type": "string"}, {"type": "null"}], "default": None}
    >>> plain_schema({"type": "object", "properties": {"a": maybe}, "required": ["a"]})
    {'type': 'object', 'properties': {'a': {'type': 'string'}}}
    """
    return _plain(schema, schema.get("$defs", {}))


def _plain(schema: Mapping[str, Any], shared: Mapping[str, Any]) -> dict[str, Any]:
    found, _ = _without_null(schema, shared)
    kept = {name: value for name, value in found.items() if name in _KEPT}
    if "const" in found:
        kept["enum"] = [found["const"]]
    if kept.get("type") == "object":
        kept |= _object(found, shared)
    if kept.get("type") == "array":
        kept["items"] = _items(found, shared)
    return kept


def _without_null(
    schema: Mapping[str, Any], shared: Mapping[str, Any]
) -> tuple[Mapping[str, Any], bool]:
    """The schema itself, behind its reference and its union with null; and whether it was one."""
    if "$ref" in schema:
        return _without_null(shared[schema["$ref"].rsplit("/", 1)[-1]], shared)
    choices = schema.get("anyOf", schema.get("oneOf"))
    if choices is None:
        return schema, schema.get("type") == "null"
    some = [each for each in choices if each.get("type") != "null"]
    nullable = len(some) < len(choices)
    # A choice of several kinds is said to be anything: there is no plain way to say more.
    inner = _without_null(some[0], shared)[0] if len(some) == 1 else {}
    told = {"description": schema["description"]} if "description" in schema else {}
    return {**inner, **told}, nullable


def _object(schema: Mapping[str, Any], shared: Mapping[str, Any]) -> dict[str, Any]:
    parts = schema.get("properties", {})
    found: dict[str, Any] = {}
    if parts:
        found["properties"] = {name: _plain(part, shared) for name, part in parts.items()}
    certain = [
        name for name in schema.get("required", ()) if not _without_null(parts[name], shared)[1]
    ]
    if certain:
        found["required"] = certain
    more = schema.get("additionalProperties")
    if isinstance(more, Mapping):
        found["additionalProperties"] = _plain(more, shared)
    return found


def _items(schema: Mapping[str, Any], shared: Mapping[str, Any]) -> dict[str, Any]:
    each = schema.get("items")
    if not isinstance(each, Mapping):
        places = schema.get("prefixItems", [{}])
        each = places[0] if all(place == places[0] for place in places) else {}
    return _plain(each, shared) or {"type": "string"}


def plain_values(value: Any) -> Any:
    """The value without nulls: left out of objects, empty text in lists.

    >>> plain_values({"a": None, "window": [None, "2026-03-01"]})
    {'window': ['', '2026-03-01']}
    """
    if isinstance(value, Mapping):
        return {name: plain_values(each) for name, each in value.items() if each is not None}
    if isinstance(value, list):
        return ["" if each is None else plain_values(each) for each in value]
    return value
