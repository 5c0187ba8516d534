"""Who is not let in, and what a refusal says (BR-33)."""

from __future__ import annotations

import asyncio
import http.client
import json
import os
import stat
from pathlib import Path

import pytest
from fastmcp import Client
from fastmcp.client.transports import StreamableHttpTransport

from graphmem.serve.runtime import LOG_FILE
from graphmem.serve.tokens import load_tokens
from graphmem.serve.wire import MAX_BODY_BYTES
from tests.serve.conftest import PATH, Door, Start, owner_of

NOTE = json.dumps({"text": "A note."}).encode()


def test_a_good_request_is_answered(door: Door) -> None:
    status, text = door.ask()
    assert (status, json.loads(text)["supported"]) == (200, False)


@pytest.mark.parametrize("token", ["wrong", "", "x" * 43, "é"])
@pytest.mark.parametrize(
    "path", [PATH, "/api/v1/remember", "/api/openapi.json", "/mcp", "/nothing"]
)
def test_without_the_token_nothing_is_reachable(door: Door, path: str, token: str) -> None:
    status, text = door.ask(path, token=token)
    assert status == 401
    assert door.tokens.write not in text


@pytest.mark.parametrize(
    ("header", "value"),
    [
        ("Host", "evil.example"),
        ("Host", "127.0.0.1.evil.example"),
        ("Host", "192.168.0.7"),
        ("Origin", "https://evil.example"),
        ("Origin", "null"),
        ("Origin", "http://127.0.0.1:1"),
        ("Origin", "http://[broken"),
    ],
)
@pytest.mark.parametrize("path", [PATH, "/mcp", "/health"])
def test_a_foreign_host_or_origin_is_forbidden(
    door: Door, path: str, header: str, value: str
) -> None:
    assert door.ask(path, **{header: value})[0] == 403


def test_the_own_origin_may_call(door: Door) -> None:
    own = {"Origin": f"http://localhost:{door.port}", "Host": f"localhost:{door.port}"}
    assert door.ask(**own)[0] == 200


@pytest.mark.parametrize("name", ["remember", "ingest", "sync", "rebuild"])
def test_the_read_token_cannot_write(door: Door, name: str) -> None:
    assert door.ask(f"/api/v1/{name}", NOTE, token=door.tokens.read)[0] == 403
    assert door.ask(token=door.tokens.read)[0] == 200


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", ""])
@pytest.mark.parametrize("path", ["/api/v1/remember", "/mcp"])
def test_a_write_needs_json(door: Door, path: str, kind: str) -> None:
    assert door.ask(path, NOTE, Content_Type=kind)[0] == 415


def test_an_oversize_body_is_refused_before_it_is_read(door: Door) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", door.port, timeout=20)
    connection.putrequest("POST", PATH)
    connection.putheader("Authorization", f"Bearer {door.tokens.write}")
    connection.putheader("Content-Type", "application/json")
    connection.putheader("Content-Length", str(MAX_BODY_BYTES + 1))
    connection.endheaders()
    assert connection.getresponse().status == 413
    connection.close()


def test_an_oversize_body_in_chunks_is_refused(door: Door) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", door.port, timeout=20)
    chunks = (b" " * 65_536 for _ in range(MAX_BODY_BYTES // 65_536 + 1))
    headers = {
        "Authorization": f"Bearer {door.tokens.write}",
        "Content-Type": "application/json",
    }
    try:
        connection.request("POST", PATH, chunks, headers, encode_chunked=True)
        assert connection.getresponse().status == 413
    finally:
        connection.close()


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[]",
        b"{",
        b"\xff\xfe",
        b'{"question": 5}',
        b'{"question": "x", "limit": 1e99}',
        b'{"question": "x", "limit": 99999999999999999999}',
        b'{"question": "x", "mood": "\\ud800"}',
        b'{"question": "x", "scope": {"seq": -1}}',
        b'{"question": "x", "scope": {"as_of": "0001-01-01T00:00:00+23:59"}}',
        b'{"question": "a\\u0000b"}',
        b'{"question": "\\ud800"}',
        b"[" * 5_000,
    ],
)
@pytest.mark.parametrize("name", ["search", "kg", "causes", "get", "graph", "remember", "ingest"])
def test_no_body_is_a_server_error(door: Door, name: str, body: bytes) -> None:
    for field in (b"name", b"start", b"around", b"text"):
        status, text = door.ask(f"/api/v1/{name}", body.replace(b"question", field))
        assert status < 500 or status == 503, text
    status, text = door.ask(f"/api/v1/{name}", body)
    assert status < 500 or status == 503, text


def test_health_says_nothing_but_that_it_is_there(door: Door) -> None:
    assert door.ask("/health", None, "GET", token="") == (200, '{"status":"ok"}')


def test_refusals_are_logged_without_secrets(door: Door) -> None:
    door.ask(token="a-guess-at-the-token")
    door.ask(Host="evil.example")
    log = (door.vault / LOG_FILE).read_text()
    assert "401" in log and "403" in log
    for secret in ("a-guess-at-the-token", door.tokens.read, door.tokens.write, "Bearer "):
        assert secret not in log.replace("Authorization: Bearer;", "")


def test_the_tokens_are_private_random_and_different(door: Door) -> None:
    mode = stat.S_IMODE(os.stat(door.vault / "tokens.json").st_mode)
    assert mode == 0o600
    assert len({door.tokens.read, door.tokens.write}) == 2
    assert all(len(each) >= 43 for each in (door.tokens.read, door.tokens.write))
    assert door.tokens.write not in repr(door.tokens)


def test_mcp_over_http_reads_with_one_token_and_writes_with_the_other(door: Door) -> None:
    def client(token: str) -> Client[StreamableHttpTransport]:
        address = f"http://127.0.0.1:{door.port}/mcp"
        headers = {"Authorization": f"Bearer {token}"}
        return Client(StreamableHttpTransport(address, headers=headers))

    async def session() -> None:
        note = {"text": "Orion moved.", "facts": [{"subject": "Orion", "predicate": "uses"}]}
        note["facts"][0]["object"] = "Basalt"  # type: ignore[index]
        async with client(door.tokens.read) as reader, client(door.tokens.write) as writer:
            with pytest.raises(Exception, match="only read"):
                await reader.call_tool("remember", note)
            await writer.call_tool("remember", note)
            found = await reader.call_tool("kg_query", {"name": "Orion"})
            assert found.structured_content is not None
            assert found.structured_content["entities"][0]["facts"][0]["object"] == "Basalt"

    asyncio.run(session())


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1"])
def test_an_address_others_can_reach_is_refused_and_says_why(
    serve: Start, vault: Path, host: str
) -> None:
    process = serve("--host", host, ready=False)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 2
    assert "reads everything stored" in said and "--allow-remote" in said
    assert not vault.exists()


def test_allowed_remotely_it_still_checks_host_and_token(serve: Start, vault: Path) -> None:
    serve("--host", "0.0.0.0", "--allow-remote")
    door = Door(vault, owner_of(vault).port or 0, load_tokens(vault))
    assert door.ask()[0] == 200
    assert door.ask(Host="192.168.0.7")[0] == 200
    assert door.ask(Host="evil.example")[0] == 403
    assert door.ask(token="wrong")[0] == 401
