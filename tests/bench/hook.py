"""How long an agent waits for a hook and for the MCP handshake, in times of a bare Python.

Run as ``python -m tests.bench.hook --runs 31 --json OUT``.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import graphmem
from graphmem.serve.runtime import read_holder
from graphmem.settings import Settings
from tests.bench.stats import estimate, show_progress, table

BARE = "python -c pass"
EMPTY = "empty fastmcp server"
NOTES = 50
PROMPT = json.dumps({"prompt": "why did pump 7 stop?", "hook_event_name": "UserPromptSubmit"})
CLIENT = {"name": "bench", "version": "1"}
SHAKE = "".join(
    json.dumps(each) + "\n"
    for each in (
        {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "initialize",
            "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": CLIENT},
        },
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/list"},
    )
)


@dataclass(frozen=True, slots=True)
class Run:
    """A program and what it is given on standard input."""

    command: Sequence[str]
    given: str = ""


def runs(vault: Path) -> dict[str, Run]:
    """What is measured, by name."""
    python, named = sys.executable, ["--vault", str(vault)]
    graph = [python, "-m", "graphmem"]
    empty = "from fastmcp import FastMCP; FastMCP('empty').run(show_banner=False)"
    return {
        BARE: Run([python, "-c", "pass"]),
        "hook ping": Run([*graph, "hook", "ping", *named]),
        "hook recall": Run([*graph, "hook", "recall", *named], PROMPT),
        "hook remember": Run([*graph, "hook", "remember", *named], "Pump 7 was mended."),
        EMPTY: Run([python, "-c", empty], SHAKE),
        "graphmem mcp": Run([*graph, "mcp", *named], SHAKE),
    }


def measure(vault: Path, count: int) -> dict[str, list[float]]:
    """Seconds from start to exit of each program, one after the other in each round."""
    programs = runs(vault)
    took: dict[str, list[float]] = {name: [] for name in programs}
    for done in range(1, count + 1):
        for name, run in programs.items():
            begun = time.perf_counter()
            subprocess.run(run.command, input=run.given.encode(), capture_output=True, check=True)
            took[name].append(time.perf_counter() - begun)
        show_progress("rounds", done, count)
    return took


def report(took: Mapping[str, Sequence[float]]) -> str:
    """Milliseconds and ratios to their yardstick, each with its interval."""
    rows = []
    for name, seconds in took.items():
        base = EMPTY if name == "graphmem mcp" else BARE
        ratios = [a / b for a, b in zip(seconds, took[base], strict=True)]
        rows.append([name, str(estimate([1000 * each for each in seconds])), str(estimate(ratios))])
    return table(["", "ms", f"times {BARE} (mcp: {EMPTY})"], rows)


def main(arguments: list[str] | None = None) -> int:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=31, help="rounds")
    parser.add_argument("--json", type=Path, help="write the numbers to this file")
    parser.add_argument("--embedder", default="minilm", help="minilm, hashing or none")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="graphmem-bench-") as folder:
        vault = Path(folder) / "vault"
        settings = Settings(embedder=options.embedder, idle_exit="10m")
        with graphmem.open(vault, mode="client", settings=settings) as memory:
            for number in range(NOTES):
                memory.remember(f"Pump {number} stopped because valve {number} leaked.")
            took = measure(vault, options.runs)
        holder = read_holder(vault)
        if holder is not None:
            os.kill(holder.pid, signal.SIGTERM)
            while read_holder(vault) == holder and Path(f"/proc/{holder.pid}").exists():
                time.sleep(0.1)
    print(report(took))
    if options.json:
        result = {name: estimate(seconds).as_json() for name, seconds in took.items()}
        options.json.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
