"""The one pipeline from a question to an answer; every surface uses it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from graphmem.embed import Embedder
from graphmem.errors import EmbedderError, UsageError
from graphmem.model.results import Answer
from graphmem.model.scope import EVERYTHING, Scope
from graphmem.retrieve import answer as answers
from graphmem.retrieve.anchors import Anchors, find_anchors
from graphmem.retrieve.context import LaneResult, Question, printable, read_passages
from graphmem.retrieve.explain import Explanation, explanations
from graphmem.retrieve.fuse import Fused, fuse
from graphmem.retrieve.intent import IntentGuess, classify
from graphmem.retrieve.lanes import beam, bm25, facts, mpfp, time, vector
from graphmem.retrieve.linking import link
from graphmem.retrieve.pack import pack
from graphmem.retrieve.places import places
from graphmem.retrieve.recipes import recipe_named
from graphmem.retrieve.support import judge
from graphmem.retrieve.trace import causal_chain, tracer
from graphmem.retrieve.windows import find_window
from graphmem.store.protocols import View
from graphmem.vocabulary import Intent, Lane

# Hits a caller may ask for, and what is taken when the caller names no number.
MAX_LIMIT = 100
DEFAULT_LIMIT = 8
DEFAULT_TOKENS = 2000
# Passages judged for support and ordered; the rest of the fused list cannot reach the answer.
JUDGED = 40
# Paths whose causal edges make the chain of a WHY answer.
CHAIN_HITS = 3
# Characters of a question that are read; longer text is a document, not a question.
MAX_QUESTION_CHARS = 4000

_PLAIN_LANES = (
    (Lane.BM25, bm25.run),
    (Lane.VECTOR, vector.run),
    (Lane.FACTS, facts.run),
    (Lane.TIME, time.run),
)
_GRAPH_LANES = ((Lane.BEAM, beam.run), (Lane.MPFP, mpfp.run))


class Retriever:
    """Answers questions about what the newest view holds."""

    def __init__(
        self,
        view: Callable[[], View],
        embedder: Embedder | None,
        *,
        now: Callable[[], datetime],
    ) -> None:
        self._view, self._embedder, self._now = view, embedder, now

    def search(
        self,
        question: str,
        *,
        scope: Scope = EVERYTHING,
        limit: int = DEFAULT_LIMIT,
        max_tokens: int = DEFAULT_TOKENS,
        recipe: str = "default",
        explain: bool = True,
    ) -> Answer:
        """The passages that answer, best first, with quotes, lane ranks and paths.

        Never raises for any text. ``supported`` False, with the reason, when nothing stored
        supports an answer. ``explain`` False leaves out lane ranks and paths. Raises UsageError
        for a limit or budget below 1 and an unknown recipe.
        """
        if limit < 1 or max_tokens < 1:
            raise UsageError("limit and max_tokens must be at least 1")
        recipe_named(recipe)
        view, question = self._view(), printable(question)
        if not any(char.isalnum() for char in question):
            return _refusal(question, view, classify(""), "the question is empty")
        asked = self.understand(question, view=view, scope=scope, recipe=recipe)
        found = self.lanes(asked)
        result = _answer(asked, found, min(limit, MAX_LIMIT), max_tokens, question)
        return result if explain else _without_explanation(result)

    def understand(
        self, question: str, *, view: View, scope: Scope = EVERYTHING, recipe: str = "default"
    ) -> Question:
        """The question with its intent, window, names and vector, pinned to a view."""
        text = printable(question[:MAX_QUESTION_CHARS])
        return Question(
            text=text,
            view=view,
            scope=scope,
            guess=classify(text),
            window=find_window(text, self._now()),
            links=link(text, view, scope),
            recipe=recipe_named(recipe),
            vector=self._embed(text),
        )

    def lanes(self, asked: Question) -> Lanes:
        """Every lane that the recipe gives a weight, and the anchors of the graph lanes."""
        return Lanes.run(asked)

    def _embed(self, text: str) -> NDArray[np.float32] | None:
        """The question's vector; None without an embedder or when it fails (words still work)."""
        if self._embedder is None or self._embedder.dimension == 0:
            return None
        try:
            vector = np.asarray(self._embedder.embed([text])[0], np.float32)
        except EmbedderError:
            return None
        return vector if np.isfinite(vector).all() and vector.any() else None


class Lanes:
    """What the lanes of one question found."""

    def __init__(self, results: Sequence[LaneResult], anchors: Anchors | None) -> None:
        self.results, self.anchors = tuple(results), anchors

    @classmethod
    def run(cls, asked: Question) -> Lanes:
        """Runs the lanes of the question's recipe; graph lanes start from what the others found."""
        weights = asked.plan.lanes
        results = [run(asked) for lane, run in _PLAIN_LANES if weights.get(lane, 0.0) > 0]
        walks = [run for lane, run in _GRAPH_LANES if weights.get(lane, 0.0) > 0]
        anchors = find_anchors(asked, results) if walks or asked.recipe.explains else None
        if anchors is not None:
            results += [run(asked, anchors) for run in walks]
        return cls(results, anchors)


def _answer(asked: Question, found: Lanes, limit: int, max_tokens: int, question: str) -> Answer:
    fused = fuse(found.results, asked.plan.lanes)
    head = [item.passage_id for item in fused[:JUDGED]]
    reading = read_passages(asked.view, head, asked.scope)
    times = answers.passage_times(reading)
    fused = fuse(found.results, asked.plan.lanes, times)[:JUDGED]
    where = places(asked.view, reading.passages, asked.scope)
    titles = {
        key: " ".join([where.sources[p.source_id].title, *p.heading_path])
        for key, p in where.passages.items()
        if p.source_id in where.sources
    }
    verdict = judge(asked, reading, titles, [item.passage_id for item in fused])
    if not verdict.supported:
        return _refusal(question, asked.view, asked.guess, verdict.reason, asked)
    explained = _explained(asked, found)
    order = answers.order_hits(asked, fused, explained, verdict.coverage, times)
    order = answers.bare_last(asked, reading, order)[:limit]
    return _finish(asked, found, fused, explained, order, max_tokens, question)


def _explained(asked: Question, found: Lanes) -> list[Explanation]:
    if asked.guess.intent is not Intent.WHY or found.anchors is None or not asked.recipe.explains:
        return []
    return explanations(asked, found.anchors)


def _finish(
    asked: Question,
    found: Lanes,
    fused: Sequence[Fused],
    explained: Sequence[Explanation],
    order: Sequence[str],
    max_tokens: int,
    question: str,
) -> Answer:
    reading = read_passages(asked.view, order, asked.scope)
    where = places(asked.view, order, asked.scope)
    paths = answers.choose_paths(found.results, explained)
    shown = [paths[key] for key in order if key in paths]
    trace = tracer(asked.view, asked.adjacency, shown, asked.scope)
    hits = answers.make_hits(asked, order, fused, explained, reading, paths, trace, where)
    packed, truncated = pack(hits, max_tokens)
    is_why = asked.guess.intent is Intent.WHY
    return Answer(
        question=question,
        seq=asked.view.seq,
        intent=asked.guess.intent,
        direction=asked.guess.direction,
        intent_confidence=asked.guess.confidence,
        window=(asked.window.start, asked.window.end) if asked.window else None,
        window_text=asked.window.text if asked.window else None,
        entities=_entity_ids(asked),
        supported=bool(packed),
        reason="" if packed else "what was found may not be seen",
        hits=packed,
        chain=causal_chain(trace, shown[:CHAIN_HITS]) if is_why else (),
        truncated=truncated,
        vectors_pending=asked.view.pending_vectors(),
    )


def _entity_ids(asked: Question) -> tuple[str, ...]:
    return tuple(dict.fromkeys(item.entity_id for item in asked.links))


def _refusal(
    question: str, view: View, guess: IntentGuess, reason: str, asked: Question | None = None
) -> Answer:
    window = asked.window if asked is not None else None
    return Answer(
        question=question,
        seq=view.seq,
        intent=guess.intent,
        direction=guess.direction,
        intent_confidence=guess.confidence,
        window=(window.start, window.end) if window else None,
        window_text=window.text if window else None,
        entities=_entity_ids(asked) if asked is not None else (),
        supported=False,
        reason=reason,
        vectors_pending=view.pending_vectors(),
    )


def _without_explanation(result: Answer) -> Answer:
    hits = tuple(hit.model_copy(update={"lanes": (), "path": ()}) for hit in result.hits)
    return result.model_copy(update={"hits": hits, "chain": ()})
