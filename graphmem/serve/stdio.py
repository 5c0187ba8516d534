"""``graphmem mcp``: MCP over standard input and output, relayed to the vault's owner process.

Standard library only, with the list of tools from a file, so that the handshake is answered at
once. Nothing but protocol is written to standard output.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, BinaryIO

import graphmem
from graphmem.errors import GraphmemError, OwnerError, OwnerVersionError
from graphmem.serve.plain_http import PING, Cut, NoOwner, call_tool

TOOLS_FILE = Path(__file__).parent / "data" / "tools.json"
# Revisions with a handshake that this server speaks, the newest last.
VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
# Longest message of a client, in bytes; the owner takes no larger body either.
MAX_MESSAGE_BYTES = 4 * 1024 * 1024
# Calls that run at a time; more wait, and with them the reading of input.
MAX_CALLS = 128
# Longest silence of an owner that works, in seconds; it gives a sign of life every 5 s.
SILENCE_S = 60.0
# A call is sent once, and once more when the owner died, was gone or is stopping.
ATTEMPTS = 2
# How long calls may still finish after the client closed the input, in seconds.
LAST_CALLS_S = 1.0
PARSE_ERROR, INVALID_REQUEST, NO_METHOD, INVALID_PARAMS = -32700, -32600, -32601, -32602

Json = dict[str, Any]
Send = Callable[[Json | None], None]


class _Refused(Exception):
    """A request that is answered with an error."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


class Owner:
    """The vault's owner process, started when there is none."""

    def __init__(self, vault: Path) -> None:
        self._vault = vault
        self._starting = threading.Lock()

    def warm(self) -> None:
        """Starts the owner when none answers or an older one does; what fails the calls say."""
        try:
            call_tool(self._vault, PING, {}, "", lambda: SILENCE_S)
        except (NoOwner, OwnerVersionError):
            try:
                self._start()
            except GraphmemError as error:
                print(f"graphmem: {error}", file=sys.stderr)
        except (GraphmemError, Cut, TimeoutError) as error:
            print(f"graphmem: {error}", file=sys.stderr)

    def _start(self) -> None:
        from graphmem.serve.start import ensure_owner, older
        from graphmem.settings import read_settings

        with self._starting:
            ensure_owner(self._vault, read_settings(), create=True, replace=older)

    def call(self, tool: str, arguments: Mapping[str, object]) -> Json:
        """The result of a tool; sent again with the same key when the owner was lost."""
        key = os.urandom(16).hex()
        for attempt in range(1, ATTEMPTS + 1):
            try:
                return call_tool(self._vault, tool, arguments, key, lambda: SILENCE_S)
            except (NoOwner, Cut) as error:
                last = OwnerError(f"the owner process is gone ({error}); try again")
            except TimeoutError:
                raise OwnerError(
                    f"the owner process did not answer for {SILENCE_S:.0f} s; "
                    "see owner.log in the vault"
                ) from None
            except OwnerError as error:
                if not (error.stopping or isinstance(error, OwnerVersionError)):
                    raise
                last = error
            if attempt < ATTEMPTS:
                self._start()
        raise last


class Output:
    """Messages, each a line, whole, whichever thread sends it."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream, self._guard = stream, threading.Lock()

    def send(self, message: Json | list[Json]) -> None:
        """Writes one message; a client that is gone ends the process."""
        line = json.dumps(message).encode("ascii") + b"\n"
        with self._guard:
            try:
                self._stream.write(line)
                self._stream.flush()
            except OSError:
                os._exit(0)


class Batch:
    """The replies to a batch, sent as one when all are there."""

    def __init__(self, expected: int, output: Output) -> None:
        self._missing, self._output = expected, output
        self._replies: list[Json] = []
        self._guard = threading.Lock()

    def take(self, reply: Json | None) -> None:
        """Takes the reply to one request; None when it was cancelled."""
        with self._guard:
            self._missing -= 1
            if reply is not None:
                self._replies.append(reply)
            if self._missing == 0 and self._replies:
                self._output.send(self._replies)


class Session:
    """One client: answers what needs no vault here and hands calls to the owner."""

    def __init__(self, owner: Owner, output: Output) -> None:
        self._owner, self._output = owner, output
        self._shipped: Json = json.loads(TOOLS_FILE.read_text(encoding="utf-8"))
        self._names = {tool["name"] for tool in self._shipped["tools"]}
        self._guard = threading.Lock()
        self._running: dict[str, threading.Event] = {}
        self._places = threading.BoundedSemaphore(MAX_CALLS)
        self._idle = threading.Event()
        self._idle.set()

    def receive(self, line: bytes) -> None:
        """Handles one line: a message or a batch of them."""
        try:
            message = json.loads(line)
        except (ValueError, RecursionError):
            self._output.send(_error(None, PARSE_ERROR, "the message is not JSON"))
            return
        if not isinstance(message, list):
            self._handle(message, self._send)
        elif not message:
            self._output.send(_error(None, INVALID_REQUEST, "the batch is empty"))
        else:
            expected = sum(_wants_reply(each) for each in message)
            batch = Batch(expected, self._output)
            for each in message:
                self._handle(each, batch.take)

    def _send(self, reply: Json | None) -> None:
        if reply is not None:
            self._output.send(reply)

    def refuse_size(self) -> None:
        """Answers a line that is too long to be read."""
        text = f"a message has at most {MAX_MESSAGE_BYTES} bytes; ingest a file instead"
        self._output.send(_error(None, INVALID_REQUEST, text))

    def finish(self) -> None:
        """Waits a moment for the calls that run; what was sent the owner finishes anyway."""
        self._idle.wait(LAST_CALLS_S)

    def _handle(self, message: Any, send: Send) -> None:
        if isinstance(message, dict) and _is_reply(message):
            return
        number = message.get("id") if isinstance(message, dict) else None
        try:
            method, params = _request(message)
            if "id" not in message:
                self._notice(method, params)
            elif method == "tools/call":
                self._call(number, params, send)
            else:
                send(_reply(number, self._answer(method, params)))
        except _Refused as error:
            send(_error(number, error.code, str(error)))

    def _notice(self, method: str, params: Json) -> None:
        if method != "notifications/cancelled":
            return
        with self._guard:
            cancelled = self._running.get(repr(params.get("requestId")))
        if cancelled is not None:
            cancelled.set()

    def _answer(self, method: str, params: Json) -> Json:
        match method:
            case "initialize":
                return self._hello(params)
            case "ping":
                return {}
            case "tools/list":
                return {"tools": self._shipped["tools"]}
            case _:
                raise _Refused(NO_METHOD, f"there is no method {method}")

    def _hello(self, params: Json) -> Json:
        asked = params.get("protocolVersion")
        return {
            "protocolVersion": asked if asked in VERSIONS else VERSIONS[-1],
            "capabilities": {"tools": {"listChanged": False}},
            "serverInfo": {"name": "graphmem", "version": graphmem.__version__},
            "instructions": self._shipped["instructions"],
        }

    def _call(self, number: Any, params: Json, send: Send) -> None:
        name, arguments = params.get("name"), params.get("arguments")
        if not isinstance(name, str):
            raise _Refused(INVALID_PARAMS, "name the tool to call")
        if arguments is not None and not isinstance(arguments, dict):
            raise _Refused(INVALID_PARAMS, "arguments are an object")
        if name not in self._names:
            send(_reply(number, _failed(f"Unknown tool: {name!r}")))
            return
        cancelled = threading.Event()
        self._places.acquire()
        with self._guard:
            if repr(number) in self._running:
                self._places.release()
                raise _Refused(INVALID_REQUEST, f"a request with the id {number!r} still runs")
            self._running[repr(number)] = cancelled
            self._idle.clear()
        work = (number, name, arguments or {}, cancelled, send)
        threading.Thread(target=self._work, args=work, daemon=True).start()

    def _work(
        self, number: Any, name: str, arguments: Json, cancelled: threading.Event, send: Send
    ) -> None:
        try:
            result = self._owner.call(name, arguments)
        except GraphmemError as error:
            result = _failed(str(error))
        except Exception as error:  # a thread that ends without a reply leaves its client waiting
            print(f"graphmem: {name} failed: {error!r}", file=sys.stderr)
            result = _failed(f"{name} failed: {error}")
        send(None if cancelled.is_set() else _reply(number, result))
        self._places.release()
        with self._guard:
            del self._running[repr(number)]
            if not self._running:
                self._idle.set()


def _wants_reply(message: Any) -> bool:
    """Whether something has to be answered: a request, or what is no message at all."""
    if not isinstance(message, dict):
        return True
    return not _is_reply(message) and ("id" in message or not _is_request(message))


def _is_reply(message: Json) -> bool:
    return "method" not in message and ("result" in message or "error" in message)


def _is_request(message: Json) -> bool:
    params = message.get("params", {})
    return (
        message.get("jsonrpc") == "2.0"
        and isinstance(message.get("method"), str)
        and isinstance(params, dict | list)
        and (isinstance(message.get("id", 0), str | int | float))
    )


def _request(message: Any) -> tuple[str, Json]:
    """The method and parameters of a request; raises _Refused."""
    if not isinstance(message, dict) or not _is_request(message):
        raise _Refused(INVALID_REQUEST, "this is no JSON-RPC 2.0 request")
    params = message.get("params", {})
    if isinstance(params, list):
        raise _Refused(INVALID_PARAMS, "parameters are an object")
    return message["method"], params


def _reply(number: Any, result: Json) -> Json:
    return {"jsonrpc": "2.0", "id": number, "result": result}


def _error(number: Any, code: int, text: str) -> Json:
    valid = number if isinstance(number, str | int | float) else None
    return {"jsonrpc": "2.0", "id": valid, "error": {"code": code, "message": text}}


def _failed(text: str) -> Json:
    return {"content": [{"type": "text", "text": text}], "isError": True}


def _claimed_output() -> BinaryIO:
    """Standard output for the protocol alone: what else is printed goes to standard error."""
    own = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    return own


def serve(vault: Path) -> None:
    """Serves until the client closes standard input; the owner process goes on."""
    owner = Owner(vault)
    threading.Thread(target=owner.warm, name="graphmem-open", daemon=True).start()
    session = Session(owner, Output(_claimed_output()))
    stream = sys.stdin.buffer
    while line := stream.readline(MAX_MESSAGE_BYTES + 1):
        if len(line) > MAX_MESSAGE_BYTES:
            while line and not line.endswith(b"\n"):
                line = stream.readline(MAX_MESSAGE_BYTES)
            session.refuse_size()
        elif line.strip():
            session.receive(line)
    session.finish()
    # Threads that wait for an owner to start must not hold the process.
    sys.stderr.flush()
    os._exit(0)
