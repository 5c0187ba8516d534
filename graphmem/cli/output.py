"""What the commands print: text or JSON on standard output, errors on standard error."""

from __future__ import annotations

import json
import sys

from graphmem.model.results import Result
from graphmem.model.show import show

# Exit codes; documented in docs/cli.md and tested.
EXIT_DONE = 0
EXIT_PARTLY = 1
EXIT_USAGE = 2
EXIT_VAULT = 3


def emit(result: Result, *, as_json: bool) -> None:
    """Prints a result; JSON escapes what the console's encoding does not have."""
    if not as_json:
        print(show(result))
        return
    plain = "utf" in (sys.stdout.encoding or "").lower()
    data = result.model_dump(mode="json")
    print(json.dumps(data, ensure_ascii=not plain, indent=2))


def fail(error: Exception, code: int) -> int:
    """Prints an error and returns the exit code."""
    print(f"graphmem: {error}", file=sys.stderr)
    return code
