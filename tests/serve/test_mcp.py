"""The MCP server through a real stdio client."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from fastmcp import Client
from fastmcp.client.transports import StdioTransport

TOOLS = {"kg_query", "find_causal_links", "intent_search", "remember", "get"}
DOCS = Path(__file__).parents[2] / "docs" / "mcp.md"


def _client(vault: Path) -> Client[StdioTransport]:
    environment = {**os.environ, "GRAPHMEM_EMBEDDER": "none"}
    arguments = ["-m", "graphmem", "mcp", "--vault", str(vault)]
    return Client(StdioTransport(sys.executable, arguments, env=environment))


async def _call(client: Any, tool: str, **arguments: Any) -> dict[str, Any]:
    result = await client.call_tool(tool, arguments)
    return dict(result.structured_content)


def test_an_agent_can_remember_ask_follow_and_open(tmp_path: Path) -> None:
    async def session() -> None:
        async with _client(tmp_path / "vault") as client:
            stored = await _call(
                client,
                "remember",
                text="We dropped LanceDB.",
                facts=[{"subject": "Orion", "predicate": "uses", "object": "Basalt"}],
                because=["Its index was lost twice."],
            )
            assert all(i["outcome"] in ("stored", "merged") for i in stored["items"])
            facts = await _call(client, "kg_query", name="Orion")
            assert facts["entities"][0]["facts"][0]["object"] == "Basalt"
            links = await _call(client, "find_causal_links", start="We dropped LanceDB.")
            assert "lost twice" in links["edges"][0]["cause"]
            answer = await _call(client, "intent_search", question="why did we drop LanceDB?")
            assert answer["supported"]
            opened = await _call(client, "get", ids=[answer["hits"][0]["passage_id"]])
            assert opened["items"][0]["kind"] == "passage"

    asyncio.run(session())


def test_the_tools_have_schemas_in_and_out_that_every_client_reads(tmp_path: Path) -> None:
    async def session() -> None:
        async with _client(tmp_path / "vault") as client:
            tools = await client.list_tools()
            assert {tool.name for tool in tools} == TOOLS
            documentation = DOCS.read_text(encoding="utf-8")
            for tool in tools:
                assert f"## {tool.name}" in documentation
                assert tool.output_schema
                schema = tool.input_schema
                for name, part in schema["properties"].items():
                    assert part.get("description"), f"{tool.name}.{name} is not described"
                assert "$ref" not in json.dumps(schema)
                assert "anyOf" not in json.dumps(schema)

    asyncio.run(session())


def test_errors_reach_the_agent_as_text(tmp_path: Path) -> None:
    async def session() -> None:
        async with _client(tmp_path / "vault") as client:
            with pytest.raises(Exception, match="2026-03-01"):
                await _call(client, "kg_query", name="Orion", as_of="the other day")

    asyncio.run(session())


def test_standard_output_holds_protocol_only(tmp_path: Path) -> None:
    hello = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"},
        },
    }
    ready = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    call = {
        "jsonrpc": "2.0",
        "id": 2,
        "method": "tools/call",
        "params": {"name": "intent_search", "arguments": {"question": "why?"}},
    }
    lines = "".join(json.dumps(message) + "\n" for message in (hello, ready, call))
    with subprocess.Popen(
        [sys.executable, "-m", "graphmem", "mcp", "--vault", str(tmp_path / "vault")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "GRAPHMEM_EMBEDDER": "none", "PYTHONIOENCODING": "cp1252"},
    ) as server:
        assert server.stdin is not None and server.stdout is not None
        server.stdin.write(lines.encode())
        server.stdin.flush()
        replies = [json.loads(server.stdout.readline()) for _ in range(2)]
        server.stdin.close()
        rest = server.stdout.read()
        server.wait(timeout=20)
    assert [reply["id"] for reply in replies] == [1, 2]
    assert all(json.loads(line)["jsonrpc"] == "2.0" for line in rest.splitlines())
