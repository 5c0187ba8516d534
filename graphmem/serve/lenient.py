"""Arguments as clients really send them: lists as text, null for nothing, keys too many (BR-29)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

# A valid call of each tool, shown with a refusal.
EXAMPLES: Mapping[str, Mapping[str, object]] = {
    "kg_query": {"name": "Node 200", "limit": 20},
    "find_causal_links": {"start": "the pump stopped", "direction": "back", "depth": 3},
    "intent_search": {"question": "why did we drop LanceDB?", "limit": 8},
    "get": {"ids": ["psg:0f3a2b1c4d5e6f708192"]},
    "remember": {
        "text": "We dropped LanceDB.",
        "facts": [{"subject": "Orion", "predicate": "uses", "object": "Basalt"}],
        "because": ["Its index was lost twice."],
    },
}


def lenient(arguments: Mapping[str, Any] | None, schema: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments with plain intent made plain form; what is no such case stays as it is.

    >>> part = {"ids": {"type": "array", "items": {"type": "string"}}, "limit": {"type": "integer"}}
    >>> lenient({"ids": "psg:1", "limit": None, "mood": 1}, {"properties": part})
    {'ids': ['psg:1']}
    """
    known, shared = schema.get("properties", {}), schema.get("$defs", {})
    return {
        name: _shaped(value, known[name], shared)
        for name, value in (arguments or {}).items()
        if name in known and value is not None
    }


def _shaped(value: Any, schema: Mapping[str, Any], shared: Mapping[str, Any]) -> Any:
    if "$ref" in schema:
        schema = shared.get(schema["$ref"].rsplit("/", 1)[-1], {})
    kind = schema.get("type")
    if kind == "array":
        return [_shaped(each, schema.get("items", {}), shared) for each in _listed(value)]
    if kind == "object":
        return _parsed(value, dict)
    if kind == "integer":
        return _clamped(value, schema.get("maximum"))
    if kind == "string" and isinstance(value, int | float) and not isinstance(value, bool):
        return str(value)
    return value


def _clamped(value: Any, most: Any) -> Any:
    """A number, also as text, at most the largest one that is allowed (BR-37)."""
    if isinstance(value, str):
        try:
            value = int(value.strip())
        except ValueError:
            return value
    whole = isinstance(value, int) and not isinstance(value, bool)
    return min(value, most) if whole and most is not None else value


def _listed(value: Any) -> list[Any]:
    value = _parsed(value, list)
    if isinstance(value, str) and not value.strip():
        return []
    return value if isinstance(value, list) else [value]


def _parsed(value: Any, kind: type[Any]) -> Any:
    """The JSON in a text when it is of this kind, else the value itself."""
    if not isinstance(value, str):
        return value
    try:
        found = json.loads(value)
    except ValueError:
        return value
    return found if isinstance(found, kind) else value


def refusal(tool: str, wrong: list[tuple[str, str]]) -> str:
    """Which argument is wrong, how, and a call that is right."""
    told = "; ".join(f"{name}: {reason}" for name, reason in wrong)
    example = json.dumps(EXAMPLES.get(tool, {}), ensure_ascii=False)
    return f"{told}. A valid call of {tool}: {example}"
