"""A small vault written by hand: what the tests of retrieval read."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from datetime import UTC, datetime

from graphmem.model.base import digest
from graphmem.model.ids import evidence_id, fact_id, link_id, mention_id, passage_id, source_id
from graphmem.model.ids import statement_id as make_statement_id
from graphmem.model.items import (
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
    Source,
    State,
    Statement,
)
from graphmem.model.operations import (
    AddEvidence,
    Operation,
    PutEntity,
    PutFact,
    PutLink,
    PutPassage,
    PutSource,
    SetState,
)
from graphmem.model.scope import EVERYTHING, Scope
from graphmem.resolve import name_key
from graphmem.retrieve import Retriever
from graphmem.store import open_store
from graphmem.store.protocols import View
from graphmem.vocabulary import (
    Audience,
    LinkKind,
    Origin,
    PassageRole,
    SourceKind,
    StateKind,
    StatementKind,
)

NOW = datetime(2026, 12, 1, tzinfo=UTC)
STATED, LAYOUT = 0.9, 0.6


class Vault:
    """Builds sources of one or more passages; ``commit`` writes what was added since."""

    def __init__(self) -> None:
        self.store = open_store(None, create=True)
        self.operations: list[Operation] = []
        self.statement_ids: dict[str, str] = {}
        self.passage_of: dict[str, str] = {}
        self.texts: dict[str, str] = {}
        self.entities: set[str] = set()

    def note(
        self,
        uri: str,
        *passages: str | tuple[PassageRole, str],
        statements: Sequence[str | tuple[str, StatementKind]] = (),
        mentions: Sequence[tuple[str, str]] = (),
        title: str = "",
        project: str = "demo",
        at: datetime | None = None,
        origin: Origin = Origin.OWNER,
        audience: Audience = Audience.SHARED,
    ) -> list[str]:
        """A source of these passages; statements and mentions are found by their text."""
        source = source_id(project, uri)
        refs, line = [], 1
        for number, given in enumerate(passages):
            role, text = (PassageRole.BODY, given) if isinstance(given, str) else given
            text_hash = digest(text)
            key = passage_id(source, (), text_hash, number)
            refs.append(PassageRef(passage_id=key, start=0, line=line))
            line += text.count("\n") + 2
            bundle = PassageBundle(
                passage=Passage(
                    id=key,
                    source_id=source,
                    text=text,
                    text_hash=text_hash,
                    role=role,
                    authored_at=at,
                    origin=origin,
                    audience=audience,
                ),
                statements=tuple(self._statements(key, text, statements)),
                mentions=tuple(self._mentions(key, text, mentions, at)),
            )
            self.texts[key] = text
            self.operations.append(PutPassage(after=bundle))
        self.operations.insert(
            0,
            PutSource(
                after=Source(
                    id=source,
                    kind=SourceKind.NOTE,
                    uri=uri,
                    title=title or uri,
                    content_hash=hashlib.sha256(repr(passages).encode()).hexdigest(),
                    project=project,
                    layout=tuple(refs),
                )
            ),
        )
        return [ref.passage_id for ref in refs]

    def _statements(
        self, key: str, text: str, wanted: Sequence[str | tuple[str, StatementKind]]
    ) -> list[Statement]:
        found = []
        for item in wanted:
            said, kind = (item, StatementKind.FACT) if isinstance(item, str) else item
            start = text.find(said)
            if start >= 0:
                ident = make_statement_id(key, start, start + len(said))
                self.statement_ids[said] = ident
                self.passage_of[said] = key
                found.append(
                    Statement(
                        id=ident,
                        passage_id=key,
                        kind=kind,
                        start=start,
                        end=start + len(said),
                        extractor="test",
                        revision=1,
                    )
                )
        return sorted(found, key=lambda item: item.start)

    def _mentions(
        self, key: str, text: str, wanted: Sequence[tuple[str, str]], at: datetime | None
    ) -> list[Mention]:
        found = []
        for surface, entity in wanted:
            start = text.find(surface)
            self.entity(entity, surface)
            if start >= 0:
                end = start + len(surface)
                found.append(
                    Mention(
                        id=mention_id(key, start, end, "test"),
                        passage_id=key,
                        entity_id=entity,
                        surface=surface,
                        start=start,
                        end=end,
                        extractor="test",
                        seen_at=at,
                    )
                )
        return found

    def entity(self, key: str, name: str) -> None:
        """An entity, once."""
        if key not in self.entities:
            self.entities.add(key)
            entity = Entity(id=key, name=name, name_key=name_key(name))
            self.operations.insert(0, PutEntity(after=entity))

    def link(
        self,
        kind: LinkKind,
        source: str,
        target: str,
        quote: str = "",
        confidence: float = STATED,
        source_id: str | None = None,
        target_id: str | None = None,
    ) -> str:
        """A link between two statements named by their texts (or ids), with its witness."""
        first = source_id or self.statement_ids[source]
        second = target_id or self.statement_ids[target]
        key = self.passage_of[target if quote and quote in self.texts[self.passage_of[target]]
                              else source]  # fmt: skip
        start = max(self.texts[key].find(quote), 0) if quote else 0
        ident = link_id(kind.value, first, second, key, start, start + len(quote))
        self.operations.append(
            PutLink(
                after=Link(
                    id=ident,
                    kind=kind,
                    source_id=first,
                    target_id=second,
                    passage_id=key,
                    quote=quote,
                    start=start,
                    end=start + len(quote),
                    connective="because" if confidence >= STATED else None,
                    confidence=confidence,
                    extractor="test",
                    revision=1,
                )
            )
        )
        return ident

    def fact(
        self,
        subject: str,
        predicate: str,
        value: str,
        key: str,
        quote: str,
        *,
        start: datetime | None = None,
        seen_at: datetime | None = None,
        origin: Origin = Origin.OWNER,
    ) -> str:
        """A fact with one piece of evidence; ``value`` with a colon is an entity's id."""
        ends_at = EntityObject(entity_id=value) if ":" in value else LiteralObject(value=value)
        ident = fact_id(subject, predicate, ends_at.key, "positive", start, None)
        at = self.texts[key].find(quote)
        assert at >= 0
        self.operations += [
            PutFact(
                after=Fact(
                    id=ident,
                    subject_id=subject,
                    predicate=predicate,
                    object=ends_at,
                    valid_from=start,
                )
            ),
            AddEvidence(
                after=Evidence(
                    id=evidence_id(ident, key, at, at + len(quote), "test", "supports"),
                    fact_id=ident,
                    passage_id=key,
                    quote=quote,
                    start=at,
                    end=at + len(quote),
                    extractor="test",
                    revision=1,
                    origin=origin,
                    seen_at=seen_at,
                )
            ),
        ]
        return ident

    def state(self, target: str, kind: StateKind, at: datetime | None = NOW) -> None:
        """Sets a state (a passage or source is forgotten, archived, absent, snoozed)."""
        self.operations.append(
            SetState(
                after=State(target_id=target, kind=kind, at=at),
                before=State(target_id=target, kind=kind, at=None),
            )
        )

    def commit(self) -> View:
        """Writes and returns the new view."""
        self.store.writer.commit(self.operations, actor="test")
        self.operations = []
        return self.store.view()

    def retriever(self) -> Retriever:
        """A retriever over the newest view, without vectors."""
        return Retriever(self.store.view, None, now=lambda: NOW)

    def view(self, scope: Scope = EVERYTHING) -> View:
        """The newest view."""
        return self.store.view()
