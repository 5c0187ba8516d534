"""What is compared: every lane alone, plain baselines on the same passages, the default recipe."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any

from graphmem.memory import Memory
from graphmem.model.items import Passage, Source
from graphmem.model.scope import EVERYTHING
from graphmem.retrieve import Retriever
from graphmem.retrieve.context import LaneResult
from graphmem.retrieve.fuse import fuse
from graphmem.vocabulary import Lane

# BM25's usual constants (Robertson and Zaragoza 2009).
K1, B = 1.2, 0.75
# Weights of the vector list beside BM25's 1.0 that the hybrid baseline is tuned over.
VECTOR_WEIGHTS = (0.25, 0.5, 0.7, 1.0, 1.5, 2.0)
# Tokens and hits of an answer: so many that the budget cuts nothing off.
ALL_TOKENS, ALL_HITS = 1_000_000, 100

DEFAULT, PLAIN, HYBRID = "default", "plain bm25", "hybrid"

Ranked = Sequence[str]


@dataclass(frozen=True, slots=True)
class Run:
    """The passages a system gave, best first, and how long it took in seconds."""

    ranked: tuple[str, ...]
    seconds: float


class PlainBM25:
    """BM25 over lower-case words without stemming, stop words or fields: the textbook baseline."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        """``texts`` are by passage id; a title is indexed when it is part of the text."""
        self._counts = {key: Counter(_words(text)) for key, text in texts.items()}
        self._length = {key: sum(counts.values()) for key, counts in self._counts.items()}
        self._mean = sum(self._length.values()) / max(len(self._length), 1)
        self._frequency = Counter(word for counts in self._counts.values() for word in counts)

    def rank(self, query: str) -> list[str]:
        """Passages with any of the words, best first, ties by id. O(passages * words)."""
        total = len(self._counts)
        score: dict[str, float] = {}
        for word in dict.fromkeys(_words(query)):
            seen = self._frequency.get(word, 0)
            rarity = math.log(1 + (total - seen + 0.5) / (seen + 0.5))
            for key, counts in self._counts.items():
                if times := counts[word]:
                    norm = K1 * (1 - B + B * self._length[key] / self._mean)
                    score[key] = score.get(key, 0.0) + rarity * times * (K1 + 1) / (times + norm)
        return sorted(score, key=lambda key: (-score[key], key))


class Systems:
    """All systems over one vault."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self._view = memory._store.view()
        embedder = memory._embedding()
        self._retriever = Retriever(memory._store.view, embedder, now=memory._clock)
        self.sources: dict[str, Source] = {s.id: s for s in self._view.source_list()}
        ids = [ref.passage_id for source in self.sources.values() for ref in source.layout]
        self.passages: Mapping[str, Passage] = self._view.passages(ids, EVERYTHING)
        self._plain = PlainBM25({key: self._text(each) for key, each in self.passages.items()})

    def _text(self, passage: Passage) -> str:
        title = self.sources[passage.source_id].title
        return " ".join([title, *passage.heading_path, passage.text])

    def ask(self, question: str) -> dict[str, Run]:
        """What each system gives; lanes that have nothing to say give an empty list."""
        runs = {PLAIN: _timed(lambda: self._plain.rank(question))}
        runs[DEFAULT] = _timed(lambda: self._answer(question))
        start = perf_counter()
        lanes = self._lanes(question)
        seconds = perf_counter() - start
        for lane in Lane:
            found = lanes.get(lane)
            ranked = tuple(key for key, _ in found.ranked) if found else ()
            runs[f"lane {lane.value}"] = Run(ranked, seconds)
        for weight in VECTOR_WEIGHTS:
            start = perf_counter()
            fused = _hybrid(lanes, weight)
            runs[f"{HYBRID} {weight}"] = Run(fused, seconds + perf_counter() - start)
        return runs

    def _answer(self, question: str) -> list[str]:
        answer = self._retriever.search(question, limit=ALL_HITS, max_tokens=ALL_TOKENS)
        return [hit.passage_id for hit in answer.hits]

    def _lanes(self, question: str) -> dict[Lane, LaneResult]:
        asked: Any = self._retriever.understand(question, view=self._view)
        return {result.lane: result for result in self._retriever.lanes(asked).results}


def _hybrid(lanes: Mapping[Lane, LaneResult], weight: float) -> tuple[str, ...]:
    both = [lanes[lane] for lane in (Lane.BM25, Lane.VECTOR) if lane in lanes]
    fused = fuse(both, {Lane.BM25: 1.0, Lane.VECTOR: weight})
    return tuple(item.passage_id for item in fused)


def _timed(rank: Callable[[], Ranked]) -> Run:
    start = perf_counter()
    ranked = tuple(rank())
    return Run(ranked, perf_counter() - start)


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())
