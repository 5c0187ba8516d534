"""A store in memory with a clock that ticks a second per look."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from itertools import count

import pytest

from graphmem.store import VaultStore, open_store
from tests.store.graph.world import START


def ticking() -> Callable[[], datetime]:
    """A clock of its own, the same for every store that starts with it."""
    ticks = count()
    return lambda: START + timedelta(seconds=next(ticks))


@pytest.fixture
def store() -> Iterator[VaultStore]:
    opened = open_store(None, create=True, clock=ticking())
    yield opened
    opened.close()
