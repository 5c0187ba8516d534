"""What an embedder is, and how one is chosen by name. Imports no model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from graphmem.errors import EmbedderError


@dataclass(frozen=True, slots=True)
class EmbedderIdentity:
    """What vectors of one vault must agree in.

    ``canary`` is a hash of all that decides the vectors (weights, word list, limits); "" for no
    embedder. It is no hash of a vector: quantised kernels round differently per processor.
    """

    name: str
    dimension: int
    canary: str


class Embedder(Protocol):
    """Text to unit vectors; safe to call from several threads."""

    @property
    def name(self) -> str:
        """The name under which `load_embedder` finds it."""
        ...

    @property
    def dimension(self) -> int:
        """Columns of its vectors; 0 when there are no vectors."""
        ...

    @property
    def max_tokens(self) -> int:
        """Tokens of a text that are read, the model's own marks included."""
        ...

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """One row of length 1 per text; an all-zero row for a text without a token."""
        ...

    def count_tokens(self, text: str) -> int:
        """Tokens the text takes of ``max_tokens``, uncut."""
        ...

    def identity(self) -> EmbedderIdentity:
        """Name, dimension and the hash of what decides its vectors; computes no vector."""
        ...


def unit_rows(rows: NDArray[np.float64]) -> NDArray[np.float32]:
    """The rows scaled to length 1; rows of length 0 stay all zero."""
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return (rows / np.where(lengths > 0, lengths, 1.0)).astype(np.float32)


def _minilm() -> Embedder:
    from graphmem.embed.minilm import MiniLMEmbedder

    return MiniLMEmbedder.installed()


def _hashing() -> Embedder:
    from graphmem.embed.hashing import HashingEmbedder

    return HashingEmbedder()


def _none() -> Embedder:
    from graphmem.embed.none import NoEmbedder

    return NoEmbedder()


_LOADERS: dict[str, Callable[[], Embedder]] = {
    "minilm": _minilm,
    "hashing": _hashing,
    "none": _none,
}
EMBEDDER_NAMES = tuple(_LOADERS)


def load_embedder(name: str) -> Embedder:
    """The embedder of that name, ready to use: ``minilm``, ``hashing`` (tests only), ``none``.

    Raises EmbedderError for an unknown name, and for a model that is damaged or not installed;
    the message says what to do.
    """
    if (loader := _LOADERS.get(name)) is None:
        known = ", ".join(EMBEDDER_NAMES)
        raise EmbedderError(f"there is no embedder {name!r}; choose one of: {known}")
    return loader()
