"""Passages: bounded, verbatim, whole words, and stable under edits elsewhere."""

import itertools
from time import perf_counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphmem.ingest.chunk import (
    MAX_PASSAGE_CHARS,
    MAX_PASSAGE_TOKENS,
    Piece,
    chunk,
    cut,
)
from graphmem.ingest.markdown import read_markdown

WORD = st.text(alphabet="abcdefgé漢", min_size=1, max_size=12)
SENTENCE = st.lists(WORD, min_size=1, max_size=30).map(lambda parts: " ".join(parts) + ".")
PARAGRAPH = st.lists(SENTENCE, min_size=1, max_size=8).map(" ".join)


def pieces(text: str) -> list[Piece]:
    return chunk(read_markdown(text, "n.md", "p", content_hash="h"), "src:x")


def tokens(text: str) -> int:
    return len(text) // 2 + 1


@given(st.lists(PARAGRAPH, max_size=8).map("\n\n".join))
def test_passages_are_verbatim_bounded_and_complete(text: str) -> None:
    spans = cut(text)
    assert all(0 < end - start <= MAX_PASSAGE_CHARS for start, end in spans)
    assert all(left[1] <= right[0] for left, right in itertools.pairwise(spans))
    assert "".join(text.split()) == "".join("".join(text[a:b].split()) for a, b in spans)


@given(st.lists(PARAGRAPH, max_size=8).map("\n\n".join))
def test_no_word_is_cut(text: str) -> None:
    for start, end in cut(text):
        assert start == 0 or text[start - 1].isspace()
        assert end == len(text) or text[end].isspace()


@given(st.lists(PARAGRAPH, max_size=5).map("\n\n".join))
def test_token_bound_holds(text: str) -> None:
    spans = cut(text, tokens)
    assert all(tokens(text[start:end]) <= MAX_PASSAGE_TOKENS for start, end in spans)
    assert "".join(text.split()) == "".join("".join(text[a:b].split()) for a, b in spans)


def test_a_section_that_fits_is_one_passage() -> None:
    text = "\n\n".join(f"Paragraph {number}." for number in range(20))
    assert len(cut(text)) == 1


def test_a_word_longer_than_a_passage_is_cut_hard() -> None:
    spans = cut("x " + "w" * 2000 + " y")
    assert max(end - start for start, end in spans) == MAX_PASSAGE_CHARS


def test_a_heading_stays_with_its_text() -> None:
    text = "## Decision\n\n" + "We use Basalt because it is fast and it holds. " * 30
    found = pieces(text)
    assert found[0].text.startswith("## Decision\n\nWe use")


@given(st.lists(PARAGRAPH, min_size=2, max_size=6), PARAGRAPH)
def test_an_edit_in_one_section_keeps_the_passages_of_the_others(
    parts: list[str], edit: str
) -> None:
    def text(first: str) -> str:
        body = [first, *parts[1:]]
        return "".join(f"## H{at}\n\n{part}\n\n" for at, part in enumerate(body))

    before, after = pieces(text(parts[0])), pieces(text(parts[0] + "\n\n" + edit))
    kept = [piece.id for piece in before if piece.heading_path != ("H0",)]
    assert kept == [piece.id for piece in after if piece.heading_path != ("H0",)]


def test_an_early_edit_in_a_long_section_shifts_few_passages() -> None:
    body = "\n\n".join(
        f"The pump {at} was checked on day {at * 7}. It held {at} bar and was sealed again."
        for at in range(400)
    )
    before = {piece.id for piece in pieces(body)}
    after = {piece.id for piece in pieces("A new line at the head.\n\n" + body)}
    assert len(before) > 40
    assert len(before - after) <= 3


def test_equal_passages_get_ids_of_their_own() -> None:
    found = pieces("## A\n\nSame.\n\n## A\n\nSame.\n")
    assert len({piece.id for piece in found}) == 2


def test_masks_and_lines_follow_the_passage() -> None:
    text = "Intro.\n\n" + "Filler words here. " * 60 + "\n\nRun `make all` now.\n"
    last = pieces(text)[-1]
    assert [last.text[a:b] for a, b in last.masked] == ["`make all`"]
    assert text.split("\n")[last.line - 1].startswith(last.text.split("\n")[0][:10])


@pytest.mark.parametrize("unit", ["word ", "w", "`a ", "[x](y) ", "a. "])
def test_a_line_of_a_megabyte_is_cut_in_linear_time(unit: str) -> None:
    text = unit * (1_200_000 // len(unit)) + " The valve V-9 is the last one."
    started = perf_counter()
    found = pieces(text)
    assert perf_counter() - started < 10
    assert "V-9 is the last one." in found[-1].text


@pytest.mark.parametrize("text", ["", "   ", "\n\n \n"])
def test_empty_text_has_no_passages(text: str) -> None:
    assert pieces(text) == []


def test_a_bare_heading_is_read_with_what_stands_under_it() -> None:
    text = "# Title\n\n## Context\n\nThe pump `P-1` leaks.\n\n## Empty end\n"
    read = pieces(text)
    assert [piece.text for piece in read] == [
        "# Title\n\n## Context\n\nThe pump `P-1` leaks.",
        "## Empty end",
    ]
    assert read[0].heading_path == ("Context",)
    assert [text[piece.start :][: len(piece.text)] for piece in read] == [p.text for p in read]
    masked = [read[0].text[left:right] for left, right in read[0].masked]
    assert any("P-1" in part for part in masked)
