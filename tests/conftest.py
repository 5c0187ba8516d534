"""Fixtures and settings shared by all tests."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

REPO = Path(__file__).resolve().parents[1]

settings.register_profile("local", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True, print_blob=True)
settings.load_profile("ci" if os.environ.get("CI") else "local")


@pytest.fixture(scope="session", autouse=True)
def short_lived_owners() -> Iterator[None]:
    """Owner processes that a test starts on demand leave soon after it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GRAPHMEM_IDLE_EXIT", "10s")
        yield


@pytest.fixture(scope="session")
def bench_data() -> Path:
    """Return the folder of benchmark data; skip the test where it is not at hand."""
    named = os.environ.get("GRAPHMEM_BENCH_DATA")
    folder = Path(named) if named else REPO.parent / "shared" / "bench-data"
    if not folder.is_dir():
        pytest.skip(f"no benchmark data at {folder}: set GRAPHMEM_BENCH_DATA")
    return folder
