"""The canonical predicates: what kind of object each takes and how it behaves.

An extractor may use any lemma predicate (``migrate_to``); one of these is used where it fits,
because only a declared predicate can be single-valued and so close an earlier fact.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class ObjectKind(StrEnum):
    """What a predicate's object may be."""

    ENTITY = "entity"
    LITERAL = "literal"
    EITHER = "either"


@dataclass(frozen=True, slots=True)
class PredicateSpec:
    """A declared predicate; ``inverse`` is shown as derived when the object is asked about."""

    name: str
    object_kind: ObjectKind = ObjectKind.ENTITY
    single_valued: bool = False
    symmetric: bool = False
    inverse: str | None = None


def _table(*specs: PredicateSpec) -> dict[str, PredicateSpec]:
    return {spec.name: spec for spec in specs}


PREDICATES: dict[str, PredicateSpec] = _table(
    PredicateSpec("adopted", inverse="adopted_by"),
    PredicateSpec("rejected", inverse="rejected_by"),
    PredicateSpec("migrated_to", inverse="migration_target_of"),
    PredicateSpec("migrated_from", inverse="migration_source_of"),
    PredicateSpec("deployed_to", inverse="hosts"),
    PredicateSpec("runs_on", inverse="runs"),
    PredicateSpec("replaced", inverse="replaced_by"),
    PredicateSpec("depends_on", inverse="required_by"),
    PredicateSpec("integrates_with", symmetric=True),
    PredicateSpec("uses", inverse="used_by"),
    PredicateSpec("prefers", inverse="preferred_by"),
    PredicateSpec("avoids", inverse="avoided_by"),
    PredicateSpec("caused_by", inverse="cause_of"),
    PredicateSpec("resolved_by", inverse="resolves"),
    PredicateSpec("owned_by", single_valued=True, inverse="owns"),
    PredicateSpec("works_at", single_valued=True, inverse="employs"),
    PredicateSpec("located_in", single_valued=True, inverse="location_of"),
    PredicateSpec("part_of", inverse="has_part"),
    PredicateSpec("is_a", object_kind=ObjectKind.EITHER),
    PredicateSpec("has_version", object_kind=ObjectKind.EITHER, single_valued=True),
    PredicateSpec("has_status", object_kind=ObjectKind.LITERAL, single_valued=True),
    PredicateSpec("supports", inverse="supported_by"),
    PredicateSpec("stores", inverse="stored_in"),
    PredicateSpec("maintains", inverse="maintained_by"),
    PredicateSpec("created", inverse="created_by"),
    PredicateSpec("approved", inverse="approved_by"),
)

_LEMMA_TO_CANONICAL: dict[str, str] = {
    "use": "uses",
    "adopt": "adopted",
    "choose": "adopted",
    "select": "adopted",
    "pick": "adopted",
    "reject": "rejected",
    "drop": "rejected",
    "abandon": "rejected",
    "migrate_to": "migrated_to",
    "move_to": "migrated_to",
    "switch_to": "migrated_to",
    "migrate_from": "migrated_from",
    "switch_from": "migrated_from",
    "deploy_to": "deployed_to",
    "run_on": "runs_on",
    "replace": "replaced",
    "supersede": "replaced",
    "depend_on": "depends_on",
    "rely_on": "depends_on",
    "require": "depends_on",
    "need": "depends_on",
    "integrate_with": "integrates_with",
    "prefer": "prefers",
    "avoid": "avoids",
    "own": "owns",
    "work_at": "works_at",
    "work_for": "works_at",
    "locate_in": "located_in",
    "support": "supports",
    "store": "stores",
    "maintain": "maintains",
    "create": "created",
    "approve": "approved",
}


def canonical(lemma: str) -> str:
    """The canonical predicate for a lemma form, or the lemma itself when none fits.

    >>> canonical("migrate_to"), canonical("observe")
    ('migrated_to', 'observe')
    """
    return _LEMMA_TO_CANONICAL.get(lemma, lemma)


def spec_of(predicate: str) -> PredicateSpec:
    """The declared behaviour of a predicate; an undeclared one takes anything and closes nothing.

    >>> spec_of("works_at").single_valued, spec_of("observe").single_valued
    (True, False)
    """
    return PREDICATES.get(predicate) or PredicateSpec(predicate, ObjectKind.EITHER)
