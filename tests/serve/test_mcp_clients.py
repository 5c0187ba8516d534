"""Several MCP servers on one vault, each started by a client of its own (BR-24, BR-25, BR-29)."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any

import pytest
from fastmcp import Client
from fastmcp.client.transports import StdioTransport

import graphmem
from tests.serve.conftest import harness, owner_of, wait_for

# None of these may be loaded to answer the handshake and the list of tools.
HEAVY = ("spacy", "kuzu", "onnxruntime", "apsw", "numpy", "fastapi", "networkx", "fastmcp")
HELLO = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "test", "version": "1"},
}


def server(vault: Path) -> Client[StdioTransport]:
    arguments = ["-m", "graphmem", "mcp", "--vault", str(vault)]
    return Client(StdioTransport(sys.executable, arguments, env=dict(os.environ)))


async def call(client: Any, tool: str, **arguments: Any) -> dict[str, Any]:
    result = await client.call_tool(tool, arguments)
    return dict(result.structured_content)


def fact(n: str) -> dict[str, str]:
    return {"subject": f"Pump {n}", "predicate": "is in", "object": f"Bay {n}"}


def test_two_servers_write_and_see_each_others_writes_within_a_second(vault: Path) -> None:
    async def session() -> None:
        async with server(vault) as one, server(vault) as two:
            await asyncio.gather(
                call(one, "remember", text="Pump A1 moved.", facts=[fact("A1")]),
                call(two, "remember", text="Pump B2 moved.", facts=[fact("B2")]),
            )
            begun = time.monotonic()
            for client, n in ((one, "B2"), (two, "A1")):
                found = await call(client, "kg_query", name=f"Pump {n}")
                assert found["entities"][0]["facts"][0]["object"] == f"Bay {n}"
            assert time.monotonic() - begun < 1
            notebook = await asyncio.to_thread(graphmem.open, vault)
            with notebook as memory:
                assert memory.status().counts["fact"] == 2
            command = [sys.executable, "-m", "graphmem", "kg", "Pump A1", "--vault", str(vault)]
            shown = await asyncio.to_thread(
                subprocess.run, command, capture_output=True, text=True, check=True
            )
            assert "Bay A1" in shown.stdout

    asyncio.run(session())


def test_twenty_writes_and_five_reads_of_one_turn_all_succeed(vault: Path) -> None:
    async def session() -> None:
        async with server(vault) as client:
            writes = [
                call(client, "remember", text=f"Pump {n} moved.", facts=[fact(str(n))])
                for n in range(20)
            ]
            reads = [call(client, "kg_query", name="Pump 3") for _ in range(5)]
            replies = await asyncio.gather(*writes, *reads)
        assert len(replies) == 25
        assert all(item["outcome"] == "stored" for r in replies[:20] for item in r["items"])
        with graphmem.open(vault) as memory:
            assert memory.status().counts["fact"] == 20

    asyncio.run(session())


def test_a_server_goes_on_when_the_owner_was_killed(vault: Path) -> None:
    async def session() -> None:
        async with server(vault) as client:
            await call(client, "remember", text="Pump 1 moved.", facts=[fact("1")])
            first = owner_of(vault).pid
            os.kill(first, signal.SIGKILL)
            await call(client, "remember", text="Pump 2 moved.", facts=[fact("2")])
            for n in ("1", "2"):
                found = await call(client, "kg_query", name=f"Pump {n}")
                assert found["entities"][0]["facts"][0]["object"] == f"Bay {n}"
            assert owner_of(vault).pid != first

    asyncio.run(session())


def test_a_server_whose_client_is_gone_leaves_and_the_vault_can_be_used(vault: Path) -> None:
    command = [sys.executable, "-m", "graphmem", "mcp", "--vault", str(vault)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        wait_for((vault / "owner.json").exists)
        assert process.stdin is not None
        process.stdin.close()
        process.wait(timeout=2)
    done = subprocess.run(
        [sys.executable, "-m", "graphmem", "status", "--vault", str(vault)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


MESSAGES = (
    {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": HELLO},
    {"jsonrpc": "2.0", "method": "notifications/initialized"},
    {"jsonrpc": "2.0", "id": 2, "method": "tools/list"},
)


# Runs the console script and says at its end which modules were loaded.
TELLS_MODULES = """
import json, os, sys
from graphmem.__main__ import main
leave = os._exit
def told(code):
    print(json.dumps(sorted(sys.modules)), file=sys.stderr, flush=True)
    leave(code)
os._exit = told
sys.argv[0] = "graphmem"
try:
    main()
except SystemExit as stop:
    told(stop.code)
"""


def handshake(*command: str, messages: Sequence[object] = MESSAGES) -> tuple[float, list[Any], str]:
    """Seconds from the start to the last reply, the replies, and standard error."""
    begun = time.monotonic()
    with subprocess.Popen(
        [sys.executable, *command],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write("".join(json.dumps(each) + "\n" for each in messages))
        process.stdin.flush()
        replies = [json.loads(process.stdout.readline()) for _ in messages[1:]]
        took = time.monotonic() - begun
        _, said = process.communicate(timeout=60)
    return took, replies, said


def test_the_handshake_and_the_tools_load_no_engine_and_no_model(vault: Path) -> None:
    _, replies, said = handshake("-c", TELLS_MODULES, "mcp", "--vault", str(vault))
    assert len(replies[1]["result"]["tools"]) == 5
    loaded = set(json.loads(said.strip().splitlines()[-1]))
    assert "graphmem.serve.stdio" in loaded
    assert not loaded & set(HEAVY)


def test_with_an_owner_that_runs_not_even_pydantic_is_loaded_for_a_call(vault: Path) -> None:
    graphmem.open(vault, mode="client").close()
    call = {"name": "kg_query", "arguments": {"name": "Pump 1"}}
    message = {"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": call}
    command = ("-c", TELLS_MODULES, "mcp", "--vault", str(vault))
    _, replies, said = handshake(*command, messages=(*MESSAGES, message))
    assert replies[2]["result"]["structuredContent"]["matched_by"] == "none"
    loaded = set(json.loads(said.strip().splitlines()[-1]))
    assert not loaded & {*HEAVY, "pydantic", "typer", "rich", "asyncio"}


@pytest.mark.slow
def test_the_handshake_takes_at_most_half_more_than_that_of_an_empty_server(vault: Path) -> None:
    empty = "from fastmcp import FastMCP; FastMCP('empty').run(show_banner=False)"
    graphmem.open(vault, mode="client").close()  # an owner that starts takes one of two cores
    ours, theirs = [], []
    for _ in range(9):
        theirs.append(handshake("-c", empty)[0])
        ours.append(handshake("-m", "graphmem", "mcp", "--vault", str(vault))[0])
    ratio = median(ours) / median(theirs)
    print(f"empty server {median(theirs):.2f} s, graphmem mcp {median(ours):.2f} s: {ratio:.2f}")
    assert ratio <= 1.5


@pytest.mark.parametrize(
    "arguments",
    [
        {"text": "Pump 1 moved.", "because": '["it leaked", "it was old"]'},
        {"text": "Pump 1 moved.", "because": "it leaked"},
        {"text": "Pump 1 moved.", "because": None, "facts": None, "project": None},
        {"text": "Pump 1 moved.", "facts": json.dumps([fact("1")]), "mood": "good"},
        {"text": "Pump 1 moved.", "facts": [json.dumps(fact("1"))]},
        {"text": "Pump 1 moved.", "facts": fact("1")},
    ],
)
def test_forms_that_clients_really_send_are_understood(
    vault: Path, arguments: dict[str, Any]
) -> None:
    async def session() -> None:
        async with server(vault) as client:
            stored = await call(client, "remember", **arguments)
            wanted = 2 if "old" in str(arguments) else int("1" in str(arguments.get("facts")))
            wanted = wanted or int(arguments.get("because") == "it leaked")
            assert [item["outcome"] for item in stored["items"]] == ["stored"] * wanted
            for limit in ("5", 5, None):
                await call(client, "intent_search", question="why?", limit=limit, mood=1)

    asyncio.run(session())


@pytest.mark.parametrize(
    ("tool", "arguments", "words"),
    [
        ("intent_search", {"question": "why?", "limit": "many"}, "limit"),
        ("get", {}, "ids"),
        ("remember", {"text": "x", "facts": ["Orion uses Basalt"]}, "facts.0"),
    ],
)
def test_a_refusal_names_the_field_and_shows_a_valid_call(
    vault: Path, tool: str, arguments: dict[str, Any], words: str
) -> None:
    async def session() -> None:
        async with server(vault) as client:
            with pytest.raises(Exception, match=f"{words}.*A valid call of {tool}: "):
                await call(client, tool, **arguments)

    asyncio.run(session())


@pytest.mark.parametrize(("version", "replaced"), [("0.0.9", True), ("99.0.0", False)])
def test_a_server_replaces_an_older_owner_but_no_newer_one(
    vault: Path, version: str, replaced: bool
) -> None:
    async def session() -> str:
        async with server(vault) as client:
            result = await client.call_tool("kg_query", {"name": "Pump"}, raise_on_error=False)
            return "" if not result.is_error else result.content[0].text

    with harness(vault, "--version", version) as process:
        said = asyncio.run(session())
        assert (process.poll() is not None) == replaced
        assert ("graphmem serve --stop" in said) == (not replaced)
        process.kill()
