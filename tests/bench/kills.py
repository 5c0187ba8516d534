"""How many SIGKILLs a vault survives: many more than the slow suite has, on one engine or each.

Run as ``python -m tests.bench.kills --kills 500 --json OUT``.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path
from time import perf_counter

from tests.bench.stats import show_progress
from tests.store.kill.campaign import ENGINES, Tally, campaigns

SEED = 500


def main(arguments: list[str] | None = None) -> int:
    """Prints what was killed and found; returns 1 when something was lost or half there."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, help="not needed: the batches are made up")
    parser.add_argument("--json", type=Path, help="write the numbers to this file")
    parser.add_argument("--kills", type=int, default=500)
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--engine", action="append", choices=ENGINES, help="default: each")
    options = parser.parse_args(arguments)
    found = [_measure(engine, options.kills, options.seed) for engine in options.engine or ENGINES]
    if options.json:
        options.json.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")
    return 0 if all(each["failure"] is None for each in found) else 1


def _measure(engine: str, kills: int, seed: int) -> dict[str, object]:
    tally, failure, begun = Tally(), None, perf_counter()
    with tempfile.TemporaryDirectory(prefix="graphmem-kills-") as folder:
        try:
            for result in campaigns(Path(folder), engine, kills, seed):
                tally.add(result)
                show_progress(engine, min(tally.kills.total(), kills), kills)
        except AssertionError as error:
            failure = str(error)
            print(f"{engine}: {failure}", file=sys.stderr)
    print(f"{engine}: {tally}, {perf_counter() - begun:.0f} s")
    return {
        "engine": engine,
        "seed": seed,
        "kills": dict(tally.kills),
        "total": tally.kills.total(),
        "acknowledged": tally.acknowledged,
        "unacknowledged_kept": tally.unacknowledged_kept,
        "rows_replayed": tally.rows,
        "failure": failure,
        "seconds": round(perf_counter() - begun, 1),
    }


if __name__ == "__main__":
    sys.exit(main())
