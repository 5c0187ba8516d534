"""What all lanes of one question share, and what a lane gives back."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from graphmem.model.items import Passage, Statement
from graphmem.model.scope import Scope
from graphmem.retrieve.intent import IntentGuess
from graphmem.retrieve.linking import Linked
from graphmem.retrieve.recipes import Plan, Recipe
from graphmem.retrieve.windows import Window
from graphmem.store.protocols import GraphAdjacency, View
from graphmem.text import Term, escape, query_terms, stem, tokenize
from graphmem.text.stopwords import STOP_WORDS
from graphmem.traversal import Path
from graphmem.vocabulary import Lane

# "don't", "we're": no content, and rare enough to look telling.
_CONTRACTED = re.compile(r"\w+(?:n't|'(?:re|ve|ll|d|m|s))").fullmatch


@dataclass(frozen=True, slots=True)
class LaneResult:
    """A lane's passages with scores, best first, and the best path to those it walked to."""

    lane: Lane
    ranked: tuple[tuple[str, float], ...] = ()
    paths: Mapping[str, Path] = field(default_factory=dict)
    facts: Mapping[str, str] = field(default_factory=dict)
    """For the facts lane: the fact that brought each passage."""


@dataclass(frozen=True)
class Question:
    """A question as it was understood, pinned to one view; all it computes is kept."""

    text: str
    view: View
    scope: Scope
    guess: IntentGuess
    window: Window | None
    links: tuple[Linked, ...]
    recipe: Recipe
    vector: NDArray[np.float32] | None = None

    @property
    def plan(self) -> Plan:
        """How this intent is searched."""
        return self.recipe.plan(self.guess.intent, self.guess.direction)

    @cached_property
    def terms(self) -> tuple[Term, ...]:
        """What is searched for; the same for every lane."""
        return query_terms(self.text)

    @cached_property
    def adjacency(self) -> GraphAdjacency:
        """The traversal snapshot under this question's scope."""
        return self.view.adjacency(self.scope)

    @cached_property
    def wanted(self) -> Mapping[str, float]:
        """The question's content words, as `content_keys` gives them, with how telling each is."""
        keys = content_keys(self.text)
        frequency = self.view.document_frequency([escape(key) for key in keys])
        total = max(self.view.counts(self.scope).get("passages", 0), 1)
        return {key: math.log(1.0 + total / (0.5 + frequency.get(escape(key), 0))) for key in keys}

    def coverage(self, text: str) -> float:
        """How much of the question's content a text holds, weighted by rarity: 0..1."""
        return self.coverage_of(content_keys(text))

    def coverage_of(self, keys: Iterable[str]) -> float:
        """As `coverage`, for keys made before."""
        total = sum(self.wanted.values())
        return sum(self.wanted.get(key, 0.0) for key in set(keys)) / total if total else 0.0

    @cached_property
    def _cosines(self) -> dict[str, float]:
        return {}

    def cosines(self, passage_ids: Sequence[str]) -> dict[str, float]:
        """Cosine of each passage with the question; 0 where there is no vector."""
        known = self._cosines
        fresh = [key for key in dict.fromkeys(passage_ids) if key not in known]
        if fresh and self.vector is not None:
            values = self.view.vectors(fresh) @ self.vector
            known.update(zip(fresh, np.nan_to_num(values).tolist(), strict=True))
        return {key: known.get(key, 0.0) for key in passage_ids}


@dataclass(frozen=True)
class Reading:
    """Passages with their statements, read once for ranking and quoting."""

    passages: Mapping[str, Passage]
    statements: Mapping[str, tuple[Statement, ...]]

    def text(self, statement: Statement) -> str:
        """The statement's words."""
        return self.passages[statement.passage_id].text[statement.start : statement.end]


def read_passages(view: View, ids: Iterable[str], scope: Scope) -> Reading:
    """The visible passages of the ids and their statements."""
    passages = view.passages(dict.fromkeys(ids), scope)
    return Reading(passages, view.statements_of(list(passages), scope))


def content_keys(text: str) -> tuple[str, ...]:
    """What a text is about: stems of its words, identifiers whole, no stop words, no repeats.

    >>> content_keys("Why did we drop GPT-4?")
    ('drop', 'gpt-4')
    """
    tokens = tokenize(text)
    words = [word for word in tokens.whole if word not in STOP_WORDS and not _CONTRACTED(word)]
    keys = [stem(word) if word.isascii() and word.isalpha() else word for word in words]
    return tuple(dict.fromkeys([*keys, *tokens.stem]))
