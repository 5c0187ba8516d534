"""The owner's end of ``graphmem mcp`` and ``graphmem hook``: one call of a tool per request."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

from fastapi.requests import Request
from fastapi.responses import Response, StreamingResponse
from fastmcp import FastMCP
from fastmcp.exceptions import FastMCPError, NotFoundError
from pydantic import ValidationError

from graphmem.errors import GraphmemError, OwnerError, OwnerVersionError, UsageError
from graphmem.model.base import Model
from graphmem.serve import wire
from graphmem.serve.keys import REQUEST_KEY
from graphmem.serve.lanes import READ_TIMEOUT_S
from graphmem.serve.plain_http import PING, RELAY_PATH

# A line without content is sent this often while a call runs, in seconds.
BEAT_S = 5.0


class RelayCall(Model):
    """A call of a tool, and for which vault and version it is meant."""

    vault: str
    version: str
    name: str
    arguments: dict[str, Any] = {}


def add_relay(
    server: FastMCP, vault: Callable[[], Path | None], writing: frozenset[str], version: str
) -> None:
    """Adds the address; ``writing`` tools may take as long as they need."""
    running: set[asyncio.Future[bytes]] = set()

    @server.custom_route(RELAY_PATH, methods=["POST"], include_in_schema=False)
    async def relay(request: Request) -> Response:
        try:
            call = _checked(await request.body(), vault(), version)
        except GraphmemError as error:
            return Response(_error(error), wire.status_of(error), media_type="application/json")
        REQUEST_KEY.set(request.headers.get(wire.KEY_HEADER))
        work = asyncio.ensure_future(_outcome(server, call))
        running.add(work)  # goes on when the caller leaves
        work.add_done_callback(running.discard)
        limit = None if call.name in writing else READ_TIMEOUT_S
        return StreamingResponse(_lines(work, limit), media_type=wire.LINES)


def _checked(body: bytes, path: Path | None, version: str) -> RelayCall:
    try:
        call = RelayCall.model_validate_json(body)
    except ValidationError:
        raise UsageError("this is no call of a tool") from None
    served = os.path.realpath(path or "")
    if call.vault != served:
        raise OwnerError(f"this owner process serves {served}, not {call.vault}; try again")
    if call.version != version:
        raise OwnerVersionError(
            f"{served} is served by process {os.getpid()} of graphmem {version}, the caller is "
            f"{call.version}; stop it with graphmem serve --stop and try again",
            theirs=version,
            ours=call.version,
        )
    return call


def _error(error: GraphmemError) -> bytes:
    return wire.packed(error).model_dump_json().encode() + b"\n"


async def _outcome(server: FastMCP, call: RelayCall) -> bytes:
    """The last line of the reply."""
    if call.name == PING:
        return _result({})
    try:
        result = await server.call_tool(call.name, call.arguments)
    except NotFoundError:
        return _failed(f"Unknown tool: {call.name!r}")
    except FastMCPError as error:
        return _refused(error)
    content = [
        each.model_dump(mode="json", by_alias=True, exclude_none=True) for each in result.content
    ]
    return _result({"content": content, "structuredContent": result.structured_content})


def _refused(error: FastMCPError) -> bytes:
    """What is wrong with the call as its result; what is wrong with the vault as an error."""
    cause = error.__cause__
    if cause is None or isinstance(cause, UsageError):
        return _failed(str(error))
    return _error(cause if isinstance(cause, GraphmemError) else OwnerError(str(error)))


def _failed(text: str) -> bytes:
    return _result({"content": [{"type": "text", "text": text}], "isError": True})


def _result(result: dict[str, Any]) -> bytes:
    return json.dumps({"result": result}).encode() + b"\n"


async def _lines(work: asyncio.Future[bytes], limit_s: float | None) -> AsyncIterator[bytes]:
    loop = asyncio.get_running_loop()
    begun = loop.time()
    while not work.done():
        await asyncio.wait({work}, timeout=BEAT_S)
        if not work.done():
            yield b"{}\n"
            if limit_s is not None and loop.time() - begun > limit_s:
                yield _failed(f"the call took longer than {limit_s:.0f} s; ask for less")
                return
    yield work.result()
