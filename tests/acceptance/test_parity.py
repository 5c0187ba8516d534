"""One question, three surfaces, one answer."""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
from pathlib import Path
from typing import Any

from fastmcp import Client
from fastmcp.client.transports import StdioTransport

from graphmem.extractors import SpacyExtractor
from graphmem.memory import Memory
from graphmem.settings import Settings
from tests.acceptance.notes import DECISIONS
from tests.cli.conftest import Command

QUESTIONS = (
    "Why do we no longer give the lanes equal weights?",
    "When was Kuzu adopted?",
    "What is MPFP?",
    "how do I descale a kettle",
)
NAMES = ("Kuzu", "SQLite", "nothing of that name")


def _mcp(vault: Path) -> list[dict[str, Any]]:
    environment = {**os.environ, "GRAPHMEM_EMBEDDER": "none"}
    transport = StdioTransport(
        sys.executable, ["-m", "graphmem", "mcp", "--vault", str(vault)], env=environment
    )

    async def session() -> list[dict[str, Any]]:
        calls = [("intent_search", {"question": question}) for question in QUESTIONS]
        calls += [("kg_query", {"name": name}) for name in NAMES]
        calls += [("find_causal_links", {"start": QUESTIONS[0]})]
        async with Client(transport) as client:
            replies = [await client.call_tool(tool, arguments) for tool, arguments in calls]
        return [dict(reply.structured_content or {}) for reply in replies]

    return asyncio.run(session())


def _cli(graphmem: Command) -> list[dict[str, Any]]:
    runs = [graphmem("ask", question, "--json") for question in QUESTIONS]
    runs += [graphmem("kg", name, "--json") for name in NAMES]
    runs += [graphmem("causes", QUESTIONS[0], "--json")]
    return [run.data for run in runs]


def _python(vault: Path, extractor: SpacyExtractor) -> list[dict[str, Any]]:
    with Memory(vault, Settings(embedder="none"), create=False) as memory:
        memory.engine._extractor = extractor
        results = [memory.search(question) for question in QUESTIONS]
        found = [memory.kg_query(name) for name in NAMES]
        links = [memory.find_causal_links(QUESTIONS[0])]
        return [each.model_dump(mode="json") for each in (*results, *found, *links)]


def _without_nulls(value: Any) -> Any:
    """What MCP clients get of a value: many refuse nulls where the schema names a type."""
    if isinstance(value, dict):
        return {key: _without_nulls(part) for key, part in value.items() if part is not None}
    return [_without_nulls(part) for part in value] if isinstance(value, list) else value


def test_every_surface_gives_the_same_answer(
    graphmem: Command, vault: Path, tmp_path: Path, extractor: SpacyExtractor
) -> None:
    notes = tmp_path / "records"
    notes.mkdir()
    for path in DECISIONS.glob("001[1-8]*.md"):
        shutil.copy(path, notes)
    assert graphmem("ingest", str(notes), "--project", "graphmem").code == 0
    python, cli, mcp = _python(vault, extractor), _cli(graphmem), _mcp(vault)
    assert python[0]["hits"] and python[-1]["edges"]
    assert not python[3]["supported"]
    assert len({reply["seq"] for reply in python if "seq" in reply}) == 1
    assert cli == python
    assert mcp == _without_nulls(python)
