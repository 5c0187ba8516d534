"""Closed vocabulary of what a question wants, and for WHY in which direction."""

from __future__ import annotations

from enum import StrEnum


class Intent(StrEnum):
    """What a question asks for."""

    WHY = "why"
    WHEN = "when"
    ENTITY = "entity"
    WHAT = "what"


class Direction(StrEnum):
    """Where a causal question looks: to what led to it, or to what it led to."""

    BACK = "back"
    FORWARD = "forward"
    BOTH = "both"


class Lane(StrEnum):
    """A ranked list that fusion combines."""

    BM25 = "bm25"
    VECTOR = "vector"
    FACTS = "facts"
    TIME = "time"
    BEAM = "beam"
    MPFP = "mpfp"
