"""``graphmem mcp`` speaks the protocol to the letter, whatever a client sends."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import graphmem
from graphmem.serve.stdio import MAX_MESSAGE_BYTES, VERSIONS
from graphmem.settings import Settings
from tests.serve.conftest import end_owners, owner_of, wait_for

READY = {"jsonrpc": "2.0", "method": "notifications/initialized"}


def request(number: Any, method: str, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": params}


def call(number: Any, tool: str, **arguments: Any) -> dict[str, Any]:
    return request(number, "tools/call", name=tool, arguments=arguments)


def hello(version: str = VERSIONS[-1]) -> dict[str, Any]:
    client = {"name": "test", "version": "1"}
    return request(0, "initialize", protocolVersion=version, capabilities={}, clientInfo=client)


class Peer:
    """A running server and the lines it wrote."""

    def __init__(self, vault: Path, **environment: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "graphmem", "mcp", "--vault", str(vault)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, **environment},
        )
        self._said: list[bytes] = []
        self._reader = threading.Thread(target=self._drain)  # so that it never blocks on it
        self._reader.start()

    def _drain(self) -> None:
        assert self.process.stderr is not None
        self._said.append(self.process.stderr.read())

    def send(self, *messages: object) -> None:
        assert self.process.stdin is not None
        for each in messages:
            data = each if isinstance(each, bytes) else json.dumps(each).encode()
            self.process.stdin.write(data + b"\n")
        self.process.stdin.flush()

    def read(self) -> Any:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line.endswith(b"\n"), self._said
        return json.loads(line)

    def ask(self, message: object) -> Any:
        self.send(message)
        return self.read()

    def close(self) -> bytes:
        """Closes the input; what was still written after it."""
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.close()
        rest = self.process.stdout.read()
        self.process.stdout.close()
        self.process.wait(timeout=20)
        self._reader.join()
        assert self.process.stderr is not None
        self.process.stderr.close()
        return rest


@pytest.fixture
def peer(vault: Path) -> Iterator[Peer]:
    """A server on a vault of its own whose owner runs."""
    graphmem.open(vault, mode="client").close()
    peer = Peer(vault)
    yield peer
    if not peer.process.stdin.closed:  # type: ignore[union-attr]
        peer.close()


@pytest.fixture(scope="module")
def spoken(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Peer]:
    """A server that all tests of mere words share."""
    vault = tmp_path_factory.mktemp("spoken") / "vault"
    settings = Settings(embedder="none", idle_exit="120s")
    graphmem.open(vault, mode="client", settings=settings).close()
    peer = Peer(vault)
    yield peer
    peer.close()
    end_owners(vault)


@pytest.mark.parametrize(
    ("asked", "given"), [*((v, v) for v in VERSIONS), ("1999-01-01", VERSIONS[-1])]
)
def test_the_version_is_the_clients_when_it_is_known(spoken: Peer, asked: str, given: str) -> None:
    result = spoken.ask(hello(asked))["result"]
    assert result["protocolVersion"] == given
    assert result["capabilities"] == {"tools": {"listChanged": False}}
    assert "evidence" in result["instructions"]


@pytest.mark.parametrize(
    ("message", "code", "number"),
    [
        (b"{half", -32700, None),
        (b"\xff\xfe", -32700, None),
        (b"[" * 100_000, -32700, None),
        ([], -32600, None),
        (1, -32600, None),
        ({"id": 5, "method": "ping"}, -32600, 5),
        ({"jsonrpc": "2.0", "id": 5, "method": 7}, -32600, 5),
        ({"jsonrpc": "2.0", "id": {"a": 1}, "method": "ping"}, -32600, None),
        (request(5, "resources/list"), -32601, 5),
        (request("x", "prompts/list"), -32601, "x"),
        (request(5, "tools/call"), -32602, 5),
        (request(5, "tools/call", name="get", arguments=[1]), -32602, 5),
        ({"jsonrpc": "2.0", "id": 5, "method": "ping", "params": [1]}, -32602, 5),
        (b'"' + b"x" * MAX_MESSAGE_BYTES + b'"', -32600, None),
    ],
    ids=lambda value: str(value)[:40],
)
def test_what_is_wrong_has_its_code_and_the_next_message_is_answered(
    spoken: Peer, message: object, code: int, number: Any
) -> None:
    reply = spoken.ask(message)
    assert (reply["error"]["code"], reply["id"]) == (code, number)
    assert spoken.ask(request(6, "ping")) == {"jsonrpc": "2.0", "id": 6, "result": {}}


def test_notices_replies_and_blank_lines_are_not_answered(spoken: Peer) -> None:
    unknown = {"jsonrpc": "2.0", "method": "notifications/whatever"}
    spoken.send(READY, unknown, b"", b"   ", {"jsonrpc": "2.0", "id": 9, "result": {}})
    assert spoken.ask(request(6, "ping"))["id"] == 6


def test_a_batch_is_answered_as_one_with_calls_in_it(spoken: Peer) -> None:
    replies = spoken.ask([READY, request(1, "ping"), 7, call("two", "kg_query", name="Pump 1")])
    assert {str(reply["id"]) for reply in replies} == {"1", "two", "None"}
    assert spoken.ask(request(6, "ping"))["id"] == 6


def test_unknown_tools_and_unreadable_text_are_errors_of_the_call(spoken: Peer) -> None:
    assert spoken.ask(call(1, "nope"))["result"]["isError"]
    reply = spoken.ask(
        b'{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"remember",'
        b'"arguments":{"text":"half \\ud800"}}}'
    )
    assert reply["result"]["isError"]
    text = "Die Pumpe \N{ELEPHANT} “läuft” \u2028 weiter."
    assert not spoken.ask(call(3, "remember", text=text))["result"].get("isError")


def test_a_ping_overtakes_calls_and_a_cancelled_call_is_not_answered(
    peer: Peer, vault: Path
) -> None:
    pid = owner_of(vault).pid
    os.kill(pid, signal.SIGSTOP)
    try:
        peer.send(call(1, "kg_query", name="Pump 1"), call(2, "kg_query", name="Pump 2"))
        assert peer.ask(request(3, "ping"))["id"] == 3
        assert peer.ask(call(1, "get", ids=[]))["error"]["code"] == -32600  # the id still runs
        notice = {"requestId": 1, "reason": "enough"}
        peer.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": notice})
        assert peer.ask(request(4, "ping"))["id"] == 4
    finally:
        os.kill(pid, signal.SIGCONT)
    assert peer.read()["id"] == 2
    assert peer.ask(request(5, "ping"))["id"] == 5


def test_calls_under_way_when_the_input_ends_are_answered(peer: Peer) -> None:
    peer.ask(call(1, "kg_query", name="Pump 1"))
    peer.send(call(2, "kg_query", name="Pump 1"))
    assert json.loads(peer.close())["id"] == 2
    assert peer.process.returncode == 0


def test_it_leaves_within_two_seconds_though_an_owner_is_silent(peer: Peer, vault: Path) -> None:
    pid = owner_of(vault).pid
    os.kill(pid, signal.SIGSTOP)
    try:
        peer.send(call(1, "kg_query", name="Pump 1"))
        assert peer.ask(request(2, "ping"))["id"] == 2
        begun = time.monotonic()
        assert peer.close() == b""
        assert time.monotonic() - begun < 2
    finally:
        os.kill(pid, signal.SIGCONT)


def test_a_client_that_reads_no_more_ends_it(peer: Peer) -> None:
    assert peer.process.stdout is not None
    peer.process.stdout.close()
    peer.send(request(1, "ping"))
    assert peer.process.wait(timeout=20) == 0
    peer.process.stdin.close()  # type: ignore[union-attr]
    peer.process.stderr.close()  # type: ignore[union-attr]


def test_a_write_whose_owner_dies_is_stored_once(peer: Peer, vault: Path) -> None:
    peer.ask(call(1, "remember", text="Pump 1 moved."))
    pid = owner_of(vault).pid
    os.kill(pid, signal.SIGSTOP)
    peer.send(*(call(n, "remember", text=f"Pump {n} moved.") for n in range(2, 12)))
    assert peer.ask(request("there", "ping"))["id"] == "there"
    os.kill(pid, signal.SIGKILL)
    replies = [peer.read() for _ in range(2, 12)]
    assert {reply["id"] for reply in replies} == set(range(2, 12))
    assert not [reply for reply in replies if reply["result"].get("isError")]
    with graphmem.open(vault) as memory:
        assert memory.status().counts["source"] == 11


def test_from_start_to_end_every_line_is_protocol(vault: Path) -> None:
    """BR-28: an old console code page, no model, each tool called once."""
    peer = Peer(vault, PYTHONIOENCODING="cp1252", HF_HOME=str(vault / "none"), PYTHONUTF8="0")
    listed = peer.ask(hello()), peer.ask(request(1, "tools/list"))
    tools = [tool["name"] for tool in listed[1]["result"]["tools"]]
    assert listed[1]["result"].get("nextCursor") is None
    arguments: dict[str, dict[str, Any]] = {
        "remember": {"text": "Pump 1 — “läuft” \N{ELEPHANT}."},
        "kg_query": {"name": "Pump 1"},
        "find_causal_links": {"start": "Pump 1"},
        "intent_search": {"question": "why?"},
        "get": {"ids": ["psg:1"]},
    }
    assert set(tools) == set(arguments)
    for number, tool in enumerate(tools, 2):
        reply = peer.ask(call(number, tool, **arguments[tool]))
        assert reply["id"] == number and not reply["result"].get("isError"), reply
    assert peer.close() == b""
    wait_for(lambda: peer.process.returncode == 0)
