"""What the headers of a request must say: which host, which origin, which kind of body."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus

Headers = Mapping[str, Sequence[str]]

# Where HTTP is served when an address names no port.
HTTP_PORT = 80
# Headers of one request; browsers send about 20.
MAX_HEADERS = 100
# Marks of a browser that a page of another origin made it send the request.
FOREIGN_SITES = frozenset({"cross-site", "same-site"})

_HOST = re.compile(
    r"(?:\[(?P<six>[0-9a-f:.]+)\]|(?P<name>[a-z0-9._-]+))(?::(?P<port>[0-9]{1,5}))?", re.I
)
_JSON = re.compile(r"application/json[ \t]*(?:;[ \t]*charset=\"?utf-?8\"?[ \t]*)?", re.I)


@dataclass(frozen=True, slots=True)
class Refused(Exception):
    """A request that goes no further; ``headers`` go with the reply."""

    status: HTTPStatus
    reason: str
    headers: tuple[tuple[bytes, bytes], ...] = ()


@dataclass(frozen=True, slots=True)
class Served:
    """Under which names and port an owner may be called; ``port`` None on a Unix socket.

    ``remote`` lets in any address in digits, as none can be rebound, and any port and scheme, as a
    proxy may stand before it; never a name that is not in ``names``.
    """

    names: Collection[str]
    port: int | None
    remote: bool = False

    def knows(self, host: str) -> bool:
        """Whether a ``Host`` value names this owner.

        >>> Served({"localhost"}, 7000).knows("LOCALHOST:7000")
        True
        >>> Served({"localhost"}, 7000).knows("localhost.evil.example:7000")
        False
        """
        found = _HOST.fullmatch(host)
        if found is None:
            return False
        name = (found["six"] or found["name"]).lower()
        if self.port is not None and not self.remote:
            return name in self.names and int(found["port"] or HTTP_PORT) == self.port
        return name in self.names or (self.remote and _in_digits(name))


def _in_digits(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def check_host(headers: Headers, served: Served) -> None:
    """Raises Refused unless the one ``Host`` names this owner."""
    given = headers.get("host", ())
    if len(given) != 1 or not served.knows(given[0]):
        raise Refused(HTTPStatus.FORBIDDEN, "this Host is not served here")


def check_origin(headers: Headers, served: Served) -> None:
    """Raises Refused for a page of another origin; what is no browser sends none.

    Call it after ``check_host``: an own origin is the same address as the ``Host``.
    """
    schemes = ("http", "https") if served.remote else ("http",)
    own = {f"{scheme}://{headers['host'][0].lower()}" for scheme in schemes}
    if any(origin.lower() not in own for origin in headers.get("origin", ())):
        raise Refused(HTTPStatus.FORBIDDEN, "this Origin may not call")
    if any(site.strip().lower() in FOREIGN_SITES for site in headers.get("sec-fetch-site", ())):
        raise Refused(HTTPStatus.FORBIDDEN, "a page of another site may not call")


def check_kind(headers: Headers) -> None:
    """Raises Refused unless the body is plain JSON: one type, UTF-8, not compressed."""
    kinds = headers.get("content-type", ())
    if len(kinds) != 1 or not _JSON.fullmatch(kinds[0].strip()):
        raise Refused(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "send application/json")
    if any(each.strip().lower() != "identity" for each in headers.get("content-encoding", ())):
        raise Refused(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "send the body uncompressed")


def check_count(headers: Headers) -> None:
    """Raises Refused for a flood of headers; their size is bounded where they are read."""
    if sum(map(len, headers.values())) > MAX_HEADERS:
        raise Refused(
            HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, f"at most {MAX_HEADERS} headers are read"
        )


def check_upgrade(headers: Headers) -> None:
    """Raises Refused for a WebSocket; other upgrades are only offers and may be ignored."""
    if any("websocket" in each.lower() for each in headers.get("upgrade", ())):
        raise Refused(HTTPStatus.BAD_REQUEST, "no WebSocket is served here")
