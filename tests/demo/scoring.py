"""Whether an answer is right by ``questions.yaml``; knows nothing of how it was found."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

import yaml

from graphmem.model.results import Answer, Hit, PathStep
from graphmem.vocabulary import LinkKind

HERE = Path(__file__).parent
DECISIONS = HERE.parents[1] / "docs" / "decisions"
# Link kinds and edge names by which a path may join two records.
JOINING = frozenset({"causes", "motivates", "same_event", "supersedes"})


@dataclass(frozen=True)
class Verdict:
    """Whether an answer is right, and if not, why."""

    right: bool
    reason: str = ""


def questions() -> list[dict[str, Any]]:
    """The twelve questions."""
    data = yaml.safe_load((HERE / "questions.yaml").read_text(encoding="utf-8"))
    return list(data["questions"])


def _flat(text: str) -> str:
    return " ".join(text.split())


def _stem(uri: str) -> str:
    return PurePosixPath(uri).stem


def _quotes(hit: Hit) -> str:
    parts = [hit.quote, *(step.quote for step in hit.path)]
    parts += [text for step in hit.path for text in (step.source_text, step.target_text)]
    return _flat("\n".join(parts))


def _edges(step: PathStep) -> set[str]:
    names = {str(step.edge)} | ({str(step.kind)} if step.kind else set())
    if step.edge in ("superseded_by",):
        names.add(str(LinkKind.SUPERSEDES))
    return names & JOINING


def judge(question: dict[str, Any], answer: Answer, records_on_path: list[str]) -> Verdict:
    """The verdict on one answer; ``records_on_path`` are the stems the first hit's path touches."""
    if question["kind"] == "no_answer":
        return Verdict(not answer.supported, "" if not answer.supported else "claims support")
    if not answer.supported or not answer.hits:
        return Verdict(False, "no support")
    first = answer.hits[0]
    if _stem(first.span.uri) not in question["records"]:
        return Verdict(False, f"first record is {_stem(first.span.uri)}")
    said = _quotes(first)
    if not any(_flat(quote) in said for quote in question["reason_quote"]):
        return Verdict(False, f"the reason is not quoted: {_flat(first.quote)[:120]}")
    return _judge_path(question, first, records_on_path)


def _judge_path(question: dict[str, Any], first: Hit, records: list[str]) -> Verdict:
    if question["kind"] != "two_records":
        return Verdict(True)
    missing = [stem for stem in question["also_records"] if stem not in records]
    if missing:
        return Verdict(False, f"the path does not touch {', '.join(missing)}")
    edges = set().union(*(_edges(step) for step in first.path)) if first.path else set()
    if not edges:
        return Verdict(False, "no causal, same-event or supersedes edge on the path")
    return Verdict(True)
