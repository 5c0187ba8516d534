"""A progress line for work in steps, on standard error; silent when nobody watches."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn


class StepLine:
    """Shows which step runs and how far it is."""

    def __init__(self) -> None:
        """Nothing is shown unless standard error is a terminal."""
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            console=Console(stderr=True),
            disable=not sys.stderr.isatty(),
            transient=True,
        )
        self._task = self._progress.add_task("starting", total=None)
        self._step = ""

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._progress.stop()

    def update(self, step: str, done: int, total: int) -> None:
        """Takes what is being done, how much of it is done, and of how much."""
        if step != self._step:
            self._step = step
            self._progress.reset(self._task)
        self._progress.update(self._task, description=step, completed=done, total=total)
