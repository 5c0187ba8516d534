"""From documents to operations: what of a batch is new, and how the store gets from old to new."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from graphmem.ingest.assemble import Assembled, Layer, PassageInfo, assemble
from graphmem.ingest.chunk import Piece, TokenCounter, chunk
from graphmem.ingest.document import ReadDocument
from graphmem.ingest.project import display_name
from graphmem.ingest.record_links import record_link_operations
from graphmem.ingest.same_event import same_event_operations
from graphmem.model.extraction import Extractor, PassageInput
from graphmem.model.ids import source_id
from graphmem.model.items import Passage, PassageBundle, PassageRef, Source, State
from graphmem.model.operations import (
    AddEvidence,
    Name,
    Operation,
    PutEntity,
    PutFact,
    PutLink,
    PutPassage,
    PutSource,
    SetState,
)
from graphmem.resolve.resolver import OnlineResolver
from graphmem.store.protocols import View
from graphmem.vocabulary import Origin, Refusal, SourceKind, StateKind


@dataclass(frozen=True, slots=True)
class Draft:
    """A document with its passages, and the stored version of its source."""

    source: Source
    pieces: tuple[Piece, ...]
    previous: Source | None
    origin: Origin


@dataclass(frozen=True, slots=True)
class Extracted:
    """One extractor call: which piece of which draft each extraction belongs to."""

    places: tuple[tuple[int, int], ...]
    layer: Layer


@dataclass(slots=True)
class Plan:
    """The operations of one commit and what they add."""

    operations: list[Operation] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    refused: Counter[Refusal] = field(default_factory=Counter)


def draft_of(
    document: ReadDocument,
    *,
    previous: Source | None,
    origin: Origin,
    root_id: str | None = None,
    count_tokens: TokenCounter | None = None,
) -> Draft:
    """The source and the passages of a document."""
    ident = source_id(document.project, document.uri)
    pieces = tuple(chunk(document, ident, count_tokens))
    source = Source(
        id=ident,
        kind=document.kind,
        uri=document.uri,
        title=document.title,
        content_hash=document.content_hash,
        project=document.project,
        root_id=root_id,
        session_kind=document.session_kind,
        authored_at=document.authored_at,
        file_modified_at=document.file_modified_at,
        record=document.record,
        layout=tuple(
            PassageRef(passage_id=each.id, start=each.start, line=each.line) for each in pieces
        ),
    )
    return Draft(source, pieces, previous, origin)


def extract(drafts: Sequence[Draft], known: frozenset[str], extractor: Extractor) -> Extracted:
    """What the extractor finds in the passages that are not ``known`` (and those they touch).

    Of a decision record all passages are read, for its parts explain each other; of another
    source a known neighbour is read along, for a claim may begin with "As a result, …".
    """
    places = tuple(
        (at, position) for at, draft in enumerate(drafts) for position in _to_read(draft, known)
    )
    inputs = [_input(drafts[at], drafts[at].pieces[position]) for at, position in places]
    found = extractor.extract(inputs) if inputs else []
    if len(found) != len(inputs):
        raise ValueError(f"extractor {extractor.name} gave {len(found)} of {len(inputs)} results")
    return Extracted(places, Layer(extractor.name, extractor.revision, found))


def _to_read(draft: Draft, known: frozenset[str]) -> list[int]:
    new = {at for at, piece in enumerate(draft.pieces) if piece.id not in known}
    if draft.source.kind is SourceKind.RECORD and new:
        return list(range(len(draft.pieces)))
    near = {at + step for at in new for step in (-1, 0, 1)}
    return sorted(at for at in near if 0 <= at < len(draft.pieces))


def _input(draft: Draft, piece: Piece) -> PassageInput:
    is_record = draft.source.kind is SourceKind.RECORD
    return PassageInput(
        source_key=draft.source.id,
        text=piece.text,
        role=piece.role,
        kind=draft.source.kind,
        title=draft.source.title,
        heading_path=piece.heading_path,
        speaker=piece.speaker,
        authored_at=piece.authored_at,
        project_name=display_name(draft.source.project) if is_record else None,
        masked=piece.masked,
    )


def passage_of(draft: Draft, piece: Piece) -> Passage:
    """The passage that a piece becomes."""
    return Passage(
        id=piece.id,
        source_id=draft.source.id,
        text=piece.text,
        text_hash=piece.text_hash,
        heading_path=piece.heading_path,
        role=piece.role,
        speaker=piece.speaker,
        authored_at=piece.authored_at,
        origin=draft.origin,
    )


def plan_batch(
    view: View,
    drafts: Sequence[Draft],
    extracted: Extracted,
    records: Mapping[str, Source],
    now: datetime,
) -> Plan:
    """The operations that store a batch of whole sources; pure given the view."""
    ids = [piece.id for draft in drafts for piece in draft.pieces]
    stored = view.bundles(ids)
    infos = [_info(drafts[at], drafts[at].pieces[part], stored) for at, part in extracted.places]
    assembled = assemble(infos, [extracted.layer], OnlineResolver(view))
    plan = Plan(refused=assembled.refused)
    plan.operations += [
        PutSource(after=draft.source, before=draft.previous)
        for draft in drafts
        if draft.source != draft.previous
    ]
    add_items(view, plan, assembled, stored)
    plan.operations += _moved_passages(drafts, stored, {b.passage.id for b in assembled.bundles})
    states, gone, back = _states(view, drafts, now)
    links = _derived_links(view, drafts, assembled.bundles, records, gone, back)
    plan.operations += [*links, *states]
    plan.counts["links"] += sum(link.after is not None for link in links)
    return plan


def _info(draft: Draft, piece: Piece, stored: Mapping[str, PassageBundle]) -> PassageInfo:
    project = draft.source.project
    found = stored.get(piece.id)
    passage = found.passage if found else passage_of(draft, piece)
    return PassageInfo(passage, project, display_name(project), found)


def add_items(
    view: View, plan: Plan, assembled: Assembled, stored: Mapping[str, PassageBundle]
) -> None:
    """Adds the operations for what the store does not hold yet, ends before what joins them."""
    known = view.existing({*assembled.facts, *assembled.evidence, *assembled.links})
    facts = [item for ident, item in sorted(assembled.facts.items()) if ident not in known]
    evidence = [item for ident, item in sorted(assembled.evidence.items()) if ident not in known]
    links = [item for ident, item in sorted(assembled.links.items()) if ident not in known]
    plan.operations += [PutEntity(after=entity) for entity in assembled.entities]
    plan.operations += [Name(after=name) for name in assembled.names]
    plan.operations += [
        PutPassage(after=bundle, before=stored.get(bundle.passage.id))
        for bundle in assembled.bundles
    ]
    plan.operations += [PutFact(after=fact) for fact in facts]
    plan.operations += [AddEvidence(after=each) for each in evidence]
    plan.operations += [PutLink(after=link) for link in links]
    new = [bundle for bundle in assembled.bundles if bundle.passage.id not in stored]
    plan.counts.update(
        passages=len(new),
        statements=sum(len(bundle.statements) for bundle in new),
        entities=len(assembled.entities),
        facts=len(facts),
        evidence=len(evidence),
        links=len(links),
    )


def _moved_passages(
    drafts: Sequence[Draft], stored: Mapping[str, PassageBundle], done: set[str]
) -> Iterable[PutPassage]:
    """Stored passages whose role, speaker or time changed with the rest of their source."""
    for draft in drafts:
        for piece in draft.pieces:
            old = stored.get(piece.id)
            if old is None or piece.id in done:
                continue
            changed = {
                "role": piece.role,
                "speaker": piece.speaker,
                "authored_at": piece.authored_at,
            }
            passage = old.passage.model_copy(update=changed)
            if passage != old.passage:
                mentions = tuple(
                    each.model_copy(update={"seen_at": piece.authored_at}) for each in old.mentions
                )
                after = old.model_copy(update={"passage": passage, "mentions": mentions})
                yield PutPassage(after=after, before=old)


def _states(
    view: View, drafts: Sequence[Draft], now: datetime
) -> tuple[list[Operation], set[str], set[str]]:
    """Passages that left their source become absent, those that came back are lifted.

    Gives the operations and the passages that become hidden and visible.
    """
    current = {piece.id for draft in drafts for piece in draft.pieces}
    former = {ref.passage_id for draft in drafts if draft.previous for ref in draft.previous.layout}
    owners = {draft.source.id for draft in drafts if draft.previous}
    states = view.states({*current, *former, *owners})
    back = {each for each in current | owners if StateKind.ABSENT in states.get(each, {})}
    gone = {each for each in former - current if StateKind.ABSENT not in states.get(each, {})}
    shown = {piece.id for draft in drafts if draft.source.id in back for piece in draft.pieces}
    return absence(gone, back, states, now), gone, (back - owners) | shown


def absence(
    gone: Iterable[str],
    back: Iterable[str],
    states: Mapping[str, Mapping[StateKind, datetime]],
    now: datetime,
) -> list[Operation]:
    """The operations that set and lift the state of being absent."""
    kind = StateKind.ABSENT
    operations: list[Operation] = [
        SetState(
            after=State(target_id=each, kind=kind, at=now),
            before=State(target_id=each, kind=kind, at=None),
        )
        for each in sorted(gone)
    ]
    operations += [
        SetState(
            after=State(target_id=each, kind=kind, at=None),
            before=State(target_id=each, kind=kind, at=states[each][kind]),
        )
        for each in sorted(back)
    ]
    return operations


def _derived_links(
    view: View,
    drafts: Sequence[Draft],
    bundles: Sequence[PassageBundle],
    records: Mapping[str, Source],
    gone: set[str],
    back: set[str],
) -> list[PutLink]:
    projects = {draft.source.id: draft.source.project for draft in drafts}
    added = [(bundle, projects[bundle.passage.source_id]) for bundle in bundles]
    touched = {d.source.id: d.source for d in drafts if d.source.kind is SourceKind.RECORD}
    return [
        *same_event_operations(view, added, gone=gone, back=back),
        *record_link_operations(
            view,
            {**records, **touched},
            frozenset(touched),
            {bundle.passage.id: bundle for bundle in bundles},
        ),
    ]
