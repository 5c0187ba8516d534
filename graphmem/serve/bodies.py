"""Bodies of requests: counted while they arrive, and neither endless nor endlessly nested."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping, Sequence
from http import HTTPStatus
from typing import Any

from graphmem.serve.heads import Headers, Refused
from graphmem.serve.wire import MAX_BODY_BYTES

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]

# Longest silence inside a body, and the longest a whole one may take, in seconds.
SILENCE_S = 10.0
WHOLE_S = 60.0
# Levels of a JSON body; the deepest request of the interface has five.
MAX_DEPTH = 64

_OPENING = bytes.maketrans(b"{}", b"[]")
_OTHERS = bytes(set(range(256)) - set(b'[]{}"\\'))


class Left(Exception):
    """The caller went away inside its body; there is nobody to answer."""


async def read_body(headers: Headers, receive: Receive) -> bytes:
    """The whole body.

    Raises Refused for one that is too large, as soon as that is known, too slow or nested too
    deep, Left when the caller is gone.
    """
    declared: Sequence[str] = headers.get("content-length", ())
    if any(each.isdecimal() and int(each) > MAX_BODY_BYTES for each in declared):
        raise _too_large()
    try:
        async with asyncio.timeout(WHOLE_S):
            body = await _collect(receive)
    except TimeoutError:
        raise Refused(HTTPStatus.REQUEST_TIMEOUT, "the body came too slowly") from None
    if too_deep(body):
        raise Refused(
            HTTPStatus.BAD_REQUEST, f"the body is no JSON or has more than {MAX_DEPTH} levels"
        )
    return body


async def _collect(receive: Receive) -> bytes:
    parts, size, more = [], 0, True
    while more:
        message = await asyncio.wait_for(receive(), SILENCE_S)
        if message["type"] != "http.request":
            raise Left
        parts.append(message.get("body", b""))
        size += len(parts[-1])
        if size > MAX_BODY_BYTES:
            raise _too_large()
        more = message.get("more_body", False)
    return b"".join(parts)


def _too_large() -> Refused:
    return Refused(
        HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"a body has at most {MAX_BODY_BYTES} bytes"
    )


def too_deep(body: bytes) -> bool:
    """Whether brackets are nested beyond the bound or do not close; a parser would recurse.

    >>> too_deep(b'{"a": ["[[["]}'), too_deep(b"[" * 100 + b"]" * 100), too_deep(b"[")
    (False, True, False)
    """
    if body.count(b"[") + body.count(b"{") <= MAX_DEPTH:
        return False
    left = _without_strings(body).translate(_OPENING)
    for _ in range(MAX_DEPTH):
        if not left:
            return False
        left = left.replace(b"[]", b"")
    return bool(left)


def _without_strings(body: bytes) -> bytes:
    """The brackets that stand outside of strings."""
    marks = body.translate(None, _OTHERS) if b"\\" not in body else _unescaped(body)
    return b"".join(marks.split(b'"')[::2])


def _unescaped(body: bytes) -> bytes:
    plain = body.replace(b"\\\\", b"").replace(b'\\"', b"")
    return plain.translate(None, _OTHERS + b"\\")


def again(body: bytes | None, receive: Receive) -> Receive:
    """A ``receive`` that first gives the body that was already read."""
    if body is None:
        return receive
    waiting = [body]

    async def first_the_body() -> Message:
        if waiting:
            return {"type": "http.request", "body": waiting.pop(), "more_body": False}
        return await receive()

    return first_the_body
