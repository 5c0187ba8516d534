"""Importing and greeting load no engine and no model."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from time import perf_counter

import pytest

HEAVY = ("spacy", "kuzu", "onnxruntime", "apsw", "fastmcp")
# A handshake may take this many times what a server without any tool takes.
MOST = 3.0
ROUNDS = 3

PLAIN = "from fastmcp import FastMCP; FastMCP('plain').run(transport='stdio', show_banner=False)"
HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    },
}


def _loaded(code: str) -> set[str]:
    script = f"{code}\nimport sys\nprint(*[m for m in {HEAVY!r} if m in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60
    )
    return set(done.stdout.split())


@pytest.mark.parametrize(
    "code",
    [
        "import graphmem",
        "import graphmem; graphmem.open; graphmem.Memory; graphmem.Scope; graphmem.Answer",
        "import graphmem.cli.app",
        "import graphmem.traversal, graphmem.extractors, graphmem.model.results",
    ],
)
def test_importing_loads_no_engine_and_no_model(code: str) -> None:
    assert _loaded(code) == set()


def test_help_loads_no_engine_and_no_model() -> None:
    code = (
        "import contextlib, io\nfrom graphmem.cli.app import run\n"
        "with contextlib.redirect_stdout(io.StringIO()): run(['--help'])"
    )
    assert _loaded(code) == set()


def _handshake(arguments: list[str], vault: Path) -> float:
    """Seconds from the start of a server to its answer."""
    environment = {**os.environ, "GRAPHMEM_VAULT": str(vault)}
    started = perf_counter()
    with subprocess.Popen(
        [sys.executable, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=environment,
    ) as server:
        assert server.stdin is not None and server.stdout is not None
        server.stdin.write(json.dumps(HELLO).encode() + b"\n")
        server.stdin.flush()
        reply = json.loads(server.stdout.readline())
        seconds = perf_counter() - started
        server.stdin.close()
        server.wait(timeout=60)
    assert reply["result"]["serverInfo"]
    return seconds


def test_the_handshake_is_answered_before_the_models_are_loaded(tmp_path: Path) -> None:
    vault = tmp_path / "vault"
    plain = min(_handshake(["-c", PLAIN], vault) for _ in range(ROUNDS))
    ours = min(_handshake(["-m", "graphmem", "mcp"], vault) for _ in range(ROUNDS))
    assert ours <= MOST * plain, f"{ours:.2f} s against {plain:.2f} s"
