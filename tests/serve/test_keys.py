"""An owner killed between commit and reply: the retry gets the first outcome."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from fastmcp import Client
from fastmcp.client.transports import StdioTransport

import graphmem
from graphmem.errors import KeyReusedError, OwnerError
from graphmem.serve.remote import RemoteMemory
from graphmem.serve.start import find_owner
from graphmem.serve.tokens import load_tokens
from graphmem.settings import read_settings
from tests.serve.conftest import Door, alive, owner_of, wait_for

HARNESS = Path(__file__).with_name("harness.py")
Harness = Callable[..., "subprocess.Popen[bytes]"]


@pytest.fixture
def harness(vault: Path) -> Iterator[Harness]:
    running: list[subprocess.Popen[bytes]] = []

    def start(*arguments: str) -> subprocess.Popen[bytes]:
        process = subprocess.Popen([sys.executable, str(HARNESS), str(vault), *arguments])
        running.append(process)
        wait_for(lambda: find_owner(vault) is not None)
        return process

    yield start
    for process in running:
        process.kill()
        process.wait()


@pytest.mark.parametrize(
    "point",
    [
        "after_journal",
        pytest.param("after_index", marks=pytest.mark.slow),
        pytest.param("in_graph", marks=pytest.mark.slow),
        "before_publish",
    ],
)
def test_a_note_whose_reply_was_lost_is_stored_once(
    harness: Harness, vault: Path, point: str
) -> None:
    first = harness("--kill", point, "1")
    memory = RemoteMemory(vault, read_settings())
    told = memory.remember("Orion moved.", facts=["Orion|uses|Basalt"], because="Chalk broke.")
    assert first.wait(10) == -signal.SIGKILL
    assert told.repeated
    assert [item.outcome for item in told.items] == ["stored", "stored"]
    assert memory.status().counts["source"] == 1
    assert [item.id for item in memory.get([i.id for i in told.items if i.id]).items] == [
        item.id for item in told.items
    ]


def test_a_key_of_the_caller_is_kept_over_restarts(harness: Harness, vault: Path) -> None:
    first = harness()
    memory = RemoteMemory(vault, read_settings())
    told = memory.remember("Orion moved.", facts=["Orion|uses|Basalt"], key="agent-1")
    assert not told.repeated
    os.kill(first.pid, signal.SIGKILL)
    first.wait()
    again = memory.remember("Orion moved.", facts=["Orion|uses|Basalt"], key="agent-1")
    assert again == told.model_copy(update={"repeated": True})
    with pytest.raises(KeyReusedError, match="agent-1"):
        memory.remember("Something else.", key="agent-1")
    assert memory.status().counts["source"] == 1


@pytest.mark.slow
def test_an_ingest_goes_on_after_the_owner_died_and_reports_all(
    harness: Harness, vault: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "many"
    folder.mkdir()
    for n in range(650):
        (folder / f"n{n}.md").write_text(f"Seal {n} cracked because coolant {n} ran dry.\n")
    with graphmem.open(tmp_path / "whole", mode="embedded") as whole:
        expected = whole.ingest(folder)
    first = harness("--kill", "after_journal", "3")
    memory = RemoteMemory(vault, read_settings())
    report = memory.ingest(folder)
    assert first.wait(10) == -signal.SIGKILL
    assert report.model_copy(update={"seconds": 0.0}) == expected.model_copy(
        update={"seconds": 0.0}
    )
    assert memory.status().counts["source"] == 650


def test_a_second_death_is_an_error_that_says_what_to_do(
    harness: Harness, vault: Path, notes: Path
) -> None:
    harness("--kill", "after_journal", "1")
    memory = RemoteMemory(vault, read_settings())
    lost = 0
    honest = memory._connected

    def next_owner_dies_too() -> Any:
        nonlocal lost
        lost += 1
        if lost == 2:
            wait_for(lambda: find_owner(vault) is None)
            harness("--kill", "after_journal", "1")
        return honest()

    memory._connected = next_owner_dies_too  # type: ignore[method-assign]
    with pytest.raises(OwnerError, match="try again"):
        memory.ingest(notes)
    assert lost == 2


def test_over_http_a_key_of_another_call_is_409(door: Door) -> None:
    def ask(text: str) -> tuple[int, dict[str, Any]]:
        body = json.dumps({"text": text}).encode()
        status, said = door.ask("/api/v1/remember", body, Idempotency_Key="h-1")
        return status, json.loads(said)

    status, first = ask("Orion moved.")
    assert (status, first["repeated"]) == (200, False)
    status, again = ask("Orion moved.")
    assert (status, again) == (200, {**first, "repeated": True})
    status, refused = ask("Orion stayed.")
    assert (status, refused["error"]["code"]) == (409, "KeyReusedError")


def test_the_mcp_server_repeats_a_lost_note_once(harness: Harness, vault: Path) -> None:
    first = harness("--kill", "after_journal", "1")

    async def session() -> None:
        arguments = ["-m", "graphmem", "mcp", "--vault", str(vault)]
        transport = StdioTransport(sys.executable, arguments, env=dict(os.environ))
        async with Client(transport) as client:
            told = await client.call_tool("remember", {"text": "Orion moved."})
            assert told.structured_content["repeated"]
            assert first.wait(10) == -signal.SIGKILL

    asyncio.run(session())
    with graphmem.open(vault) as memory:
        assert memory.status().counts["source"] == 1


@pytest.mark.slow
def test_a_killed_owner_leaves_nothing_in_the_way(harness: Harness, vault: Path) -> None:
    first = harness()
    told = json.loads((vault / "owner.json").read_text())
    first.kill()
    first.wait()
    for text in (json.dumps({**told, "pid": os.getpid()}), "no json", "", "[1]", '{"pid": "x"}'):
        (vault / "owner.json").write_text(text)
        with graphmem.open(vault, mode="client") as memory:
            assert memory.status().seq == 0
            pid = owner_of(vault).pid
        os.kill(pid, signal.SIGKILL)
        wait_for(lambda pid=pid: not alive(pid))  # type: ignore[misc]


def test_a_long_read_is_cut_and_the_owner_lives_on(harness: Harness, vault: Path) -> None:
    process = harness("--slow-read", "3", "--read-timeout", "0.3")
    memory = RemoteMemory(vault, read_settings())
    with pytest.raises(graphmem.VaultError, match="took longer than"):
        memory.kg_query("slow")
    holder = owner_of(vault)

    async def over_mcp() -> None:
        url = f"http://127.0.0.1:{holder.port}/mcp"
        async with Client(url, auth=load_tokens(vault).read) as client:
            with pytest.raises(Exception, match="took longer than"):
                await client.call_tool("kg_query", {"name": "slow"})
            await client.call_tool("kg_query", {"name": "Orion"})

    asyncio.run(over_mcp())
    assert memory.kg_query("Orion").entities == ()
    assert process.poll() is None
