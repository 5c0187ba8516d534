"""One contract over every embedder, and how they are chosen."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphmem.embed import Embedder, load_embedder
from graphmem.embed.hashing import HashingEmbedder
from graphmem.errors import EmbedderError

TEXTS = ["Pump P-17 failed.", "The valve was closed.", "水泵坏了", "x", "word " * 400]
BLANK = ["", "   ", "\n\t", "\x00"]


@pytest.fixture(scope="module", params=["hashing", "minilm"])
def embedder(request: pytest.FixtureRequest) -> Embedder:
    return load_embedder(request.param)


def test_rows_are_unit_vectors_of_the_declared_dimension(embedder: Embedder) -> None:
    rows = embedder.embed(TEXTS)
    assert rows.dtype == np.float32
    assert rows.shape == (len(TEXTS), embedder.dimension)
    assert np.allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-5)


def test_blank_texts_give_zero_rows_in_their_place(embedder: Embedder) -> None:
    rows = embedder.embed(["pump", *BLANK, "valve"])
    assert not rows[1:-1].any()
    assert rows[0].any() and rows[-1].any()


def test_no_texts_give_no_rows(embedder: Embedder) -> None:
    assert embedder.embed([]).shape == (0, embedder.dimension)


def test_a_text_has_one_vector_whatever_stands_beside_it(embedder: Embedder) -> None:
    texts = [f"{'pump ' * (n % 60)}unit {n} was replaced" for n in range(40)] + TEXTS
    together = embedder.embed(texts)
    backwards = embedder.embed(texts[::-1])[::-1]
    alone = np.vstack([embedder.embed([text]) for text in texts])
    assert (together * alone).sum(axis=1).min() > 0.9999
    assert (together * backwards).sum(axis=1).min() > 0.9999


def test_equal_calls_give_equal_bytes(embedder: Embedder) -> None:
    assert embedder.embed(TEXTS).tobytes() == embedder.embed(TEXTS).tobytes()


def test_identity_is_stable_and_names_the_embedder(embedder: Embedder) -> None:
    identity = embedder.identity()
    assert identity == embedder.identity()
    assert (identity.name, identity.dimension) == (embedder.name, embedder.dimension)
    assert identity.canary


def test_token_counts_grow_with_the_text(embedder: Embedder) -> None:
    assert embedder.count_tokens("a pump and a valve") > embedder.count_tokens("a pump")
    assert embedder.count_tokens("word " * 400) >= 400


@pytest.mark.parametrize("text", ["\ud800", "a\ud800b", "\x00\x01", "🔥" * 50, "a" * 5000])
def test_odd_text_gives_finite_rows(embedder: Embedder, text: str) -> None:
    assert np.isfinite(embedder.embed([text])).all()
    assert embedder.count_tokens(text) >= 0


def test_identities_differ_between_embedders_and_dimensions() -> None:
    identities = {
        load_embedder("none").identity(),
        load_embedder("minilm").identity(),
        HashingEmbedder(64).identity(),
        HashingEmbedder(256).identity(),
    }
    assert len(identities) == 4


@given(st.text(st.characters(codec=None), max_size=60))
def test_hashing_takes_any_text(text: str) -> None:
    row = HashingEmbedder(64).embed([text])[0]
    assert np.isfinite(row).all()
    assert np.isclose(np.linalg.norm(row), 1, atol=1e-5) or not row.any()


def test_no_embedder_has_no_columns() -> None:
    embedder = load_embedder("none")
    assert embedder.dimension == 0
    assert embedder.embed(["a", "b"]).shape == (2, 0)
    assert embedder.count_tokens("two words") == 2
    assert embedder.identity().canary == ""


def test_an_unknown_name_lists_the_known_ones() -> None:
    with pytest.raises(EmbedderError, match=r"'bert'.*minilm, hashing, none"):
        load_embedder("bert")
