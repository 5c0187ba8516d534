"""What commits, counts and opening cost; prints the numbers, asserts only what would be a fault."""

from __future__ import annotations

from pathlib import Path
from time import perf_counter

import pytest

from graphmem.model.operations import (
    AddEvidence,
    Operation,
    PutEntity,
    PutFact,
    PutPassage,
    PutSource,
)
from graphmem.model.scope import EVERYTHING
from graphmem.store import VaultStore, open_store
from tests.store.graph.world import bundle, entity, evidence, fact, mention, source, statement
from tests.store.told import ACTOR

PASSAGES = 500


def batch(round_: int) -> list[Operation]:
    """500 passages with 1,500 statements and 2,500 mentions, 500 facts with evidence."""
    told: list[Operation] = [PutSource(after=source(round_))]
    names = [f"e{round_}x{n}" for n in range(PASSAGES)]
    told += [PutEntity(after=entity(name)) for name in names]
    for n in range(PASSAGES):
        home = f"psg:{round_}-{n}"
        said = [statement(home, i) for i in range(3)]
        named = [
            mention(home, i, f"thing:{names[(n + i) % PASSAGES]}", said[i % 3].id) for i in range(5)
        ]
        told.append(PutPassage(after=bundle(home, f"src:{round_}", said, named)))
        number = round_ * PASSAGES + n
        ends = f"thing:{names[n]}", f"thing:{names[(n + 1) % PASSAGES]}"
        told.append(PutFact(after=fact(number, *ends)))
        told.append(AddEvidence(after=evidence(number, f"fct:{number}", said[0], home)))
    return told


def timed(store: VaultStore, rounds: int) -> list[float]:
    seconds = []
    for number in range(rounds):
        told = batch(number)
        started = perf_counter()
        store.writer.commit(told, actor=ACTOR)
        seconds.append(perf_counter() - started)
    return seconds


@pytest.mark.bench
@pytest.mark.parametrize("engine", ["memory", "kuzu"])
def test_large_commits(tmp_path: Path, engine: str) -> None:
    store = open_store(tmp_path, create=True, graph=engine)
    seconds = timed(store, 8)
    started = perf_counter()
    counts = store.view().counts(EVERYTHING)
    counting = perf_counter() - started
    started = perf_counter()
    store.view().adjacency(EVERYTHING)
    snapshot = perf_counter() - started
    store.close()
    started = perf_counter()
    open_store(tmp_path).close()
    opening = perf_counter() - started
    print(
        f"{engine}: commits {', '.join(f'{s:.2f}' for s in seconds)} s; counts of "
        f"{counts['passage']:,} passages {counting:.3f} s; snapshot {snapshot:.3f} s; "
        f"open and close {opening:.2f} s"
    )
    assert counts["fact"] == 8 * PASSAGES


def test_a_commit_costs_no_more_in_a_larger_vault(store: VaultStore) -> None:
    seconds = timed(store, 5)
    assert min(seconds[3:]) < 2.5 * min(seconds[:2])
