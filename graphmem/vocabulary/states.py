"""Closed vocabulary of states; each state is independent and holds a time or nothing."""

from __future__ import annotations

from enum import StrEnum


class StateKind(StrEnum):
    """A state that hides an item from default reads while its time is set."""

    FORGOTTEN = "forgotten"
    ARCHIVED = "archived"
    ABSENT = "absent"
    SNOOZED = "snoozed"
