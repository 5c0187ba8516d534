"""A kill and flipped bytes in the graph's log, met by commands and agents (BR-26)."""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import graphmem
from tests.serve.conftest import owner_of, wait_for
from tests.serve.test_mcp_clients import call, server

NOTES = 40
# Bytes overwritten in the middle of the log.
FLIPPED = 400
QUESTION = "Why did the pump of bay 7 stop?"


def killed(vault: Path) -> Path:
    """A vault whose owner was killed while its graph stood in the log; gives that log."""
    with graphmem.open(vault, mode="client") as memory:
        for n in range(NOTES):
            memory.remember(f"The pump of bay {n} stopped because the seal {n} cracked.")
        pid = owner_of(vault).pid
    os.kill(pid, signal.SIGKILL)
    wait_for(lambda: not Path(f"/proc/{pid}").exists() or _is_dead(pid))
    return vault / "graph.kuzu.wal"


def swap_digit(log: Path) -> None:
    """Makes the log tell something else that is just as well formed."""
    data = log.read_bytes()
    assert b"seal 7 cracked" in data
    log.write_bytes(data.replace(b"seal 7 cracked", b"seal 9 cracked"))


def overwrite_middle(log: Path) -> None:
    data = bytearray(log.read_bytes())
    middle, choose = len(data) // 2, random.Random(26)
    data[middle : middle + FLIPPED] = choose.randbytes(FLIPPED)
    log.write_bytes(data)


def _is_dead(pid: int) -> bool:
    return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "Z"


def command(vault: Path, *words: str) -> subprocess.CompletedProcess[str]:
    line = [sys.executable, "-m", "graphmem", *words, "--vault", str(vault)]
    return subprocess.run(line, capture_output=True, text=True, timeout=120, check=False)


def test_a_command_answers_and_says_that_the_graph_was_damaged(vault: Path) -> None:
    swap_digit(killed(vault))
    done = command(vault, "ask", QUESTION, "--json")
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert "seal 7 cracked" in answer["hits"][0]["quote"]
    assert "the graph was damaged" in answer["note"] and "nothing is lost" in answer["note"]
    status = json.loads(command(vault, "status", "--json").stdout)
    assert any("the graph was damaged" in warning for warning in status["warnings"])
    assert status["counts"]["passage"] == NOTES
    assert list(vault.glob("graph.kuzu*.damaged"))
    assert json.loads(command(vault, "verify", "--json").stdout)["ok"]


def test_a_log_that_is_cut_short_by_damage_is_made_good_from_the_journal(vault: Path) -> None:
    overwrite_middle(killed(vault))
    report = json.loads(command(vault, "verify", "--json").stdout)
    assert report["ok"]
    done = command(vault, "ask", QUESTION)
    assert done.returncode == 0 and "seal 7 cracked" in done.stdout


def test_an_agents_tools_work_and_carry_the_same_message(vault: Path) -> None:
    swap_digit(killed(vault))

    async def session() -> tuple[dict[str, Any], dict[str, Any]]:
        async with server(vault) as client:
            found = await call(client, "intent_search", question=QUESTION)
            stored = await call(client, "remember", text="The pump of bay 90 moved.")
            return found, stored

    found, stored = asyncio.run(session())
    assert "seal 7 cracked" in found["hits"][0]["quote"]
    assert "the graph was damaged" in found["note"]
    assert stored["passage_ids"]
