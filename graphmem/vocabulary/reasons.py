"""Closed vocabulary of why a candidate was not stored; counted and shown, never silent."""

from __future__ import annotations

from enum import StrEnum


class Refusal(StrEnum):
    """Why an extractor's or a caller's candidate was dropped."""

    BAD_SPAN = "bad_span"
    PLACEHOLDER = "placeholder"
    SELF_LOOP = "self_loop"
    UNKNOWN_REFERENCE = "unknown_reference"
    NOT_ASSERTED = "not_asserted"
    EMPTY = "empty"
    TOO_LONG = "too_long"
    DUPLICATE = "duplicate"
    REVERSED_INTERVAL = "reversed_interval"
