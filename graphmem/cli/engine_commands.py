"""``graphmem engine``: which engine has the graph, and giving the graph to another one."""

from __future__ import annotations

import sys
from pathlib import Path
from types import TracebackType
from typing import Annotated, Self

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from graphmem.cli.commands import Json, Vault
from graphmem.cli.output import emit
from graphmem.settings import read_settings, vault_path

group = typer.Typer(
    help="Show the graph's engine, or switch to another one. Example: graphmem engine show",
    no_args_is_help=True,
    add_completion=False,
)


class RowsLine:
    """How much of the journal a build has read; silent when nobody watches."""

    def __init__(self, label: str) -> None:
        self._label = label
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.completed:.0f} of {task.total:.0f} rows"),
            TimeElapsedColumn(),
            console=Console(stderr=True),
            disable=not sys.stderr.isatty(),
            transient=True,
        )
        self._task: TaskID | None = None

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

    def update(self, done: int, total: int) -> None:
        """Takes the rows read and their number."""
        if self._task is None:
            self._task = self._progress.add_task(self._label, total=total)
        self._progress.update(self._task, completed=done, total=total)


def _folder(vault: Path | None) -> Path:
    return vault_path(vault, read_settings(), Path.cwd()).absolute()


@group.command()
def show(vault: Vault = None, as_json: Json = False) -> None:
    """Show which engine has the vault's graph and which engines are installed.

    Example: graphmem engine show
    """
    from graphmem.store import engine_report

    emit(engine_report(_folder(vault)), as_json=as_json)


@group.command()
def switch(
    name: Annotated[str, typer.Argument(help="kuzu or ladybug.")],
    vault: Vault = None,
    as_json: Json = False,
) -> None:
    """Build the graph anew with another engine, check it, and use it from now on.

    Example: graphmem engine switch ladybug
    """
    from graphmem.store import switch_engine

    with RowsLine(f"building with {name}") as line:
        report = switch_engine(_folder(vault), name, progress=line.update)
    emit(report, as_json=as_json)


def register(app: typer.Typer) -> None:
    """Adds the group to the application."""
    app.add_typer(group, name="engine")
