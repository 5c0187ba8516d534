"""The HTTP interface: one address per method of ``Memory``, with the same results."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import logging
import os
from collections.abc import AsyncIterator, Callable, Sequence
from functools import partial
from typing import Annotated, Any, TypeVar

from fastapi import Depends, FastAPI, Header, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response, StreamingResponse
from fastapi.security import HTTPBearer
from pydantic import BaseModel
from starlette.exceptions import HTTPException
from starlette.routing import Route
from starlette.types import ASGIApp

import graphmem
from graphmem.errors import GraphmemError, OwnerError, UsageError, VaultBusyError
from graphmem.memory import Memory
from graphmem.model.care import VerifyReport
from graphmem.model.inputs import Progress, ProgressEvent
from graphmem.model.results import (
    Answer,
    CausalResult,
    GetResult,
    IngestReport,
    KgResult,
    RememberResult,
    VaultStatus,
)
from graphmem.retrieve.context import printable
from graphmem.serve import wire
from graphmem.serve.guard import CONFINED, MCP_PATH
from graphmem.serve.lanes import Lanes
from graphmem.serve.plain_http import RELAY_PATH
from graphmem.serve.runtime import OWNER_ROLE
from graphmem.serve.wire import API, KEY_FORM, LINES, Hello, WireFact

LOG = logging.getLogger("graphmem.owner")
# A line without content is sent this often, so that the other end knows that work goes on.
BEAT_S = 5.0

Key = Annotated[
    str | None, Header(alias=wire.KEY_HEADER, description="The same key stores nothing twice.")
]
M = TypeVar("M", bound=BaseModel)
_REFUSALS: dict[int | str, dict[str, Any]] = {
    code: {"model": wire.ErrorReply, "description": text}
    for code, text in {
        400: "wrong arguments",
        401: "no valid token",
        403: "not for this token, Host or Origin",
        404: "no such address or no vault",
        405: "no such method here",
        408: "the body came too slowly",
        409: "what is stored is not what was expected",
        413: "the body is too large",
        415: "not application/json",
        422: "arguments of another form",
        423: "the vault is held by another process",
        429: "too many writes are waiting",
        500: "the owner process failed",
        503: "the vault cannot serve this now",
    }.items()
}


# Replies that may come line by line.
_LINES: dict[int | str, dict[str, Any]] = {
    200: {"content": {LINES: {"schema": {"type": "string"}}}, "description": "the result"}
}
# Only documents what the door checks before any handler runs.
_BEARER = HTTPBearer(auto_error=False, description="a token of the vault: graphmem token")


def build_api(
    memory: Memory,
    lanes: Lanes,
    *,
    role: str = OWNER_ROLE,
    version: str = graphmem.__version__,
    **options: Any,
) -> FastAPI:
    """The application over an open vault; ``options`` go to FastAPI."""
    app = FastAPI(
        title="graphmem",
        version=graphmem.__version__,
        openapi_url="/api/openapi.json",
        docs_url=None,
        redoc_url=None,
        responses=_REFUSALS,
        dependencies=[Depends(_BEARER)],
        **options,
    )
    app.add_exception_handler(GraphmemError, _known_error)
    app.add_exception_handler(RequestValidationError, _wrong_form)
    app.add_exception_handler(HTTPException, _no_such_thing)
    app.add_exception_handler(Exception, _unknown_error)
    _add_service(app, memory, lanes, role, version)
    _add_reads(app, memory, lanes)
    _add_writes(app, memory, lanes)
    _add_checks(app, memory, lanes)
    return app


def add_mcp(app: FastAPI, mcp: ASGIApp) -> None:
    """Serves MCP beside the interface; all other addresses stay with the interface."""
    for path in (MCP_PATH, RELAY_PATH):
        app.router.routes.append(Route(path, endpoint=mcp, include_in_schema=False))


async def _known_error(_: Request, error: Exception) -> Response:
    assert isinstance(error, GraphmemError)
    headers = {}
    if isinstance(error, VaultBusyError):
        headers["Retry-After"] = str(max(1, round(error.retry_after_s)))
    elif isinstance(error, OwnerError):
        headers["Retry-After"] = "1"
    return _reply(wire.packed(error), wire.status_of(error), headers)


async def _wrong_form(_: Request, error: Exception) -> Response:
    """Which argument is wrong and why; never the value, it may be anything."""
    assert isinstance(error, RequestValidationError)
    told = [
        f"{'.'.join(str(part) for part in each['loc'][1:]) or 'the body'}: {each['msg']}"
        for each in error.errors()
    ]
    return _reply(wire.packed(UsageError(printable("; ".join(told[:10])))), 422)


async def _no_such_thing(request: Request, error: Exception) -> Response:
    """An address, a method or a body that cannot be taken; the wrong text is not repeated."""
    assert isinstance(error, HTTPException)
    allowed = (error.headers or {}).get("Allow", "")
    said = {
        400: "the body is no JSON",
        404: "there is no such address; /api/openapi.json lists them",
        405: f"this address takes {allowed or 'another method'}",
    }.get(error.status_code, "the request cannot be taken")
    return _reply(wire.packed(UsageError(said)), error.status_code, dict(error.headers or {}))


async def _unknown_error(request: Request, error: Exception) -> Response:
    LOG.error("%s %s failed: %s", request.method, request.url.path, type(error).__name__)
    return _reply(wire.packed(OwnerError("the owner process failed; owner.log says why")), 500)


def _reply(model: BaseModel, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    text = model.model_dump_json().encode("utf-8", "replace")
    return Response(text, status, headers, media_type="application/json")


def _add_service(app: FastAPI, memory: Memory, lanes: Lanes, role: str, version: str) -> None:
    @app.get("/health")
    async def health() -> dict[str, str]:
        """That someone is there."""
        return {"status": "ok"}

    @app.get(f"{API}/hello")
    async def hello() -> Hello:
        """Which version answers, and its process."""
        return Hello(
            version=version,
            pid=os.getpid(),
            role=role,
            vault=os.path.realpath(memory.path or ""),
            stopping=lanes.queue.closed,
        )

    @app.get(f"{API}/status", response_model=VaultStatus)
    async def status() -> Response:
        """What the vault holds and how its parts stand."""
        return _reply(await lanes.read(memory.status))


def _add_reads(app: FastAPI, memory: Memory, lanes: Lanes) -> None:
    @app.post(f"{API}/search", response_model=Answer)
    async def search(body: wire.SearchRequest) -> Response:
        """Answers a question with quoted statements and the path to each."""
        call = partial(
            memory.search,
            body.question,
            limit=body.limit,
            max_tokens=body.max_tokens,
            recipe=body.recipe,
            scope=body.scope,
        )
        return _reply(await lanes.read(call))

    @app.post(f"{API}/kg", response_model=KgResult)
    async def kg(body: wire.KgRequest) -> Response:
        """The facts about exactly the named entity."""
        call = partial(
            memory.kg_query,
            body.name,
            as_of=body.as_of,
            include_history=body.include_history,
            limit=body.limit,
            cursor=body.cursor,
            scope=body.scope,
        )
        return _reply(await lanes.read(call))

    @app.post(f"{API}/causes", response_model=CausalResult)
    async def causes(body: wire.CausesRequest) -> Response:
        """What led to the start, or what it led to."""
        call = partial(
            memory.find_causal_links,
            body.start,
            direction=body.direction,
            depth=body.depth,
            scope=body.scope,
        )
        return _reply(await lanes.read(call))

    @app.post(f"{API}/get", response_model=GetResult)
    async def get(body: wire.GetRequest) -> Response:
        """Opens ids of any kind."""
        return _reply(await lanes.read(partial(memory.get, body.ids, scope=body.scope)))

    @app.post(f"{API}/graph", response_model=wire.GraphReply)
    async def graph(body: wire.GraphRequest) -> Response:
        """The graph, or the neighbourhood of one id."""
        call = partial(memory.to_networkx, body.around, depth=body.depth, scope=body.scope)
        found = await lanes.read(call)
        nodes = tuple((node, dict(data)) for node, data in found.nodes(data=True))
        edges = tuple((a, b, dict(data)) for a, b, data in found.edges(data=True))
        return _reply(wire.GraphReply(nodes=nodes, edges=edges))

    @app.post(f"{API}/export", response_class=StreamingResponse, responses=_LINES)
    async def export(body: wire.ExportRequest) -> Response:
        """Everything that is stored as sorted JSON lines."""
        lines = await lanes.read(partial(memory.dump, content=body.content))
        return StreamingResponse((f"{line}\n".encode() for line in lines), media_type=LINES)


def _below_roots(paths: Sequence[str], memory: Memory) -> bool:
    """Whether every path, with links followed, lies in a folder that is read already."""
    roots = [os.path.realpath(root) for root in memory.status().roots]
    return all(
        any(os.path.commonpath([root, os.path.realpath(path)]) == root for root in roots)
        for path in paths
    )


def _key(given: str | None) -> str | None:
    if given is not None and not KEY_FORM.fullmatch(given):
        raise UsageError(f"{wire.KEY_HEADER} has 1 to 128 printable ASCII characters")
    return given


def _add_writes(app: FastAPI, memory: Memory, lanes: Lanes) -> None:
    @app.post(f"{API}/remember", response_model=RememberResult, responses=_LINES)
    async def remember(request: Request, body: wire.RememberRequest, key: Key = None) -> Response:
        """Stores a text with the facts and causes the caller states."""

        def call(_: Progress | None) -> RememberResult:
            return memory.remember(
                body.text,
                facts=[each.fact() if isinstance(each, WireFact) else each for each in body.facts],
                because=body.because,
                causes=[each.stated() for each in body.causes],
                project=body.project,
                origin=body.origin,
                key=told if body.key is None else body.key,
            )

        told = _key(key)
        return await _told(request, lanes, call)

    @app.post(f"{API}/ingest", response_model=IngestReport, responses=_LINES)
    async def ingest(request: Request, body: wire.IngestRequest, key: Key = None) -> Response:
        """Reads files and folders of the owner's machine."""

        def call(progress: Progress | None) -> IngestReport:
            return memory.ingest(
                body.paths,
                project=body.project,
                pattern=body.pattern,
                origin=body.origin,
                progress=progress,
                key=told,
            )

        told = _key(key)
        relative = [path for path in body.paths if not os.path.isabs(path) or "\0" in path]
        if relative:
            raise UsageError(f"paths are absolute; {relative[0]!r} is not")
        if request.scope.get(CONFINED, True) and not _below_roots(body.paths, memory):
            text = "callers from other machines may only have folders read that are roots already"
            return _reply(wire.packed(UsageError(text)), 403)
        return await _told(request, lanes, call, long=True)

    @app.post(f"{API}/sync", response_model=IngestReport, responses=_LINES)
    async def sync(request: Request, body: wire.SyncRequest, key: Key = None) -> Response:
        """Reads all roots again."""
        told = _key(key)
        call = lambda progress: memory.sync(progress=progress, key=told)  # noqa: E731
        return await _told(request, lanes, call, long=True)

    @app.post(f"{API}/rebuild", response_model=VaultStatus, responses=_LINES)
    async def rebuild(request: Request, body: wire.RebuildRequest, key: Key = None) -> Response:
        """Makes graph and index anew from the journal; returns the status after it."""

        def call(_: Progress | None) -> VaultStatus:
            memory.rebuild(graph=body.graph, index=body.index)
            return memory.status()

        _key(key)  # made anew twice it is the same
        return await _told(request, lanes, call, long=True)


def _add_checks(app: FastAPI, memory: Memory, lanes: Lanes) -> None:
    @app.post(f"{API}/verify", response_model=VerifyReport, responses=_LINES)
    async def verify(request: Request, body: wire.VerifyRequest) -> Response:
        """Checks every invariant that can be seen in the data; changes nothing."""
        call = lambda _: memory.verify(quick=body.quick)  # noqa: E731
        return await _told(request, lanes, call, long=True)


async def _told(
    request: Request, lanes: Lanes, call: Callable[[Progress | None], M], *, long: bool = False
) -> Response:
    """The reply of a long write: one object, or lines with progress for who asks for lines."""
    if LINES not in request.headers.get("accept", ""):
        return _reply(await lanes.write(partial(call, None), long=long))
    return StreamingResponse(_lines(lanes, call, long), media_type=LINES)


async def _lines(
    lanes: Lanes, call: Callable[[Progress | None], M], long: bool
) -> AsyncIterator[bytes]:
    loop = asyncio.get_running_loop()
    events: asyncio.Queue[ProgressEvent] = asyncio.Queue()

    def progress(event: ProgressEvent) -> None:
        loop.call_soon_threadsafe(events.put_nowait, event)

    work = asyncio.ensure_future(lanes.write(partial(call, progress), long=long))
    while not work.done():
        news = asyncio.ensure_future(events.get())
        await asyncio.wait({work, news}, timeout=BEAT_S, return_when=asyncio.FIRST_COMPLETED)
        yield _progress_line(news.result()) if news.done() else b"{}\n"
        news.cancel()
    try:
        yield b'{"result": ' + work.result().model_dump_json().encode() + b"}\n"
    except GraphmemError as error:
        yield wire.packed(error).model_dump_json().encode() + b"\n"
    except Exception as error:
        LOG.error("a write failed: %s", type(error).__name__, exc_info=error)
        failed = OwnerError("the owner process failed; owner.log says why")
        yield wire.packed(failed).model_dump_json().encode() + b"\n"


def _progress_line(event: ProgressEvent) -> bytes:
    return json.dumps({"progress": dataclasses.asdict(event)}).encode() + b"\n"
