"""What the owner does beside requests: loads models, embeds what waits, takes spooled notes, folds
the graph's log."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import ValidationError

from graphmem.errors import UsageError
from graphmem.memory import Memory
from graphmem.serve import spool, wire
from graphmem.serve.lenient import lenient
from graphmem.serve.writes import WriteQueue
from graphmem.vocabulary import Origin

LOG = logging.getLogger("graphmem.owner")
# Pause between two looks for spooled notes, passages without a vector and a long log, in seconds.
LOOK_S = 2.0


@dataclass(slots=True)
class Background:
    """Threads that work until ``stop``; what fails is logged and tried again."""

    memory: Memory
    vault: Path
    queue: WriteQueue
    _stop: threading.Event = field(default_factory=threading.Event)

    def start(self) -> None:
        """Begins all jobs."""
        for job in (self._spooled, self._models, self._folded):
            threading.Thread(target=job, name=f"graphmem{job.__name__}", daemon=True).start()

    def stop(self) -> None:
        """Begins nothing new."""
        self._stop.set()

    def _spooled(self) -> None:
        said = ""
        while not self._stop.is_set():
            said = self._try(self._drain, said)
            self._stop.wait(LOOK_S)

    def _models(self) -> None:
        self._try(self.memory.warm, "")
        said = ""
        while not self._stop.is_set():
            said = self._try(self._embed, said)
            self._stop.wait(LOOK_S)

    def _folded(self) -> None:
        said = ""
        while not self._stop.is_set():
            said = self._try(self._fold, said)
            self._stop.wait(LOOK_S)

    def _try(self, job: Callable[[], object], said: str) -> str:
        """Runs a job; gives what went wrong, logged unless it was the same the last time."""
        try:
            job()
        except Exception as error:
            reason = f"{type(error).__name__}: {error}"
            if reason != said and not self._stop.is_set():
                LOG.warning("in the background: %s", reason)
            return reason
        return ""

    def _fold(self) -> None:
        if self.memory.fold_log():
            LOG.info("folded the graph's log")

    def _drain(self) -> None:
        def refuse(file: Path, reason: str) -> None:
            LOG.warning("a note was not stored, it is kept as %s: %s", file.name, reason)

        stored = spool.drain(self.vault, self._store, refuse)
        if stored:
            LOG.info("stored %d spooled notes", stored)

    def _store(self, note: spool.Note) -> None:
        request = _request(note)

        def call() -> object:
            return Memory.remember(
                self.memory,
                request.text,
                facts=[f.fact() if isinstance(f, wire.WireFact) else f for f in request.facts],
                because=request.because,
                causes=[each.stated() for each in request.causes],
                project=request.project,
                origin=Origin.AGENT,
                key=request.key or note.key,
            )

        self.queue.run(call)

    def _embed(self) -> None:
        while not self._stop.is_set() and self.memory.embed_some():
            pass


def _request(note: spool.Note) -> wire.RememberRequest:
    """The note as a call; raises UsageError, also for what only a tool understands."""
    schema = {"properties": {name: {"type": "array"} for name in ("facts", "because", "causes")}}
    schema["properties"] |= {name: {"type": "string"} for name in ("text", "project", "key")}
    try:
        return wire.RememberRequest.model_validate(lenient(note.arguments, schema))
    except ValidationError as error:
        told = "; ".join(f"{each['loc'][0]}: {each['msg']}" for each in error.errors())
        raise UsageError(told) from None
