"""Connections that send the head of a request too slowly are closed, so that none is held open."""

from __future__ import annotations

import asyncio

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

# The whole head of a request has to be there after this time, in seconds.
HEAD_S = 10.0
# Largest head of a request, in bytes.
MAX_HEAD_BYTES = 32 * 1024
# How long a connection without a request is kept, in seconds.
KEEP_ALIVE_S = 5


class PatientProtocol(H11Protocol):
    """HTTP/1.1 whose patience with an unfinished head ends."""

    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """A connection has ``HEAD_S`` for its first head."""
        super().connection_made(transport)
        self._wait()

    def data_received(self, data: bytes) -> None:
        """Starts the clock with the first bytes of a head, stops it with the last."""
        super().data_received(data)
        if self._reads_head():
            self._wait()
        else:
            self._calm()

    def connection_lost(self, exc: Exception | None) -> None:
        """The clock stops."""
        self._calm()
        super().connection_lost(exc)

    def _reads_head(self) -> bool:
        return self.conn.their_state is h11.IDLE and not self.transport.is_closing()

    def _wait(self) -> None:
        if self._deadline is None:
            self._deadline = self.loop.call_later(HEAD_S, self._give_up)

    def _calm(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _give_up(self) -> None:
        self._deadline = None
        if self._reads_head():
            self.logger.warning("closed a connection that sent no whole request")
            self.transport.close()
