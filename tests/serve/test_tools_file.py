"""The shipped tools are those of the real server, in a form that every client reads (BR-30)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import jsonschema
import pytest

import graphmem
from graphmem.model import results
from graphmem.serve.bounds import bounded
from graphmem.serve.plain_schema import plain_schema, plain_values
from graphmem.serve.stdio import TOOLS_FILE
from graphmem.serve.tools_file import listed
from graphmem.settings import Settings

SHIPPED = json.loads(TOOLS_FILE.read_text(encoding="utf-8"))
FORBIDDEN = {"$ref", "$defs", "anyOf", "oneOf", "allOf", "prefixItems", "const", "not"}


def schemas(value: Any) -> Iterator[dict[str, Any]]:
    """All schemas below a schema, itself included; names of properties are no keywords."""
    yield value
    for part in value.get("properties", {}).values():
        yield from schemas(part)
    for name in ("items", "additionalProperties"):
        if isinstance(value.get(name), dict):
            yield from schemas(value[name])


def test_the_shipped_tools_are_those_of_the_server() -> None:
    assert listed() == SHIPPED, "run python -m graphmem.serve.tools_file"


@pytest.mark.parametrize("tool", SHIPPED["tools"], ids=lambda tool: str(tool["name"]))
def test_schemas_use_only_what_every_client_reads(tool: dict[str, Any]) -> None:
    for side in ("inputSchema", "outputSchema"):
        assert tool[side]["type"] == "object"
        for each in schemas(tool[side]):
            assert not FORBIDDEN & set(each), each
            assert isinstance(each.get("type", ""), str)
            assert each.get("type") != "array" or each["items"], each


def test_fixed_choices_are_enums() -> None:
    tools = {tool["name"]: tool for tool in SHIPPED["tools"]}
    links = tools["find_causal_links"]["inputSchema"]["properties"]
    assert links["direction"]["enum"] == ["back", "forward", "both"]
    causes = tools["remember"]["inputSchema"]["properties"]["causes"]["items"]
    assert "prevents" in causes["properties"]["kind"]["enum"]
    assert "why" in tools["intent_search"]["outputSchema"]["properties"]["intent"]["enum"]


def test_real_replies_fit_the_plain_schemas() -> None:
    settings = Settings(engine="memory", embedder="none")
    with graphmem.memory.Memory(None, settings) as memory:
        stored = memory.remember(
            "In March 2026 we dropped LanceDB because its index was lost twice.",
            facts=["Orion|uses|Basalt"],
        )
        replies: list[results.Result] = [
            stored,
            memory.search("why did we drop LanceDB in March 2026?"),
            memory.search("what happened since 2026?"),
            memory.search("who paints zebras?"),
            memory.kg_query("Orion"),
            memory.kg_query("Nobody"),
            memory.find_causal_links("why did we drop LanceDB?"),
            memory.get([*stored.passage_ids, stored.source_id, "psg:unknown"]),
        ]
    for reply in replies:
        schema = plain_schema(type(reply).model_json_schema(mode="serialization"))
        jsonschema.validate(plain_values(bounded(reply).model_dump(mode="json")), schema)
