"""Fixtures and settings shared by all tests."""

import os
from pathlib import Path

import pytest
from hypothesis import settings

REPO = Path(__file__).resolve().parents[1]

settings.register_profile("local", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True, print_blob=True)
settings.load_profile("ci" if os.environ.get("CI") else "local")


@pytest.fixture(scope="session")
def bench_data() -> Path:
    """Return the folder of benchmark data; skip the test where it is not at hand."""
    named = os.environ.get("GRAPHMEM_BENCH_DATA")
    folder = Path(named) if named else REPO.parent / "shared" / "bench-data"
    if not folder.is_dir():
        pytest.skip(f"no benchmark data at {folder}: set GRAPHMEM_BENCH_DATA")
    return folder
