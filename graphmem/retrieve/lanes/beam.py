"""Passages reached by a beam search along the edges that matter to the intent."""

from __future__ import annotations

from graphmem.retrieve.anchors import Anchors, Walked, by_passage, similarity_of
from graphmem.retrieve.context import LaneResult, Question
from graphmem.retrieve.recipes import POOL
from graphmem.traversal import beam_search
from graphmem.vocabulary import Lane


def run(question: Question, anchors: Anchors) -> LaneResult:
    """The anchors and what they lead to, each passage with its best path."""
    plan = question.plan
    reached = beam_search(
        question.adjacency,
        anchors.seeds,
        affinity=plan.affinity,
        similarity=similarity_of(question),
        params=plan.beam(),
    )
    walked = [Walked(hit.node, hit.score, hit.path) for hit in reached]
    found = by_passage(question, walked)[:POOL]
    return LaneResult(
        Lane.BEAM,
        tuple((key, score) for key, score, _ in found),
        {key: path for key, _, path in found if path},
    )
