"""The real command line as a subprocess."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest


@dataclass(frozen=True)
class Run:
    """What one command printed and how it ended."""

    code: int
    out: str
    err: str

    @property
    def data(self) -> Any:
        return json.loads(self.out)


Command = Callable[..., Run]


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    return tmp_path / "vault"


@pytest.fixture
def graphmem(vault: Path, tmp_path: Path) -> Command:
    """Runs ``graphmem …`` on a vault of its own, without an embedder."""

    def run(*arguments: str, env: dict[str, str] | None = None) -> Run:
        environment = {
            **os.environ,
            "GRAPHMEM_VAULT": str(vault),
            "GRAPHMEM_EMBEDDER": "none",
            **(env or {}),
        }
        done = subprocess.run(
            [sys.executable, "-m", "graphmem", *arguments],
            capture_output=True,
            cwd=tmp_path,
            env=environment,
            timeout=120,
            check=False,
        )
        encoding = environment.get("PYTHONIOENCODING", "utf-8")
        return Run(done.returncode, done.stdout.decode(encoding), done.stderr.decode(encoding))

    return run
