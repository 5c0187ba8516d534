"""The process that is killed: opens a vault, tells batches, says each one that was acknowledged.

It imports first and then waits for its order on standard input, one JSON line, so that the import
of the next one runs beside the checks of the last. It says ``opening``, ``open``, a number per
acknowledged batch with its last row, ``closing`` and ``closed``.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from graphmem.store import open_store
from graphmem.store.vault import MAX_LOG_BYTES
from tests.store.kill.batches import ACTOR, Batches, key_of

# What changes files by name: SQLite and Kuzu do not use these, the code around them does.
_FILE_EVENTS = frozenset({"os.rename", "os.remove"})


@dataclass(slots=True)
class Trap:
    """Kills this process at the n-th passing of a point."""

    point: str
    left: int
    armed: bool = field(default=False)

    def __call__(self, point: str) -> None:
        if self.armed and point == self.point:
            self.left -= 1
            if self.left <= 0:
                os.kill(os.getpid(), signal.SIGKILL)

    def on_files(self, event: str, arguments: tuple[Any, ...]) -> None:
        """The same before the n-th file of the graph is renamed or removed."""
        if event in _FILE_EVENTS and "graph." in str(arguments[0]):
            self("file")


def say(*words: object) -> None:
    print(*words, flush=True)


def main() -> None:
    """Runs one order: folder, batches, engine, first, count, point, nth, phase, log_bytes."""
    say("ready")
    order = json.loads(sys.stdin.readline())
    trap = Trap(order["point"], order["nth"])
    if trap.point == "file":
        sys.addaudithook(trap.on_files)
    bound = order["log_bytes"] or MAX_LOG_BYTES
    batches = Batches.load(Path(order["batches"]))
    say("opening")
    trap.armed = order["phase"] == "open"
    store = open_store(
        Path(order["folder"]),
        create=True,
        graph=order["engine"],
        fault=trap,
        max_log_bytes=bound,
    )
    trap.armed = order["phase"] == "write"
    say("open")
    last = min(len(batches.told), order["first"] + order["count"] - 1)
    for number in range(order["first"], last + 1):
        done = store.writer.commit(batches.told[number - 1], actor=ACTOR, key=key_of(number))
        say(number, done.last_seq)
    say("closing")
    trap.armed = order["phase"] == "close"
    store.close()
    say("closed")


if __name__ == "__main__":
    main()
