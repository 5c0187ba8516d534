"""Closed vocabularies of sources and of the part a passage plays in its source."""

from __future__ import annotations

from enum import StrEnum


class SourceKind(StrEnum):
    """What kind of thing was read."""

    NOTE = "note"
    RECORD = "record"
    TEXT = "text"
    TRANSCRIPT = "transcript"
    COMMIT = "commit"
    MEMORY = "memory"


class PassageRole(StrEnum):
    """The part a passage plays; decision records have named parts, all else is ``BODY``."""

    BODY = "body"
    TURN = "turn"
    CODE = "code"
    STATUS = "status"
    CONTEXT = "context"
    DECISION = "decision"
    RATIONALE = "rationale"
    OPTIONS = "options"
    CONSEQUENCES = "consequences"
