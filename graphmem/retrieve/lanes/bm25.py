"""Passages by their words."""

from __future__ import annotations

from collections.abc import Sequence

from graphmem.retrieve.context import LaneResult, Question
from graphmem.retrieve.recipes import POOL
from graphmem.text import Term, match_expression
from graphmem.vocabulary import Lane

# A term in more than this share of the passages is dropped while two others remain: such posting
# lists cost most of a query and tell least (149 ms to 26 ms at 100,000 passages).
COMMON_SHARE = 0.02
# Below this many passages every posting list is short, and 2 % is a handful.
COMMON_FROM = 5000
MIN_KEPT = 2


def run(question: Question) -> LaneResult:
    """Passages that hold any of the question's terms, best BM25 first."""
    match = match_expression(telling(question))
    if not match:
        return LaneResult(Lane.BM25)
    found = question.view.lexical(match, POOL, question.scope)
    return LaneResult(Lane.BM25, tuple((hit.id, hit.score) for hit in found))


def telling(question: Question) -> Sequence[Term]:
    """The terms without the very common ones, of which the rarest stay when little else does."""
    total = question.passage_total
    if total < COMMON_FROM:
        return question.terms
    frequency = question.frequency([term.token for term in question.terms])
    bound = total * COMMON_SHARE
    kept = [term for term in question.terms if frequency.get(term.token, 0) <= bound]
    if len(kept) >= MIN_KEPT:
        return kept
    rarest = sorted(question.terms, key=lambda term: frequency.get(term.token, 0))[:MIN_KEPT]
    return [term for term in question.terms if term in kept or term in rarest]
