"""A journal says everything: replays are equal, and inverses take back what was said."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphmem.store import VaultStore, open_store
from tests.store.conftest import ticking
from tests.store.told import ACTOR, tell

SEEDS = st.integers(0, 2**32)
STEPS = 25


def opened(path: Path | None = None) -> VaultStore:
    return open_store(path, create=True, graph="memory", clock=ticking())


def shown(store: VaultStore) -> list[str]:
    """The exact dump; its order within a table is no promise between stores."""
    return sorted(store.dump())


@given(seed=SEEDS)
@settings(max_examples=30)
def test_projections_made_anew_equal_those_that_grew(seed: int) -> None:
    store = opened()
    tell(store, seed, STEPS)
    grown, content = shown(store), list(store.dump(content=True))
    store.rebuild()
    assert shown(store) == grown
    assert list(store.dump(content=True)) == content
    store.close()


@given(seed=SEEDS)
@settings(max_examples=20)
def test_the_same_history_in_another_folder_gives_the_same_dump(seed: int) -> None:
    one, two = opened(), opened()
    assert tell(one, seed, STEPS) == tell(two, seed, STEPS)
    assert shown(one) == shown(two)
    one.close()
    two.close()


@given(seed=SEEDS)
@settings(max_examples=30)
def test_every_operation_taken_back_restores_the_content(seed: int) -> None:
    store = opened()
    start = list(store.dump(content=True))
    batches = tell(store, seed, STEPS)
    for batch in reversed(batches):
        inverse = [operation.inverse() for operation in reversed(batch)]
        store.writer.commit(inverse, actor=ACTOR)
    assert list(store.dump(content=True)) == start
    store.close()


@given(seed=SEEDS)
@settings(max_examples=15)
def test_one_step_back_restores_the_content_before_it(seed: int) -> None:
    store = opened()
    batches = tell(store, seed, STEPS)
    before = list(store.dump(content=True))
    if batches:
        last = batches[-1]
        store.writer.commit([op.inverse() for op in reversed(last)], actor=ACTOR)
        store.writer.commit(last, actor=ACTOR)
    assert list(store.dump(content=True)) == before
    store.close()


@pytest.mark.parametrize("seed", range(3))
def test_a_vault_opened_again_shows_the_same(tmp_path: Path, seed: int) -> None:
    store = opened(tmp_path)
    tell(store, seed, STEPS)
    before = shown(store)
    store.close()
    again = opened(tmp_path)
    assert shown(again) == before
    again.close()
