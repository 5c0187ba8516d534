"""Building a graph file from the journal: here, or in a child so that this process goes on.

As a program it is that child: it ends when its standard input does, so it never outlives whoever
started it.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from itertools import takewhile
from pathlib import Path

from graphmem.errors import VaultError
from graphmem.store.graph.changes import NothingStored, project
from graphmem.store.graph.engines import Engine, engine_named
from graphmem.store.journal import Journal, JournalRow
from graphmem.store.trouble import JOURNAL_FILE

# Called with the rows read so far and their number.
BuildProgress = Callable[[int, int], None]
# Rows between two calls of the progress: some 20 a second.
PROGRESS_ROWS = 1_000


def unwatched(_done: int, _total: int) -> None:
    """The progress of a build that nobody watches."""


def build_graph(
    journal: Journal,
    path: Path,
    engine: Engine,
    upto: int,
    progress: BuildProgress = unwatched,
) -> None:
    """Puts a checkpointed graph of the rows up to a sequence at ``path``, which is not open."""
    from graphmem.store.graph.cypher_engine import CypherGraph

    rows = takewhile(lambda row: row.seq <= upto, journal.rows())
    changes = project(_watched(rows, upto, progress), NothingStored())
    CypherGraph.build(path, engine, changes, upto)
    progress(upto, upto)


def _watched(
    rows: Iterable[JournalRow], total: int, progress: BuildProgress
) -> Iterator[JournalRow]:
    for number, row in enumerate(rows):
        if number % PROGRESS_ROWS == 0:
            progress(number, total)
        yield row


class ChildBuild:
    """A build in a child process; the caller waits for it and may end it from another thread."""

    def __init__(self, folder: Path, path: Path, engine: Engine, upto: int) -> None:
        """Starts building the graph of the vault in ``folder`` at ``path``."""
        what = [str(folder), str(path), engine.name, str(upto)]
        command = [sys.executable, "-P", "-m", "graphmem.store.building", *what]
        self._child = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
        )

    def wait(self) -> None:
        """Returns when the file is there; raises VaultError when the child failed or was ended."""
        with self._child as child:  # its standard input stays open until it has ended
            assert child.stderr is not None
            told = child.stderr.read().decode(errors="replace")
            code = child.wait()
        if code != 0:
            last = told.strip().splitlines()[-1:]
            raise VaultError(f"a fresh graph could not be built ({code}): {' '.join(last)}")

    def end(self) -> None:
        """Ends the child; ``wait`` then raises. An ended one stays as it is."""
        self._child.kill()


def _leave_with_parent() -> None:
    sys.stdin.buffer.read()
    os._exit(1)


def main(arguments: list[str]) -> int:
    """The child: folder of the vault, file to build, engine, last sequence."""
    threading.Thread(target=_leave_with_parent, daemon=True).start()
    folder, path, name, upto = arguments
    journal = Journal.open(Path(folder) / JOURNAL_FILE, os.urandom)
    build_graph(journal, Path(path), engine_named(name), int(upto))
    # Not closed: the last to close a journal folds its log, which belongs to the vault's owner.
    sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
