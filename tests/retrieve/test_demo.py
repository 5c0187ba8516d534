"""The demo's questions over the project's own decision records, with the real extractor."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml

import graphmem
from graphmem.model.results import Answer, Hit
from graphmem.settings import Settings

ROOT = Path(__file__).resolve().parents[2]
QUESTIONS: list[dict[str, Any]] = yaml.safe_load(
    (ROOT / "tests" / "demo" / "questions.yaml").read_text(encoding="utf-8")
)["questions"]
ANSWERED = [q for q in QUESTIONS if q["kind"] != "no_answer"]
UNANSWERED = [q for q in QUESTIONS if q["kind"] == "no_answer"]
TWO_RECORDS = [q for q in QUESTIONS if q["kind"] == "two_records"]

pytestmark = pytest.mark.slow


def by_id(questions: list[dict[str, Any]]) -> list[Any]:
    return [pytest.param(q, id=q["id"]) for q in questions]


@pytest.fixture(scope="module", params=["minilm", "none"])
def memory(request: pytest.FixtureRequest) -> Iterator[graphmem.Memory]:
    """The decision records, with and without vectors."""
    from graphmem.memory import Memory

    settings = Settings(embedder=request.param, engine="memory")
    now = datetime(2026, 12, 1, tzinfo=UTC)
    with Memory(None, settings, clock=lambda: now) as opened:
        report = opened.ingest(ROOT / "docs" / "decisions", project="graphmem")
        assert not [p for p in report.problems if p.fatal]
        yield opened


def stem(hit: Hit) -> str:
    return Path(hit.span.uri).stem


def flat(text: str) -> str:
    return " ".join(text.split())


def holds_reason(q: dict[str, Any], answer: Answer) -> bool:
    return any(quote in flat(answer.hits[0].quote) for quote in q["reason_quote"])


@pytest.mark.parametrize("q", by_id(ANSWERED))
def test_the_first_hit_is_the_record_with_the_reason_and_quotes_it(
    memory: graphmem.Memory, q: dict[str, Any]
) -> None:
    answer = memory.search(q["question"])
    assert answer.supported, answer.reason
    assert stem(answer.hits[0]) in q["records"]
    assert holds_reason(q, answer)
    assert answer.chain


@pytest.mark.parametrize("q", by_id(TWO_RECORDS))
def test_the_path_runs_through_both_records_over_the_named_edge(
    memory: graphmem.Memory, q: dict[str, Any]
) -> None:
    path = memory.search(q["question"]).hits[0].path
    ids = list(dict.fromkeys(i for step in path for i in (step.source_id, step.target_id)))
    items = memory.get(ids).items
    passages = [str(item.data.get("passage_id", item.id)) for item in items]
    opened = memory.get(list(dict.fromkeys(passages))).items
    sources = memory.get(list({str(item.data["source_id"]) for item in opened})).items
    records = {Path(str(item.data["uri"])).stem for item in sources}
    assert {*q["records"], *q["also_records"]} <= records
    assert {step.edge.value for step in path} & set(q["needs_edge"])


@pytest.mark.parametrize("q", by_id(TWO_RECORDS))
def test_without_the_graph_the_reason_is_not_first(
    memory: graphmem.Memory, q: dict[str, Any]
) -> None:
    answer = memory.search(q["question"], recipe="hybrid")
    assert not answer.hits or stem(answer.hits[0]) not in q["records"]


@pytest.mark.parametrize("q", by_id(UNANSWERED))
def test_a_question_nothing_answers_is_refused(memory: graphmem.Memory, q: dict[str, Any]) -> None:
    answer = memory.search(q["question"])
    assert not answer.supported and not answer.hits and answer.reason
