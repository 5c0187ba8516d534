"""SIGKILL at a hundred moments: nothing acknowledged is lost, nothing partial is ever visible."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.store.kill.campaign import ENGINES, Tally, campaigns
from tests.store.kill.plan import POINTS

KILLS = 104


@pytest.mark.slow
@pytest.mark.parametrize("engine", ENGINES)
def test_whenever_the_writer_is_killed_the_vault_equals_its_replay(
    tmp_path: Path, engine: str, capsys: pytest.CaptureFixture[str]
) -> None:
    tally = Tally()
    for result in campaigns(tmp_path, engine, KILLS, seed=20262):
        tally.add(result)
    with capsys.disabled():
        print(f"\n{engine}: {tally}")
    assert tally.kills.total() >= 100
    assert all(tally.kills[point] >= 10 for point in POINTS)
    assert tally.kills["healing open"] >= 5
    assert tally.kills["folding close"] >= 5
