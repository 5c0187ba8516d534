"""When a fact ends, for this reader: a pure function over the facts of one read.

The same subject and the same single-valued predicate is all that closes a fact.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from graphmem.model.items import EntityObject, Evidence, Fact
from graphmem.vocabulary import TRUST, Origin, Polarity, Stance, spec_of

Survivor = Callable[[str], str]


@dataclass(frozen=True, slots=True)
class Interval:
    """A fact's half-open validity [start, end) with the fact that ended it, if one did.

    ``start`` is None when no text says when it began.
    """

    fact_id: str
    start: datetime | None
    end: datetime | None
    closed_by: str | None = None
    current: bool = True


@dataclass(frozen=True, slots=True)
class _Claim:
    """What decides about closing: a fact's place in time, its value and its trust."""

    fact: Fact
    since: datetime | None
    value: str
    trust: int


def close(
    facts: Iterable[Fact],
    evidence: Mapping[str, Sequence[Evidence]],
    as_of: datetime,
    survivor: Survivor = lambda entity_id: entity_id,
) -> dict[str, Interval]:
    """The interval of each fact by id, whatever the order of the arguments.

    ``evidence`` holds what this reader may see; a fact without supporting evidence closes
    nothing. Of one subject and single-valued predicate a later, different value ends an earlier
    one at its own start. A fact without an asserted start is placed at its earliest sighting; one
    without any time neither closes nor is closed. Only-untrusted facts never close better ones.
    ``survivor`` resolves merged entities. O(n log n) for groups of bounded size.
    """
    groups: dict[tuple[str, str], list[_Claim]] = {}
    intervals: dict[str, Interval] = {}
    for fact in sorted(facts, key=lambda fact: fact.id):
        claim = _claim(fact, evidence.get(fact.id, ()), survivor)
        intervals[fact.id] = _interval(claim, None, as_of)
        if spec_of(fact.predicate).single_valued:
            group = groups.setdefault((survivor(fact.subject_id), fact.predicate), [])
            group.append(claim)
    for group in groups.values():
        for claim in group:
            intervals[claim.fact.id] = _interval(claim, _closer(claim, group), as_of)
    return intervals


def _claim(fact: Fact, evidence: Sequence[Evidence], survivor: Survivor) -> _Claim:
    supporting = [item for item in evidence if item.stance is Stance.SUPPORTS]
    seen = min((item.seen_at for item in supporting if item.seen_at), default=None)
    value = fact.object.key
    if isinstance(fact.object, EntityObject):
        value = survivor(fact.object.entity_id)
    trust = max((TRUST[item.origin] for item in supporting), default=-1)
    return _Claim(fact, fact.valid_from or seen, value, trust)


def _closer(claim: _Claim, group: list[_Claim]) -> _Claim | None:
    later = [other for other in group if _closes(other, claim)]
    return min(later, key=lambda other: (other.since, other.fact.id), default=None)


def _closes(later: _Claim, earlier: _Claim) -> bool:
    if later.since is None or earlier.since is None or later.since <= earlier.since:
        return False
    untrusted = TRUST[Origin.UNTRUSTED]
    if later.trust < 0 or (later.trust == untrusted and earlier.trust > untrusted):
        return False
    same_value = later.value == earlier.value
    same_polarity = later.fact.polarity is earlier.fact.polarity
    if same_value:
        return not same_polarity
    return same_polarity and later.fact.polarity is Polarity.POSITIVE


def _interval(claim: _Claim, closer: _Claim | None, as_of: datetime) -> Interval:
    fact, end, closed_by = claim.fact, claim.fact.valid_to, None
    if closer is not None and closer.since is not None and (end is None or closer.since < end):
        end, closed_by = closer.since, closer.fact.id
    begun = fact.valid_from is None or fact.valid_from <= as_of
    current = begun and (end is None or as_of < end)
    return Interval(fact.id, fact.valid_from, end, closed_by, current)
