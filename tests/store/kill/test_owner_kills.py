"""The owner process is killed while two clients write: every acknowledged note is found, once."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from random import Random

import pytest

import graphmem
from graphmem.errors import GraphmemError
from graphmem.serve.start import find_owner
from graphmem.settings import Settings

REPO = Path(__file__).parents[3]
KILLS = 4
CLIENTS = ("a", "b")
# Longest pause between two kills of an owner that serves, in seconds.
PAUSE_S = 1.5
# A client that takes so long hangs, in seconds.
HANG_S = 240.0

CLIENT = """
import sys
import graphmem
from graphmem.settings import Settings
name, vault = sys.argv[1:]
settings = Settings(embedder="none", idle_exit="60s")
with graphmem.open(vault, mode="client", settings=settings) as memory:
    number = 0
    while True:
        memory.remember(f"Client {name} wrote note {number} because the pump leaked.")
        print(number, flush=True)
        number += 1
"""


class Client:
    """A process that writes numbered notes and says each one that was acknowledged."""

    def __init__(self, name: str, vault: Path) -> None:
        self.name, self.acknowledged = name, -1
        self.process = subprocess.Popen(
            [sys.executable, "-c", CLIENT, name, str(vault)],
            cwd=REPO,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": str(REPO)},
        )
        self._hearing = threading.Thread(target=self._hear)
        self._hearing.start()

    def _hear(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if line.endswith("\n"):
                self.acknowledged = int(line)

    def end(self) -> str:
        """Kills the process; what it said on standard error."""
        self.process.kill()
        self._hearing.join(HANG_S)
        assert self.process.stdout is not None and self.process.stderr is not None
        with self.process.stdout, self.process.stderr:
            said = self.process.stderr.read()
        self.process.wait(HANG_S)
        return said


@pytest.mark.slow
def test_when_the_owner_is_killed_no_acknowledged_note_of_its_clients_is_lost(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    vault, chance = tmp_path / "vault", Random(6)
    settings = Settings(embedder="none", idle_exit="60s")
    graphmem.open(vault, mode="client", settings=settings).close()
    clients = [Client(name, vault) for name in CLIENTS]
    try:
        killed = [_kill_owner(vault, clients, chance) for _ in range(KILLS)]
        _wait_until(clients, killed[-1])
    finally:
        said = [client.end() for client in clients]
    assert said == ["", ""]
    counts = {client.name: client.acknowledged + 1 for client in clients}
    with graphmem.open(vault, mode="client", settings=settings) as memory:
        found = _notes(memory)
        pid = _owner_pid(vault)
    os.kill(pid, signal.SIGKILL)
    for name, count in counts.items():
        stored = [number for who, number in found if who == name]
        assert len(stored) == len(set(stored)), f"{name} has doubled notes"
        assert set(range(count)) <= set(stored) <= set(range(count + 1))
    with capsys.disabled():
        told = ", ".join(f"{count} notes by client {name}" for name, count in counts.items())
        print(f"\nowner killed {KILLS} times while two clients wrote: {told}, 0 lost, 0 doubled")


def _kill_owner(vault: Path, clients: list[Client], chance: Random) -> list[int]:
    """Kills the owner once both clients wrote through it; how far they were."""
    _wait_until(clients, [client.acknowledged for client in clients])
    time.sleep(chance.random() * PAUSE_S)
    pid = _owner_pid(vault)
    reached = [client.acknowledged for client in clients]
    os.kill(pid, signal.SIGKILL)
    return reached


def _wait_until(clients: list[Client], passed: list[int]) -> None:
    deadline = time.monotonic() + HANG_S
    while any(c.acknowledged <= p for c, p in zip(clients, passed, strict=True)):
        assert time.monotonic() < deadline, "the clients do not go on"
        assert all(client.process.poll() is None for client in clients), "a client gave up"
        time.sleep(0.02)


def _owner_pid(vault: Path) -> int:
    deadline = time.monotonic() + HANG_S
    while True:
        try:
            found = find_owner(vault)
        except GraphmemError:
            found = None
        if found is not None:
            return found[1].pid
        assert time.monotonic() < deadline, "no owner comes up"
        time.sleep(0.02)


def _notes(memory: graphmem.MemoryLike) -> list[tuple[str, int]]:
    """Who wrote which note, of every source in the vault's dump."""

    texts = (json.loads(line) for line in memory.dump())
    form = re.compile(r"Client (\w) wrote note (\d+) because")
    passages = [each["text"] for each in texts if each.get("graph") == "Passage"]
    return [(m[1], int(m[2])) for text in passages for m in form.finditer(text)]
