"""One loaded extractor for all cases: loading takes longer than a case."""

import pytest

from graphmem.extractors import SpacyExtractor


@pytest.fixture(scope="session")
def extractor() -> SpacyExtractor:
    return SpacyExtractor()
