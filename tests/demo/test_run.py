"""The demonstration as a stranger runs it: on a fresh vault, with the real engines and models."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from tests.demo.scoring import DECISIONS


@pytest.mark.slow
def test_ten_of_twelve_are_right_and_most_need_the_graph() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.demo.run"],
        capture_output=True,
        text=True,
        cwd=DECISIONS.parents[1],
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    right = re.search(r"(\d+) of 12 answered right", done.stdout)
    lost = re.search(r"with the graph lanes off (\d) of the 4", done.stdout)
    assert right is not None and int(right[1]) >= 10
    assert lost is not None and int(lost[1]) >= 3
