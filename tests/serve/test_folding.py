"""The owner folds the graph's log behind the back of its clients."""

from __future__ import annotations

from pathlib import Path

import pytest

import graphmem
from graphmem.store.graph.engines import ENGINES
from tests.serve.conftest import wait_for

# Far below one commit, so that the owner folds after every look.
TINY_LOG = 4_096


@pytest.mark.slow
@pytest.mark.parametrize("engine", list(ENGINES))
def test_an_owner_folds_a_long_log_while_it_takes_writes(
    vault: Path, monkeypatch: pytest.MonkeyPatch, engine: str
) -> None:
    if not ENGINES[engine].installed:
        pytest.skip(f"{engine} is not installed")
    monkeypatch.setenv("GRAPHMEM_ENGINE", engine)
    monkeypatch.setenv("GRAPHMEM_MAX_LOG_BYTES", str(TINY_LOG))
    log = vault / "owner.log"
    told = 0
    with graphmem.open(vault, mode="client") as memory:
        while log.read_text().count("folded the graph's log") < 2:
            memory.remember(f"Pump {told} stopped because valve {told} stuck.")
            told += 1
            assert told < 2_000
        wait_for(lambda: not list(vault.glob("graph.*.compact*")))
        assert memory.status().counts["passage"] == told
        grown = sorted(memory.dump())
        memory.rebuild()
        assert sorted(memory.dump()) == grown
        engine_told = memory.status().graph_engine
    assert engine_told.startswith(f"{engine} ")
    assert "Traceback" not in log.read_text()
    print(f"\n{engine}: folded at least twice during {told} writes, nothing lost")
