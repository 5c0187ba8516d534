"""A small make-believe vault that tells valid operations, for tests of the projection."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

from graphmem.model.items import (
    DeclaredName,
    Entity,
    EntityObject,
    Evidence,
    Fact,
    Link,
    LiteralObject,
    Mention,
    Passage,
    PassageBundle,
    PassageRef,
    SameAs,
    Source,
    State,
    Statement,
    TimeInterval,
)
from graphmem.model.operations import (
    AddEvidence,
    Annotate,
    Cursor,
    MoveMention,
    Name,
    Operation,
    PutEntity,
    PutFact,
    PutLink,
    PutPassage,
    PutSource,
    RedirectEntity,
    SetState,
)
from graphmem.vocabulary import (
    EntityType,
    LinkKind,
    NameKind,
    SourceKind,
    Stance,
    StateKind,
    StatementKind,
)

START = datetime(2026, 3, 1, tzinfo=UTC)
TEXT = "We dropped LanceDB 0.8 because it was slow. Then we chose Kuzu."


@dataclass(frozen=True)
class ToldRow:
    seq: int
    at: datetime
    operation: Operation | None


def told(operations: Iterable[Operation], first: int = 1) -> list[ToldRow]:
    """The operations as journal rows, one second apart."""
    return [
        ToldRow(first + i, START + timedelta(seconds=first + i), operation)
        for i, operation in enumerate(operations)
    ]


def source(number: int, passages: Iterable[str] = ()) -> Source:
    layout = tuple(PassageRef(passage_id=p, start=0, line=1) for p in passages)
    return Source(
        id=f"src:{number}",
        kind=SourceKind.NOTE,
        uri=f"n{number}.md",
        title="Naïve 覚書",
        content_hash="h",
        project="p",
        authored_at=START if number % 2 else None,
        layout=layout,
    )


def statement(passage: str, number: int, revision: int = 1) -> Statement:
    return Statement(
        id=f"stm:{passage[4:]}.{number}",
        passage_id=passage,
        kind=StatementKind.DECISION,
        start=number * 10,
        end=number * 10 + 9,
        time=TimeInterval(start=START) if number else None,
        extractor="rules",
        revision=revision,
        confidence=0.7,
    )


def mention(passage: str, number: int, entity: str, statement_id: str | None = None) -> Mention:
    return Mention(
        id=f"mnt:{passage[4:]}.{number}",
        passage_id=passage,
        statement_id=statement_id,
        entity_id=entity,
        surface="LanceDB",
        start=number,
        end=number + 7,
        type_vote=EntityType.TOOL if number else None,
        extractor="rules",
        seen_at=START,
    )


def bundle(
    passage: str, source_id: str, statements: Iterable[Statement], mentions: Iterable[Mention]
) -> PassageBundle:
    text = Passage(id=passage, source_id=source_id, text=TEXT, text_hash="t", heading_path=("A",))
    return PassageBundle(passage=text, statements=tuple(statements), mentions=tuple(mentions))


def entity(name: str) -> Entity:
    return Entity(id=f"thing:{name}", name=name.title(), name_key=name)


def fact(number: int, subject: str, end: str | None) -> Fact:
    return Fact(
        id=f"fct:{number}",
        subject_id=subject,
        predicate="uses",
        object=LiteralObject(value="0.8") if end is None else EntityObject(entity_id=end),
    )


def evidence(
    number: int, fact_id: str, said: Statement | None, passage: str, **more: Any
) -> Evidence:
    return Evidence(
        id=f"evd:{number}",
        fact_id=fact_id,
        passage_id=passage,
        statement_id=None if said is None else said.id,
        quote="We dropped",
        start=0,
        end=10,
        extractor="rules",
        revision=1,
        **more,
    )


def link(
    number: int, kind: LinkKind, one: str, two: str, passage: str, confidence: float = 0.8
) -> Link:
    return Link(
        id=f"lnk:{number}",
        kind=kind,
        source_id=one,
        target_id=two,
        passage_id=passage,
        quote="because",
        connective="because",
        confidence=confidence,
        extractor="rules",
        revision=1,
    )


def state(
    target: str, kind: StateKind, after: datetime | None, before: datetime | None
) -> SetState:
    return SetState(
        after=State(target_id=target, kind=kind, at=after),
        before=State(target_id=target, kind=kind, at=before),
    )


@dataclass
class World:
    """What has been told so far; ``step`` tells one more valid thing, or nothing."""

    random: Random
    sources: dict[str, Source] = field(default_factory=dict)
    bundles: dict[str, PassageBundle] = field(default_factory=dict)
    entities: dict[str, Entity] = field(default_factory=dict)
    facts: dict[str, Fact] = field(default_factory=dict)
    evidence: dict[str, Evidence] = field(default_factory=dict)
    links: dict[str, Link] = field(default_factory=dict)
    redirects: dict[str, SameAs] = field(default_factory=dict)
    names: dict[str, DeclaredName] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)
    set_states: dict[str, dict[StateKind, datetime]] = field(default_factory=dict)

    def mention(self, mention_id: str) -> Mention | None:
        found = (m for item in self.bundles.values() for m in item.mentions if m.id == mention_id)
        return next(found, None)

    def states(self, target_ids: Iterable[str]) -> Mapping[str, Mapping[StateKind, datetime]]:
        return {key: dict(self.set_states[key]) for key in target_ids if key in self.set_states}

    def pick(self, things: Iterable[Any]) -> Any:
        choices = sorted(things, key=str)
        return self.random.choice(choices) if choices else None

    def swap(self, stored: dict[str, Any], key: str, after: Any) -> tuple[Any, Any]:
        before = stored.pop(key, None)
        if after is not None:
            stored[key] = after
        return before, after

    def step(self) -> list[Operation]:
        tell = self.random.choice(
            [
                *[self.tell_source, self.tell_passage, self.tell_passage, self.tell_entity],
                *[self.tell_fact, self.tell_fact, self.tell_evidence, self.tell_link],
                *[self.tell_redirect, self.tell_name, self.move, self.tell_state, self.tell_text],
            ]
        )
        return tell()

    def tell_source(self) -> list[Operation]:
        number = self.random.randrange(3)
        key = f"src:{number}"
        mine = sorted(b.passage.id for b in self.bundles.values() if b.passage.source_id == key)
        self.random.shuffle(mine)
        gone = not mine and self.random.random() < 0.3
        before, after = self.swap(self.sources, key, None if gone else source(number, mine))
        return [PutSource(before=before, after=after)] if before or after else []

    def needed(self, statement_or_passage: set[str]) -> bool:
        """Whether evidence or a link stands on one of the ids."""
        on = {x for e in self.evidence.values() for x in (e.passage_id, e.statement_id)}
        on |= {x for k in self.links.values() for x in (k.passage_id, k.source_id, k.target_id)}
        return bool(on & statement_or_passage)

    def tell_passage(self) -> list[Operation]:
        home = self.pick(self.sources)
        if home is None:
            return []
        key = f"psg:{home[4:]}-{self.random.randrange(3)}"
        stored = self.bundles.get(key)
        laid_out = any(p.passage_id == key for s in self.sources.values() for p in s.layout)
        parts = {key} if stored is None else {key, *(s.id for s in stored.statements)}
        if stored and self.needed(parts):
            after: PassageBundle | None = self.mentions_anew(stored)
        elif stored and not laid_out and self.random.random() < 0.5:
            after = None
        else:
            after = self.fresh_bundle(key, home)
        before, after = self.swap(self.bundles, key, after)
        return [PutPassage(before=before, after=after)]

    def fresh_bundle(self, key: str, home: str) -> PassageBundle:
        revision = self.random.randrange(2)
        count = self.random.randrange(3)
        statements = [statement(key, i, revision) for i in range(count)]
        return self.mentions_anew(bundle(key, home, statements, ()))

    def mentions_anew(self, stored: PassageBundle) -> PassageBundle:
        places: list[str | None] = [None, *(s.id for s in stored.statements)]
        mentions = [
            mention(stored.passage.id, i, self.random.choice(sorted(self.entities)), place)
            for i in range(3)
            for place in [self.random.choice(places)]
            if self.entities and self.random.random() < 0.6
        ]
        return stored.model_copy(update={"mentions": tuple(mentions)})

    def tell_entity(self) -> list[Operation]:
        made = entity(self.random.choice("abcd"))
        used = {m.entity_id for b in self.bundles.values() for m in b.mentions}
        used |= {f.subject_id for f in self.facts.values()} | {
            n.entity_id for n in self.names.values()
        }
        used |= {f.object.key for f in self.facts.values()}
        used |= {x for r in self.redirects.values() for x in (r.loser_id, r.survivor_id)}
        gone = made.id in self.entities and made.id not in used
        before, after = self.swap(self.entities, made.id, None if gone else made)
        return [] if before == after else [PutEntity(before=before, after=after)]

    def tell_fact(self) -> list[Operation]:
        subject, end = self.pick(self.entities), self.pick([*self.entities, None])
        if subject is None or subject == end:
            return []
        made = fact(self.random.randrange(3), subject, end)
        proven = {e.fact_id for e in self.evidence.values()}
        gone = made.id in self.facts and made.id not in proven and self.random.random() < 0.3
        before, after = self.swap(self.facts, made.id, None if gone else made)
        return [PutFact(before=before, after=after)]

    def tell_evidence(self) -> list[Operation]:
        key, home = self.pick(self.facts), self.pick(self.bundles)
        if key is None or home is None:
            return []
        said = self.pick([None, *self.bundles[home].statements])
        stance = self.random.choice([Stance.SUPPORTS, Stance.SUPPORTS, Stance.CONTRADICTS])
        sure = self.random.choice([0.5, 0.9])
        number = self.random.randrange(4)
        made = evidence(number, key, said, home, stance=stance, confidence=sure)
        gone = made.id in self.evidence and self.random.random() < 0.5
        before, after = self.swap(self.evidence, made.id, None if gone else made)
        return [AddEvidence(before=before, after=after)]

    def tell_link(self) -> list[Operation]:
        ids = sorted(s.id for b in self.bundles.values() for s in b.statements)
        if len(ids) < 2:
            return []
        one, two = self.random.sample(ids, 2)
        kind = self.random.choice(list(LinkKind))
        sure = self.random.choice([0.5, 0.9])
        made = link(self.random.randrange(5), kind, one, two, self.pick(self.bundles), sure)
        gone = made.id in self.links and self.random.random() < 0.5
        before, after = self.swap(self.links, made.id, None if gone else made)
        return [PutLink(before=before, after=after)]

    def tell_redirect(self) -> list[Operation]:
        loser, survivor = self.pick(self.entities), self.pick(self.entities)
        if loser in self.redirects:
            before, after = self.swap(self.redirects, loser, None)
            return [RedirectEntity(before=before, after=after)]
        if loser is None or not loser < survivor:  # upwards only, so without cycles
            return []
        made = SameAs(loser_id=loser, survivor_id=survivor, reason="same key")
        self.redirects[loser] = made
        return [RedirectEntity(before=None, after=made)]

    def tell_name(self) -> list[Operation]:
        target = self.pick(self.entities)
        if target is None:
            return []
        key = f"name:{self.random.randrange(3)}"
        made = DeclaredName(id=key, kind=NameKind.ALIAS, entity_id=target, value="X", key="x")
        before, after = self.swap(self.names, key, None if key in self.names else made)
        return [Name(before=before, after=after)]

    def move(self) -> list[Operation]:
        home, goal = self.pick(self.bundles), self.pick(self.entities)
        moved = self.pick(m.id for m in self.bundles[home].mentions) if home else None
        found = self.mention(moved) if moved else None
        if found is None or goal == found.entity_id:
            return []
        mentions = tuple(
            m.model_copy(update={"entity_id": goal}) if m.id == moved else m
            for m in self.bundles[home].mentions
        )
        self.bundles[home] = self.bundles[home].model_copy(update={"mentions": mentions})
        return [MoveMention(mention_id=moved, passage_id=home, before=found.entity_id, after=goal)]

    def tell_state(self) -> list[Operation]:
        statements = [s.id for b in self.bundles.values() for s in b.statements]
        items = [
            *self.sources,
            *self.bundles,
            *self.entities,
            *self.facts,
            *self.links,
            *statements,
        ]
        known = sorted({*items, *self.set_states})
        if not known:
            return []
        target, kind = self.random.choice(known), self.random.choice(list(StateKind))
        mine = self.set_states.setdefault(target, {})
        before = mine.pop(kind, None)
        after = None if before else START + timedelta(days=self.random.randrange(9))
        if after:
            mine[kind] = after
        return [state(target, kind, after, before)]

    def tell_text(self) -> list[Operation]:
        key = self.random.choice(["cursor", "label"])
        after = self.random.choice(["1", "2", None])
        before, after = self.swap(self.texts, key, after)
        if key == "cursor":
            return [Cursor(name="chat", before=before, after=after)]
        return [Annotate(target_id="psg:0-0", label="star", before=before, after=after)]
