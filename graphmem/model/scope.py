"""What a read may see; a parameter of every read, applied inside every lane and hop."""

from __future__ import annotations

from graphmem.model.base import Model, UtcDatetime
from graphmem.vocabulary import Audience, Origin


class Scope(Model):
    """What a read may see.

    ``seq`` pins the published sequence (None: the newest). ``projects`` None means all.
    ``as_of`` asks what was true then (None: now); ``include_history`` also gives closed facts.
    ``include_hidden`` gives archived, absent and snoozed items, never forgotten ones.
    """

    seq: int | None = None
    projects: frozenset[str] | None = None
    audiences: frozenset[Audience] = frozenset({Audience.SHARED, Audience.PRIVATE})
    origins: frozenset[Origin] = frozenset(Origin)
    as_of: UtcDatetime | None = None
    include_history: bool = False
    include_hidden: bool = False


EVERYTHING = Scope()
