"""Closed vocabularies, one module each; everything else imports the words from here."""

from graphmem.vocabulary.entities import EntityType, NameKind
from graphmem.vocabulary.intents import Direction, Intent, Lane
from graphmem.vocabulary.links import CAUSAL_KINDS, REVERSE, SYMMETRIC_KINDS, EdgeType, LinkKind
from graphmem.vocabulary.origins import TRUST, Audience, Origin, Stance
from graphmem.vocabulary.predicates import (
    PREDICATES,
    ObjectKind,
    PredicateSpec,
    canonical,
    spec_of,
)
from graphmem.vocabulary.reasons import Refusal
from graphmem.vocabulary.sources import PassageRole, SourceKind
from graphmem.vocabulary.statements import Granularity, Modality, Polarity, StatementKind
from graphmem.vocabulary.states import StateKind

__all__ = [
    "CAUSAL_KINDS",
    "PREDICATES",
    "REVERSE",
    "SYMMETRIC_KINDS",
    "TRUST",
    "Audience",
    "Direction",
    "EdgeType",
    "EntityType",
    "Granularity",
    "Intent",
    "Lane",
    "LinkKind",
    "Modality",
    "NameKind",
    "ObjectKind",
    "Origin",
    "PassageRole",
    "Polarity",
    "PredicateSpec",
    "Refusal",
    "SourceKind",
    "Stance",
    "StateKind",
    "StatementKind",
    "canonical",
    "spec_of",
]
