"""What all lanes of one question share, and what a lane gives back."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from graphmem.model.inputs import without_surrogates
from graphmem.model.items import Passage, Statement
from graphmem.model.scope import Scope
from graphmem.retrieve.intent import IntentGuess
from graphmem.retrieve.linking import Linked
from graphmem.retrieve.recipes import Plan, Recipe
from graphmem.retrieve.windows import Window
from graphmem.store.protocols import GraphAdjacency, View
from graphmem.text import (
    Column,
    Term,
    escape,
    match_expression,
    query_terms,
    stem,
    tokenize,
)
from graphmem.text.stopwords import STOP_WORDS
from graphmem.traversal import Path
from graphmem.vocabulary import Audience, Intent, Lane, Origin

# Texts whose keys are remembered: tokenizing takes 0.2 ms per passage, a question reads about 100.
HELD_CACHE = 4096
# Stems that beside a time only say that something is wanted: "what did we discuss in May?"
EVENT_WORDS = frozenset(
    "happen discuss chang decid decis do done work talk note learn event go record news".split()
)
# Hits counted for a word's frequency under a narrow scope; beyond, all words are just common.
FREQUENCY_CAP = 1000
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
        """What is searched for: all terms, but not those of the time window while others remain."""
        terms = query_terms(self.text)
        timed = {term.token for term in query_terms(self.window.text)} if self.window else set()
        return tuple(term for term in terms if term.token not in timed) or terms

    @cached_property
    def adjacency(self) -> GraphAdjacency:
        """The traversal snapshot under this question's scope."""
        return self.view.adjacency(self.scope)

    @cached_property
    def passage_total(self) -> int:
        """How many passages this reader may see."""
        return self.view.passage_count(self.scope)

    @cached_property
    def wanted(self) -> Mapping[str, float]:
        """The question's content words, as `content_keys` gives them, with how telling each is."""
        keys = self._content()
        frequency = self.frequency([escape(key) for key in keys])
        total = max(self.passage_total, 1)
        return {key: math.log(1.0 + total / (0.5 + frequency[escape(key)])) for key in keys}

    def _content(self) -> list[str]:
        """The words that say what is asked about, without those that say what is wanted of it.

        Cues of WHY, WHEN and "tell me about" go, and beside a time its words and "what happened".
        """
        keys = content_keys(self.text)
        spoken = set(content_keys(self.window.text)) | EVENT_WORDS if self.window else set()
        for cue in self.guess.cues:
            if self.guess.intent in (Intent.WHY, Intent.WHEN) or cue.endswith("about"):
                spoken |= set(content_keys(cue))
        kept = [key for key in keys if key not in spoken]
        return kept if kept or self.window else list(keys)

    def frequency(self, tokens: Sequence[str]) -> Mapping[str, int]:
        """In how many passages that this reader may see each index token stands.

        Under a narrower scope than the whole vault the index's own count would tell of passages
        that the scope hides, so hits are counted, up to ``FREQUENCY_CAP``.
        """
        if is_whole(self.scope):
            known = self.view.document_frequency(tokens)
            return {token: known.get(token, 0) for token in tokens}
        counted = {}
        for token in dict.fromkeys(tokens):
            match = match_expression([Term(token, token, tuple(Column))])
            counted[token] = len(self.view.lexical(match, FREQUENCY_CAP, self.scope))
        return counted

    def coverage(self, text: str) -> float:
        """How much of the question's content a text holds, weighted by rarity: 0..1."""
        total = sum(self.wanted.values())
        held = held_keys(text)
        return sum(v for key, v in self.wanted.items() if key in held) / total if total else 0.0

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


def is_whole(scope: Scope) -> bool:
    """Whether a scope leaves out nothing by project, audience or origin."""
    return (
        scope.projects is None
        and scope.audiences == frozenset(Audience)
        and scope.origins == frozenset(Origin)
    )


def printable(text: str) -> str:
    """The text with lone surrogates replaced, so that every reply can be encoded."""
    return without_surrogates(text)


def content_keys(text: str) -> tuple[str, ...]:
    """What a text is about: stems of its words, identifiers whole, no stop words, no repeats.

    >>> content_keys("Why did we drop GPT-4?")
    ('drop', 'gpt-4')
    """
    tokens = tokenize(text)
    said = [word for word in _untailed(tokens.whole) if word not in STOP_WORDS]
    # A question of nothing but "don't" is about that word.
    words = [word for word in said if not _CONTRACTED(word)] or said
    keys = [stem(word) if word.isascii() and word.isalpha() else word for word in words]
    return tuple(dict.fromkeys([*keys, *tokens.stem]))


def _untailed(words: Sequence[str]) -> list[str]:
    """The words without the last character that ends each run of bigrams: it asks for nothing."""
    return [
        word
        for before, word in pairwise(["", *words])
        if len(word) > 1 or not (_is_bigram(before) and before[1] == word)
    ]


def _is_bigram(word: str) -> bool:
    return len(word) == 2 and not word.isascii()


@lru_cache(maxsize=HELD_CACHE)
def held_keys(text: str) -> frozenset[str]:
    """All keys a text can answer to: its words, their stems, and the parts of its identifiers."""
    tokens = tokenize(text)
    chars = (char for word in tokens.whole if _is_bigram(word) for char in word)
    return frozenset((*map(stem, tokens.whole), *tokens.whole, *tokens.stem, *tokens.split, *chars))
