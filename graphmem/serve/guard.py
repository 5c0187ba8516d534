"""The door of the owner process: who may come in, with what, before any handler runs.

A web page in the user's browser can send requests to loopback (DNS rebinding, forms), so the
``Host`` and ``Origin`` are checked as well as the token. Refusals are logged without headers.
"""

from __future__ import annotations

import ipaddress
import json
import logging
import re
import time
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any
from urllib.parse import urlsplit

from graphmem.serve.tokens import Role, Tokens
from graphmem.serve.wire import API, MAX_BODY_BYTES, ErrorBody, ErrorReply

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

LOG = logging.getLogger("graphmem.owner")
# Names under which this machine reaches itself.
LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})
# What the read token opens; everything else needs the one that may write.
READ_PATHS = frozenset(
    {
        "/api/openapi.json",
        *(
            f"{API}/{name}"
            for name in ("hello", "status", "search", "kg", "causes", "get", "graph", "export")
        ),
    }
)
# Where tools check the role themselves: reads and writes come to one address.
MCP_PATH = "/mcp"
# Reachable without a token; says nothing but that someone is there.
HEALTH_PATH = "/health"
# The scope's key under which handlers find the role.
ROLE = "graphmem.role"

_HOST = re.compile(r"(?:\[(?P<six>[0-9a-f:.]+)\]|(?P<name>[a-z0-9._-]+))(?::\d{1,5})?", re.I)


@dataclass(slots=True)
class Activity:
    """Requests that run and when the last one ended, on the monotonic clock in seconds."""

    clock: Callable[[], float] = time.monotonic
    running: int = 0
    last: float = field(default=0.0)

    def __post_init__(self) -> None:
        self.last = self.clock()

    def begin(self) -> None:
        """A request came in."""
        self.running += 1

    def end(self) -> None:
        """A request is answered."""
        self.running -= 1
        self.last = self.clock()

    def idle_s(self) -> float:
        """Seconds without a request; 0 while one runs."""
        return 0.0 if self.running else self.clock() - self.last


@dataclass(frozen=True, slots=True)
class Refused(Exception):
    """A request that goes no further."""

    status: HTTPStatus
    reason: str


def host_name(value: str) -> str | None:
    """The name in a ``Host`` header without its port, None when it is not well formed."""
    found = _HOST.fullmatch(value)
    return None if found is None else (found["six"] or found["name"]).lower()


class Guard:
    """An ASGI application around another one."""

    def __init__(
        self,
        app: App,
        tokens: Tokens,
        activity: Activity,
        *,
        remote: bool = False,
        names: frozenset[str] = LOOPBACK,
    ) -> None:
        """``remote`` also lets in any address in digits, as none can be rebound; never a name
        that is not in ``names``."""
        self._app, self._tokens, self._activity = app, tokens, activity
        self._remote, self._names = remote, names

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers one request."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            return
        counted = scope["path"] != HEALTH_PATH
        if counted:
            self._activity.begin()
        try:
            body = await self._admit(scope, receive)
        except Refused as refusal:
            LOG.warning(
                "refused %s %r: %d %s",
                scope["method"],
                scope["path"][:100],
                refusal.status,
                refusal.reason,
            )
            await _answer(send, refusal)
        else:
            await self._app(scope, _again(body, receive), send)
        finally:
            if counted:
                self._activity.end()

    async def _admit(self, scope: Scope, receive: Receive) -> bytes | None:
        """The body of a request that may go on (None when it has none); raises Refused."""
        headers = _headers(scope)
        self._check_host(headers)
        self._check_origin(headers)
        path, method = scope["path"], scope["method"]
        if path == HEALTH_PATH:
            return None
        scope[ROLE] = self._check_token(headers, path)
        if method not in ("POST", "PUT", "PATCH"):
            return None
        kind = ",".join(headers.get("content-type", [])).split(";")[0].strip().lower()
        if kind != "application/json":
            raise Refused(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "send application/json")
        return await _body(headers, receive)

    def _check_host(self, headers: dict[str, list[str]]) -> None:
        given = headers.get("host", [])
        name = host_name(given[0]) if len(given) == 1 else None
        if name is None or not self._known(name):
            raise Refused(HTTPStatus.FORBIDDEN, "this Host is not served here")

    def _check_origin(self, headers: dict[str, list[str]]) -> None:
        for origin in headers.get("origin", []):
            try:
                parts = urlsplit(origin)
                known = parts.scheme in ("http", "https") and self._known(parts.hostname or "")
            except ValueError:
                known = False
            if not known or origin.split("://")[-1].lower() != headers["host"][0].lower():
                raise Refused(HTTPStatus.FORBIDDEN, "this Origin may not call")

    def _known(self, name: str) -> bool:
        if name in self._names:
            return True
        if not self._remote:
            return False
        try:
            ipaddress.ip_address(name)
        except ValueError:
            return False
        return True

    def _check_token(self, headers: dict[str, list[str]], path: str) -> Role:
        given = headers.get("authorization", [])
        scheme, _, token = (given[0] if len(given) == 1 else "").partition(" ")
        role = self._tokens.role_of(token.strip()) if scheme.lower() == "bearer" else None
        if role is None:
            raise Refused(
                HTTPStatus.UNAUTHORIZED,
                "send the vault's token as Authorization: Bearer; graphmem token prints it",
            )
        reads = path in READ_PATHS or path.rstrip("/") == MCP_PATH
        if role is Role.READ and not reads:
            raise Refused(HTTPStatus.FORBIDDEN, "this token may only read")
        return role


def _headers(scope: Scope) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name, value in scope["headers"]:
        found.setdefault(name.decode("latin-1").lower(), []).append(value.decode("latin-1"))
    return found


async def _body(headers: dict[str, list[str]], receive: Receive) -> bytes:
    """The whole body; raises Refused once it is known to be too large."""
    too_large = Refused(
        HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"a body has at most {MAX_BODY_BYTES} bytes"
    )
    declared = headers.get("content-length", ["0"])[0]
    if declared.isdecimal() and int(declared) > MAX_BODY_BYTES:
        raise too_large
    parts, size, more = [], 0, True
    while more:
        message = await receive()
        if message["type"] != "http.request":
            break
        parts.append(message.get("body", b""))
        size += len(parts[-1])
        if size > MAX_BODY_BYTES:
            raise too_large
        more = message.get("more_body", False)
    return b"".join(parts)


def _again(body: bytes | None, receive: Receive) -> Receive:
    """A ``receive`` that first gives the body that was already read."""
    if body is None:
        return receive
    waiting = [body]

    async def first_the_body() -> Message:
        if waiting:
            return {"type": "http.request", "body": waiting.pop(), "more_body": False}
        return await receive()

    return first_the_body


async def _answer(send: Send, refusal: Refused) -> None:
    code = "VaultError" if refusal.status < HTTPStatus.INTERNAL_SERVER_ERROR else "OwnerError"
    reply = ErrorReply(error=ErrorBody(code=code, message=refusal.reason))
    data = json.dumps(reply.model_dump(mode="json")).encode()
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(data)).encode()),
        (b"connection", b"close"),
    ]
    if refusal.status == HTTPStatus.UNAUTHORIZED:
        headers.append((b"www-authenticate", b"Bearer"))
    await send({"type": "http.response.start", "status": int(refusal.status), "headers": headers})
    await send({"type": "http.response.body", "body": data})
