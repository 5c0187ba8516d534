"""Closed vocabulary of links between statements and of the edge types that traversal walks."""

from __future__ import annotations

from enum import StrEnum


class LinkKind(StrEnum):
    """A stored link; causal kinds run from cause to effect, ``SUPERSEDES`` from new to old."""

    CAUSES = "causes"
    ENABLES = "enables"
    PREVENTS = "prevents"
    MOTIVATES = "motivates"
    SAME_EVENT = "same_event"
    SUPERSEDES = "supersedes"
    CONTRADICTS = "contradicts"


CAUSAL_KINDS: frozenset[LinkKind] = frozenset(
    {LinkKind.CAUSES, LinkKind.ENABLES, LinkKind.PREVENTS, LinkKind.MOTIVATES}
)
SYMMETRIC_KINDS: frozenset[LinkKind] = frozenset({LinkKind.SAME_EVENT, LinkKind.CONTRADICTS})


class EdgeType(StrEnum):
    """A direction in which traversal may leave a node; the reverse has a name of its own."""

    CONTAINS = "contains"
    PART_OF = "part_of"
    MENTIONS = "mentions"
    MENTIONED_IN = "mentioned_in"
    FACT = "fact"
    CAUSES = "causes"
    CAUSED_BY = "caused_by"
    SAME_EVENT = "same_event"
    NEXT = "next"
    PREVIOUS = "previous"
    SUPERSEDES = "supersedes"
    SUPERSEDED_BY = "superseded_by"
    SIMILAR = "similar"


REVERSE: dict[EdgeType, EdgeType] = {
    EdgeType.CONTAINS: EdgeType.PART_OF,
    EdgeType.PART_OF: EdgeType.CONTAINS,
    EdgeType.MENTIONS: EdgeType.MENTIONED_IN,
    EdgeType.MENTIONED_IN: EdgeType.MENTIONS,
    EdgeType.FACT: EdgeType.FACT,
    EdgeType.CAUSES: EdgeType.CAUSED_BY,
    EdgeType.CAUSED_BY: EdgeType.CAUSES,
    EdgeType.SAME_EVENT: EdgeType.SAME_EVENT,
    EdgeType.NEXT: EdgeType.PREVIOUS,
    EdgeType.PREVIOUS: EdgeType.NEXT,
    EdgeType.SUPERSEDES: EdgeType.SUPERSEDED_BY,
    EdgeType.SUPERSEDED_BY: EdgeType.SUPERSEDES,
    EdgeType.SIMILAR: EdgeType.SIMILAR,
}
