"""A deterministic embedder for tests: hashed words and character n-grams, no model, no meaning."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from graphmem.embed.base import EmbedderIdentity, unit_rows
from graphmem.model.base import digest

_WORD = re.compile(r"\w+")
# Characters of an n-gram: long enough to tell words apart, short enough to share inflections.
NGRAM_CHARS = 3
# A whole word says more than one of its n-grams.
WORD_WEIGHT = 2.0


def _features(text: str) -> Iterator[tuple[str, float]]:
    for word in _WORD.findall(text.casefold()):
        yield word, WORD_WEIGHT
        framed = f"<{word}>"
        for start in range(len(framed) - NGRAM_CHARS + 1):
            yield "#" + framed[start : start + NGRAM_CHARS], 1.0


class HashingEmbedder:
    """Signed feature hashing (Weinberger et al. 2009) into ``dimension`` columns."""

    name = "hashing"
    max_tokens = 256

    def __init__(self, dimension: int = 128) -> None:
        self.dimension = dimension

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """One unit row per text; all zero for a text without a word."""
        rows = np.zeros((len(texts), self.dimension), np.float64)
        for row, text in zip(rows, texts, strict=True):
            for feature, weight in _features(text):
                self._add(row, feature, weight)
        return unit_rows(rows)

    def _add(self, row: NDArray[np.float64], feature: str, weight: float) -> None:
        data = feature.encode("utf-8", "surrogatepass")
        value = int.from_bytes(hashlib.blake2s(data, digest_size=8).digest(), "big")
        row[(value >> 1) % self.dimension] += weight if value & 1 else -weight

    def count_tokens(self, text: str) -> int:
        """Words of the text."""
        return len(_WORD.findall(text))

    def identity(self) -> EmbedderIdentity:
        """Name, dimension and canary hash."""
        canary = digest(self.name, str(self.dimension), str(NGRAM_CHARS), str(WORD_WEIGHT))
        return EmbedderIdentity(self.name, self.dimension, canary)

    def __repr__(self) -> str:
        return f"HashingEmbedder(dimension={self.dimension})"
