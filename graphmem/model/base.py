"""The base of all frozen models, the UTC time type and the hash that makes ids."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, PlainSerializer

# Characters of an id's hash: 80 bits, a collision among 10^9 items has odds below 10^-6.
ID_HASH_CHARS = 20


class Model(BaseModel):
    """A frozen model that refuses unknown fields."""

    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_inf_nan="null")


def _to_utc(value: datetime) -> datetime:
    if value.tzinfo is None:
        raise ValueError("a time needs a zone; graphmem stores UTC")
    try:
        return value.astimezone(UTC)
    except OverflowError:
        raise ValueError("the time is before year 1 or after 9999 in UTC") from None


def iso(value: datetime) -> str:
    """A time as ISO 8601 in UTC with a ``Z``; microseconds only when there are any.

    >>> iso(datetime(2026, 3, 1, tzinfo=UTC))
    '2026-03-01T00:00:00Z'
    """
    return value.astimezone(UTC).isoformat().replace("+00:00", "Z")


UtcDatetime = Annotated[
    datetime,
    AfterValidator(_to_utc),
    PlainSerializer(iso, return_type=str, when_used="json"),
]


def digest(*parts: str) -> str:
    """A short hash of strings that no other split of the same characters gives.

    >>> digest("a", "bc") == digest("ab", "c")
    False
    """
    hasher = hashlib.blake2b(digest_size=16)
    for part in parts:
        data = part.encode("utf-8", "surrogatepass")
        hasher.update(len(data).to_bytes(8, "big"))
        hasher.update(data)
    return hasher.hexdigest()[:ID_HASH_CHARS]
