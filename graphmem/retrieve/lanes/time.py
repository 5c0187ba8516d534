"""Passages inside the question's time window, those that fit its words first."""

from __future__ import annotations

from graphmem.retrieve.context import LaneResult, Question
from graphmem.retrieve.recipes import POOL
from graphmem.vocabulary import Lane

# Passages of the window that are looked at.
MAX_IN_WINDOW = 1000


def run(question: Question) -> LaneResult:
    """Passages of the window by coverage of the question's words and cosine; ties by time."""
    window = question.window
    if window is None:
        return LaneResult(Lane.TIME)
    ids = question.view.in_window(window.start, window.end, MAX_IN_WINDOW, question.scope)
    passages = question.view.passages(ids, question.scope)
    cosines = question.cosines(ids)
    score = {
        key: question.coverage(passages[key].text) + max(cosines[key], 0.0)
        for key in ids
        if key in passages
    }
    place = {key: number for number, key in enumerate(ids)}
    order = sorted(score, key=lambda key: (-round(score[key], 9), place[key]))[:POOL]
    return LaneResult(Lane.TIME, tuple((key, score[key]) for key in order))
