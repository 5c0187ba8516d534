"""One loaded extractor for all cases, for loading takes longer than a case; a vault for each."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from graphmem.extractors import SpacyExtractor
from graphmem.memory import Memory
from tests.cases.vaults import Told, told, vault


@pytest.fixture(scope="session")
def extractor() -> SpacyExtractor:
    return SpacyExtractor()


@pytest.fixture
def memory(extractor: SpacyExtractor) -> Iterator[Memory]:
    with vault(extractor) as opened:
        yield opened


@pytest.fixture
def tell(memory: Memory, tmp_path: Path) -> Told:
    """Ingests one file per text and gives the vault."""

    def run(*texts: str) -> Memory:
        told(memory, tmp_path / "notes", *texts)
        return memory

    return run
