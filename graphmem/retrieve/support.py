"""Whether what was found supports an answer at all; a memory must be able to say no.

Ranking always finds a best passage. It is support only when it holds enough of what the question
is about: of its content words, weighted by how rare they are in this vault (a word that stands
nowhere counts most). Meaning without common words needs a clearly high cosine; a name the vault
knows lowers the bar for words, but a name alone answers nothing about it that is not there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from graphmem.retrieve.context import Question, Reading

# Share of the question's weighted content one passage (with its headings) must hold.
MIN_COVERAGE = 0.3
# The same when an entity of the question is known and the cosine is not far off.
MIN_COVERAGE_LINKED = 0.2
# Cosine that supports by itself, and the least beside a linked name (MiniLM: unrelated technical
# texts stay below 0.4, paraphrases lie above 0.5).
HIGH_COSINE = 0.55
LINKED_COSINE = 0.3


@dataclass(frozen=True, slots=True)
class Support:
    """The verdict, the reason for a refusal, and the coverage of each passage."""

    supported: bool
    reason: str
    coverage: dict[str, float]


def judge(
    question: Question, reading: Reading, titles: dict[str, str], ranked: Sequence[str]
) -> Support:
    """Whether the passages in ``ranked`` support an answer to the question."""
    coverage = {
        key: question.coverage(f"{titles.get(key, '')}\n{reading.passages[key].text}")
        for key in ranked
        if key in reading.passages
    }
    if not coverage:
        return Support(False, _nothing(question), coverage)
    covered = max(coverage.values())
    cosine = max(question.cosines(list(coverage)).values(), default=0.0)
    has_name = bool(question.links)
    if covered >= MIN_COVERAGE or cosine >= HIGH_COSINE:
        return Support(True, "", coverage)
    if has_name and (covered >= MIN_COVERAGE_LINKED or cosine >= LINKED_COSINE):
        return Support(True, "", coverage)
    return Support(False, _weak(question, coverage), coverage)


def _nothing(question: Question) -> str:
    if question.window is not None:
        return f"nothing found, also not within the time asked for ({question.window.text})"
    return "nothing stored has any of the question's words or its meaning"


def _weak(question: Question, coverage: dict[str, float]) -> str:
    frequent = question.view.document_frequency([term.token for term in question.terms])
    unknown = list(dict.fromkeys(t.text for t in question.terms if not frequent.get(t.token, 0)))
    words = f"; unknown here: {', '.join(unknown[:6])}" if unknown else ""
    seeds = "" if question.links else "; no known name in the question"
    return (
        f"the closest passage holds {max(coverage.values()):.0%} of what the question is about"
        f"{words}{seeds}"
    )
