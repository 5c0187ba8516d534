"""A store in memory, a fixed clock and an ingestor with the small extractor."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from graphmem.ingest import Ingestor
from graphmem.store import open_store
from graphmem.store.protocols import Store
from tests.ingest.plain_extractor import PlainExtractor

NOW = datetime(2026, 12, 1, tzinfo=UTC)


@pytest.fixture
def make_store() -> Iterator[Callable[[], Store]]:
    opened: list[Store] = []

    def make() -> Store:
        opened.append(open_store(None, create=True))
        return opened[-1]

    yield make
    for store in opened:
        store.close()


@pytest.fixture
def store(make_store: Callable[[], Store]) -> Store:
    return make_store()


@pytest.fixture
def extractor() -> PlainExtractor:
    return PlainExtractor()


@pytest.fixture
def ingestor(store: Store, extractor: PlainExtractor) -> Ingestor:
    return Ingestor(store, extractor, clock=lambda: NOW)


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    """Writes files below the test's folder: ``write("a.md", "text")``."""

    def write(name: str, text: str) -> Path:
        path = tmp_path / "notes" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
        return path

    (tmp_path / "notes").mkdir()
    return write
