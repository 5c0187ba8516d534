"""The key of the request being served, for writes that come through a tool."""

from __future__ import annotations

from contextvars import ContextVar

# Set where a request comes in, read where its write enters the queue.
REQUEST_KEY: ContextVar[str | None] = ContextVar("graphmem_request_key", default=None)
