"""The structure of a decision record as causal claims: why it was decided, what it led to.

A section heading says less surely what causes what than a connective does.
"""

from __future__ import annotations

from typing import Final

from graphmem.extractors.causes import Cause
from graphmem.extractors.claims import Claim, Reading
from graphmem.vocabulary import LinkKind, Modality, PassageRole

STRUCTURE_CONFIDENCE: Final = 0.6
# A record has one decision and a handful of reasons; longer sections are essays.
MAX_LINKS_PER_ROLE: Final = 24


def structure_causes(readings: list[Reading]) -> list[Cause]:
    """Links between the main decision of one source and its reasons and consequences.

    Each reason and each consequence is joined to the first decision statement only.
    """
    decision = _main_decision(readings)
    if decision is None:
        return []
    reasons = [
        *_claims(readings, PassageRole.CONTEXT),
        *_claims(readings, PassageRole.RATIONALE),
    ]
    effects = _claims(readings, PassageRole.CONSEQUENCES)
    return [
        *(_link(LinkKind.MOTIVATES, reason, decision, reason) for reason in reasons),
        *(_link(LinkKind.CAUSES, decision, effect, effect) for effect in effects),
    ]


def _main_decision(readings: list[Reading]) -> Claim | None:
    found = _claims(readings, PassageRole.DECISION)
    with_verb = [claim for claim in found if claim.clause is not None]
    return next(iter(with_verb or found), None)


def _claims(readings: list[Reading], role: PassageRole) -> list[Claim]:
    """Main clauses only: a subordinate one is already part of what its sentence says."""
    found = [
        claim
        for reading in readings
        if reading.passage.role is role
        for claim in sorted(reading.claims, key=lambda c: c.start)
        if claim.is_main
        and (claim.clause is not None or claim.is_fragment)
        and claim.modality is not Modality.QUESTION
    ]
    return found[:MAX_LINKS_PER_ROLE]


def _link(kind: LinkKind, cause: Claim, effect: Claim, witness: Claim) -> Cause:
    return Cause(
        kind,
        cause,
        effect,
        witness.passage,
        witness.start,
        witness.end,
        None,
        STRUCTURE_CONFIDENCE,
    )
