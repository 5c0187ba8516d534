"""Named search configurations as frozen data: which lanes speak, how loud, and where they walk."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from graphmem.errors import UsageError
from graphmem.traversal import BeamParams, MetaPath, PushParams
from graphmem.vocabulary import Direction, EdgeType, Intent, Lane

# Reciprocal rank fusion's constant (Cormack et al. 2009; Hindsight and MAGMA use it too).
RRF_K = 60
# Passages a lane ranks; fusion sees no more.
POOL = 60
# Passages of each of BM25 and cosine that start a traversal.
ANCHORS = 10

_E = EdgeType


def _frozen(table: dict[EdgeType, float]) -> Mapping[str, float]:
    return MappingProxyType({edge.value: weight for edge, weight in table.items()})


# How much an edge of each type matters to each intent (phi of MAGMA's transition score).
_BACK = _frozen({
    _E.CAUSED_BY: 1.0, _E.SUPERSEDES: 0.9, _E.SAME_EVENT: 0.9, _E.PART_OF: 0.6, _E.CONTAINS: 0.6,
    _E.CAUSES: 0.5, _E.PREVIOUS: 0.2, _E.NEXT: 0.15, _E.MENTIONED_IN: 0.1, _E.MENTIONS: 0.1,
    _E.FACT: 0.1,
})  # fmt: skip
_FORWARD = _frozen({
    _E.CAUSES: 1.0, _E.SUPERSEDED_BY: 0.9, _E.SAME_EVENT: 0.9, _E.PART_OF: 0.6, _E.CONTAINS: 0.6,
    _E.CAUSED_BY: 0.2, _E.NEXT: 0.2, _E.PREVIOUS: 0.1, _E.MENTIONED_IN: 0.1, _E.MENTIONS: 0.1,
    _E.FACT: 0.1,
})  # fmt: skip
_BOTH = _frozen({
    _E.CAUSES: 1.0, _E.CAUSED_BY: 1.0, _E.SUPERSEDES: 0.7, _E.SUPERSEDED_BY: 0.7,
    _E.SAME_EVENT: 0.9, _E.PART_OF: 0.6, _E.CONTAINS: 0.6, _E.MENTIONED_IN: 0.1,
})  # fmt: skip
_WHEN = _frozen({
    _E.NEXT: 0.7, _E.PREVIOUS: 0.7, _E.SAME_EVENT: 0.7, _E.PART_OF: 0.5, _E.CONTAINS: 0.5,
    _E.MENTIONED_IN: 0.5, _E.MENTIONS: 0.4, _E.FACT: 0.3, _E.SUPERSEDES: 0.3,
    _E.SUPERSEDED_BY: 0.3, _E.CAUSES: 0.1, _E.CAUSED_BY: 0.1,
})  # fmt: skip
_ENTITY = _frozen({
    _E.FACT: 1.0, _E.MENTIONED_IN: 0.9, _E.MENTIONS: 0.7, _E.PART_OF: 0.6, _E.CONTAINS: 0.6,
    _E.SAME_EVENT: 0.4, _E.NEXT: 0.1, _E.PREVIOUS: 0.1, _E.CAUSES: 0.1, _E.CAUSED_BY: 0.1,
})  # fmt: skip
_WHAT = _frozen({
    _E.PART_OF: 0.6, _E.CONTAINS: 0.6, _E.SAME_EVENT: 0.6, _E.MENTIONED_IN: 0.5, _E.MENTIONS: 0.5,
    _E.FACT: 0.5, _E.CAUSES: 0.3, _E.CAUSED_BY: 0.3, _E.SUPERSEDED_BY: 0.4, _E.SUPERSEDES: 0.2,
    _E.NEXT: 0.3, _E.PREVIOUS: 0.3,
})  # fmt: skip


def _path(weight: float, *edges: EdgeType) -> MetaPath:
    return MetaPath(">".join(edges), tuple(edge.value for edge in edges), weight)


# Ways that lead from what a question's words match to what answers it. WHY seeds are statements,
# so a path may begin with a causal edge; `part_of, contains` goes to a sibling statement.
_BACK_PATHS = (
    _path(1.0, _E.CAUSED_BY),
    _path(1.0, _E.CAUSED_BY, _E.CAUSED_BY),
    _path(1.0, _E.SAME_EVENT, _E.CAUSED_BY),
    _path(1.0, _E.CAUSED_BY, _E.SAME_EVENT, _E.CAUSED_BY),
    _path(1.0, _E.SUPERSEDES, _E.CAUSES, _E.CAUSED_BY),
    _path(0.6, _E.SUPERSEDES, _E.CAUSES),
    _path(0.6, _E.PART_OF, _E.CONTAINS, _E.CAUSED_BY),
    _path(0.6, _E.PART_OF, _E.CONTAINS, _E.SUPERSEDES, _E.CAUSES),
    _path(0.2, _E.MENTIONS, _E.MENTIONED_IN),
)
_FORWARD_PATHS = (
    _path(1.0, _E.CAUSES),
    _path(1.0, _E.CAUSES, _E.CAUSES),
    _path(1.0, _E.SAME_EVENT, _E.CAUSES),
    _path(1.0, _E.CAUSES, _E.SAME_EVENT, _E.CAUSES),
    _path(0.6, _E.SUPERSEDED_BY),
    _path(0.6, _E.PART_OF, _E.CONTAINS, _E.CAUSES),
    _path(0.2, _E.MENTIONS, _E.MENTIONED_IN),
)
_WHEN_PATHS = (
    _path(1.0, _E.SAME_EVENT),
    _path(0.6, _E.MENTIONS, _E.MENTIONED_IN),
    _path(0.5, _E.NEXT),
    _path(0.5, _E.PREVIOUS),
)
_ENTITY_PATHS = (
    _path(1.0, _E.MENTIONED_IN),
    _path(1.0, _E.FACT, _E.MENTIONED_IN),
    _path(0.7, _E.MENTIONS, _E.MENTIONED_IN),
    _path(0.4, _E.SAME_EVENT),
)
_WHAT_PATHS = (
    _path(1.0, _E.SAME_EVENT),
    _path(0.7, _E.MENTIONS, _E.MENTIONED_IN),
    _path(0.5, _E.MENTIONED_IN),
    _path(0.3, _E.NEXT),
    _path(0.3, _E.PREVIOUS),
)


@dataclass(frozen=True, slots=True)
class Plan:
    """How one intent is searched: lane weights for fusion, edge affinities, meta-paths, depth."""

    lanes: Mapping[Lane, float]
    affinity: Mapping[str, float]
    paths: tuple[MetaPath, ...]
    depth: int

    def beam(self) -> BeamParams:
        """The beam's constants: lambdas, decay, width and bound are the class's defaults."""
        return BeamParams(depth=self.depth)


@dataclass(frozen=True, slots=True)
class Recipe:
    """A search configuration; ``explains`` orders WHY answers by their causal chains."""

    name: str
    plans: Mapping[Intent, Plan]
    explains: bool
    push: PushParams = PushParams()  # noqa: RUF009 - frozen

    def plan(self, intent: Intent, direction: Direction | None) -> Plan:
        """The plan of an intent; WHY walks the other way for what something led to."""
        plan = self.plans[intent]
        if intent is not Intent.WHY or direction in (None, Direction.BACK):
            return plan
        if direction is Direction.FORWARD:
            return Plan(plan.lanes, _FORWARD, _FORWARD_PATHS, plan.depth)
        return Plan(plan.lanes, _BOTH, (*_BACK_PATHS[:4], *_FORWARD_PATHS[:4]), plan.depth)


def _lanes(
    bm25: float, vector: float, facts: float, time: float, beam: float, mpfp: float
) -> Mapping[Lane, float]:
    weights = (bm25, vector, facts, time, beam, mpfp)
    return MappingProxyType(dict(zip(Lane, weights, strict=True)))


# Weights of fusion per intent. No weight is zero: a question under the wrong label must still find
# what another lane knows (BR-15). The time lane only speaks when the question names a time.
_DEFAULT: dict[Intent, Plan] = {
    Intent.WHY: Plan(_lanes(1.0, 0.7, 0.2, 1.0, 0.5, 0.4), _BACK, _BACK_PATHS, 5),
    Intent.WHEN: Plan(_lanes(1.0, 0.7, 0.3, 1.0, 0.3, 0.2), _WHEN, _WHEN_PATHS, 3),
    Intent.ENTITY: Plan(_lanes(1.0, 0.6, 0.7, 1.0, 0.3, 0.3), _ENTITY, _ENTITY_PATHS, 4),
    Intent.WHAT: Plan(_lanes(1.0, 0.7, 0.3, 1.0, 0.3, 0.2), _WHAT, _WHAT_PATHS, 3),
}


def _only(name: str, *lanes: Lane, explains: bool = False) -> Recipe:
    plans = {
        intent: Plan(
            MappingProxyType({lane: plan.lanes[lane] for lane in lanes}),
            plan.affinity,
            plan.paths,
            plan.depth,
        )
        for intent, plan in _DEFAULT.items()
    }
    return Recipe(name, MappingProxyType(plans), explains)


_WORDS = (Lane.BM25, Lane.VECTOR)
RECIPES: Mapping[str, Recipe] = MappingProxyType(
    {
        recipe.name: recipe
        for recipe in (
            Recipe("default", MappingProxyType(_DEFAULT), explains=True),
            _only("bm25", Lane.BM25),
            _only("vector", Lane.VECTOR),
            _only("hybrid", *_WORDS),
            _only("lexical", *_WORDS, Lane.FACTS, Lane.TIME),
            _only("beam", *_WORDS, Lane.FACTS, Lane.TIME, Lane.BEAM, explains=True),
            _only("mpfp", *_WORDS, Lane.FACTS, Lane.TIME, Lane.MPFP, explains=True),
            _only("unexplained", *Lane),
        )
    }
)


def recipe_named(name: str) -> Recipe:
    """The recipe of a name; UsageError names the ones there are.

    >>> recipe_named("hybrid").explains
    False
    """
    recipe = RECIPES.get(name)
    if recipe is None:
        raise UsageError(f"there is no recipe {name!r}; choose one of: {', '.join(RECIPES)}")
    return recipe
