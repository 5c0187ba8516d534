"""Passages reached by pushing mass along the meta-paths of the intent."""

from __future__ import annotations

from graphmem.retrieve.anchors import Anchors, Walked, by_passage
from graphmem.retrieve.context import LaneResult, Question
from graphmem.retrieve.recipes import POOL
from graphmem.traversal import forward_push
from graphmem.vocabulary import Lane


def run(question: Question, anchors: Anchors) -> LaneResult:
    """Where the mass of the anchors ends up, each passage with the route that brought most."""
    pushed = forward_push(
        question.adjacency, anchors.seeds, question.plan.paths, params=question.recipe.push
    )
    walked = [Walked(hit.node, hit.score, hit.path) for hit in pushed]
    found = by_passage(question, walked)[:POOL]
    return LaneResult(
        Lane.MPFP,
        tuple((key, score) for key, score, _ in found),
        {key: path for key, _, path in found if path},
    )
