"""The console script: prepares the streams and hands over to the command line.

Hooks and the MCP relay are called before it is loaded: they must start in a blink.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence


def _tolerant_streams() -> None:
    """Makes printing of any character succeed under any console encoding (BR-19, BR-28)."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="replace")


def _light(arguments: Sequence[str]) -> int | None:
    """Runs a command that needs no command line framework; None when it does need one."""
    if "--help" in arguments:
        return None
    match list(arguments):
        case ["hook", *rest]:
            from graphmem.hook import main as hook

            return hook(rest)
        case ["mcp"]:
            return _mcp("")
        case ["mcp", "--vault", folder] if folder:
            return _mcp(folder)
        case _:
            return None


def _mcp(folder: str) -> int:
    import os
    from pathlib import Path

    from graphmem.locate import locate
    from graphmem.serve.stdio import serve

    named = folder or os.environ.get("GRAPHMEM_VAULT")
    serve(locate(Path(named) if named else None, Path.cwd()))
    return 0


def main() -> None:
    """Runs one command and exits with its code: 0 done, 1 partly, 2 wrong use, 3 vault problem."""
    _tolerant_streams()
    code = _light(sys.argv[1:])
    if code is None:
        from graphmem.cli.app import run

        code = run(sys.argv[1:])
    sys.exit(code)


if __name__ == "__main__":
    main()
