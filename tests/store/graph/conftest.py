"""The graph stores under test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from graphmem.store.graph.base import GraphStore
from graphmem.store.graph.cypher_engine import CypherGraph
from graphmem.store.graph.engines import ENGINES, Engine
from graphmem.store.graph.memory import MemoryGraph
from tests.store.engines import FILE_ENGINE


@pytest.fixture
def engine() -> Engine:
    return ENGINES[FILE_ENGINE]


@pytest.fixture(params=["memory", FILE_ENGINE])
def graph(request: pytest.FixtureRequest, tmp_path: Path, engine: Engine) -> Iterator[GraphStore]:
    store: GraphStore = (
        MemoryGraph() if request.param == "memory" else CypherGraph(tmp_path / "graph", engine)
    )
    yield store
    store.close()
