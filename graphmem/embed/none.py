"""No embedder: words and graph only."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from graphmem.embed.base import EmbedderIdentity

# Words of a passage when nobody limits it otherwise; the bound of the default embedder.
DEFAULT_MAX_TOKENS = 256


class NoEmbedder:
    """Gives rows of no columns; callers see ``dimension`` 0 and leave vectors alone."""

    name = "none"
    dimension = 0
    max_tokens = DEFAULT_MAX_TOKENS

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """An array of shape (number of texts, 0)."""
        return np.zeros((len(texts), 0), np.float32)

    def count_tokens(self, text: str) -> int:
        """Words of the text."""
        return len(text.split())

    def identity(self) -> EmbedderIdentity:
        """The name, with no dimension and no canary."""
        return EmbedderIdentity(self.name, 0, "")

    def __repr__(self) -> str:
        return "NoEmbedder()"
