"""The soak of issue-sized load; its figures are printed."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphmem.settings import Settings
from tests.soak.drive import soak

# Seconds of reads alone before and after, and of reads beside writes.
QUIET_S = 15.0
MIXED_S = 180.0
# The owner may grow by this factor from the first to the third minute.
GROWTH = 1.1
# Reads beside writes may take this many times what they take alone, at the 95th percentile.
SLOWDOWN = 3.0


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_eight_processes_lose_nothing_and_the_owner_stays_small(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    stays = Settings(idle_exit="10m")  # the tests' own owners leave after seconds
    found = soak(tmp_path, stays, quiet_s=QUIET_S, mixed_s=MIXED_S)
    with capsys.disabled():
        print("", *found.lines(), sep="\n")
    assert found.errors == ()
    assert (found.lost, found.doubled, found.unasked) == ((), (), ())
    assert found.owners == 1
    assert found.writes > 100
    assert found.rss_late <= GROWTH * found.rss_early
    assert found.mixed_p95 <= SLOWDOWN * found.quiet_p95
