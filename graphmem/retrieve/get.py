"""Opens every kind of id that any tool returns."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from graphmem.errors import UsageError
from graphmem.model.base import Model
from graphmem.model.ids import (
    EVIDENCE_PREFIX,
    FACT_PREFIX,
    LINK_PREFIX,
    PASSAGE_PREFIX,
    SOURCE_PREFIX,
    STATEMENT_PREFIX,
)
from graphmem.model.items import EntityObject, Fact
from graphmem.model.results import GetResult, GotItem
from graphmem.model.scope import Scope
from graphmem.retrieve.context import printable
from graphmem.retrieve.kg import entity_names, entity_type
from graphmem.retrieve.places import places
from graphmem.store.protocols import View
from graphmem.vocabulary import NameKind, Polarity

# Ids opened by one call; more would not fit a reply.
MAX_IDS = 200

Opener = Callable[[View, Sequence[str], Scope], Mapping[str, GotItem]]


def get(view: View, ids: Sequence[str], *, scope: Scope) -> GetResult:
    """The items of the ids in the order asked, repeats once; hidden ids are like unknown ones.

    A merged entity's id opens the entity it is read as. Raises UsageError for no ids or too many.
    """
    wanted = list(dict.fromkeys(printable(item.strip()) for item in ids))
    if not wanted or len(wanted) > MAX_IDS:
        raise UsageError(f"give 1 to {MAX_IDS} ids, not {len(wanted)}")
    by_prefix: dict[str, list[str]] = {}
    for item in wanted:
        by_prefix.setdefault(item.partition(":")[0], []).append(item)
    found: dict[str, GotItem] = {}
    for prefix, group in by_prefix.items():
        found.update(_OPENERS.get(prefix, _entities)(view, group, scope))
    return GetResult(
        items=tuple(found[item] for item in wanted if item in found),
        missing=tuple(item for item in wanted if item not in found),
    )


def _item(item_id: str, kind: str, text: str, model: Model, **more: object) -> GotItem:
    return GotItem(id=item_id, kind=kind, text=text, data={**model.model_dump(mode="json"), **more})


def _sources(view: View, ids: Sequence[str], scope: Scope) -> Mapping[str, GotItem]:
    return {
        key: _item(key, "source", source.title or source.uri, source)
        for key, source in view.sources(ids, scope).items()
    }


def _passages(view: View, ids: Sequence[str], scope: Scope) -> Mapping[str, GotItem]:
    where = places(view, ids, scope)
    statements = view.statements_of(list(where.passages), scope)
    items = {}
    for key, passage in where.passages.items():
        span = where.span(key, 0, len(passage.text))
        more = {
            "span": span.model_dump(mode="json") if span else None,
            "statements": [statement.id for statement in statements.get(key, ())],
        }
        items[key] = _item(key, "passage", passage.text, passage, **more)
    return items


def _statements(view: View, ids: Sequence[str], scope: Scope) -> Mapping[str, GotItem]:
    found = view.statements(ids, scope)
    where = places(view, [s.passage_id for s in found.values()], scope)
    items = {}
    for key, statement in found.items():
        span = where.span(statement.passage_id, statement.start, statement.end)
        if span is not None:
            text = where.passages[statement.passage_id].text[statement.start : statement.end]
            items[key] = _item(key, "statement", text, statement, span=span.model_dump(mode="json"))
    return items


def _facts(view: View, ids: Sequence[str], scope: Scope) -> Mapping[str, GotItem]:
    found = view.facts(ids, scope)
    evidence = view.evidence_of(list(found), scope)
    ends = {fact.subject_id for fact in found.values()}
    ends |= {f.object.entity_id for f in found.values() if isinstance(f.object, EntityObject)}
    names = entity_names(view, ends, scope)
    return {
        key: _item(
            key, "fact", fact_text(fact, names), fact,
            evidence=[item.id for item in evidence.get(key, ())],
        )
        for key, fact in found.items()
    }  # fmt: skip


def fact_text(fact: Fact, names: Mapping[str, tuple[str, str]]) -> str:
    """A fact as "subject predicate object", with "not" for a denied one."""
    ends_at = fact.object
    value = names[ends_at.entity_id][1] if isinstance(ends_at, EntityObject) else ends_at.value
    denied = "not " if fact.polarity is Polarity.NEGATIVE else ""
    return f"{names[fact.subject_id][1]} {denied}{fact.predicate.replace('_', ' ')} {value}"


def _evidence(view: View, ids: Sequence[str], scope: Scope) -> Mapping[str, GotItem]:
    found = view.evidence(ids, scope)
    return {key: _item(key, "evidence", item.quote, item) for key, item in found.items()}


def _links(view: View, ids: Sequence[str], scope: Scope) -> Mapping[str, GotItem]:
    found = view.links(ids, scope)
    ends = {end for link in found.values() for end in (link.source_id, link.target_id)}
    texts = {key: item.text for key, item in _statements(view, list(ends), scope).items()}
    return {
        key: _item(
            key, "link", link.quote or link.kind.value, link,
            source_text=texts.get(link.source_id, ""), target_text=texts.get(link.target_id, ""),
        )
        for key, link in found.items()
    }  # fmt: skip


def _entities(view: View, ids: Sequence[str], scope: Scope) -> Mapping[str, GotItem]:
    kept = {item: view.survivor(item) for item in ids}
    found = view.entities(set(kept.values()), scope)
    items = {}
    for item, survivor in kept.items():
        if survivor not in found:
            continue
        entity = found[survivor]
        votes = dict(view.type_votes(survivor, scope))
        retyped = [d.value for d in view.declared_names(survivor) if d.kind is NameKind.RETYPE]
        kind = entity_type(survivor, votes, retyped)
        facts = [fact.id for fact in view.facts_about([survivor], scope)]
        more: dict[str, object] = {
            "type": kind.value,
            "surfaces": dict(view.surfaces(survivor, scope)),
            "facts": facts,
        }
        if survivor != item:
            more["merged_from"] = item
        items[item] = _item(item, "entity", entity.name, entity, **more)
    return items


_OPENERS: dict[str, Opener] = {
    SOURCE_PREFIX: _sources,
    PASSAGE_PREFIX: _passages,
    STATEMENT_PREFIX: _statements,
    FACT_PREFIX: _facts,
    EVIDENCE_PREFIX: _evidence,
    LINK_PREFIX: _links,
}
