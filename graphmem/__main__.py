"""The console script: prepares the streams and hands over to the command line."""

from __future__ import annotations

import sys


def _tolerant_streams() -> None:
    """Makes printing of any character succeed under any console encoding (BR-19, BR-28)."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="replace")


def main() -> None:
    """Runs one command and exits with its code: 0 done, 1 partly, 2 wrong use, 3 vault problem."""
    _tolerant_streams()
    from graphmem.cli.app import run

    sys.exit(run(sys.argv[1:]))


if __name__ == "__main__":
    main()
