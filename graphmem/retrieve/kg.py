"""Facts about exactly one name: never those of a name that only looks alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from graphmem.errors import UsageError
from graphmem.model.items import EntityObject, Evidence, Fact
from graphmem.model.results import EntityView, EvidenceView, FactView, KgResult
from graphmem.model.scope import Scope
from graphmem.resolve import digit_signature, name_key, parse_id
from graphmem.retrieve.closing import Interval, close
from graphmem.retrieve.context import printable
from graphmem.retrieve.places import Places, places
from graphmem.store.protocols import View
from graphmem.text import fold
from graphmem.vocabulary import TRUST, EntityType, NameKind, Stance, spec_of

# Facts shown when the caller names no number, and at most (BR-37).
DEFAULT_LIMIT = 50
MAX_LIMIT = 200
# Sightings quoted per fact; the rest are reached by the fact's id.
MAX_EVIDENCE = 3
# Entities of one name shown side by side, and names suggested for a name nothing has.
MAX_ENTITIES = 10
MAX_SUGGESTIONS = 10
# Reply size at which whole facts are left off, in characters of JSON.
MAX_REPLY_CHARS = 100_000
# Longest quote, in characters; a statement is shorter, a pathological line is not.
MAX_QUOTE_CHARS = 400


def kg_query(
    view: View,
    name_or_id: str,
    *,
    scope: Scope,
    now: datetime,
    limit: int = DEFAULT_LIMIT,
    cursor: str | None = None,
) -> KgResult:
    """The facts about the entities that the argument names, as they stand at ``scope.as_of``.

    An existing id, else every entity of exactly that name, else a search of names that hold its
    words and agree in digits; ``matched_by`` says which ("id", "name", "search", "none"). By
    default only what holds at that moment; ``include_history`` gives the rest. ``limit`` counts
    facts over all entities; ``cursor`` is the id of the last fact of the page before.
    Raises UsageError for an empty name, a limit below 1 and an unknown cursor.
    """
    if limit < 1:
        raise UsageError(f"limit is {limit}: it must be at least 1")
    if not name_or_id.strip():
        raise UsageError("a name or an entity id is needed")
    asked = printable(name_or_id.strip())
    matched_by, ids, suggestions = _find(view, asked, scope)
    moment = scope.as_of or now
    found = [_facts(view, entity_id, scope, moment) for entity_id in ids]
    entities, truncated = _page(view, ids, found, scope, min(limit, MAX_LIMIT), cursor)
    return KgResult(
        query=asked,
        matched_by=matched_by,
        seq=view.seq,
        as_of=scope.as_of,
        entities=entities,
        truncated=truncated,
        cursor=last_shown(entities) if truncated else "",
        suggestions=suggestions,
    )


def last_shown(entities: Sequence[EntityView]) -> str:
    """The id of the last fact of a page; empty when it shows none."""
    return next((each.facts[-1].id for each in reversed(entities) if each.facts), "")


def find_entities(view: View, name_or_id: str, scope: Scope) -> tuple[str, ...]:
    """The ids of the entities that a name or an id stands for, without any search."""
    matched_by, ids, _ = _find(view, name_or_id.strip(), scope)
    return ids if matched_by in ("id", "name") else ()


def _find(view: View, text: str, scope: Scope) -> tuple[str, tuple[str, ...], tuple[str, ...]]:
    parsed = parse_id(text)
    if parsed is not None and parsed.kind == "entity":
        survivor = view.survivor(text)
        if view.entities([survivor], scope):
            return "id", (survivor,), ()
    key = name_key(text)
    exact = view.entities_named([key], scope).get(key, []) if key else []
    if exact:
        return "name", tuple(exact[:MAX_ENTITIES]), ()
    keys = _similar_keys(view, key, scope)
    named = view.entities_named(keys, scope)
    ids = tuple(dict.fromkeys(i for found in keys for i in named.get(found, [])))
    return ("search", ids[:MAX_ENTITIES], tuple(keys)) if ids else ("none", (), tuple(keys))


def _similar_keys(view: View, key: str, scope: Scope) -> list[str]:
    """Names that hold every word of the key and have the same digit runs in the same order."""
    words = fold(key).split()
    if not words:
        return []
    found = view.name_keys_with_token(words, MAX_SUGGESTIONS * 4, scope)
    digits = digit_signature(key)
    return [other for other in found if digit_signature(other) == digits][:MAX_SUGGESTIONS]


def _facts(view: View, entity_id: str, scope: Scope, moment: datetime) -> list[FactView]:
    facts = view.facts_about([entity_id], scope)
    evidence = view.evidence_of([fact.id for fact in facts], scope)
    intervals = close(facts, evidence, moment, view.survivor)
    spans = [e.passage_id for items in evidence.values() for e in shown_evidence(items)]
    where = places(view, spans, scope)
    ends = {fact.subject_id for fact in facts}
    ends |= {f.object.entity_id for f in facts if isinstance(f.object, EntityObject)}
    names = entity_names(view, ends, scope)
    return [
        fact_view(fact, intervals[fact.id], evidence.get(fact.id, ()), where, names, entity_id)
        for fact in sorted(facts, key=lambda fact: _order(fact, intervals[fact.id], evidence))
        if intervals[fact.id].current or scope.include_history
    ]


def _order(
    fact: Fact, interval: Interval, evidence: Mapping[str, Sequence[Evidence]]
) -> tuple[bool, int, str, str, str]:
    """Current ones first, then what is attested most often; the id makes it total."""
    value = fact.object.key
    return (not interval.current, -len(evidence.get(fact.id, ())), fact.predicate, value, fact.id)


def entity_names(view: View, ids: set[str], scope: Scope) -> dict[str, tuple[str, str]]:
    """For each id the surviving entity's id and name; itself where nothing is visible."""
    survivors = {entity_id: view.survivor(entity_id) for entity_id in ids}
    entities = view.entities(set(survivors.values()), scope)
    return {
        entity_id: (kept, entities[kept].name if kept in entities else kept)
        for entity_id, kept in survivors.items()
    }


def fact_view(
    fact: Fact,
    interval: Interval,
    evidence: Sequence[Evidence],
    where: Places,
    names: Mapping[str, tuple[str, str]],
    asked: str,
) -> FactView:
    """A fact as the entity ``asked`` sees it: turned round (``derived``) when it is the object."""
    subject_id, subject = names[fact.subject_id]
    if isinstance(fact.object, EntityObject):
        object_id, value = names[fact.object.entity_id]
    else:
        object_id, value = None, fact.object.value
    predicate, derived = fact.predicate, False
    spec = spec_of(predicate)
    turned = predicate if spec.symmetric else spec.inverse
    if object_id == asked and subject_id != asked and object_id is not None and turned:
        predicate, derived = turned, True
        subject_id, subject, object_id, value = object_id, value, subject_id, subject
    return FactView(
        id=fact.id,
        subject_id=subject_id,
        subject=subject,
        predicate=predicate,
        object_id=object_id,
        object=value,
        polarity=fact.polarity,
        valid_from=interval.start,
        valid_to=interval.end,
        closed_by=interval.closed_by,
        current=interval.current,
        derived=derived,
        evidence=evidence_views(evidence, where),
    )


def shown_evidence(evidence: Sequence[Evidence]) -> list[Evidence]:
    """The sightings to quote: supporting, most trusted, surest, earliest."""
    ordered = sorted(
        evidence,
        key=lambda e: (e.stance is not Stance.SUPPORTS, -TRUST[e.origin], -e.confidence, e.id),
    )
    return ordered[:MAX_EVIDENCE]


def evidence_views(evidence: Sequence[Evidence], where: Places) -> tuple[EvidenceView, ...]:
    """The quotable sightings with their places."""
    views = []
    for item in shown_evidence(evidence):
        span = where.span(item.passage_id, item.start, item.end)
        if span is not None:
            views.append(
                EvidenceView(
                    id=item.id,
                    quote=item.quote[:MAX_QUOTE_CHARS],
                    span=span,
                    stance=item.stance,
                    extractor=item.extractor,
                    confidence=item.confidence,
                    seen_at=item.seen_at,
                )
            )
    return tuple(views)


def _page(
    view: View,
    ids: Sequence[str],
    found: Sequence[Sequence[FactView]],
    scope: Scope,
    limit: int,
    cursor: str | None,
) -> tuple[tuple[EntityView, ...], bool]:
    rows = [(owner, fact) for owner, facts in zip(ids, found, strict=True) for fact in facts]
    if cursor is not None:
        at = next((i for i, (_, fact) in enumerate(rows) if fact.id == cursor), None)
        if at is None:
            raise UsageError(f"cursor {cursor!r} is not the id of a fact of this query")
        rows = rows[at + 1 :]
    kept: dict[str, list[FactView]] = {entity_id: [] for entity_id in ids}
    used = count = 0
    for owner, fact in rows[:limit]:
        used += len(fact.model_dump_json())
        if used > MAX_REPLY_CHARS and count:
            break
        kept[owner].append(fact)
        count += 1
    totals = {owner: len(facts) for owner, facts in zip(ids, found, strict=True)}
    entities = view.entities(ids, scope)
    views = tuple(
        entity_view(view, entity_id, entities[entity_id].name, scope, kept[entity_id], totals)
        for entity_id in ids
        if entity_id in entities
    )
    return views, count < len(rows)


def entity_view(
    view: View,
    entity_id: str,
    name: str,
    scope: Scope,
    facts: Sequence[FactView],
    totals: Mapping[str, int],
) -> EntityView:
    """An entity with its type by majority, its spellings and the given facts."""
    surfaces = view.surfaces(entity_id, scope)
    declared = view.declared_names(entity_id)
    spelled = sorted(surfaces, key=lambda surface: (-surfaces[surface], surface))
    aliases = [d.value for d in declared if d.kind in (NameKind.ALIAS, NameKind.EXTERNAL_ID)]
    renamed = [d.value for d in declared if d.kind is NameKind.RENAME]
    retyped = [d.value for d in declared if d.kind is NameKind.RETYPE]
    shown = renamed[-1] if renamed else name
    votes = dict(view.type_votes(entity_id, scope))
    return EntityView(
        id=entity_id,
        name=shown,
        type=entity_type(entity_id, votes, retyped),
        type_votes=votes,
        aliases=tuple(alias for alias in dict.fromkeys([*aliases, *spelled]) if alias != shown),
        mentions=sum(surfaces.values()),
        facts=tuple(facts),
        total_facts=totals.get(entity_id, len(facts)),
    )


def entity_type(
    entity_id: str, votes: Mapping[EntityType, float], declared: Sequence[str]
) -> EntityType:
    """The declared type, else the one with most votes, else the one frozen in the id."""
    for word in reversed(declared):
        if word in set(EntityType):
            return EntityType(word)
    if votes:
        return min(votes, key=lambda kind: (-votes[kind], kind.value))
    prefix = entity_id.partition(":")[0]
    return EntityType(prefix) if prefix in set(EntityType) else EntityType.THING
