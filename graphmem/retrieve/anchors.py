"""Where a traversal starts: the best passages by word and vector, their statements, and names."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from graphmem.retrieve.context import LaneResult, Question, Reading, read_passages
from graphmem.retrieve.recipes import ANCHORS, RRF_K
from graphmem.traversal import Path
from graphmem.vocabulary import Lane

# What an entity is worth beside the best passage: names are surer than words, but less specific.
ENTITY_SEED = 0.5
# A passage's heading and its source's title tell what "it" and "we" are about, at half weight.
HEADING_WEIGHT = 0.5
# The part of a statement's match that is its passage's rank; the rest is its own words.
RANK_WEIGHT = 0.3


@dataclass(frozen=True)
class Anchors:
    """Seeds by node handle, and how well each anchor statement fits the question (0..1)."""

    seeds: Mapping[int, float]
    statements: Mapping[str, float]
    passages: Mapping[str, float]
    reading: Reading


def find_anchors(question: Question, lanes: Sequence[LaneResult]) -> Anchors:
    """The anchors of a question from its word, vector and fact lanes."""
    passages = _passages(lanes)
    reading = read_passages(question.view, passages, question.scope)
    statements = _statements(question, passages, reading)
    seeds: dict[int, float] = {}
    entities = {link.entity_id: ENTITY_SEED for link in question.links}
    for items in (passages, statements, entities):
        for key, value in items.items():
            handle = question.adjacency.handle(key)
            if handle is not None and value > 0:
                seeds[handle] = max(seeds.get(handle, 0.0), value)
    return Anchors(seeds, statements, passages, reading)


def _passages(lanes: Sequence[LaneResult]) -> dict[str, float]:
    """The top of each lane by reciprocal rank, scaled so that the best is 1."""
    score: dict[str, float] = {}
    for lane in lanes:
        if lane.lane in (Lane.BM25, Lane.VECTOR, Lane.FACTS):
            for rank, (key, _) in enumerate(lane.ranked[:ANCHORS], 1):
                score[key] = score.get(key, 0.0) + 1.0 / (RRF_K + rank)
    best = max(score.values(), default=1.0)
    return {key: value / best for key, value in score.items()}


def _statements(
    question: Question, passages: Mapping[str, float], reading: Reading
) -> dict[str, float]:
    """Statements of the anchor passages by their sentence's words, the best at most 1."""
    titles = _titles(question, reading)
    raw: dict[str, tuple[float, str]] = {}
    for key, statements in reading.statements.items():
        text = reading.passages[key].text
        for statement in statements:
            own = question.coverage(sentence_of(text, statement.start, statement.end))
            both = question.coverage(f"{titles[key]} {text[statement.start : statement.end]}")
            raw[statement.id] = (own + HEADING_WEIGHT * max(both - own, 0.0), key)
    best = max((value for value, _ in raw.values()), default=0.0)
    if best <= 0:
        return {}
    return {
        key: value / best * (1 - RANK_WEIGHT + RANK_WEIGHT * passages[passage_id])
        for key, (value, passage_id) in raw.items()
        if value > 0
    }


def _titles(question: Question, reading: Reading) -> dict[str, str]:
    sources = question.view.sources(
        {passage.source_id for passage in reading.passages.values()}, question.scope
    )
    return {
        key: " ".join(
            [sources[p.source_id].title if p.source_id in sources else "", *p.heading_path]
        )
        for key, p in reading.passages.items()
    }


def sentence_of(text: str, start: int, end: int) -> str:
    """The sentence or line around a span, so that a clause is judged with its other half.

    >>> sentence_of("It broke. We kept it because it works. Done.", 10, 20)
    'We kept it because it works.'
    """
    left, right = sentence_span(text, start, end)
    return text[left:right]


def sentence_span(text: str, start: int, end: int) -> tuple[int, int]:
    """Offsets of the sentence around a span; lines and ". " end a sentence."""
    left = max(
        text.rfind(mark, 0, start) + len(mark) if mark in text[:start] else 0
        for mark in (". ", ".\n", "\n", "! ", "? ")
    )
    marks = (". ", ".\n", "\n", "! ", "? ")
    stops = [at + (mark != "\n") for mark in marks if (at := text.find(mark, max(end - 1, 0))) >= 0]
    return left, min(stops, default=len(text))


@dataclass(frozen=True, slots=True)
class Walked:
    """A node a traversal reached, whatever the algorithm."""

    node: int
    score: float
    path: Path


def by_passage(question: Question, walked: Sequence[Walked]) -> list[tuple[str, float, Path]]:
    """Nodes gathered to their passages, best first, each with the path of its best node."""
    nodes = np.array([item.node for item in walked], np.int32)
    homes = question.adjacency.passage_of(nodes).tolist() if len(nodes) else []
    best: dict[int, Walked] = {}
    for item, home in zip(walked, homes, strict=True):
        if home >= 0 and (home not in best or _better(item, best[home])):
            best[home] = item
    keyed = [(question.adjacency.key(home), item) for home, item in best.items()]
    keyed.sort(key=lambda pair: (-round(pair[1].score, 9), pair[0]))
    return [(key, item.score, item.path) for key, item in keyed]


def _better(new: Walked, old: Walked) -> bool:
    return new.score > old.score or (new.score == old.score and len(new.path) > len(old.path) == 0)


def similarity_of(
    question: Question,
) -> Callable[[NDArray[np.int32]], NDArray[np.float64]]:
    """A function of node handles: the cosine of each node's passage; 0 for entities."""

    def similarity(nodes: NDArray[np.int32]) -> NDArray[np.float64]:
        homes = question.adjacency.passage_of(nodes)
        keys = [question.adjacency.key(home) if home >= 0 else "" for home in homes.tolist()]
        cosines = question.cosines([key for key in keys if key])
        return np.array([cosines.get(key, 0.0) for key in keys], np.float64)

    return similarity
