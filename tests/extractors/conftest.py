"""One loaded pipeline for all tests of the extractors."""

import pytest

from graphmem.extractors import SpacyExtractor
from tests.extractors.reading import Reader


@pytest.fixture(scope="session")
def reader() -> Reader:
    return Reader(SpacyExtractor())
