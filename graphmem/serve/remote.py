"""A vault that is open in its owner process, with the methods and results of ``Memory``."""

from __future__ import annotations

import json
import secrets
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar

from pydantic import ValidationError

from graphmem.errors import InvalidInputError, OwnerError, UsageError, VaultError
from graphmem.memory import DEFAULT_DEPTH, DEFAULT_FACTS, DEFAULT_LIMIT
from graphmem.model.base import Model
from graphmem.model.care import BackupInfo, VerifyReport
from graphmem.model.inputs import (
    CauseInput,
    FactInput,
    Progress,
    ProgressEvent,
    without_surrogates,
)
from graphmem.model.results import (
    Answer,
    CausalResult,
    GetResult,
    IngestReport,
    KgResult,
    RememberResult,
    VaultStatus,
)
from graphmem.model.scope import EVERYTHING, Scope
from graphmem.serve import wire
from graphmem.serve.channel import Channel, Lost, Unreachable
from graphmem.serve.start import Replace, ensure_owner, never
from graphmem.serve.wire import API, KEY_HEADER, LINES, ErrorReply, WireCause, WireFact
from graphmem.settings import Settings
from graphmem.vocabulary import Direction, Origin

if TYPE_CHECKING:
    import networkx as nx

# A call is sent once more when the owner died while it ran; then something is wrong with it.
MOST_LOST = 1
# A call that nobody took (the owner has left or is leaving) changed nothing and is sent again.
MOST_UNSENT = 4
# Random bytes of a request's key: two calls never share one.
KEY_BYTES = 16

R = TypeVar("R", bound=Model)
T = TypeVar("T")


class _Stopping(Exception):
    """The owner takes no more writes; nothing was stored."""

    def __init__(self, error: OwnerError) -> None:
        self.error = error


class RemoteMemory:
    """See ``graphmem.Memory``. Safe to use from several threads.

    When the owner dies a call is sent once more, to a new one: reads change nothing, and a write
    carries a key that stands in the journal with what it stored.
    """

    def __init__(
        self,
        path: Path,
        settings: Settings,
        *,
        create: bool = True,
        new_key: Callable[[int], str] = secrets.token_hex,
        replace: Replace = never,
    ) -> None:
        """Nothing is started before ``warm`` or the first call; ``replace`` says whether an owner
        of another version is replaced."""
        self.path: Path | None = path
        self._vault, self._settings, self._create = path, settings, create
        self._new_key, self._replace = new_key, replace
        self._guard = threading.Lock()
        self._channel: Channel | None = None
        self._closed = False

    def __repr__(self) -> str:
        return f"<graphmem.RemoteMemory {self._vault}>"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    # writing

    def ingest(
        self,
        paths: str | Path | Iterable[str | Path],
        *,
        project: str | None = None,
        pattern: str | None = None,
        origin: Origin = Origin.OWNER,
        progress: Progress | None = None,
        key: str | None = None,
    ) -> IngestReport:
        """Reads files and folders; relative paths are taken from this process's folder."""
        chosen = [paths] if isinstance(paths, str | Path) else list(paths)
        if not chosen:
            raise UsageError("nothing to ingest: name at least one file or folder")
        told = tuple(str(Path(path).absolute()) for path in chosen)
        request = _made(
            wire.IngestRequest, paths=told, project=project, pattern=pattern, origin=origin
        )
        return self._write("ingest", request, IngestReport, progress, key)

    def sync(self, *, progress: Progress | None = None, key: str | None = None) -> IngestReport:
        """Reads all roots again."""
        return self._write("sync", wire.SyncRequest(), IngestReport, progress, key)

    def remember(
        self,
        text: str,
        *,
        facts: Sequence[str | FactInput] = (),
        because: str | Sequence[str] = (),
        causes: Sequence[CauseInput] = (),
        project: str = "",
        origin: Origin = Origin.OWNER,
        key: str | None = None,
    ) -> RememberResult:
        """Stores a text with the facts and causes the caller states."""
        request = _made(
            wire.RememberRequest,
            text=text,
            facts=[fact if isinstance(fact, str) else _fact(fact) for fact in facts],
            because=(because,) if isinstance(because, str) else tuple(because),
            causes=[_made(WireCause, cause=c.cause, effect=c.effect, kind=c.kind) for c in causes],
            project=project,
            origin=origin,
            key=key,
        )
        return self._write("remember", request, RememberResult)

    # reading

    def search(
        self,
        question: str,
        *,
        limit: int = DEFAULT_LIMIT,
        max_tokens: int | None = None,
        recipe: str = "default",
        scope: Scope = EVERYTHING,
    ) -> Answer:
        """Answers a question with quoted statements and the path to each."""
        request = _made(
            wire.SearchRequest,
            question=without_surrogates(question),
            limit=limit,
            max_tokens=max_tokens or self._settings.max_tokens,
            recipe=recipe,
            scope=scope,
        )
        return self._read("search", request, Answer)

    def kg_query(
        self,
        name: str,
        *,
        as_of: datetime | None = None,
        include_history: bool = False,
        limit: int = DEFAULT_FACTS,
        cursor: str | None = None,
        scope: Scope = EVERYTHING,
    ) -> KgResult:
        """The facts about exactly the named entity."""
        request = _made(
            wire.KgRequest,
            name=without_surrogates(name),
            as_of=as_of,
            include_history=include_history,
            limit=limit,
            cursor=cursor,
            scope=scope,
        )
        return self._read("kg", request, KgResult)

    def find_causal_links(
        self,
        start: str,
        *,
        direction: Direction | str = Direction.BACK,
        depth: int = DEFAULT_DEPTH,
        scope: Scope = EVERYTHING,
    ) -> CausalResult:
        """What led to ``start``, or what it led to."""
        if direction not in list(Direction):
            words = ", ".join(Direction)
            raise UsageError(f"direction {direction!r} is not one of {words}")
        request = _made(
            wire.CausesRequest,
            start=without_surrogates(start),
            direction=Direction(direction),
            depth=depth,
            scope=scope,
        )
        return self._read("causes", request, CausalResult)

    def get(self, ids: str | Sequence[str], *, scope: Scope = EVERYTHING) -> GetResult:
        """Opens ids of any kind."""
        chosen = [without_surrogates(each) for each in ([ids] if isinstance(ids, str) else ids)]
        return self._read("get", _made(wire.GetRequest, ids=chosen, scope=scope), GetResult)

    def to_networkx(
        self, around: str | None = None, *, depth: int = 2, scope: Scope = EVERYTHING
    ) -> nx.MultiDiGraph[str]:
        """The graph, or the neighbourhood of one id."""
        import networkx as nx

        request = _made(wire.GraphRequest, around=around, depth=depth, scope=scope)
        found = self._read("graph", request, wire.GraphReply)
        graph: nx.MultiDiGraph[str] = nx.MultiDiGraph()
        for node, data in found.nodes:
            graph.add_node(node, **data)
        for source, target, data in found.edges:
            graph.add_edge(source, target, **data)
        return graph

    # housekeeping

    def status(self) -> VaultStatus:
        """What the vault holds and how its parts stand."""
        body = self._attempt(lambda c: _whole(c, "GET", f"{API}/status", None))
        return VaultStatus.model_validate_json(body)

    def rebuild(self, *, graph: bool = True, index: bool = True) -> None:
        """Makes graph and index anew from the journal."""
        self._write("rebuild", wire.RebuildRequest(graph=graph, index=index), VaultStatus)

    def verify(self, *, quick: bool = False) -> VerifyReport:
        """Checks every invariant that can be seen in the data; changes nothing."""
        return self._write("verify", wire.VerifyRequest(quick=quick), VerifyReport)

    def backup(self, dest: str | Path, *, force: bool = False) -> BackupInfo:
        """Copies the journal as it is now into the new folder ``dest``; needs no owner."""
        from graphmem.store.backup import backup

        return backup(self._vault, Path(dest), force=force)

    def dump(self, *, content: bool = False) -> Iterator[str]:
        """All that is stored as sorted JSON lines."""
        body = _encoded(wire.ExportRequest(content=content))
        found = self._attempt(lambda c: _whole(c, "POST", f"{API}/export", body))
        return iter(found.decode().split("\n")[:-1])

    def warm(self) -> None:
        """Connects to the owner process, starting it when there is none."""
        self._connected()

    def close(self) -> None:
        """Forgets the owner, which goes on; a second call does nothing."""
        self._closed = True
        self._channel = None

    # parts

    def _connected(self) -> Channel:
        if self._closed:
            raise VaultError("the vault is closed; open it again")
        with self._guard:
            if self._channel is None:
                self._channel = ensure_owner(
                    self._vault, self._settings, create=self._create, replace=self._replace
                )
            return self._channel

    def _attempt(self, call: Callable[[Channel], T]) -> T:
        """The outcome of a call that may be sent twice; see the constants for how often."""
        lost = unsent = 0
        while True:
            channel = self._connected()
            try:
                return call(channel)
            except Lost as error:
                lost, last = lost + 1, _gave_up(self._vault, error)
            except Unreachable as error:
                unsent, last = unsent + 1, _gave_up(self._vault, error)
            except _Stopping as stopping:
                unsent, last = unsent + 1, stopping.error
            with self._guard:
                if self._channel is channel:
                    self._channel = None
            if lost > MOST_LOST or unsent > MOST_UNSENT:
                raise last

    def _read(self, name: str, request: Model, kind: type[R]) -> R:
        body = _encoded(request)
        reply = self._attempt(lambda channel: _whole(channel, "POST", f"{API}/{name}", body))
        return kind.model_validate_json(reply)

    def _write(
        self,
        name: str,
        request: Model,
        kind: type[R],
        progress: Progress | None = None,
        key: str | None = None,
    ) -> R:
        body = _encoded(request)
        headers = {KEY_HEADER: key or self._new_key(KEY_BYTES), "Accept": LINES}
        return self._attempt(
            lambda channel: _result(channel.lines(f"{API}/{name}", body, headers), kind, progress)
        )


def _gave_up(vault: Path, error: Exception) -> OwnerError:
    return OwnerError(
        f"the process that serves {vault} is gone ({error or type(error).__name__}), and so is the "
        "one that was started for it; what it stored is kept. See owner.log there, run graphmem "
        "status, then try again"
    )


def _made(kind: type[R], /, **values: Any) -> R:
    """A request; raises InvalidInputError that names the argument and what is wrong with it."""
    try:
        return kind(**values)
    except ValidationError as error:
        told = "; ".join(_said(each["loc"], each["msg"]) for each in error.errors())
        raise InvalidInputError(told) from None


def _said(place: tuple[int | str, ...], message: str) -> str:
    return ": ".join([*map(str, place[:1]), message])


def _fact(fact: FactInput) -> WireFact:
    try:
        return WireFact.of(fact)
    except ValidationError as error:
        told = "; ".join(_said(each["loc"], each["msg"]) for each in error.errors())
        raise InvalidInputError(f"fact {fact.subject!r}: {told}") from None


def _encoded(request: Model) -> bytes:
    data = request.model_dump_json().encode()
    if len(data) > wire.MAX_BODY_BYTES:
        raise InvalidInputError(
            f"a call has at most {wire.MAX_BODY_BYTES} bytes, this one {len(data)}; "
            "put the text into a file and ingest that"
        )
    return data


def _whole(channel: Channel, method: str, path: str, body: bytes | None) -> bytes:
    reply = channel.request(method, path, body)
    if reply.status != 200:
        _raise(reply.status, reply.body)
    return reply.body


def _result(lines: Iterable[dict[str, Any]], kind: type[R], progress: Progress | None) -> R:
    """The result at the end of the lines; raises Lost when there is none."""
    for line in lines:
        if "error" in line:
            _raise(line.pop("status", 503), json.dumps(line).encode())
        if "progress" in line and progress is not None:
            progress(ProgressEvent(**line["progress"]))
        if "result" in line:
            return kind.model_validate(line["result"])
    raise Lost("the reply was cut off")


def _raise(status: int, body: bytes) -> None:
    try:
        told = ErrorReply.model_validate_json(body).error
    except ValidationError:
        raise OwnerError(f"the owner process answered with status {status}") from None
    error = wire.unpacked(told)
    if isinstance(error, OwnerError) and told.details.get("stopping"):
        raise _Stopping(error)
    raise error
