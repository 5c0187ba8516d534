"""An owner process of tests: the real one, told its version or killed at a point of a commit.

python harness.py VAULT [--kill POINT N] [--version V] [--idle S] [--read-timeout S]
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import time
from pathlib import Path

from graphmem.memory import Memory
from graphmem.serve.owner import Options, run_owner
from graphmem.settings import Settings


class Killer:
    """Kills the process the n-th time a point is reached."""

    def __init__(self, point: str | None, times: int) -> None:
        self._point, self._left = point, times

    def __call__(self, point: str) -> None:
        if point == self._point:
            self._left -= 1
            if self._left == 0:
                os.kill(os.getpid(), signal.SIGKILL)


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("vault", type=Path)
    parser.add_argument("--kill", nargs=2, default=(None, "1"))
    parser.add_argument("--version", default=None)
    parser.add_argument("--idle", type=float, default=60.0)
    parser.add_argument("--read-timeout", type=float, default=30.0)
    parser.add_argument("--slow-read", type=float, default=0.0)
    told = parser.parse_args()
    settings = Settings(embedder="none")
    more = {} if told.version is None else {"version": told.version}
    options = Options(
        told.vault,
        settings,
        idle_exit_s=told.idle,
        read_timeout_s=told.read_timeout,
        **more,
    )
    if told.slow_read:
        _slow_down(told.slow_read)
    return run_owner(options, fault=Killer(told.kill[0], int(told.kill[1])))


def _slow_down(seconds: float) -> None:
    """A name that makes its look-up take long, as a huge graph would."""
    quick = Memory.kg_query

    def slow(self, name, **more):  # type: ignore[no-untyped-def]
        if name == "slow":
            time.sleep(seconds)
        return quick(self, name, **more)

    Memory.kg_query = slow  # type: ignore[method-assign]


if __name__ == "__main__":
    sys.exit(main())
