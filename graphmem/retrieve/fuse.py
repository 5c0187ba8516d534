"""Weighted reciprocal rank fusion of the lanes; metadata breaks ties only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from graphmem.model.results import LaneRank
from graphmem.retrieve.context import LaneResult
from graphmem.retrieve.recipes import RRF_K
from graphmem.vocabulary import Lane

# Sums that agree this far are ties: adding lanes in another order moves the last digits.
TIE_DIGITS = 12


@dataclass(frozen=True, slots=True)
class Fused:
    """A passage with its fused score and where each lane placed it."""

    passage_id: str
    score: float
    lanes: tuple[LaneRank, ...]


def fuse(
    results: Sequence[LaneResult],
    weights: Mapping[Lane, float],
    times: Mapping[str, datetime | None] | None = None,
) -> list[Fused]:
    """The passages of all lanes, best first: score is the sum of weight / (60 + rank).

    Ties go to the passage with a known, later time, then to the lower id. O(n log n).
    """
    score: dict[str, float] = {}
    ranks: dict[str, list[LaneRank]] = {}
    for result in results:
        weight = weights.get(result.lane, 0.0)
        for rank, (passage_id, value) in enumerate(result.ranked, 1):
            if weight > 0:
                score[passage_id] = score.get(passage_id, 0.0) + weight / (RRF_K + rank)
                place = LaneRank(lane=result.lane, rank=rank, score=value)
                ranks.setdefault(passage_id, []).append(place)
    known = times or {}

    def order(passage_id: str) -> tuple[float, float, str]:
        time = known.get(passage_id)
        recency = -time.timestamp() if time is not None else float("inf")
        return (-round(score[passage_id], TIE_DIGITS), recency, passage_id)

    return [Fused(key, score[key], tuple(ranks[key])) for key in sorted(score, key=order)]
