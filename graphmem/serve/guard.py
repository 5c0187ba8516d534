"""The door of the owner process: who may come in, with what, before any handler runs.

A web page in the user's browser can send requests to loopback (DNS rebinding, forms), so the
``Host`` and ``Origin`` are checked as well as the token. Refusals are logged without headers.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from http import HTTPStatus

from graphmem.serve.bodies import Left, Message, Receive, again, read_body
from graphmem.serve.heads import (
    Headers,
    Refused,
    Served,
    check_count,
    check_host,
    check_kind,
    check_origin,
    check_upgrade,
)
from graphmem.serve.tokens import Role, Tokens
from graphmem.serve.wire import API, ErrorBody, ErrorReply

Scope = Message
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
# The scope's keys under which handlers find the role, and whether the caller may be on another
# machine and so has only folders read that are roots already.
ROLE = "graphmem.role"
CONFINED = "graphmem.confined"
# Methods that carry a body.
WITH_BODY = frozenset({"POST", "PUT", "PATCH"})
# Methods that are answered at all.
METHODS = WITH_BODY | {"GET", "HEAD", "DELETE", "OPTIONS"}
# How much of a path is logged, in characters.
LOGGED_CHARS = 100
# On every reply: what is stored is private and no page.
PRIVATE = ((b"cache-control", b"no-store"), (b"x-content-type-options", b"nosniff"))


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
        """``remote``: others than this machine may call; see ``Served``."""
        self._app, self._tokens, self._activity = app, tokens, activity
        self._remote, self._names = remote, names

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers one request."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            return
        try:
            body = await self._admit(scope, receive)
        except Left:
            return
        except Refused as refusal:
            self._log(scope, refusal)
            await _answer(send, refusal)
            return
        counted = scope["path"] != HEALTH_PATH
        if counted:
            self._activity.begin()
        try:
            await self._app(scope, again(body, receive), _private(send))
        finally:
            if counted:
                self._activity.end()

    async def _admit(self, scope: Scope, receive: Receive) -> bytes | None:
        """The body of a request that may go on (None when it has none); raises Refused."""
        headers = _headers(scope)
        port = (scope.get("server") or ("", None))[1]
        served = Served(self._names, port, self._remote)
        check_count(headers)
        check_host(headers, served)
        check_origin(headers, served)
        check_upgrade(headers)
        path, method = scope["path"], scope["method"]
        if method not in METHODS:
            raise Refused(
                HTTPStatus.METHOD_NOT_ALLOWED, "no such method", ((b"allow", b"GET, POST"),)
            )
        if path == HEALTH_PATH:
            return None
        scope[ROLE] = self._check_token(headers, path)
        scope[CONFINED] = self._remote and port is not None
        if method not in WITH_BODY:
            return None
        check_kind(headers)
        return await read_body(headers, receive)

    def _check_token(self, headers: Headers, path: str) -> Role:
        given = headers.get("authorization", ())
        scheme, _, token = (given[0] if len(given) == 1 else "").partition(" ")
        role = self._tokens.role_of(token.strip()) if scheme.lower() == "bearer" else None
        if role is None:
            raise Refused(
                HTTPStatus.UNAUTHORIZED,
                "send the vault's token as Authorization: Bearer; graphmem token prints it",
                ((b"www-authenticate", b"Bearer"),),
            )
        reads = path in READ_PATHS or path.rstrip("/") == MCP_PATH
        if role is Role.READ and not reads:
            raise Refused(HTTPStatus.FORBIDDEN, "this token may only read")
        return role

    def _log(self, scope: Scope, refusal: Refused) -> None:
        """One line without headers and query; a token in a path is hidden before it is cut."""
        peer = scope.get("client")
        LOG.warning(
            "refused %s: %s %r: %d %s",
            f"{peer[0]}:{peer[1]}" if peer else "local socket",
            self._tokens.hidden(scope["method"])[:LOGGED_CHARS],
            self._tokens.hidden(scope["path"])[:LOGGED_CHARS],
            refusal.status,
            refusal.reason,
        )


def _headers(scope: Scope) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name, value in scope["headers"]:
        found.setdefault(name.decode("latin-1").lower(), []).append(value.decode("latin-1"))
    return found


def _private(send: Send) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            own = {name for name, _ in PRIVATE}
            kept = [pair for pair in message.get("headers", ()) if pair[0].lower() not in own]
            message = {**message, "headers": [*kept, *PRIVATE]}
        await send(message)

    return sending


async def _answer(send: Send, refusal: Refused) -> None:
    code = "VaultError" if refusal.status < HTTPStatus.INTERNAL_SERVER_ERROR else "OwnerError"
    reply = ErrorReply(error=ErrorBody(code=code, message=refusal.reason))
    data = json.dumps(reply.model_dump(mode="json")).encode()
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(data)).encode()),
        (b"connection", b"close"),
        *PRIVATE,
        *refusal.headers,
    ]
    await send({"type": "http.response.start", "status": int(refusal.status), "headers": headers})
    await send({"type": "http.response.body", "body": data})
