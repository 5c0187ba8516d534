"""Closed vocabularies of trust: who said it, who may read it, what a piece of evidence does."""

from __future__ import annotations

from enum import StrEnum


class Origin(StrEnum):
    """Who an item comes from; set by reader or caller, never by text."""

    OWNER = "owner"
    AGENT = "agent"
    SYSTEM = "system"
    UNTRUSTED = "untrusted"


TRUST: dict[Origin, int] = {
    Origin.OWNER: 3,
    Origin.AGENT: 2,
    Origin.SYSTEM: 1,
    Origin.UNTRUSTED: 0,
}


class Audience(StrEnum):
    """Who may read an item: every client of the vault, or only the owner's own surfaces."""

    SHARED = "shared"
    PRIVATE = "private"


class Stance(StrEnum):
    """What a piece of evidence does to its fact."""

    SUPPORTS = "supports"
    CONTRADICTS = "contradicts"
