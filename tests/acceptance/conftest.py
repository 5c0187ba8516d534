"""One loaded extractor and one vault of the records for all tests here, and the command line."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from graphmem.extractors import SpacyExtractor
from graphmem.memory import Memory
from tests.acceptance.records import record_vault
from tests.cli.conftest import graphmem, vault

__all__ = ["extractor", "graphmem", "records", "vault"]


@pytest.fixture(scope="session")
def extractor() -> SpacyExtractor:
    return SpacyExtractor()


@pytest.fixture(scope="session")
def records(extractor: SpacyExtractor) -> Iterator[Memory]:
    """The decision records, to be read only."""
    with record_vault(extractor) as opened:
        yield opened
