"""Checks that the demo's questions are fair: answerable, not copied from titles, truly linked."""

import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
DECISIONS = ROOT / "docs" / "decisions"
RECORDS = {p.stem: p.read_text(encoding="utf-8") for p in sorted(DECISIONS.glob("[0-9]*.md"))}
QUESTIONS: list[dict[str, Any]] = yaml.safe_load(
    (Path(__file__).parent / "questions.yaml").read_text(encoding="utf-8")
)["questions"]
EDGES = {"causes", "motivates", "same_event", "supersedes"}
MIN_QUOTE_CHARS = 12
MIN_SHARED_WORDS = 5  # a shorter sentence could be equal by chance
MAX_RECORD_WORDS = 400
MIN_RECORD_WORDS = 150
STOP_WORDS = (
    "a an and are as at be been but by did do does don for from had has have he how in into is it "
    "its led no not of on one only or our so t that the their then there they this to us was we "
    "were what when where which who why with you every other"
)
STOP = frozenset(STOP_WORDS.split())


def of_kind(kind: str) -> list[Any]:
    """Pytest parameters of the questions of one kind, named by their id."""
    return [pytest.param(q, id=q["id"]) for q in QUESTIONS if q["kind"] == kind]


def words(text: str) -> list[str]:
    return re.findall(r"[a-z0-9]+", text.lower())


def content_words(text: str) -> set[str]:
    return set(words(text)) - STOP


def flat(text: str) -> str:
    return " ".join(text.split())


def title(text: str) -> str:
    return next(line[2:] for line in text.splitlines() if line.startswith("# "))


def trigrams(text: str) -> set[tuple[str, ...]]:
    w = words(text)
    return set(zip(w, w[1:], w[2:], strict=False))


def superseding_pair(old: str, new: str) -> bool:
    """True when the old record names the new one as its successor and the new one agrees."""
    forward = re.search(rf"Superseded by \[{new[:4]}\]\({re.escape(new)}\.md\)", RECORDS[old])
    back = re.search(rf"Supersedes \[{old[:4]}\]\({re.escape(old)}\.md\)", RECORDS[new])
    return bool(forward and back)


def shared_sentences(source: str, target: str) -> list[str]:
    """Sentences of record `source` that record `target` states in the same words."""
    lines = (line.strip(" -") for line in RECORDS[source].splitlines())
    bodies = [line.rstrip(".") for line in lines if line.endswith(".")]
    return [b for b in bodies if len(words(b)) >= MIN_SHARED_WORDS and b in flat(RECORDS[target])]


def test_there_are_five_single_four_linked_and_three_unanswerable_questions() -> None:
    assert Counter(q["kind"] for q in QUESTIONS) == {"single": 5, "two_records": 4, "no_answer": 3}
    assert len({q["id"] for q in QUESTIONS}) == 12


@pytest.mark.parametrize("q", [pytest.param(q, id=q["id"]) for q in QUESTIONS])
def test_question_repeats_no_three_consecutive_words_of_a_title(q: dict[str, Any]) -> None:
    asked = trigrams(q["question"])
    assert {s for s, text in RECORDS.items() if asked & trigrams(title(text))} == set()


@pytest.mark.parametrize("q", of_kind("single") + of_kind("two_records"))
def test_each_reason_quote_stands_in_every_accepted_record(q: dict[str, Any]) -> None:
    assert q["records"] and q["reason_quote"]
    for stem in q["records"]:
        for quote in q["reason_quote"]:
            assert len(quote) >= MIN_QUOTE_CHARS
            assert quote in flat(RECORDS[stem])


@pytest.mark.parametrize("q", of_kind("two_records"))
def test_reason_is_missing_from_the_record_whose_words_the_question_uses(q: dict[str, Any]) -> None:
    asked = content_words(q["question"])
    for near in q["also_records"]:
        assert not [quote for quote in q["reason_quote"] if quote in flat(RECORDS[near])]
        for far in q["records"]:
            overlap = {s: len(asked & content_words(RECORDS[s])) for s in (near, far)}
            assert overlap[near] > overlap[far]


@pytest.mark.parametrize("q", of_kind("two_records"))
def test_the_two_records_are_linked_by_each_edge_the_question_names(q: dict[str, Any]) -> None:
    assert q["needs_edge"] and set(q["needs_edge"]) <= EDGES
    (old,), (new,) = q["records"], q["also_records"]
    if "supersedes" in q["needs_edge"]:
        assert superseding_pair(old, new)
    if "same_event" in q["needs_edge"]:
        assert shared_sentences(new, old) or shared_sentences(old, new)


@pytest.mark.parametrize("q", of_kind("no_answer"))
def test_unanswerable_question_shares_no_content_word_with_any_record(q: dict[str, Any]) -> None:
    assert "records" not in q and "reason_quote" not in q
    known = set().union(*(content_words(text) for text in RECORDS.values()))
    assert content_words(q["question"]) & known == set()


@pytest.mark.parametrize("stem", RECORDS)
def test_record_has_a_title_status_date_decision_and_a_readable_length(stem: str) -> None:
    text = RECORDS[stem]
    assert re.match(r"\d{4}-[a-z0-9-]+$", stem)
    assert len(re.findall(r"^# ", text, re.MULTILINE)) == 1
    assert re.search(r"status", text, re.IGNORECASE)
    assert re.search(r"\b2026-1[0-2]-\d\d\b", text)
    for heading in ("## Context", "## Decision\n", "## Consequences"):
        assert heading in text
    assert MIN_RECORD_WORDS <= len(text.split()) <= MAX_RECORD_WORDS


@pytest.mark.parametrize("stem", RECORDS)
def test_links_between_records_lead_to_records(stem: str) -> None:
    targets = re.findall(r"\]\(([^)]+)\.md\)", RECORDS[stem])
    targets += re.findall(r"^supersede(?:s|d-by): (\S+)$", RECORDS[stem], re.MULTILINE)
    assert [t for t in targets if t not in RECORDS] == []


def test_index_lists_every_record_with_its_title() -> None:
    index = (DECISIONS / "README.md").read_text(encoding="utf-8")
    rows = [f"| [{s[:4]}]({s}.md) | {title(t)} |" for s, t in RECORDS.items()]
    assert [row for row in rows if row not in index] == []
