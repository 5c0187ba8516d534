"""Checks that read every text: quotes stand where they say, names of one entity agree in digits."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any

from graphmem.model.care import Check
from graphmem.resolve.names import digit_signature, name_key
from graphmem.resolve.veto import veto
from graphmem.store.index_schema import NEVER
from graphmem.store.sqlite import Db
from graphmem.store.verify_index import IN_JOURNAL, redirects_of, survivor_of

_NEWEST = (
    "SELECT i.json FROM item i WHERE i.kind = ? AND i.json IS NOT NULL "
    "AND i.seq = (SELECT max(seq) FROM item WHERE id = i.id) ORDER BY i.id"
)


def _items(db: Db, kind: str) -> Iterator[dict[str, Any]]:
    for (text,) in db.execute(_NEWEST, (kind,)):
        yield json.loads(text)


def spans_hold(db: Db) -> Check:
    """Whether offsets lie within their passage and quotes are the text there."""
    texts, checked, wrong = {}, 0, []
    for bundle in _items(db, "passage"):
        passage = bundle["passage"]
        texts[passage["id"]] = passage["text"]
        for statement in bundle["statements"]:
            checked += 1
            if not 0 <= statement["start"] < statement["end"] <= len(passage["text"]):
                wrong.append(f"{statement['id']} lies outside of its passage")
        for mention in bundle["mentions"]:
            checked += 1
            wrong += _misquoted(mention, mention["surface"], passage["text"])
    for kind in ("evidence", "link"):
        for item in _items(db, kind):
            checked += 1
            wrong += _misquoted(item, item["quote"], texts.get(item["passage_id"], ""))
    return Check(
        name="quotes",
        claim="spans lie in their passage and quote it",
        checked=checked,
        failures=len(wrong),
        examples=tuple(wrong),
        advice=IN_JOURNAL,
    )


def _misquoted(item: dict[str, Any], quote: str, text: str) -> list[str]:
    start, end = item["start"], item["end"]
    if not 0 <= start <= end <= len(text):
        return [f"{item['id']} lies outside of its passage"]
    return [] if text[start:end] == quote else [f"{item['id']} does not quote its passage"]


def digits_agree(db: Db) -> Check:
    """Whether an entity was seen, and merged, only under names that agree in their digits.

    A declared alias counts as a name of its entity: "K8s" is said to be Kubernetes.
    """
    names = _own_names(db)
    known = {entity: {digit_signature(name_key(name))} for entity, name in names.items()}
    for entity, alias in _declared(db):
        known.setdefault(entity, set()).add(digit_signature(name_key(alias)))
    seen, wrong = _surfaces(db), []
    for entity, surface, who in seen:
        if digit_signature(name_key(surface)) not in known.get(entity, set()):
            wrong.append(f"{who}: “{surface}” is read as {entity} “{names.get(entity, '')}”")
    pairs = redirects_of(db)
    wrong += _vetoed(pairs, names, known)
    return Check(
        name="digits",
        claim="names of one entity agree in their digits",
        checked=len(seen) + len(pairs),
        failures=len(wrong),
        examples=tuple(wrong),
        advice="undo the merge, or report it with this output: names that differ in digits are two",
    )


def _own_names(db: Db) -> dict[str, str]:
    return {entity["id"]: entity["name"] for entity in _items(db, "entity")}


def _declared(db: Db) -> list[tuple[str, str]]:
    kinds = ("alias", "rename")
    return [(n["entity_id"], n["value"]) for n in _items(db, "name") if n["kind"] in kinds]


def _surfaces(db: Db) -> list[tuple[str, str, str]]:
    rows = db.execute(
        "SELECT entity_id, surface, min(id) FROM part WHERE kind = 'mention' "
        f"AND gone = {NEVER} GROUP BY entity_id, surface ORDER BY entity_id, surface"
    ).fetchall()
    return [(str(entity), str(surface), str(who)) for entity, surface, who in rows]


def _vetoed(
    pairs: list[tuple[str, str]],
    names: dict[str, str],
    known: dict[str, set[tuple[str, ...]]],
) -> list[str]:
    """Merges of entities no two of whose names agree in digits."""
    ways, groups = dict(pairs), defaultdict(set)
    for loser, _ in pairs:
        groups[survivor_of(loser, ways)].add(loser)
    wrong = []
    for survivor, losers in groups.items():
        if survivor is None:
            continue
        for loser in sorted(losers):
            if known.get(loser, set()).isdisjoint(known.get(survivor, set())):
                reason = veto(names.get(loser, ""), names.get(survivor, "")) or "digits"
                wrong.append(f"{loser} is merged into {survivor} against the veto: {reason}")
    return wrong


TEXT_CHECKS: tuple[Callable[[Db], Check], ...] = (spans_hold, digits_agree)
