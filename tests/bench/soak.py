"""Eight processes on one vault: lost and doubled writes, the owner's memory, latencies.

``python -m tests.bench.soak --seconds 600 --json OUT``
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path

from graphmem.settings import Settings
from tests.soak.drive import Soak, soak
from tests.soak.plan import CREW, KINDS

# Seconds of reads and writes, and of reads alone before and after.
MIXED_S = 180.0
QUIET_S = 15.0


def is_clean(found: Soak) -> bool:
    """Whether nothing failed, was lost, doubled or stored unasked."""
    return not (found.errors or found.lost or found.doubled or found.unasked)


def main(arguments: list[str] | None = None) -> int:
    """Prints the figures; returns 1 when something failed, was lost or doubled."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, help="not used: the soak makes its own notes")
    parser.add_argument("--json", type=Path, help="write the numbers to this file")
    parser.add_argument("--embedder", default="minilm", help="minilm, hashing or none")
    parser.add_argument("--engine", default="kuzu", help="graph engine of the vault")
    parser.add_argument("--seconds", type=float, default=MIXED_S, help="reads beside writes")
    parser.add_argument("--quiet", type=float, default=QUIET_S, help="reads alone, twice")
    parser.add_argument("--crew", nargs="+", choices=KINDS, default=CREW, help="the processes")
    options = parser.parse_args(arguments)
    settings = Settings(embedder=options.embedder, engine=options.engine)
    with tempfile.TemporaryDirectory() as folder:
        found = soak(
            Path(folder),
            settings,
            quiet_s=options.quiet,
            mixed_s=options.seconds,
            crew=options.crew,
        )
    print("\n".join(found.lines()))
    for error in found.errors[:10]:
        print(f"  error: {error}", file=sys.stderr)
    if options.json:
        options.json.write_text(json.dumps(asdict(found), indent=2) + "\n", encoding="utf-8")
    return 0 if is_clean(found) else 1


if __name__ == "__main__":
    sys.exit(main())
