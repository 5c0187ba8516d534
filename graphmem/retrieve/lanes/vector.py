"""Passages by the cosine of their text with the question."""

from __future__ import annotations

import math

from graphmem.retrieve.context import LaneResult, Question
from graphmem.retrieve.recipes import POOL
from graphmem.vocabulary import Lane

# Below this cosine a passage has nothing to do with the question; fusion must not see its rank.
MIN_COSINE = 0.05


def run(question: Question) -> LaneResult:
    """The nearest passages; none without an embedder or before any vector is stored."""
    if question.vector is None or not question.vector.any():
        return LaneResult(Lane.VECTOR)
    found = question.view.nearest(question.vector, POOL, question.scope)
    ranked = tuple(
        (hit.id, hit.score) for hit in found if math.isfinite(hit.score) and hit.score >= MIN_COSINE
    )
    return LaneResult(Lane.VECTOR, ranked)
