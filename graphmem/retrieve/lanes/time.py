"""Passages inside the question's time window, those that fit its words first."""

from __future__ import annotations

from graphmem.retrieve.context import LaneResult, Question, Reading, read_passages
from graphmem.retrieve.recipes import POOL
from graphmem.vocabulary import Lane, StatementKind

# Passages of the window that are looked at.
MAX_IN_WINDOW = 1000
# What a passage gains that tells of something decided or done; a bare date line does not.
TOLD = 0.3
_DEEDS = frozenset({StatementKind.DECISION, StatementKind.EVENT, StatementKind.MILESTONE})


def run(question: Question) -> LaneResult:
    """Passages of the window by coverage of the question's words and cosine; ties by time."""
    window = question.window
    if window is None:
        return LaneResult(Lane.TIME)
    ids = question.view.in_window(window.start, window.end, MAX_IN_WINDOW, question.scope)
    reading = read_passages(question.view, ids, question.scope)
    cosines = question.cosines(ids)
    score = {
        key: question.coverage(passage.text) + max(cosines[key], 0.0) + _told(reading, key)
        for key, passage in reading.passages.items()
    }
    place = {key: number for number, key in enumerate(ids)}
    order = sorted(score, key=lambda key: (-round(score[key], 9), place[key]))[:POOL]
    return LaneResult(Lane.TIME, tuple((key, score[key]) for key in order))


def _told(reading: Reading, passage_id: str) -> float:
    kinds = {statement.kind for statement in reading.statements.get(passage_id, ())}
    return TOLD if kinds & _DEEDS else 0.0
