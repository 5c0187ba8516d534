"""Hits in the order an answer gives them, each with its best statement quoted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from graphmem.model.items import Link, Passage, Statement
from graphmem.model.results import Hit
from graphmem.retrieve.anchors import sentence_of, sentence_span
from graphmem.retrieve.context import LaneResult, Question, Reading
from graphmem.retrieve.explain import Explanation
from graphmem.retrieve.fuse import Fused
from graphmem.retrieve.places import Places
from graphmem.retrieve.trace import Tracer
from graphmem.traversal import Path
from graphmem.vocabulary import Direction, Intent, Lane, PassageRole, StatementKind

# What a statement's kind adds to its word coverage when one must be quoted, per intent: a reason
# for WHY, the thing decided or done for the others. Below one rare word, so that words decide.
KIND_BONUS = 0.1
# What ending the path to its passage adds: that statement is why the passage was found.
PATH_BONUS = 0.25
# Of a WHEN answer, hits that cover at least this share of the best are put in time order.
TIMELY_SHARE = 0.5

_REASONS = frozenset({StatementKind.RATIONALE, StatementKind.PROBLEM})
_DEEDS = frozenset({StatementKind.DECISION, StatementKind.EVENT, StatementKind.MILESTONE})


@dataclass(frozen=True, slots=True)
class Quote:
    """A verbatim span of a passage and the statement it belongs to."""

    start: int
    end: int
    statement: Statement | None


def order_hits(
    question: Question,
    fused: Sequence[Fused],
    explained: Sequence[Explanation],
    coverage: Mapping[str, float],
    times: Mapping[str, datetime | None],
) -> list[str]:
    """Passage ids in the order of the answer.

    WHY: passages that explain come before those they explain. WHEN: the hits that fit the
    question are sorted by time. Else by fused rank.
    """
    ranked = [item.passage_id for item in fused]
    if question.guess.intent is Intent.WHY and explained:
        first = [item.passage_id for item in explained]
        return [*first, *(key for key in ranked if key not in set(first))]
    if question.guess.intent is Intent.WHEN:
        return _in_time(ranked, coverage, times)
    return ranked


def bare_last(question: Question, reading: Reading, order: Sequence[str]) -> list[str]:
    """The order with passages last that cannot answer.

    A heading with a date under it ranks high by its record's title alone, and says nothing. A
    status says that a decision holds, never why; by its title it came first in 18 of 55 questions
    on foreign records.
    """
    why = question.guess.intent is Intent.WHY
    bare = {
        key
        for key, passage in reading.passages.items()
        if (not reading.statements.get(key) and question.coverage(passage.text) == 0.0)
        or (why and passage.role is PassageRole.STATUS)
    }
    return sorted(order, key=lambda key: key in bare)


def _in_time(
    ranked: list[str], coverage: Mapping[str, float], times: Mapping[str, datetime | None]
) -> list[str]:
    bar = TIMELY_SHARE * max((coverage.get(key, 0.0) for key in ranked), default=0.0)
    timely = [k for k in ranked if times.get(k) is not None and coverage.get(k, 0.0) >= bar]
    place = {key: number for number, key in enumerate(ranked)}
    timely.sort(key=lambda key: (_stamp(times[key]), place[key]))
    chosen = set(timely)
    return [*timely, *(key for key in ranked if key not in chosen)]


def _stamp(time: datetime | None) -> float:
    return time.timestamp() if time is not None else float("inf")


def passage_times(reading: Reading) -> dict[str, datetime | None]:
    """For each passage the time its text tells of, else when it was written."""
    return {
        key: next(
            (s.time.start for s in reading.statements.get(key, ()) if s.time and s.time.start),
            passage.authored_at,
        )
        for key, passage in reading.passages.items()
    }


def choose_paths(lanes: Sequence[LaneResult], explained: Sequence[Explanation]) -> dict[str, Path]:
    """The path shown for each passage: its explanation, else the beam's, else the push's."""
    paths: dict[str, Path] = {}
    for lane in (Lane.MPFP, Lane.BEAM):
        for result in lanes:
            if result.lane is lane:
                paths.update(result.paths)
    paths.update({item.passage_id: item.path for item in explained})
    return paths


def make_hits(
    question: Question,
    order: Sequence[str],
    fused: Sequence[Fused],
    explained: Sequence[Explanation],
    reading: Reading,
    paths: Mapping[str, Path],
    trace: Tracer,
    where: Places,
) -> list[Hit]:
    """The hits of an order; passages that vanished from the view are left out."""
    by_id = {item.passage_id: item for item in fused}
    reasons = {item.passage_id: item for item in explained}
    hits = []
    for key in order:
        passage = reading.passages.get(key)
        if passage is None:
            continue
        path = paths.get(key, ())
        quote = _quote(question, passage, reading, reasons.get(key), path, trace)
        span = where.span(key, quote.start, quote.end)
        if span is None:
            continue
        strength = reasons[key].strength if key in reasons else 0.0
        known = by_id.get(key)
        hits.append(
            Hit(
                passage_id=key,
                score=(known.score if known else 0.0) + strength,
                span=span,
                heading_path=passage.heading_path,
                quote=passage.text[quote.start : quote.end],
                statement_id=quote.statement.id if quote.statement else None,
                statement_kind=quote.statement.kind if quote.statement else None,
                text=passage.text,
                authored_at=passage.authored_at,
                lanes=known.lanes if known else (),
                path=trace.steps(path),
            )
        )
    return hits


def _quote(
    question: Question,
    passage: Passage,
    reading: Reading,
    reason: Explanation | None,
    path: Path,
    trace: Tracer,
) -> Quote:
    statements = reading.statements.get(passage.id, ())
    if reason is not None:
        told = next((s for s in statements if s.id == reason.statement_id), None)
        if told is not None:
            return _reason_quote(passage, told, reason, trace)
    end = trace.adjacency.key(path[-1].target) if path else ""
    best = max(
        statements,
        key=lambda s: (round(_fit(question, passage, s, end), 9), -s.start, s.id),
        default=None,
    )
    if best is None:
        return _best_sentence(question, passage)
    return Quote(best.start, best.end, best)


def _reason_quote(passage: Passage, told: Statement, reason: Explanation, trace: Tracer) -> Quote:
    """The witness that states the last edge, when it stands in this passage, else the statement."""
    link: Link | None = trace.link_of(reason.path[-1])
    if reason.stated and link is not None and _holds(link, passage, told):
        return Quote(link.start, link.end, told)
    return Quote(told.start, told.end, told)


def _holds(link: Link, passage: Passage, told: Statement) -> bool:
    here = link.passage_id == passage.id and bool(link.quote)
    return here and link.start <= told.start and told.end <= link.end


def _fit(question: Question, passage: Passage, statement: Statement, end: str) -> float:
    sentence = sentence_of(passage.text, statement.start, statement.end)
    own = question.coverage(passage.text[statement.start : statement.end])
    value = 0.7 * question.coverage(sentence) + 0.3 * own
    if statement.id == end:
        value += PATH_BONUS
    back = question.guess.direction in (Direction.BACK, Direction.BOTH)
    wanted = _REASONS if back else _DEEDS
    return value + (KIND_BONUS if statement.kind in wanted else 0.0)


def _best_sentence(question: Question, passage: Passage) -> Quote:
    """For a passage without statements: the sentence that holds most of the question."""
    spans: list[tuple[int, int]] = []
    at = 0
    while at < len(passage.text):
        start, end = sentence_span(passage.text, at, at + 1)
        spans.append((start, max(end, at + 1)))
        at = max(end, at) + 1
    if not spans:
        return Quote(0, len(passage.text), None)
    text = passage.text
    start, end = max(spans, key=lambda s: (round(question.coverage(text[s[0] : s[1]]), 9), -s[0]))
    return Quote(start, end, None)
