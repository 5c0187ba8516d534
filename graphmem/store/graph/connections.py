"""Connections of an engine: one for writing, some for reading, each renewed after some use.

Kuzu 0.11.3 keeps every statement that a connection prepared until the connection is closed:
measured 30 to 150 KB for each, 1.7 MB for each remembered note.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from graphmem.errors import VaultError

# Milliseconds a read may take. Kuzu stops a query some 0.2 s late, and a client waits 3 s.
READ_TIMEOUT_MS = 2_500
# Statements after which a connection is renewed: that takes 2 ms, and they hold some 5 MB.
STATEMENTS_PER_CONNECTION = 64
CLOSED = "the graph is closed; open the vault again"


def fetch(connection: Any, statement: str, parameters: Mapping[str, Any]) -> list[list[Any]]:
    """All rows of a statement; a result left open would keep its transaction."""
    result = connection.execute(statement, dict(parameters))
    try:
        return list(result.get_all())
    finally:
        result.close()


class Counted:
    """A connection that counts its statements."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection
        self.statements = 0

    def execute(self, statement: str, *parameters: Any) -> Any:
        """The result of a statement."""
        self.statements += 1
        return self._connection.execute(statement, *parameters)

    @property
    def is_worn(self) -> bool:
        """Whether it should be renewed before its next use."""
        return self.statements >= STATEMENTS_PER_CONNECTION

    def close(self) -> None:
        """Ends it and frees what it kept."""
        self._connection.close()


class Readers:
    """Reading connections, each used by one thread at a time and kept for the next."""

    def __init__(self, connect: Callable[[], Any]) -> None:
        self._make = connect
        self._idle: list[Counted] = []
        self._busy = 0
        self._closed = False
        self._changed = threading.Condition()

    @contextmanager
    def connection(self) -> Iterator[Counted]:
        """A connection that no other thread uses meanwhile; raises VaultError after ``close``."""
        connection = self._take()
        try:
            yield connection
        finally:
            with self._changed:
                self._busy -= 1
                if connection.is_worn:
                    connection.close()
                else:
                    self._idle.append(connection)
                self._changed.notify_all()

    def _take(self) -> Counted:
        with self._changed:
            if self._closed:
                raise VaultError(CLOSED)
            connection = self._idle.pop() if self._idle else self._connect()
            self._busy += 1
            return connection

    def _connect(self) -> Counted:
        connection = self._make()
        connection.set_query_timeout(READ_TIMEOUT_MS)
        return Counted(connection)

    def close(self) -> None:
        """Refuses new reads, waits for the running ones, which end by their time-out."""
        with self._changed:
            self._closed = True
            self._changed.wait_for(lambda: self._busy == 0)
            for connection in self._idle:
                connection.close()
