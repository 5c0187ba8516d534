"""Vaults whose owner processes are ended after each test."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

import graphmem
from graphmem.errors import GraphmemError
from graphmem.serve.runtime import OWNER_FILE, Holder, read_holder
from graphmem.serve.start import find_owner
from graphmem.serve.tokens import Tokens, load_tokens
from graphmem.settings import Settings


@pytest.fixture(autouse=True)
def light_owners(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Owners load no embedder, and none is left behind."""
    monkeypatch.setenv("GRAPHMEM_EMBEDDER", "none")
    monkeypatch.setenv("GRAPHMEM_IDLE_EXIT", "60s")
    yield
    end_owners(tmp_path)


def end_owners(folder: Path) -> None:
    """Kills the owner of every vault below the folder."""
    for file in folder.rglob(OWNER_FILE):
        with contextlib.suppress(GraphmemError, ProcessLookupError):
            found = find_owner(file.parent)
            if found is not None:
                os.kill(found[1].pid, signal.SIGKILL)


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    return tmp_path / "vault"


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "a.md").write_text("The seal cracked because the coolant ran dry.\n")
    (folder / "b.md").write_text("Zephyr Depot supplies Anvil Works.\n")
    return folder


Start = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def serve(vault: Path) -> Iterator[Start]:
    """Starts ``graphmem serve --foreground …`` on the vault; waits for it unless told not to."""
    running: list[subprocess.Popen[str]] = []

    def start(*arguments: str, ready: bool = True) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "graphmem", "serve", "--foreground"]
        process = subprocess.Popen(
            [*command, "--vault", str(vault), *arguments], stderr=subprocess.PIPE, text=True
        )
        running.append(process)
        if ready:
            wait_for(lambda: find_owner(vault) is not None)
        return process

    yield start
    for process in running:
        process.kill()
        process.communicate()


def harness(vault: Path, *arguments: str) -> subprocess.Popen[bytes]:
    """A real owner that was told its version."""
    command = [sys.executable, str(Path(__file__).with_name("harness.py")), str(vault)]
    process = subprocess.Popen([*command, *arguments])
    wait_for(lambda: find_owner(vault) is not None)
    return process


def wait_for(condition: Callable[[], bool], *, seconds: float = 30.0) -> None:
    """Returns once the condition holds; fails when it never does."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.02)


def owner_of(vault: Path) -> Holder:
    holder = read_holder(vault)
    assert holder is not None and holder.ready
    return holder


def alive(pid: int) -> bool:
    """Whether a process runs; a zombie does not."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


SEARCH = json.dumps({"question": "why?"}).encode()
PATH = "/api/v1/search"


@dataclass(frozen=True)
class Door:
    """A running owner on TCP and its tokens."""

    vault: Path
    port: int
    tokens: Tokens

    def ask(
        self,
        path: str = PATH,
        body: bytes | None = SEARCH,
        method: str = "POST",
        token: str | None = None,
        **headers: str,
    ) -> tuple[int, str]:
        """The status and text of a reply; the write token and JSON unless told otherwise."""
        chosen = {
            "Authorization": f"Bearer {self.tokens.write if token is None else token}",
            "Content-Type": "application/json",
        }
        chosen |= {name.replace("_", "-"): value for name, value in headers.items()}
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        try:
            connection.request(method, path, body, {k: v for k, v in chosen.items() if v})
            reply = connection.getresponse()
            return reply.status, reply.read().decode()
        finally:
            connection.close()


@pytest.fixture(scope="module")
def door(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Door]:
    vault = tmp_path_factory.mktemp("door") / "vault"
    settings = Settings(embedder="none", idle_exit="120s")
    with graphmem.open(vault, mode="client", settings=settings):
        port = owner_of(vault).port
        assert port is not None
        yield Door(vault, port, load_tokens(vault))
    end_owners(vault)
