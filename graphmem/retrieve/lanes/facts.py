"""Passages that attest facts of the entities a question names."""

from __future__ import annotations

from graphmem.model.items import EntityObject, Evidence, Fact
from graphmem.retrieve.context import LaneResult, Question, content_keys
from graphmem.retrieve.recipes import POOL
from graphmem.vocabulary import Lane, Stance

# Facts of one question that are scored; a hub entity has thousands.
MAX_FACTS = 2000
# What a fact of a named entity is worth by itself, when the question says its predicate, when it
# joins two of the named entities, and when it repeats other words of the question.
NAMED, SAID, JOINS, REPEATS = 1.0, 2.0, 1.5, 1.0
# A repeat sighting adds little: the passages of one fact are ranked by how well they say it.
CONTRADICTS = 0.5


def run(question: Question) -> LaneResult:
    """Passages of the evidence of facts about linked entities, best matching fact first."""
    asked = list(dict.fromkeys(link.entity_id for link in question.links))
    if not asked:
        return LaneResult(Lane.FACTS)
    view = question.view
    facts = view.facts_about(asked, question.scope)[:MAX_FACTS]
    evidence = view.evidence_of([fact.id for fact in facts], question.scope)
    wanted = frozenset(question.wanted)
    score: dict[str, float] = {}
    because: dict[str, str] = {}
    for fact in facts:
        worth = _worth(question, fact, frozenset(map(view.survivor, asked)), wanted)
        for item in evidence.get(fact.id, ()):
            value = worth * _weight(item) + question.coverage(item.quote)
            if value > score.get(item.passage_id, 0.0):
                score[item.passage_id], because[item.passage_id] = value, fact.id
    order = sorted(score, key=lambda key: (-round(score[key], 9), key))[:POOL]
    return LaneResult(
        Lane.FACTS,
        tuple((key, score[key]) for key in order),
        facts={key: because[key] for key in order},
    )


def _worth(question: Question, fact: Fact, asked: frozenset[str], wanted: frozenset[str]) -> float:
    worth = NAMED
    if wanted & set(content_keys(fact.predicate.replace("_", " "))):
        worth += SAID
    ends = {question.view.survivor(fact.subject_id)}
    if isinstance(fact.object, EntityObject):
        ends.add(question.view.survivor(fact.object.entity_id))
        other = fact.object.surface
    else:
        other = fact.object.value
    if len(ends & asked) > 1:
        worth += JOINS
    return worth + REPEATS * question.coverage(other)


def _weight(item: Evidence) -> float:
    return item.confidence * (1.0 if item.stance is Stance.SUPPORTS else CONTRADICTS)
