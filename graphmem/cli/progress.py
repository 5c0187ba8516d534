"""A progress line on standard error; silent when nobody watches."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
)

import graphmem
from graphmem.serve.contract import MemoryLike


class ProgressLine:
    """Shows files done, passages stored and the rate while an ingest runs."""

    def __init__(self) -> None:
        """Nothing is shown unless standard error is a terminal."""
        self._progress = Progress(
            TextColumn("reading"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("files"),
            TextColumn("{task.fields[passages]} passages"),
            TextColumn("{task.fields[rate]}"),
            TimeElapsedColumn(),
            console=Console(stderr=True),
            disable=not sys.stderr.isatty(),
            transient=True,
        )
        self._task: TaskID | None = None

    def __enter__(self) -> Self:
        self._progress.start()
        self._task = self._progress.add_task("reading", total=None, passages=0, rate="")
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._progress.stop()

    def update(self, event: Any) -> None:
        """Takes a ``graphmem.ingest.ProgressEvent``."""
        if self._task is None:
            return
        rate = event.passages / event.seconds if event.seconds > 0 else 0.0
        self._progress.update(
            self._task,
            completed=event.done,
            total=event.total,
            passages=event.passages,
            rate=f"{rate:.0f}/s",
        )


@contextmanager
def healing_line() -> Iterator[Callable[[str, int, int], None]]:
    """Shows what is checked or built anew while a damaged vault is opened; else nothing."""
    line = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("rows"),
        TimeElapsedColumn(),
        console=Console(stderr=True),
        disable=not sys.stderr.isatty(),
        transient=True,
    )
    tasks: dict[str, TaskID] = {}

    def step(what: str, done: int, total: int) -> None:
        if what not in tasks:
            line.start()
            tasks[what] = line.add_task(what, total=total)
        line.update(tasks[what], completed=done)

    try:
        yield step
    finally:
        line.stop()


def open_vault(vault: Path | None, *, create: bool = True, engine: str | None = None) -> MemoryLike:
    """``graphmem.open`` with a bar on standard error while a damaged vault is healed."""
    with healing_line() as step:
        return graphmem.open(vault, create=create, engine=engine, progress=step)
