"""The graph stores under test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from graphmem.store.graph.base import GraphStore
from graphmem.store.graph.kuzu_engine import KuzuGraph
from graphmem.store.graph.memory import MemoryGraph


@pytest.fixture(params=["memory", "kuzu"])
def graph(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[GraphStore]:
    store: GraphStore = (
        MemoryGraph() if request.param == "memory" else KuzuGraph(tmp_path / "graph.kuzu")
    )
    yield store
    store.close()
