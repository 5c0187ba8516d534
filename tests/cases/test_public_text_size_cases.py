"""Publicly reported faults with long and empty text, end to end (BR-38)."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from graphmem.embed.hashing import HashingEmbedder
from graphmem.errors import InvalidInputError
from graphmem.extractors import SpacyExtractor
from graphmem.memory import Memory
from graphmem.model.results import Answer
from graphmem.vocabulary import Lane
from tests.cases.bulk import StubExtractor
from tests.cases.vaults import told, vault

ENDING = "The zirconium gasket was archived in the obsidian cellar"
QUESTION = "Where was the zirconium gasket archived?"
# More than spaCy's own limit of a million characters.
LONG_CHARS = 1_200_000


def long_note(chars: int) -> str:
    """A note of different sentences with one at the end that says something else."""
    sentence = "Reading {0} of sensor {1} was taken at station {2} by the crew.\n\n"
    lines, size = [], 0
    while size < chars:
        number = len(lines)
        lines.append(sentence.format(number, number % 97, number % 53))
        size += len(lines[-1])
    return "".join(lines) + ENDING + "."


def paragraph() -> str:
    """One sentence of about 1,000 tokens that ends in a clause of its own."""
    words = " ".join(f"item{number} arrived and was counted," for number in range(200))
    return f"On that day {words} and at last {ENDING[0].lower()}{ENDING[1:]}."


def assert_found_both_ways(answer: Answer) -> None:
    """The first hit holds the ending, and both keywords and vectors found it."""
    assert answer.supported
    best = answer.hits[0]
    assert "obsidian cellar" in best.text
    assert {Lane.BM25, Lane.VECTOR} <= {rank.lane for rank in best.lanes}


def test_br38_the_last_clause_of_a_long_paragraph_is_found_by_words_and_by_vector(
    extractor: SpacyExtractor, tmp_path: Path
) -> None:
    with vault(extractor, embedder="hashing") as memory:
        told(memory, tmp_path, paragraph(), "Another note about pumps.")
        assert_found_both_ways(memory.search(QUESTION))


@pytest.mark.slow
def test_br38_the_end_of_a_note_of_more_than_a_megabyte_is_found_by_words_and_by_vector(
    tmp_path: Path,
) -> None:
    with vault(StubExtractor(), embedder="hashing") as memory:
        told(memory, tmp_path, long_note(LONG_CHARS))
        assert memory.status().vectors_pending == 0
        assert_found_both_ways(memory.search(QUESTION))


@pytest.mark.slow
def test_br38_a_parser_reads_more_than_a_megabyte_in_parts(
    extractor: SpacyExtractor, tmp_path: Path
) -> None:
    with vault(extractor) as memory:
        told(memory, tmp_path, long_note(LONG_CHARS))
        counts = memory.status().counts
        print(f"1.2 MB parsed: {counts}")
        assert any("obsidian cellar" in hit.text for hit in memory.search(QUESTION).hits)


@pytest.mark.parametrize("text", ["", " ", "   \n\t \n "])
def test_br38_a_note_without_text_has_no_vector_and_is_never_found(
    extractor: SpacyExtractor, tmp_path: Path, text: str
) -> None:
    with vault(extractor, embedder="hashing") as memory:
        told(memory, tmp_path, text, "The pump stopped because the seal cracked.")
        status = memory.status()
        assert status.vectors == 1 and status.vectors_pending == 0
        for question in ("why did the pump stop?", "qqqq zzzz", " "):
            assert all(hit.text.strip() for hit in memory.search(question).hits)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 0.0])
def test_br38_a_vector_that_is_no_number_or_nothing_never_ranks(
    extractor: SpacyExtractor,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    bad: float,
) -> None:
    sound = HashingEmbedder.embed

    def embed(self: HashingEmbedder, texts: list[str]) -> np.ndarray:
        rows = sound(self, texts)
        for row, text in zip(rows, texts, strict=True):
            if "broken" in text:
                row[:] = bad
        return rows

    monkeypatch.setattr(HashingEmbedder, "embed", embed)
    with vault(extractor, embedder="hashing") as memory:
        told(memory, tmp_path, "A broken lamp hangs there.", "The pump stopped at noon.")
        assert memory.status().vectors == 1
        hits = memory.search("When did the pump stop?").hits
        assert "pump" in hits[0].text
        ranked = {rank.lane for hit in hits if "broken" in hit.text for rank in hit.lanes}
        assert Lane.VECTOR not in ranked
        assert memory.search("broken question").model_dump_json()


def test_br38_remembering_nothing_is_refused(memory: Memory) -> None:
    for text in ("", "   "):
        with pytest.raises(InvalidInputError, match="empty"):
            memory.remember(text)
