"""``remember``: a text with the facts and causes its caller states, each answered one by one.

What the caller states is checked like any extractor's candidate; the text itself is read by the
extractor as well.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from graphmem.embed.base import Embedder
from graphmem.errors import ConflictError, InvalidInputError
from graphmem.ingest.assemble import Assembled, Layer, PassageInfo, assemble
from graphmem.ingest.chunk import MAX_PASSAGE_CHARS, Piece, cut
from graphmem.ingest.document import ReadDocument, Section
from graphmem.ingest.pipeline import MAX_ATTEMPTS, try_embed
from graphmem.ingest.plan import (
    Draft,
    Extracted,
    Plan,
    add_items,
    draft_of,
    extract,
    passage_of,
)
from graphmem.ingest.project import MAX_PROJECT_CHARS, display_name
from graphmem.ingest.receipt import Receipt
from graphmem.ingest.same_event import same_event_operations
from graphmem.model.base import digest
from graphmem.model.extraction import (
    CausalCandidate,
    Extraction,
    Extractor,
    LiteralTerm,
    NamedTerm,
    StatementCandidate,
    StatementRef,
    Term,
    TripleCandidate,
)
from graphmem.model.inputs import CauseInput, FactInput, check_text
from graphmem.model.items import PassageBundle, Source
from graphmem.model.operations import Operation, PutFact, PutLink, PutSource
from graphmem.model.results import RememberResult, StoredItem
from graphmem.resolve.names import is_nameable
from graphmem.resolve.resolver import OnlineResolver
from graphmem.store.protocols import Store, View
from graphmem.vocabulary import (
    LinkKind,
    Modality,
    ObjectKind,
    Origin,
    Refusal,
    SourceKind,
    StatementKind,
    canonical,
    spec_of,
)

# A memory is a few sentences; what is longer is a document and belongs into a file.
MAX_TEXT_CHARS: Final = 100_000
# Facts and causes of one call; keeps one call one small transaction.
MAX_ITEMS: Final = 200
# The revision of what a caller states.
STATED_REVISION: Final = 1


def remember(
    store: Store,
    text: str,
    *,
    facts: Sequence[str | FactInput] = (),
    because: Sequence[str] = (),
    causes: Sequence[CauseInput] = (),
    project: str = "",
    origin: Origin = Origin.OWNER,
    key: str | None = None,
    extractor: Extractor,
    embedder: Embedder | None = None,
    clock: Callable[[], datetime],
    lock: AbstractContextManager[object] | None = None,
) -> RememberResult:
    """Stores a text with what its caller states; ``because`` led to the text's main claim.

    Words of a cause that do not stand in the text become passages of the same source. Models run
    before and after ``lock`` is held, never meanwhile: a slow one keeps nobody from writing.
    Raises InvalidInputError for an empty or too long text and for facts that are not readable,
    KeyReusedError when ``key`` was used for another call.
    """
    stated = [fact if isinstance(fact, FactInput) else FactInput.parse(fact) for fact in facts]
    _check_unicode(text, stated, because, causes, project, key)
    _check(text, len(stated) + len(because) + len(causes), project)
    text = text.replace("\r\n", "\n")
    asked = {"facts": stated, "because": because, "causes": causes, "project": project}
    receipt = Receipt.of(key, "remember", text=text, origin=origin, **asked)
    call = _Call(text, stated, because, causes, project, origin, receipt)
    for attempt in range(1, MAX_ATTEMPTS + 1):
        read = _read(store.view(), call, extractor, embedder)
        try:
            with lock or nullcontext():
                result = _remember_once(store, call, read, embedder)
            break
        except ConflictError:
            if attempt == MAX_ATTEMPTS:
                raise
    if embedder is not None and embedder.dimension:
        try_embed(store.vector_writer, embedder)  # a failure leaves them pending, as status says
    return result


@dataclass(frozen=True, slots=True)
class _Call:
    text: str
    facts: Sequence[FactInput]
    because: Sequence[str]
    causes: Sequence[CauseInput]
    project: str
    origin: Origin
    receipt: Receipt | None

    @property
    def uri(self) -> str:
        return f"memory:{digest('text', self.text)}"

    @property
    def extractor(self) -> str:
        return "owner" if self.origin is Origin.OWNER else "agent"

    def missing(self, passages: Sequence[str]) -> list[str]:
        """The words of causes and effects that stand in none of the passages, in order."""
        pairs = [(each.cause.strip(), each.effect.strip()) for each in self.causes]
        sound = [pair for pair in pairs if all(pair) and pair[0] != pair[1]]
        phrases = [*map(str.strip, self.because), *(each for pair in sound for each in pair)]
        wanted = [each for each in phrases if 0 < len(each) <= MAX_PASSAGE_CHARS]
        return [each for each in wanted if all(_place(each, text) is None for text in passages)]


def _check_unicode(
    text: str,
    facts: Sequence[FactInput],
    because: Sequence[str],
    causes: Sequence[CauseInput],
    project: str,
    key: str | None,
) -> None:
    check_text("the text", [text])
    check_text("a fact", [part for f in facts for part in (f.subject, f.predicate, f.object)])
    check_text("because", because)
    check_text("a cause", [part for each in causes for part in (each.cause, each.effect)])
    check_text("the project", [project])
    check_text("the key", [key])


@dataclass(frozen=True, slots=True)
class _ReadText:
    draft: Draft
    extracted: Extracted


def _check(text: str, items: int, project: str) -> None:
    if not text.strip():
        raise InvalidInputError("nothing to remember: the text is empty")
    if len(text) > MAX_TEXT_CHARS:
        raise InvalidInputError(
            f"the text has {len(text)} characters, at most {MAX_TEXT_CHARS} are remembered; "
            "put it into a file and ingest that"
        )
    if items > MAX_ITEMS:
        raise InvalidInputError(f"{items} facts and causes; at most {MAX_ITEMS} fit one call")
    if len(project) > MAX_PROJECT_CHARS:
        raise InvalidInputError(f"the project name has more than {MAX_PROJECT_CHARS} characters")


def _read(view: View, call: _Call, extractor: Extractor, embedder: Embedder | None) -> _ReadText:
    """The text as a draft and what the extractor finds in it."""
    draft = _draft(call, view.source_by_uri(call.project, call.uri), embedder, view)
    return _ReadText(draft, extract([draft], frozenset(), extractor))


def _remember_once(
    store: Store, call: _Call, read: _ReadText, embedder: Embedder | None
) -> RememberResult:
    """Plans and commits; raises ConflictError when what was read is not what is there now."""
    earlier = call.receipt.stored(store.writer) if call.receipt is not None else []
    view = store.view()
    draft = _draft(call, view.source_by_uri(call.project, call.uri), embedder, view)
    if draft.pieces != read.draft.pieces:
        raise ConflictError("the text was remembered by another caller meanwhile; try again")
    stored = view.bundles([piece.id for piece in draft.pieces])
    stated = _stated(call, draft.pieces, read.extracted)
    infos = [
        PassageInfo(
            stored[piece.id].passage if piece.id in stored else passage_of(draft, piece),
            call.project,
            display_name(call.project),
            stored.get(piece.id),
        )
        for piece in draft.pieces
    ]
    layers = [read.extracted.layer, Layer(call.extractor, STATED_REVISION, stated.extractions)]
    assembled = assemble(infos, layers, OnlineResolver(view), extend_stored=True)
    known = view.existing({*assembled.facts, *assembled.links})
    if earlier:
        source, made = _first_outcome(earlier[0], draft.source)
        return _result(source, _items(call, stated, assembled, known - made), repeated=True)
    _write(store, view, call, draft, assembled, stored)
    return _result(draft.source, _items(call, stated, assembled, known))


def _first_outcome(
    operations: Sequence[Operation], current: Source
) -> tuple[Source, frozenset[str]]:
    """The source as the first call with this key left it, and the facts and links it made."""
    source, made = current, set()
    for operation in operations:
        match operation:
            case PutSource(after=after) if after is not None:
                source = after
            case PutFact(after=after, before=None) | PutLink(after=after, before=None):
                made.add(after.id if after is not None else "")
            case _:
                pass
    return source, frozenset(made)


def _draft(call: _Call, previous: Source | None, embedder: Embedder | None, view: View) -> Draft:
    """The text and, as sections of their own, the phrases that do not stand in it.

    Phrases of an earlier call about the same text stay where they are.
    """
    sections = [Section(call.text, 0, 1)]
    count = embedder.count_tokens if embedder is not None and embedder.dimension else None
    extra = call.missing([call.text[start:end] for start, end in cut(call.text, count)])
    if previous is not None:
        old = view.bundles([ref.passage_id for ref in previous.layout])
        texts = [
            old[ref.passage_id].passage.text
            for ref in previous.layout
            if ref.passage_id in old and ref.start >= len(call.text)
        ]
        extra = [*texts, *extra]
    at, line = len(call.text) + 1, call.text.count("\n") + 2
    for phrase in dict.fromkeys(extra):
        sections.append(Section(phrase, at, line))
        at, line = at + len(phrase) + 1, line + phrase.count("\n") + 1
    document = ReadDocument(
        kind=SourceKind.MEMORY,
        uri=call.uri,
        title=_title(call.text),
        project=call.project,
        content_hash=digest(call.text),
        sections=tuple(sections),
    )
    return draft_of(document, previous=previous, origin=call.origin, count_tokens=count)


def _title(text: str) -> str:
    """The first line, cut at a word."""
    line = text.strip().split("\n", 1)[0]
    return line if len(line) <= 80 else line[:80].rsplit(" ", 1)[0] + " …"


def _write(
    store: Store,
    view: View,
    call: _Call,
    draft: Draft,
    assembled: Assembled,
    stored: Mapping[str, PassageBundle],
) -> None:
    plan = Plan()
    if draft.source != draft.previous:
        plan.operations.append(PutSource(after=draft.source, before=draft.previous))
    add_items(view, plan, assembled, stored)
    added = [(bundle, draft.source.project) for bundle in assembled.bundles]
    plan.operations += same_event_operations(view, added)
    if plan.operations:
        name = call.receipt.name(0) if call.receipt is not None else None
        store.writer.commit(plan.operations, actor="remember", key=name)


# what the caller states, as candidates


@dataclass(slots=True)
class _Stated:
    """Candidates per passage, and where each stated item went."""

    extractions: list[Extraction]
    facts: list[tuple[int, int]] = field(default_factory=list)
    causes: list[tuple[int, int] | Refusal] = field(default_factory=list)


@dataclass(slots=True)
class _Builder:
    statements: list[StatementCandidate] = field(default_factory=list)
    triples: list[TripleCandidate] = field(default_factory=list)
    causes: list[CausalCandidate] = field(default_factory=list)


def _stated(call: _Call, pieces: Sequence[Piece], extracted: Extracted) -> _Stated:
    builders = [_Builder() for _ in pieces]
    stated = _Stated([])
    for fact in call.facts:
        at = _passage_with(pieces, fact)
        builders[at].triples.append(_triple(fact, pieces[at]))
        stated.facts.append((at, len(builders[at].triples) - 1))
    wanted = [
        *((LinkKind.CAUSES, cause, None) for cause in call.because),
        *((each.kind, each.cause, each.effect) for each in call.causes),
    ]
    for kind, cause, effect in wanted:
        stated.causes.append(_cause(kind, cause, effect, pieces, extracted, builders))
    stated.extractions = [
        Extraction(tuple(each.statements), (), tuple(each.triples), tuple(each.causes))
        for each in builders
    ]
    return stated


def _passage_with(pieces: Sequence[Piece], fact: FactInput) -> int:
    """The first passage that holds most of the fact's two names."""

    def held(at: int) -> int:
        text = pieces[at].text.casefold()
        return sum(name.casefold() in text for name in (fact.subject, fact.object))

    return max(range(len(pieces)), key=lambda at: (held(at), -at))


def _triple(fact: FactInput, piece: Piece) -> TripleCandidate:
    predicate = canonical("_".join(fact.predicate.casefold().split()))
    kind = spec_of(predicate).object_kind
    is_value = kind is ObjectKind.LITERAL or (
        kind is ObjectKind.EITHER and not is_nameable(fact.object)
    )
    target: Term = LiteralTerm(fact.object) if is_value else NamedTerm(fact.object)
    return TripleCandidate(
        subject=NamedTerm(fact.subject),
        predicate=predicate,
        object=target,
        start=0,
        end=len(piece.text),
        polarity=fact.polarity,
        modality=Modality.ASSERTED,
        valid_from=fact.valid_from,
        valid_to=fact.valid_to,
    )


def _cause(
    kind: LinkKind,
    cause: str,
    effect: str | None,
    pieces: Sequence[Piece],
    extracted: Extracted,
    builders: list[_Builder],
) -> tuple[int, int] | Refusal:
    """Adds a causal candidate; gives its place, or why there is none."""
    ends: list[StatementRef] = []
    if not cause.strip() or (effect is not None and not effect.strip()):
        return Refusal.EMPTY
    for phrase in (cause, effect):
        if phrase is None:
            at, found = _main(pieces, extracted)
        else:
            place = _find(phrase.strip(), pieces, extracted)
            if isinstance(place, Refusal):
                return place
            at, found = place
        if found not in builders[at].statements:
            builders[at].statements.append(found)
        ends.append(StatementRef(at, builders[at].statements.index(found)))
    at = ends[0].passage
    said = [builders[ref.passage].statements[ref.statement] for ref in ends if ref.passage == at]
    start, end = min(each.start for each in said), max(each.end for each in said)
    candidate = CausalCandidate(kind, ends[0], ends[1], at, start, end)
    builders[at].causes.append(candidate)
    return at, len(builders[at].causes) - 1


def _find(
    phrase: str, pieces: Sequence[Piece], extracted: Extracted
) -> tuple[int, StatementCandidate] | Refusal:
    """The claim that a phrase makes: the extractor's own inside the phrase, else the phrase."""
    for at, piece in enumerate(pieces):
        place = _place(phrase, piece.text)
        if place is not None:
            start, end = place
            inside = [
                each
                for each in extracted.layer.extractions[at].statements
                if start <= each.start < each.end <= end
            ]
            longest = max(
                inside, key=lambda each: (each.end - each.start, -each.start), default=None
            )
            return at, longest or StatementCandidate(start, end, StatementKind.FACT)
    return Refusal.TOO_LONG


def _place(phrase: str, text: str) -> tuple[int, int] | None:
    """Where a phrase stands in a text, whatever its case and final mark."""
    words = phrase.rstrip(" .!?;,")
    found = re.search(re.escape(words), text, re.IGNORECASE) if words else None
    return found.span() if found else None


def _main(pieces: Sequence[Piece], extracted: Extracted) -> tuple[int, StatementCandidate]:
    """The text's main claim: its first decision, else its first claim, else its first passage."""
    found = [
        (at, each)
        for at, extraction in enumerate(extracted.layer.extractions)
        for each in extraction.statements
    ]
    decisions = [pair for pair in found if pair[1].kind is StatementKind.DECISION]
    whole = (0, StatementCandidate(0, len(pieces[0].text), StatementKind.FACT))
    return next(iter([*decisions, *found]), whole)


# the answer


def _items(
    call: _Call, stated: _Stated, assembled: Assembled, known: frozenset[str]
) -> tuple[StoredItem, ...]:
    outcomes = {
        (each.kind, each.passage, each.position): each
        for each in assembled.outcomes
        if each.layer == call.extractor
    }
    items: list[StoredItem] = []
    seen: Counter[str] = Counter()

    def add(kind: str, place: tuple[int, int] | Refusal, text: str) -> None:
        if isinstance(place, Refusal):
            items.append(StoredItem(kind=kind, id=None, outcome="refused", reason=place, text=text))
            return
        outcome = outcomes[kind, *place]
        if outcome.id is None:
            word = "refused"
        else:
            word = "merged" if outcome.id in known or seen[outcome.id] else "stored"
            seen[outcome.id] += 1
        items.append(
            StoredItem(kind=kind, id=outcome.id, outcome=word, reason=outcome.reason, text=text)
        )

    for fact, at in zip(call.facts, stated.facts, strict=True):
        add("fact", at, f"{fact.subject}|{fact.predicate}|{fact.object}")
    texts = [*call.because, *(f"{each.cause} → {each.effect}" for each in call.causes)]
    for words, place in zip(texts, stated.causes, strict=True):
        add("cause", place, words)
    return tuple(items)


def _result(
    source: Source, items: tuple[StoredItem, ...], *, repeated: bool = False
) -> RememberResult:
    ids = tuple(ref.passage_id for ref in source.layout)
    return RememberResult(source_id=source.id, passage_ids=ids, items=items, repeated=repeated)
