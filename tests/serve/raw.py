"""HTTP by hand: what no well-behaved client library would send."""

from __future__ import annotations

import socket
from collections.abc import Sequence

from tests.serve.conftest import PATH, SEARCH, Door


def send(address: int | str, *parts: bytes, timeout: float = 20.0) -> bytes:
    """What is answered until the owner closes; an address is a port or a socket's path."""
    family = socket.AF_INET if isinstance(address, int) else socket.AF_UNIX
    with socket.socket(family) as line:
        line.settimeout(timeout)
        line.connect(("127.0.0.1", address) if isinstance(address, int) else address)
        answer = b""
        try:
            for part in parts:
                line.sendall(part)
            while more := line.recv(65_536):
                answer += more
        except ConnectionError:
            pass
        return answer


def request(
    door: Door,
    *headers: str,
    line: str = f"POST {PATH} HTTP/1.1",
    body: bytes = SEARCH,
    host: str | None = None,
    kind: str | None = "application/json",
    length: bool = True,
    token: str | None = None,
) -> bytes:
    """The bytes of a request that is right but for what is told."""
    lines = [line, "Connection: close", *headers]
    lines.append(f"Authorization: Bearer {door.tokens.write if token is None else token}")
    lines += [f"Host: {host or f'127.0.0.1:{door.port}'}"] if host != "" else []
    lines += [f"Content-Type: {kind}"] if kind else []
    lines += [f"Content-Length: {len(body)}"] if length else []
    return "\r\n".join([*lines, "", ""]).encode("utf-8") + body


def status(answer: bytes) -> int:
    """The status of the first reply; 0 when there is none."""
    first: Sequence[bytes] = answer.split(b" ", 2)
    return int(first[1]) if len(first) > 2 else 0
