"""Candidates to items: all that an extractor gives is checked, resolved, counted if dropped."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from graphmem.model.extraction import (
    CausalCandidate,
    Extraction,
    LiteralTerm,
    MentionCandidate,
    MentionTerm,
    NamedTerm,
    ProjectTerm,
    StatementCandidate,
    StatementRef,
    Term,
    TripleCandidate,
)
from graphmem.model.ids import evidence_id, fact_id, link_id, mention_id, statement_id
from graphmem.model.items import (
    MAX_NAME_CHARS,
    DeclaredName,
    Entity,
    EntityObject,
    Evidence,
    Fact,
    FactObject,
    Link,
    LiteralObject,
    Mention,
    Passage,
    PassageBundle,
    Statement,
)
from graphmem.resolve.names import is_nameable, name_key
from graphmem.resolve.resolver import NameRequest, OnlineResolver
from graphmem.vocabulary import (
    CAUSAL_KINDS,
    Modality,
    ObjectKind,
    Refusal,
    Stance,
    canonical,
    spec_of,
)

# The bounds of the model's fields; longer values are prose.
MAX_PREDICATE_CHARS: Final = 100
MAX_LITERAL_CHARS: Final = 500


@dataclass(frozen=True, slots=True)
class PassageInfo:
    """A passage that was extracted; ``stored`` is its bundle when it is known already."""

    passage: Passage
    project: str
    project_name: str
    stored: PassageBundle | None = None


@dataclass(frozen=True, slots=True)
class Layer:
    """One extractor's candidates for all passages of a call, in their order."""

    name: str
    revision: int
    extractions: Sequence[Extraction]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one triple or causal candidate of a layer."""

    layer: str
    kind: str
    passage: int
    position: int
    id: str | None
    reason: Refusal | None = None


@dataclass(slots=True)
class Assembled:
    """The items of a call, each id once; nothing is compared with the store yet."""

    bundles: list[PassageBundle] = field(default_factory=list)
    entities: list[Entity] = field(default_factory=list)
    names: list[DeclaredName] = field(default_factory=list)
    facts: dict[str, Fact] = field(default_factory=dict)
    evidence: dict[str, Evidence] = field(default_factory=dict)
    links: dict[str, Link] = field(default_factory=dict)
    refused: Counter[Refusal] = field(default_factory=Counter)
    outcomes: list[Outcome] = field(default_factory=list)


class _RefusedError(Exception):
    def __init__(self, reason: Refusal) -> None:
        super().__init__(reason.value)
        self.reason = reason


@dataclass(slots=True)
class _Read:
    """The sound statements and mentions of one passage by their position in each layer."""

    statements: dict[str, dict[int, Statement]] = field(default_factory=dict)
    mentions: dict[str, dict[int, MentionCandidate]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _End:
    id: str
    surface: str
    declared_project: bool = False


def assemble(
    infos: Sequence[PassageInfo],
    layers: Sequence[Layer],
    resolver: OnlineResolver,
    *,
    extend_stored: bool = False,
) -> Assembled:
    """The items in the candidates of all layers; the first layer wins where two give one id.

    A stored passage keeps its bundle as it is unless ``extend_stored``; links and evidence on it
    are made again, for they may lead to new passages.
    """
    return _Assembler(infos, layers, resolver, extend_stored).run()


class _Assembler:
    def __init__(
        self,
        infos: Sequence[PassageInfo],
        layers: Sequence[Layer],
        resolver: OnlineResolver,
        extend_stored: bool,
    ) -> None:
        self._infos = infos
        self._layers = layers
        self._resolver = resolver
        self._extend = extend_stored
        self._out = Assembled()
        self._reads = [_Read() for _ in infos]
        self._projects: dict[str, _End | None] = {}

    def run(self) -> Assembled:
        for layer in self._layers:
            for at, extraction in enumerate(layer.extractions):
                self._out.refused.update(extraction.dropped)
                self._statements(layer, at, extraction)
                self._mentions(layer, at, extraction)
        self._resolution = self._resolver.resolve(list(self._requests()))
        self._out.entities.extend(self._resolution.new)
        for at in range(len(self._infos)):
            self._bundle(at)
        for layer in self._layers:
            for at, extraction in enumerate(layer.extractions):
                for position, triple in enumerate(extraction.triples):
                    self._try(layer, "fact", at, position, triple)
                for position, cause in enumerate(extraction.causes):
                    self._try(layer, "cause", at, position, cause)
        return self._out

    def _refuse(self, reason: Refusal) -> None:
        self._out.refused[reason] += 1

    def _span_is_sound(self, at: int, start: int, end: int) -> bool:
        text = self._infos[at].passage.text
        return 0 <= start < end <= len(text) and bool(text[start:end].strip())

    # statements and mentions

    def _statements(self, layer: Layer, at: int, extraction: Extraction) -> None:
        info = self._infos[at]
        stored = {each.id for each in info.stored.statements} if info.stored else set()
        sound = self._reads[at].statements.setdefault(layer.name, {})
        for position, candidate in enumerate(extraction.statements):
            if not self._span_is_sound(at, candidate.start, candidate.end):
                self._refuse(Refusal.BAD_SPAN)
                continue
            made = _statement(info.passage, layer, candidate)
            if info.stored is None or self._extend or made.id in stored:
                sound[position] = made

    def _mentions(self, layer: Layer, at: int, extraction: Extraction) -> None:
        text = self._infos[at].passage.text
        sound = self._reads[at].mentions.setdefault(layer.name, {})
        for position, candidate in enumerate(extraction.mentions):
            reason = _mention_fault(text, candidate)
            if reason is None:
                sound[position] = candidate
            else:
                self._refuse(reason)

    def _requests(self) -> Sequence[NameRequest]:
        requests: list[NameRequest] = []
        for layer in self._layers:
            for at, extraction in enumerate(layer.extractions):
                for found in self._reads[at].mentions[layer.name].values():
                    requests.append(NameRequest(found.surface, found.type_vote, found.vote_weight))
                for triple in extraction.triples:
                    ends = (triple.subject, triple.object) if _may_be_fact(triple) else ()
                    requests += [
                        NameRequest(end.name, end.type_vote)
                        for end in ends
                        if isinstance(end, NamedTerm)
                    ]
        return requests

    def _bundle(self, at: int) -> None:
        info = self._infos[at]
        if info.stored is not None and not self._extend:
            return
        old = info.stored or PassageBundle(passage=info.passage)
        statements = {each.id: each for each in old.statements}
        mentions = {each.id: each for each in old.mentions}
        for layer in self._layers:
            for made in self._reads[at].statements[layer.name].values():
                statements.setdefault(made.id, made)
            for found in self._reads[at].mentions[layer.name].values():
                mention = self._mention(layer, at, found)
                mentions.setdefault(mention.id, mention)
        bundle = PassageBundle(
            passage=old.passage,
            statements=tuple(sorted(statements.values(), key=lambda s: (s.start, s.end, s.id))),
            mentions=tuple(sorted(mentions.values(), key=lambda m: (m.start, m.end, m.id))),
        )
        if info.stored is None or bundle != info.stored:
            self._out.bundles.append(bundle)

    def _mention(self, layer: Layer, at: int, found: MentionCandidate) -> Mention:
        passage = self._infos[at].passage
        statements = self._reads[at].statements[layer.name]
        holder = None if found.statement is None else statements.get(found.statement)
        return Mention(
            id=mention_id(passage.id, found.start, found.end, layer.name),
            passage_id=passage.id,
            statement_id=holder.id if holder else None,
            entity_id=self._resolution.ids[name_key(found.surface)],
            surface=found.surface,
            start=found.start,
            end=found.end,
            type_vote=found.type_vote,
            vote_weight=max(0.0, _finite(found.vote_weight)),
            extractor=layer.name,
            seen_at=passage.authored_at,
        )

    # triples and causes

    def _try(
        self,
        layer: Layer,
        kind: str,
        at: int,
        position: int,
        candidate: TripleCandidate | CausalCandidate,
    ) -> None:
        ident: str | None = None
        reason: Refusal | None = None
        try:
            if isinstance(candidate, TripleCandidate):
                ident = self._fact(layer, at, candidate)
            else:
                ident = self._cause(layer, at, candidate)
        except _RefusedError as refused:
            reason = refused.reason
            self._refuse(reason)
        self._out.outcomes.append(Outcome(layer.name, kind, at, position, ident, reason))

    def _fact(self, layer: Layer, at: int, triple: TripleCandidate) -> str:
        if triple.modality is not Modality.ASSERTED:
            raise _RefusedError(Refusal.NOT_ASSERTED)
        if not self._span_is_sound(at, triple.start, triple.end):
            raise _RefusedError(Refusal.BAD_SPAN)
        predicate = canonical(triple.predicate.strip())
        if not predicate:
            raise _RefusedError(Refusal.EMPTY)
        if len(predicate) > MAX_PREDICATE_CHARS:
            raise _RefusedError(Refusal.TOO_LONG)
        if triple.valid_from and triple.valid_to and triple.valid_from >= triple.valid_to:
            raise _RefusedError(Refusal.REVERSED_INTERVAL)
        subject = self._entity(layer, at, triple.subject)
        target, is_project = self._object(layer, at, triple.object, predicate)
        if isinstance(target, EntityObject) and target.entity_id == subject.id:
            raise _RefusedError(Refusal.SELF_LOOP)
        fact = Fact(
            id=fact_id(
                subject.id,
                predicate,
                target.key,
                triple.polarity.value,
                triple.valid_from,
                triple.valid_to,
            ),
            subject_id=subject.id,
            subject_surface=subject.surface,
            predicate=predicate,
            object=target,
            polarity=triple.polarity,
            valid_from=triple.valid_from,
            valid_to=triple.valid_to,
        )
        self._out.facts.setdefault(fact.id, fact)
        declared = subject.declared_project or is_project
        self._evidence(layer, at, triple, fact, declared)
        return fact.id

    def _evidence(
        self, layer: Layer, at: int, triple: TripleCandidate, fact: Fact, declared: bool
    ) -> None:
        passage = self._infos[at].passage
        known = self._reads[at].statements[layer.name]
        holder = None if triple.statement is None else known.get(triple.statement)
        ident = evidence_id(
            fact.id, passage.id, triple.start, triple.end, layer.name, Stance.SUPPORTS.value
        )
        self._out.evidence.setdefault(
            ident,
            Evidence(
                id=ident,
                fact_id=fact.id,
                passage_id=passage.id,
                statement_id=holder.id if holder else None,
                quote=passage.text[triple.start : triple.end],
                start=triple.start,
                end=triple.end,
                extractor=layer.name,
                revision=layer.revision,
                origin=passage.origin,
                audience=passage.audience,
                confidence=_confidence(triple.confidence),
                declared_project=declared,
                seen_at=passage.authored_at,
            ),
        )

    def _entity(self, layer: Layer, at: int, term: Term) -> _End:
        match term:
            case MentionTerm(mention=position):
                found = self._reads[at].mentions[layer.name].get(position)
                if found is None:
                    raise _RefusedError(Refusal.UNKNOWN_REFERENCE)
                return _End(self._resolution.ids[name_key(found.surface)], found.surface)
            case ProjectTerm(surface=surface):
                project = self._project(self._infos[at])
                if project is None:
                    raise _RefusedError(Refusal.UNKNOWN_REFERENCE)
                return _End(project.id, surface[:MAX_NAME_CHARS], declared_project=True)
            case NamedTerm(name=name):
                fault = _name_fault(name)
                if fault is not None:
                    raise _RefusedError(fault)
                return _End(self._resolution.ids[name_key(name)], name)
            case LiteralTerm():
                raise _RefusedError(Refusal.UNKNOWN_REFERENCE)

    def _object(self, layer: Layer, at: int, term: Term, predicate: str) -> tuple[FactObject, bool]:
        if isinstance(term, LiteralTerm):
            if spec_of(predicate).object_kind is ObjectKind.ENTITY:
                raise _RefusedError(Refusal.UNKNOWN_REFERENCE)
            return LiteralObject(value=_literal(term.value)), False
        end = self._entity(layer, at, term)
        if spec_of(predicate).object_kind is ObjectKind.LITERAL:
            return LiteralObject(value=_literal(end.surface)), False
        return EntityObject(entity_id=end.id, surface=end.surface), end.declared_project

    def _project(self, info: PassageInfo) -> _End | None:
        if info.project not in self._projects:
            found = self._resolver.project(info.project, info.project_name)
            self._projects[info.project] = _End(found.id, "") if found else None
            if found is not None and found.new is not None:
                self._out.entities.append(found.new)
            if found is not None and found.declared is not None:
                self._out.names.append(found.declared)
        return self._projects[info.project]

    def _cause(self, layer: Layer, at: int, candidate: CausalCandidate) -> str:
        if candidate.kind not in CAUSAL_KINDS or not self._is_here(at, candidate.passage):
            raise _RefusedError(Refusal.UNKNOWN_REFERENCE)
        if not self._span_is_sound(candidate.passage, candidate.start, candidate.end):
            raise _RefusedError(Refusal.BAD_SPAN)
        cause = self._referred(layer, at, candidate.cause)
        effect = self._referred(layer, at, candidate.effect)
        if cause.id == effect.id:
            raise _RefusedError(Refusal.SELF_LOOP)
        passage = self._infos[candidate.passage].passage
        place = (passage.id, candidate.start, candidate.end)
        ident = link_id(candidate.kind.value, cause.id, effect.id, *place)
        self._out.links.setdefault(
            ident,
            Link(
                id=ident,
                kind=candidate.kind,
                source_id=cause.id,
                target_id=effect.id,
                passage_id=passage.id,
                quote=passage.text[candidate.start : candidate.end],
                start=candidate.start,
                end=candidate.end,
                connective=candidate.connective,
                confidence=_confidence(candidate.confidence),
                extractor=layer.name,
                revision=layer.revision,
                seen_at=passage.authored_at,
            ),
        )
        return ident

    def _referred(self, layer: Layer, at: int, ref: StatementRef) -> Statement:
        if not self._is_here(at, ref.passage):
            raise _RefusedError(Refusal.UNKNOWN_REFERENCE)
        found = self._reads[ref.passage].statements[layer.name].get(ref.statement)
        if found is None:
            raise _RefusedError(Refusal.UNKNOWN_REFERENCE)
        return found

    def _is_here(self, at: int, other: int) -> bool:
        """Whether the other position is a passage of the same source."""
        if not 0 <= other < len(self._infos):
            return False
        return self._infos[other].passage.source_id == self._infos[at].passage.source_id


def _statement(passage: Passage, layer: Layer, candidate: StatementCandidate) -> Statement:
    return Statement(
        id=statement_id(passage.id, candidate.start, candidate.end),
        passage_id=passage.id,
        kind=candidate.kind,
        start=candidate.start,
        end=candidate.end,
        polarity=candidate.polarity,
        modality=candidate.modality,
        time=candidate.time,
        event_key=candidate.event_key,
        extractor=layer.name,
        revision=layer.revision,
        confidence=_confidence(candidate.confidence),
    )


def _may_be_fact(triple: TripleCandidate) -> bool:
    """Whether a new entity may be made for the triple's names."""
    return triple.modality is Modality.ASSERTED and bool(triple.predicate.strip())


def _mention_fault(text: str, found: MentionCandidate) -> Refusal | None:
    if not 0 <= found.start < found.end <= len(text):
        return Refusal.BAD_SPAN
    if text[found.start : found.end] != found.surface:
        return Refusal.BAD_SPAN
    return _name_fault(found.surface)


def _name_fault(name: str) -> Refusal | None:
    if not name.strip():
        return Refusal.EMPTY
    if len(name) > MAX_NAME_CHARS:
        return Refusal.TOO_LONG
    return None if is_nameable(name) else Refusal.PLACEHOLDER


def _literal(value: str) -> str:
    value = " ".join(value.split())
    if not value:
        raise _RefusedError(Refusal.EMPTY)
    if len(value) > MAX_LITERAL_CHARS:
        raise _RefusedError(Refusal.TOO_LONG)
    return value


def _finite(value: float) -> float:
    return value if math.isfinite(value) else 0.0


def _confidence(value: float) -> float:
    return min(1.0, max(0.0, _finite(value)))
