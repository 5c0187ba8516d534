"""SUPERSEDES links between the decisions of two records, whichever of them arrives last."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Final

from graphmem.ingest.records import witness_span
from graphmem.model.ids import link_id
from graphmem.model.items import Link, PassageBundle, Source, Statement
from graphmem.model.operations import PutLink
from graphmem.model.scope import Scope
from graphmem.store.protocols import View
from graphmem.vocabulary import LinkKind, PassageRole

EXTRACTOR: Final = "record-links"
REVISION: Final = 1

_HIDDEN_TOO: Final = Scope(include_hidden=True)
_KINDS: Final = frozenset({LinkKind.SUPERSEDES})


@dataclass(frozen=True, slots=True)
class _Claim:
    newer: Source
    older: Source
    referrer: Source
    reference: str


def record_link_operations(
    view: View,
    records: Mapping[str, Source],
    touched: frozenset[str],
    added: Mapping[str, PassageBundle],
) -> list[PutLink]:
    """What brings the SUPERSEDES links of the touched records in order.

    ``records`` are all records of the vault with the touched ones in their new version, ``added``
    the bundles that are not stored yet, by passage id.
    """
    touched = touched & records.keys()
    if not touched:
        return []
    claims = [
        claim
        for claim in _claims(records)
        if claim.newer.id in touched or claim.older.id in touched
    ]
    sources = {claim.newer.id: claim.newer for claim in claims}
    sources |= {claim.older.id: claim.older for claim in claims}
    sources |= {ident: records[ident] for ident in touched}
    bundles = {source.id: _bundles(view, source, added) for source in sources.values()}
    main = {ident: _main(found) for ident, found in bundles.items()}
    wanted = {
        link.id: link for claim in claims for link in _link(claim, main, bundles[claim.referrer.id])
    }
    starts = [said.id for ident in touched if (said := main.get(ident)) is not None]
    current = {
        link.id: link
        for link in view.links_of(starts, _KINDS, _HIDDEN_TOO)
        if link.extractor == EXTRACTOR
    }
    known = view.existing(wanted.keys() - current.keys())
    return [
        *(PutLink(after=None, before=current[each]) for each in sorted(current.keys() - wanted)),
        *(PutLink(after=wanted[each]) for each in sorted(wanted.keys() - current.keys() - known)),
    ]


def _claims(records: Mapping[str, Source]) -> Iterator[_Claim]:
    numbers: dict[tuple[str, int], list[Source]] = defaultdict(list)
    files: dict[tuple[str, str], list[Source]] = defaultdict(list)
    for source in records.values():
        files[source.project, PurePosixPath(source.uri).name].append(source)
        if source.record and source.record.number:
            numbers[source.project, int(source.record.number)].append(source)
    for source in sorted(records.values(), key=lambda each: each.id):
        if source.record is None:
            continue
        for is_newer, references in (
            (True, source.record.supersedes),
            (False, source.record.superseded_by),
        ):
            for reference in references:
                found = files.get((source.project, reference), [])
                if not found and reference.isdecimal():
                    found = numbers.get((source.project, int(reference)), [])
                other = _nearest(source, found)
                if other is not None and is_newer:
                    yield _Claim(source, other, source, reference)
                elif other is not None:
                    yield _Claim(other, source, source, reference)


def _nearest(source: Source, found: list[Source]) -> Source | None:
    """The only candidate, or the only one in the same folder; on doubt none."""
    folder = PurePosixPath(source.uri).parent
    others = [each for each in found if each.id != source.id]
    if len(others) > 1:
        others = [each for each in others if PurePosixPath(each.uri).parent == folder]
    return others[0] if len(others) == 1 else None


def _bundles(view: View, source: Source, added: Mapping[str, PassageBundle]) -> list[PassageBundle]:
    ids = [ref.passage_id for ref in source.layout]
    stored = view.bundles([each for each in ids if each not in added])
    found = (added.get(each) or stored.get(each) for each in ids)
    return [bundle for bundle in found if bundle is not None]


def _main(bundles: list[PassageBundle]) -> Statement | None:
    """The first statement of the decision, else of the record."""
    decided = [each for each in bundles if each.passage.role is PassageRole.DECISION]
    for bundle in (*decided, *bundles):
        if bundle.statements:
            return bundle.statements[0]
    return None


def _link(
    claim: _Claim, main: Mapping[str, Statement | None], bundles: list[PassageBundle]
) -> Iterator[Link]:
    newer, older = main[claim.newer.id], main[claim.older.id]
    witness = _witness(claim.reference, bundles) if newer and older else None
    if newer is None or older is None or witness is None:
        return
    passage, start, end = witness[0].passage, witness[1], witness[2]
    kind = LinkKind.SUPERSEDES
    yield Link(
        id=link_id(kind.value, newer.id, older.id, passage.id, start, end),
        kind=kind,
        source_id=newer.id,
        target_id=older.id,
        passage_id=passage.id,
        quote=passage.text[start:end],
        start=start,
        end=end,
        extractor=EXTRACTOR,
        revision=REVISION,
        seen_at=passage.authored_at,
    )


def _witness(reference: str, bundles: list[PassageBundle]) -> tuple[PassageBundle, int, int] | None:
    """The clause that names the reference, in a status passage or any other."""
    status = [each for each in bundles if each.passage.role is PassageRole.STATUS]
    for bundle in (*status, *bundles):
        span = witness_span(bundle.passage.text, reference)
        if span is not None:
            return bundle, *span
    for bundle in status:
        at = bundle.passage.text.find(reference)
        if at >= 0:
            return bundle, at, at + len(reference)
    return None
