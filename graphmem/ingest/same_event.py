"""SAME_EVENT links: statements of different passages that say the same thing, as a chain.

The chain over the sorted statement ids of a class is a function of the set alone, so any order of
arrival gives the same links, and a class of n statements needs n - 1 of them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from graphmem.model.ids import link_id
from graphmem.model.items import Link, Passage, PassageBundle, Statement
from graphmem.model.operations import PutLink
from graphmem.model.scope import EVERYTHING, Scope
from graphmem.store.protocols import View
from graphmem.vocabulary import LinkKind

EXTRACTOR: Final = "same-event"
REVISION: Final = 1

_HIDDEN_TOO: Final = Scope(include_hidden=True)
_KINDS: Final = frozenset({LinkKind.SAME_EVENT})


@dataclass(frozen=True, slots=True)
class Member:
    """A statement with what decides its class: its passage and its project."""

    statement: Statement
    passage: Passage
    project: str

    @property
    def class_key(self) -> tuple[str, ...]:
        """Equal for statements that say the same: event, mood, project and stated time."""
        said = self.statement
        when = said.time.model_dump_json() if said.time else ""
        return (said.event_key, said.polarity.value, said.modality.value, self.project, when)


def same_event_operations(
    view: View,
    added: Sequence[tuple[PassageBundle, str]],
    *,
    gone: Collection[str] = (),
    back: Collection[str] = (),
) -> list[PutLink]:
    """What brings the chains in order when bundles (with their project) are added and passages
    become hidden (``gone``) or visible again (``back``). Empty when nothing changes."""
    fresh = {
        statement.id: Member(statement, bundle.passage, project)
        for bundle, project in added
        for statement in bundle.statements
        if statement.event_key
    }
    keys = {member.statement.event_key for member in fresh.values()}
    for bundle in view.bundles({*gone, *back}).values():
        keys |= {statement.event_key for statement in bundle.statements if statement.event_key}
    if not keys:
        return []
    stored_ids = [each for ids in view.statements_by_event(sorted(keys)).values() for each in ids]
    members = _visible(view, stored_ids, set(gone), set(back)) | fresh
    wanted = {link.id: link for link in _chains(members.values())}
    current = {
        link.id: link
        for link in view.links_of(stored_ids, _KINDS, _HIDDEN_TOO)
        if link.extractor == EXTRACTOR
    }
    known = view.existing(wanted.keys() - current.keys())
    return [
        *(PutLink(after=None, before=current[each]) for each in sorted(current.keys() - wanted)),
        *(PutLink(after=wanted[each]) for each in sorted(wanted.keys() - current.keys() - known)),
    ]


def _visible(view: View, ids: Sequence[str], gone: set[str], back: set[str]) -> dict[str, Member]:
    statements = view.statements(ids, _HIDDEN_TOO)
    shown = view.statements(ids, EVERYTHING)
    passages = view.passages({each.passage_id for each in statements.values()}, _HIDDEN_TOO)
    sources = view.sources({each.source_id for each in passages.values()}, _HIDDEN_TOO)
    members: dict[str, Member] = {}
    for ident, statement in statements.items():
        passage = passages.get(statement.passage_id)
        source = sources.get(passage.source_id) if passage else None
        if passage is None or source is None or passage.id in gone:
            continue
        if ident in shown or passage.id in back:
            members[ident] = Member(statement, passage, source.project)
    return members


def _chains(members: Iterable[Member]) -> Iterable[Link]:
    classes: Mapping[tuple[str, ...], dict[str, Member]] = defaultdict(dict)
    for member in sorted(members, key=lambda each: each.statement.id):
        classes[member.class_key].setdefault(member.passage.id, member)
    for group in classes.values():
        for left, right in pairwise(sorted(group.values(), key=lambda each: each.statement.id)):
            yield _link(left, right)


def _link(left: Member, right: Member) -> Link:
    said, passage = left.statement, left.passage
    return Link(
        id=link_id(
            LinkKind.SAME_EVENT.value, said.id, right.statement.id, passage.id, said.start, said.end
        ),
        kind=LinkKind.SAME_EVENT,
        source_id=said.id,
        target_id=right.statement.id,
        passage_id=passage.id,
        quote=passage.text[said.start : said.end],
        start=said.start,
        end=said.end,
        extractor=EXTRACTOR,
        revision=REVISION,
        seen_at=passage.authored_at,
    )
