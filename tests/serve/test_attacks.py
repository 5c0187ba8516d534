"""What a page, a program or a person without the token may try, sent by hand (BR-33)."""

from __future__ import annotations

import json
import re
import socket
import time
from pathlib import Path

import pytest

from graphmem.model.ids import PASSAGE_PREFIX
from graphmem.serve.bodies import MAX_DEPTH, SILENCE_S
from graphmem.serve.heads import MAX_HEADERS
from graphmem.serve.patience import HEAD_S, MAX_HEAD_BYTES
from graphmem.serve.runtime import LOG_FILE
from graphmem.serve.tokens import load_tokens
from graphmem.serve.wire import MAX_BODY_BYTES
from tests.serve.conftest import Door, Start, owner_of
from tests.serve.raw import request, send, status

NOTE = json.dumps({"text": "A note of an attacker."}).encode()


def stored(door: Door) -> int:
    """How much is stored, as a sequence number."""
    return int(json.loads(door.ask("/api/v1/status", None, "GET")[1])["seq"])


# Host and Origin


@pytest.mark.parametrize("name", ["127.0.0.1", "localhost", "LOCALHOST", "[::1]"])
def test_every_name_of_this_machine_with_the_right_port_may_call(door: Door, name: str) -> None:
    assert status(send(door.port, request(door, host=f"{name}:{door.port}"))) == 200


@pytest.mark.parametrize(
    "host",
    [
        "localhost.evil.example:PORT",
        "127.0.0.1.evil.example:PORT",
        "localhost.:PORT",
        "127.0.0.1.:PORT",
        "user@localhost:PORT",
        "evil.example@127.0.0.1:PORT",
        "127.0.0.1:PORT@evil.example",
        "127.0.0.1:PORT, evil.example",
        "127.0.0.1",
        "127.0.0.1:1",
        "127.0.0.1:",
        "127.0.0.1:999999",
        "2130706433:PORT",
        "0x7f.1:PORT",
        "127.1:PORT",
        "0.0.0.0:PORT",
        "[::ffff:127.0.0.1]:PORT",
        "[::1%25lo]:PORT",
        "::1",
        "lo\u00a0calhost:PORT",
    ],
)
def test_a_name_that_only_looks_like_this_machine_is_forbidden(door: Door, host: str) -> None:
    answer = send(door.port, request(door, host=host.replace("PORT", str(door.port))))
    assert status(answer) in (400, 403)


@pytest.mark.parametrize("version", ["1.0", "1.1"])
def test_a_request_without_a_host_is_refused(door: Door, version: str) -> None:
    line = f"POST /api/v1/search HTTP/{version}"
    assert status(send(door.port, request(door, line=line, host=""))) in (400, 403)


def test_two_hosts_are_refused(door: Door) -> None:
    told = request(door, f"Host: localhost:{door.port}")
    assert status(send(door.port, told)) in (400, 403)


@pytest.mark.parametrize(
    "origin",
    [
        "null",
        "",
        "https://evil.example",
        "https://127.0.0.1:PORT",
        "http://127.0.0.1",
        "http://127.0.0.1:1",
        "http://localhost:PORT",
        "http://127.0.0.1:PORT.evil.example",
        "http://127.0.0.1:PORT@evil.example",
        "file://",
        "http://127.0.0.1:PORT http://evil.example",
    ],
)
def test_a_page_of_another_origin_is_forbidden(door: Door, origin: str) -> None:
    told = request(door, f"Origin: {origin.replace('PORT', str(door.port))}")
    assert status(send(door.port, told)) == 403


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_a_page_that_sends_no_origin_is_forbidden_by_its_site(door: Door, site: str) -> None:
    told = request(
        door, f"Sec-Fetch-Site: {site}", line="GET /health HTTP/1.1", body=b"", kind=None
    )
    assert status(send(door.port, told)) == 403


def test_a_preflight_gets_nothing_that_a_browser_would_take_as_leave(door: Door) -> None:
    asked = "Access-Control-Request-Method: POST"
    for origin in ("https://evil.example", f"http://127.0.0.1:{door.port}"):
        line = "OPTIONS /api/v1/remember HTTP/1.1"
        told = request(door, asked, f"Origin: {origin}", line=line, body=b"", token="none")
        answer = send(door.port, told)
        assert status(answer) in (401, 403)
        assert b"access-control" not in answer.lower()


def test_the_unix_socket_checks_name_origin_and_token_too(door: Door) -> None:
    path = owner_of(door.vault).socket
    assert path is not None
    assert status(send(path, request(door, host="localhost"))) == 200
    assert status(send(path, request(door, host="evil.example"))) == 403
    assert status(send(path, request(door, "Origin: null", host="localhost"))) == 403
    assert status(send(path, request(door, host="localhost", token="wrong"))) == 401


# bodies


@pytest.mark.parametrize(
    "kind",
    [
        "text/plain",
        "multipart/form-data; boundary=x",
        "application/json, text/plain",
        "text/plain; application/json",
        "application/json; charset=utf-8, text/plain",
        "application/json; charset=utf-16",
        "application/json-patch+json",
        "application/jsonp",
        None,
    ],
)
def test_only_plain_json_is_taken(door: Door, kind: str | None) -> None:
    line = "POST /api/v1/remember HTTP/1.1"
    before = stored(door)
    assert status(send(door.port, request(door, line=line, body=NOTE, kind=kind))) == 415
    assert stored(door) == before


@pytest.mark.parametrize("kind", ["application/json; charset=utf-8", "Application/JSON"])
def test_json_may_name_its_charset(door: Door, kind: str) -> None:
    assert status(send(door.port, request(door, kind=kind))) == 200


def test_two_content_types_and_compressed_bodies_are_refused(door: Door) -> None:
    assert status(send(door.port, request(door, "Content-Type: text/plain"))) == 415
    assert status(send(door.port, request(door, "Content-Encoding: gzip"))) == 415


def test_a_body_without_end_is_cut_while_it_comes(door: Door) -> None:
    head = request(door, "Transfer-Encoding: chunked", body=b"", length=False)
    chunk = b"10000\r\n" + b" " * 65_536 + b"\r\n"
    chunks = [chunk] * (MAX_BODY_BYTES // 65_536 + 2)
    assert status(send(door.port, head, *chunks)) in (0, 413)
    log = (door.vault / LOG_FILE).read_text()
    assert "413" in log


@pytest.mark.parametrize("length", ["x", "-1", "1e3", "+5"])
def test_a_length_that_is_no_number_is_refused(door: Door, length: str) -> None:
    told = request(door, f"Content-Length: {length}", length=False)
    assert status(send(door.port, told)) == 400


def test_a_write_that_was_not_sent_to_its_end_does_not_happen(door: Door) -> None:
    line = "POST /api/v1/remember HTTP/1.1"
    before = stored(door)
    head = request(door, f"Content-Length: {len(NOTE) + 10}", line=line, body=NOTE, length=False)
    with socket.create_connection(("127.0.0.1", door.port), timeout=20) as half:
        half.sendall(head)
        time.sleep(0.3)
    time.sleep(0.5)
    assert stored(door) == before
    assert door.ask()[0] == 200


@pytest.mark.parametrize(
    "body",
    [
        b"[" * 100_000,
        b"[" * 5_000 + b"]" * 5_000,
        b'{"a":' * 5_000 + b"1" + b"}" * 5_000,
        b'{"question": "x", "scope": ' + b"[" * 90 + b"]" * 90 + b"}",
        b"{" * (MAX_DEPTH + 1) + b"}" * (MAX_DEPTH + 1),
        b"NaN",
        b'{"question": NaN}',
        b'{"question": "x", "limit": Infinity}',
        b'{"question": "x", "limit": ' + b"9" * 5_000 + b"}",
        b'{"question": "x", "limit": -1e400}',
        b'{"question": "x", "\\ud800": 1}',
        b'{"question": "x", "max_tokens": 1e308}',
        b'{"question": "x", "scope": {"as_of": 1e300}}',
        b'{"question": "x", "scope": {"as_of": "99999-01-01"}}',
        b'{"question": "x", "scope": {"projects": ["\\ud800"]}}',
    ],
)
@pytest.mark.parametrize("path", ["/api/v1/search", "/mcp"])
def test_a_strange_body_is_the_callers_fault(door: Door, path: str, body: bytes) -> None:
    line = f"POST {path} HTTP/1.1"
    answer = send(door.port, request(door, "Accept: application/json, text/event-stream",
                                     line=line, body=body))  # fmt: skip
    assert 400 <= status(answer) < 500, answer
    assert b"Traceback" not in answer


def test_brackets_in_text_are_no_nesting(door: Door) -> None:
    question = '["' * 200 + "\\" * 3 + '{"' * 100
    body = json.dumps({"question": question}).encode()
    assert status(send(door.port, request(door, body=body))) == 200


def test_a_key_that_comes_twice_counts_once(door: Door) -> None:
    body = b'{"question": "one?", "question": "two?"}'
    answer = send(door.port, request(door, body=body))
    assert status(answer) == 200 and b'"question":"two?"' in answer


# connections


def test_a_flood_of_headers_is_refused(door: Door) -> None:
    flood = [f"X-Flood-{number}: {'x' * 100}" for number in range(MAX_HEAD_BYTES // 100)]
    many = [f"X-{number}: x" for number in range(MAX_HEADERS)]
    assert status(send(door.port, request(door, *many))) == 431
    assert status(send(door.port, request(door, *flood))) in (0, 400, 431)
    assert door.ask()[0] == 200


@pytest.mark.parametrize("upgrade", ["websocket", "WebSocket"])
@pytest.mark.parametrize("path", ["/mcp", "/api/v1/hello", "/health"])
def test_no_websocket_is_opened(door: Door, path: str, upgrade: str) -> None:
    headers = ("Upgrade: " + upgrade, "Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: AAAA")
    told = request(door, *headers, line=f"GET {path} HTTP/1.1", body=b"", kind=None)
    answer = send(door.port, told.replace(b"Connection: close", b"Connection: Upgrade"))
    assert status(answer) == 400


@pytest.mark.parametrize("line", ["TRACE", "CONNECT", "PROPFIND", "PATCH", "PUT"])
def test_other_methods_are_refused(door: Door, line: str) -> None:
    for path in ("/health", "/api/v1/search"):
        told = request(door, line=f"{line} {path} HTTP/1.1")
        assert 400 <= status(send(door.port, told)) < 500


@pytest.mark.parametrize(
    "path",
    [
        "/api/v1/../../etc/passwd",
        "/..%2f..%2fetc%2fpasswd",
        "//evil.example/api/v1/hello",
        "/api/v1/remember/",
        "/api/v1/Remember",
        "/mcp/../api/v1/remember",
        "/%00",
        "/api/v1/hello%0d%0aX: y",
        "/.well-known/oauth-authorization-server",
        "/docs",
        "http://evil.example/api/v1/hello",
    ],
)
def test_a_path_that_is_none_leads_nowhere(door: Door, path: str) -> None:
    for method in ("GET", "POST"):
        told = request(door, line=f"{method} {path} HTTP/1.1", token=door.tokens.read)
        assert 300 <= status(send(door.port, told)) < 500
        told = request(door, line=f"{method} {path} HTTP/1.1", body=NOTE)
        assert 300 <= status(send(door.port, told)) < 500


@pytest.mark.slow
def test_connections_that_stall_are_closed_and_others_are_served(door: Door) -> None:
    begun = time.monotonic()
    silent = send(door.port, timeout=HEAD_S * 4)
    half = send(door.port, b"POST /api/v1/search HTTP/1.1\r\nX: ", timeout=HEAD_S * 4)
    body = request(door, "Content-Length: 500", body=b"{", length=False)
    slow = send(door.port, body, timeout=SILENCE_S * 4)
    assert (silent, half, status(slow)) == (b"", b"", 408)
    assert door.ask()[0] == 200
    print(f"3 stalled connections closed in {time.monotonic() - begun:.0f} s")


# tokens


def test_a_token_in_a_wrong_place_is_neither_taken_nor_logged(door: Door) -> None:
    secret = door.tokens.write
    lines = [
        f"GET /api/v1/hello?token={secret} HTTP/1.1",
        f"GET /api/v1/hello?access_token={secret} HTTP/1.1",
        f"GET /{secret} HTTP/1.1",
        f"GET /{'x' * 80}{secret} HTTP/1.1",
        f"GET /mcp/{secret}?key={secret} HTTP/1.1",
    ]
    for line in lines:
        answer = send(door.port, request(door, line=line, body=b"", kind=None, token="none"))
        assert status(answer) == 401
        assert secret.encode() not in answer
    for header in (f"Cookie: token={secret}", f"X-Api-Key: {secret}", f"Authorization: {secret}"):
        answer = send(door.port, request(door, header, token="none"))
        assert status(answer) == 401
    log = (door.vault / LOG_FILE).read_text()
    assert len(re.findall(r"refused 127\.0\.0\.1:\d+: GET .* 401 ", log)) >= len(lines)
    for at in range(0, len(secret) - 12):
        assert secret[at : at + 12] not in log


def test_a_token_sent_as_an_argument_is_not_logged(door: Door) -> None:
    secret = door.tokens.write
    accept = "Accept: application/json, text/event-stream"
    for arguments in ({"question": [secret]}, {"question": "x", "limit": secret}, {secret: 1}):
        assert door.ask("/api/v1/search", json.dumps(arguments).encode())[0] == 422
        call = {"name": "intent_search", "arguments": arguments}
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
        body = json.dumps(message).encode()
        send(door.port, request(door, accept, line="POST /mcp HTTP/1.1", body=body))
    assert secret not in (door.vault / LOG_FILE).read_text()


@pytest.mark.parametrize("value", ["é", "\u20ac" * 10, "x" * 10_000, "", "Bearer"])
def test_a_strange_token_is_refused_like_any_other(door: Door, value: str) -> None:
    assert status(send(door.port, request(door, token=value))) == 401


def test_replies_are_private_and_name_no_server(door: Door) -> None:
    lines = {"GET /health HTTP/1.1": 200, "GET /nothing HTTP/1.1": 404}
    lines |= {"GET /api/v1/hello HTTP/1.1": 200, "GET /api/v1/search HTTP/1.1": 405}
    for line, code in lines.items():
        answer = send(door.port, request(door, line=line, body=b"", kind=None))
        head = answer.partition(b"\r\n\r\n")[0].lower()
        assert status(answer) == code
        assert b"cache-control: no-store" in head and b"nosniff" in head
        assert b"server:" not in head
    answer = send(door.port, request(door, token="none"))
    assert b"no-store" in answer and b"server:" not in answer.lower()


# what a token opens


def test_the_read_token_changes_nothing_whatever_it_tries(door: Door) -> None:
    before = stored(door)
    for name in ("remember", "ingest", "sync", "rebuild"):
        for path in (f"/api/v1/{name}", f"/api/v1/{name}/", f"/API/v1/{name}", f"/mcp/{name}"):
            code, _ = door.ask(path, NOTE, token=door.tokens.read)
            assert code in (403, 404)
    assert stored(door) == before


def mcp(door: Door, token: str, message: dict[str, object], session: str = "") -> tuple[str, str]:
    """The session id and the text of the reply to one message by hand."""
    headers = ["Accept: application/json, text/event-stream"]
    headers += [f"Mcp-Session-Id: {session}"] if session else []
    body = json.dumps({"jsonrpc": "2.0", **message}).encode()
    line = "POST /mcp HTTP/1.1"
    answer = send(door.port, request(door, *headers, line=line, body=body, token=token)).decode()
    found = re.search(r"mcp-session-id: (\S+)", answer, re.I)
    return found[1] if found else "", answer


def test_a_reader_in_a_writers_session_stays_a_reader(door: Door) -> None:
    hello = {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    }
    start: dict[str, object] = {"id": 1, "method": "initialize", "params": hello}
    session, _ = mcp(door, door.tokens.write, start)
    assert session
    mcp(door, door.tokens.write, {"method": "notifications/initialized"}, session)
    call = {"name": "remember", "arguments": {"text": "Taken over."}}
    before = stored(door)
    told: dict[str, object] = {"id": 2, "method": "tools/call", "params": call}
    _, answer = mcp(door, door.tokens.read, told, session)
    assert "only read" in answer and stored(door) == before
    _, answer = mcp(door, door.tokens.write, told, session)
    assert PASSAGE_PREFIX in answer and stored(door) > before


@pytest.mark.parametrize("method", ["GET", "DELETE", "POST"])
def test_sessions_of_mcp_are_behind_the_same_door(door: Door, method: str) -> None:
    headers = ("Accept: text/event-stream", "Mcp-Session-Id: 0")
    line = f"{method} /mcp HTTP/1.1"
    assert status(send(door.port, request(door, *headers, line=line, token="wrong"))) == 401
    assert status(send(door.port, request(door, *headers, line=line, host="evil"))) == 403


# files


def test_a_vaults_own_files_are_never_read(door: Door) -> None:
    for path in (door.vault, door.vault / "tokens.json", door.vault / LOG_FILE):
        body = json.dumps({"paths": [str(path)], "pattern": "*"}).encode()
        code, text = door.ask("/api/v1/ingest", body)
        assert code == 200 and "is a vault" in text
        assert json.loads(text)["read"] == 0


def test_from_other_machines_only_known_folders_are_read(
    serve: Start, vault: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    notes = tmp_path_factory.mktemp("notes")
    (notes / "a.md").write_text("The pump stopped because the seal cracked.\n")
    other = tmp_path_factory.mktemp("other")
    (other / "b.md").write_text("Secret.\n")
    (notes / "link").symlink_to(other)
    serve("--host", "0.0.0.0", "--allow-remote")
    door = Door(vault, owner_of(vault).port or 0, load_tokens(vault))
    body = json.dumps({"paths": [str(notes)]}).encode()
    assert door.ask("/api/v1/ingest", body)[0] == 403
    local = owner_of(vault).socket
    assert local is not None
    line = "POST /api/v1/ingest HTTP/1.1"
    assert status(send(local, request(door, line=line, body=body, host="localhost"))) == 200
    assert door.ask("/api/v1/ingest", body)[0] == 200
    for out in (other, notes / ".." / other.name, notes / "link", "/etc/passwd"):
        assert door.ask("/api/v1/ingest", json.dumps({"paths": [str(out)]}).encode())[0] == 403
