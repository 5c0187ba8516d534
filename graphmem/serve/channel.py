"""HTTP to an owner process over its Unix socket or loopback. Standard library only."""

from __future__ import annotations

import http.client
import json
import os
import socket
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from graphmem.errors import OwnerError

# Longest silence of an owner that works; a line comes every 5 s while a write runs.
SILENCE_S = 60.0
# The name a client uses for an owner that it reaches through a socket.
LOCAL_NAME = "localhost"


class Unreachable(Exception):
    """Nobody listens; nothing was sent."""


class Lost(Exception):
    """The connection broke after something was sent; the owner may have done it or not."""


class _UnixConnection(http.client.HTTPConnection):
    def __init__(self, path: str, timeout: float) -> None:
        super().__init__(LOCAL_NAME, timeout=timeout)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            self.sock.settimeout(self.timeout)
            self.sock.connect(self._path)
        except BaseException:
            self.sock.close()
            raise


@dataclass(frozen=True, slots=True)
class Reply:
    """A whole reply."""

    status: int
    body: bytes


@dataclass(frozen=True, slots=True)
class Channel:
    """Where an owner listens and the token that opens it; one connection per request."""

    socket: str | None
    host: str
    port: int | None
    token: str = field(repr=False)

    def request(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        *,
        timeout_s: float = SILENCE_S,
    ) -> Reply:
        """The reply to one request.

        Raises Unreachable when nothing was sent, Lost when the connection broke, OwnerError when
        the owner is silent for ``timeout_s``.
        """
        connection = self._connect(timeout_s)
        try:
            connection.request(method, path, body, self._headers(body, headers))
            response = connection.getresponse()
            return Reply(response.status, response.read())
        except TimeoutError:
            raise _silent(timeout_s) from None
        except (OSError, http.client.HTTPException) as error:
            raise Lost(str(error)) from error
        finally:
            connection.close()

    def lines(self, path: str, body: bytes, headers: Mapping[str, str]) -> Iterator[dict[str, Any]]:
        """The lines of a reply as they come; another reply than 200 comes as one line.

        Raises like ``request``; Lost also when the last line does not end.
        """
        connection = self._connect(SILENCE_S)
        try:
            connection.request("POST", path, body, self._headers(body, headers))
            response = connection.getresponse()
            if response.status != http.HTTPStatus.OK:
                yield {"status": response.status, **json.loads(response.read())}
                return
            while line := response.readline():
                if not line.endswith(b"\n"):
                    raise Lost("the reply was cut off")
                yield json.loads(line)
        except TimeoutError:
            raise _silent(SILENCE_S) from None
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise Lost(str(error)) from error
        finally:
            connection.close()

    def _connect(self, timeout_s: float) -> http.client.HTTPConnection:
        connection: http.client.HTTPConnection
        if self.socket is not None:
            connection = _UnixConnection(self.socket, timeout_s)
        else:
            connection = http.client.HTTPConnection(self.host, self.port, timeout=timeout_s)
        try:
            connection.connect()
        except OSError as error:
            raise Unreachable(str(error)) from error
        return connection

    def _headers(self, body: bytes | None, more: Mapping[str, str] | None) -> dict[str, str]:
        headers = {"Authorization": f"Bearer {self.token}", "Connection": "close"}
        if body is not None:
            headers["Content-Type"] = "application/json"
        return {**headers, **(more or {})}


def _silent(seconds: float) -> OwnerError:
    return OwnerError(
        f"the owner process did not answer for {seconds:.0f} s; see owner.log in the vault"
    )


def has_unix_sockets() -> bool:
    """Whether this platform has them for Python."""
    return os.name == "posix" and hasattr(socket, "AF_UNIX")
