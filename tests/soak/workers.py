"""One process of the soak: ``python -m tests.soak.workers KIND NAME VAULT PHASES``."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import graphmem
from tests.soak.plan import PAUSE_S, Action, Event, Kind, Phases, command, note, prompt, subject

# What a read asks while nothing was written yet: the seed of every soak.
SEED = "seed-0"
# A one-shot command that takes longer hangs, in seconds.
HANG_S = 120.0

Act = Callable[[Action, str], Awaitable[None]]


async def run(kind: Kind, name: str, phases: Phases, act: Act) -> None:
    """Reads all the time, writes every second action of the mixed phase, tells each action."""
    count, last = 0, SEED
    await asyncio.sleep(max(0.0, phases.begin - time.time()))
    while (now := time.time()) < phases.end:
        action, number = "read", last
        if phases.writing(now):
            count += 1
            if count % 2:
                action, number = "write", f"{name}-{count}"
            elif kind == "hook":
                action = "recall"
        told = await _told(kind, name, action, number, act)
        print(told.line(), flush=True)
        if action == "write" and not told.error:
            last = number
        await asyncio.sleep(PAUSE_S[kind])


async def _told(kind: Kind, name: str, action: Action, number: str, act: Act) -> Event:
    at, begun, error = time.time(), time.perf_counter(), ""
    try:
        await act(action, number)
    except Exception as failure:
        error = f"{type(failure).__name__}: {failure}"[:500]
    ms = (time.perf_counter() - begun) * 1000
    return Event(name, kind, action, at, ms, number if action == "write" else "", error)


def _check(found: dict[str, Any], number: str) -> None:
    entities = [fact["object"] for entity in found["entities"] for fact in entity["facts"]]
    if entities != [f"Hall {number}"]:
        raise AssertionError(f"{subject(number)} has {entities}")


def _arguments(number: str) -> dict[str, Any]:
    """A write as a tool takes it."""
    text, fact = note(number)
    return {
        "text": text,
        "facts": [dict(zip(("subject", "predicate", "object"), fact.split("|"), strict=True))],
    }


async def mcp(vault: Path, name: str, phases: Phases) -> None:
    """A client of a stdio server."""
    from fastmcp import Client
    from fastmcp.client.transports import StdioTransport

    words = command("mcp", "--vault", str(vault))
    async with Client(StdioTransport(words[0], words[1:], env=dict(os.environ))) as client:

        async def act(action: Action, number: str) -> None:
            if action == "write":
                await client.call_tool("remember", _arguments(number))
            else:
                reply = await client.call_tool("kg_query", {"name": subject(number)})
                _check(dict(reply.structured_content or {}), number)

        await run("mcp", name, phases, act)


async def cli(vault: Path, name: str, phases: Phases) -> None:
    """A shell that runs one command after the other."""

    async def act(action: Action, number: str) -> None:
        if action == "write":
            text, fact = note(number)
            _ran(command("remember", text, "--fact", fact, "--json", "--vault", str(vault)))
        else:
            said = _ran(command("kg", subject(number), "--json", "--vault", str(vault)))
            _check(json.loads(said), number)

    await run("cli", name, phases, act)


async def hook(vault: Path, name: str, phases: Phases) -> None:
    """The hooks of an agent: one process for each prompt, once the vault is served.

    Before that a hook starts an owner and says nothing: nobody's prompt waits for a model.
    """

    async def act(action: Action, number: str) -> None:
        where = ("--vault", str(vault), "--strict")
        if action == "write":
            _ran(command("hook", "remember", *where), json.dumps(_arguments(number)))
            return
        told = {"hook_event_name": "UserPromptSubmit", "prompt": prompt(number)}
        said = _ran(command("hook", "recall", *where), json.dumps(told))
        if number not in said:
            raise AssertionError(f"nothing about {number}: {said[:200]!r}")

    await asyncio.sleep(max(0.0, phases.begin - time.time()))  # nobody comes before: it may leave
    until = time.monotonic() + HANG_S
    ping = command("hook", "ping", "--vault", str(vault), "--strict")
    while subprocess.run(ping, capture_output=True, check=False).returncode:
        if time.monotonic() > until:
            raise AssertionError("nobody serves the vault")
        await asyncio.sleep(PAUSE_S["hook"])
    await run("hook", name, phases, act)


async def notebook(vault: Path, name: str, phases: Phases) -> None:
    """A kernel with the vault open, whatever that is here: the engine or a client."""
    with graphmem.open(vault) as memory:

        async def act(action: Action, number: str) -> None:
            if action == "write":
                text, fact = note(number)
                memory.remember(text, facts=[fact])
            else:
                _check(memory.kg_query(subject(number)).model_dump(mode="json"), number)

        await run("notebook", name, phases, act)


def _ran(words: list[str], given: str = "") -> str:
    done = subprocess.run(
        words, input=given, capture_output=True, text=True, timeout=HANG_S, check=False
    )
    if done.returncode:
        raise AssertionError(f"{words[3]} ended with {done.returncode}: {done.stderr.strip()}")
    return done.stdout


if __name__ == "__main__":
    chosen, told_name, folder, moments = sys.argv[1:]
    each = {"mcp": mcp, "cli": cli, "hook": hook, "notebook": notebook}[chosen]
    asyncio.run(each(Path(folder), told_name, Phases(*json.loads(moments))))
