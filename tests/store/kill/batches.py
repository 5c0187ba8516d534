"""Numbered batches that a killed writer tells, the same for the same seed, kept in a file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from random import Random

from graphmem.model.operations import (
    Operation,
    Purge,
    PutPassage,
    PutSource,
    parse_operation,
    payload_of,
)
from graphmem.store.graph.changes import project
from tests.store.graph.world import source
from tests.store.graph.world import told as as_rows
from tests.store.told import BackedWorld, passage

ACTOR = "killed"
# Every so many batches the passage of an earlier one is purged.
PURGE_EVERY = 30
# A number no source of the make-believe world has.
OWN_SOURCE = 90


@dataclass(frozen=True, slots=True)
class Batches:
    """What is told one after another from an empty vault on; batch 1 is the first."""

    told: tuple[tuple[Operation, ...], ...]

    def first_seq(self, number: int) -> int:
        """The journal row with which a batch begins."""
        return 1 + sum(len(batch) for batch in self.told[: number - 1])

    def save(self, path: Path) -> None:
        """Writes a batch per line."""
        lines = ["\x1f".join(map(payload_of, batch)) for batch in self.told]
        path.write_text("\n".join(lines), encoding="utf-8")

    @classmethod
    def load(cls, path: Path) -> Batches:
        """Reads what ``save`` wrote."""
        lines = path.read_text(encoding="utf-8").split("\n")
        told = (line.split("\x1f") for line in lines)
        return cls(tuple(tuple(parse_operation(op.encode()) for op in batch) for batch in told))


def key_of(number: int) -> str:
    """The idempotency key of a batch."""
    return f"batch-{number}"


def make(seed: int, count: int, *, removing: bool = True) -> Batches:
    """Batches of every kind of operation, each with a passage of its own and a renamed source.

    Without ``removing`` there are none that take a node out of the graph.
    """
    told: list[tuple[Operation, ...]] = []
    for number, batch in enumerate(_world(seed, count, removing), 1):
        told.append((*_own(number), *batch, *_purge(told, number)))
    return Batches(tuple(told))


def _world(seed: int, count: int, removing: bool) -> Iterator[list[Operation]]:
    """Batches of one to three steps in a make-believe vault."""
    world = BackedWorld(Random(seed))
    while count:
        held = deepcopy(world)
        batch = [op for _ in range(world.random.randint(1, 3)) for op in world.step()]
        if batch and (removing or not project(as_rows(batch), held).gone_nodes):
            count -= 1
            yield batch
        else:
            held.random = world.random
            world = held


def _own(number: int) -> Iterator[Operation]:
    """A source that is moved by every batch, and one more passage of it."""
    home = source(OWN_SOURCE)
    names = [home.model_copy(update={"uri": f"moved-{n}.md"}) for n in (number - 1, number)]
    yield PutSource(before=names[0] if number > 1 else None, after=names[1])
    yield PutPassage(after=passage(OWN_SOURCE_FIRST + number, f"pump {number}", home.id))


# The passages of the renamed source, apart from those of the world.
OWN_SOURCE_FIRST = 100_000


def passage_id(number: int) -> str:
    """The id of the passage that a batch brings."""
    return f"psg:{OWN_SOURCE_FIRST + number}"


def _purge(told: Sequence[Sequence[Operation]], number: int) -> Iterator[Operation]:
    """Erases the passage of an earlier batch, whose row is the second one of that batch."""
    if number % PURGE_EVERY == 0:
        victim = number - 5
        yield Purge(seqs=(1 + sum(map(len, told[: victim - 1])) + 1,))


def purged(numbers: int) -> set[int]:
    """The batches whose passage is gone after so many batches."""
    return {n - 5 for n in range(PURGE_EVERY, numbers + 1, PURGE_EVERY)}
