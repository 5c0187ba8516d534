"""What each process of the soak does, when, and what it writes down about it."""

from __future__ import annotations

import json
import os
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal, get_args

from graphmem.settings import Settings

Kind = Literal["mcp", "cli", "hook", "notebook"]
KINDS: tuple[Kind, ...] = get_args(Kind)
Action = Literal["read", "write", "recall"]

# Which processes run beside each other: two editors with two agents each, two shells, the hooks
# of prompts, a notebook.
CREW: tuple[Kind, ...] = ("mcp",) * 4 + ("cli",) * 2 + ("hook", "notebook")
# Seconds between two actions of a process: two cores stay busy, and no process starves another.
PAUSE_S: dict[Kind, float] = {"mcp": 0.6, "cli": 4.0, "hook": 1.5, "notebook": 0.6}


@dataclass(frozen=True, slots=True)
class Phases:
    """Ends of the phases on the wall clock: reads only, reads and writes, reads only again."""

    begin: float
    mixed_from: float
    mixed_until: float
    end: float

    @classmethod
    def of(cls, begin: float, quiet_s: float, mixed_s: float) -> Phases:
        """A quiet phase, a mixed one and another quiet one."""
        mixed = begin + quiet_s
        return cls(begin, mixed, mixed + mixed_s, mixed + mixed_s + quiet_s)

    def writing(self, now: float) -> bool:
        """Whether processes also write now."""
        return self.mixed_from <= now < self.mixed_until


@dataclass(frozen=True, slots=True)
class Event:
    """One action: when it began (wall clock), what it took, and its error when it failed.

    ``number`` is the number that a write carries.
    """

    worker: str
    kind: Kind
    action: Action
    at: float
    ms: float
    number: str = ""
    error: str = ""

    def line(self) -> str:
        """The event as one line of JSON."""
        return json.dumps(asdict(self))


def note(number: str) -> tuple[str, str]:
    """A text that only this write has, and a fact that can be asked for, as s|p|o."""
    return (
        f"Checkpoint {number} was taken because the counter of {number} moved on.",
        f"Gauge {number}|is in|Hall {number}",
    )


def subject(number: str) -> str:
    """The name to ask for to find a write again."""
    return f"Gauge {number}"


def prompt(number: str) -> str:
    """What a user would ask to be reminded of a write's text."""
    return f"Why was checkpoint {number} taken?"


def command(*words: str) -> list[str]:
    """A graphmem command of this interpreter."""
    return [sys.executable, "-m", "graphmem", *words]


def environment(settings: Settings) -> dict[str, str]:
    """What every process of the soak is told."""
    return {
        **os.environ,
        "GRAPHMEM_EMBEDDER": settings.embedder,
        "GRAPHMEM_ENGINE": settings.engine,
        "GRAPHMEM_IDLE_EXIT": "120s",
    }


def sleep_until(moment: float) -> None:
    """Returns at a moment of the wall clock."""
    time.sleep(max(0.0, moment - time.time()))


def events_of(file: Path) -> list[Event]:
    """What a process wrote down."""
    return [Event(**json.loads(line)) for line in file.read_text().splitlines()]
