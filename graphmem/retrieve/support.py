"""Whether what was found supports an answer at all; a memory must be able to say no.

Ranking always finds a best passage. It is support only when one passage holds enough of what the
question is about: of its content words, weighted by how rare they are in this vault (a word that
stands nowhere counts most), together with how near its meaning is. A clearly high cosine supports
without common words; where there is no vector the words alone must do, and a name the vault knows
lowers their bar. A question that asks for nothing but a time ("what happened in May?") is
supported by what lies in it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from graphmem.retrieve.context import Question, Reading

# Sum of weighted word coverage and cosine that one passage must reach. Of 36 own questions about
# the decision records, 17 of 19 that they answer lie above and 16 of 17 others below.
JOINT = 0.7
# Cosine that supports by itself (MiniLM: unrelated technical texts stay below 0.5).
HIGH_COSINE = 0.58
# Share of the content that words alone must hold, without and with a known name in the question.
WORDS_ONLY = 0.4
WORDS_WITH_NAME = 0.25


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
    if question.window is not None and not question.wanted:
        return Support(True, "", coverage)
    cosines = question.cosines(list(coverage))
    named = bool(question.links)
    if any(_enough(coverage[key], cosines[key], named) for key in coverage):
        return Support(True, "", coverage)
    return Support(False, _weak(question, coverage), coverage)


def _enough(coverage: float, cosine: float, named: bool) -> bool:
    if cosine == 0.0:
        return coverage >= (WORDS_WITH_NAME if named else WORDS_ONLY)
    return cosine >= HIGH_COSINE or coverage + cosine >= JOINT


def _nothing(question: Question) -> str:
    if question.window is not None:
        return f"nothing found, also not within the time asked for ({question.window.text})"
    return "nothing stored has any of the question's words or its meaning"


def _weak(question: Question, coverage: dict[str, float]) -> str:
    frequent = question.frequency([term.token for term in question.terms])
    unknown = list(dict.fromkeys(t.text for t in question.terms if not frequent.get(t.token, 0)))
    words = f"; unknown here: {', '.join(unknown[:6])}" if unknown else ""
    seeds = "" if question.links else "; no known name in the question"
    return (
        f"the closest passage holds {max(coverage.values()):.0%} of what the question is about"
        f"{words}{seeds}"
    )
