"""Which kills there are, and in what order they come."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

POINTS = ("after_journal", "after_index", "in_graph", "before_publish")
# Longest wait before a kill at a random moment, in seconds: some batches, most of an open (which
# probes the graph in a child), most of a fold.
WRITE_S, OPEN_S, CLOSE_S = 0.05, 0.6, 0.4
# Bytes of log beyond which these vaults fold it at close: less than a few batches.
SMALL_LOG_BYTES = 4_000
# Files of the graph that a fold renames or removes, one after the other.
FOLD_FILES = 10
# Batches a writer tells at most before it closes.
MANY, FEW = 60, 4


@dataclass(frozen=True, slots=True)
class Kill:
    """One kill: in which phase, and at the n-th passing of a point or after some seconds.

    ``after`` acknowledged batches the seconds begin; a phase is open, write or close.
    """

    name: str
    phase: str
    point: str = ""
    nth: int = 1
    seconds: float = 0.0
    after: int = 0
    count: int = MANY


def at_point(point: str, chance: Random) -> Kill:
    """Exactly at a named point of a commit."""
    return Kill(point, "write", point, nth=chance.randint(1, 6))


def at_a_moment(chance: Random) -> Kill:
    """At any moment of writing."""
    seconds = chance.random() * WRITE_S
    return Kill("any moment", "write", seconds=seconds, after=chance.randint(0, 8))


def while_healing(chance: Random) -> Iterator[Kill]:
    """A batch that is in the journal only, then a kill while the next open heals it."""
    yield Kill("after_journal", "write", "after_journal", nth=chance.randint(1, 3))
    if chance.random() < 0.5:
        yield Kill("healing open", "open", seconds=chance.random() * OPEN_S, count=FEW)
    else:
        point = chance.choice(POINTS[1:])
        yield Kill("healing open", "open", point, count=FEW)


def while_folding(chance: Random) -> Kill:
    """While close builds a fresh graph file of a long log."""
    if chance.random() < 0.5:
        return Kill("folding close", "close", seconds=chance.random() * CLOSE_S, count=FEW)
    return Kill("folding close", "close", "file", nth=chance.randint(1, FOLD_FILES), count=FEW)


def plan(kills: int, seed: int) -> list[Kill]:
    """At least so many kills: half at the four points, the rest at moments, opens and closes."""
    chance = Random(seed)
    chosen: list[list[Kill]] = []
    while sum(map(len, chosen)) < kills:
        chosen += [[at_point(point, chance)] for point in POINTS]
        chosen += [[at_a_moment(chance)], [at_a_moment(chance)]]
        chosen += [list(while_healing(chance)), [while_folding(chance)]]
    chance.shuffle(chosen)
    return [kill for group in chosen for kill in group]
