"""One loaded extractor for all tests here, and the real command line."""

import pytest

from graphmem.extractors import SpacyExtractor
from tests.cli.conftest import graphmem, vault

__all__ = ["extractor", "graphmem", "vault"]


@pytest.fixture(scope="session")
def extractor() -> SpacyExtractor:
    return SpacyExtractor()
