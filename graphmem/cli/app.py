"""The commands and their exit codes; the work is done by ``graphmem.Memory``."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from graphmem.cli import (
    care_commands,
    commands,
    engine_commands,
    hook_command,
    repair_commands,
    serve_commands,
)
from graphmem.cli.output import EXIT_DONE, EXIT_USAGE, EXIT_VAULT, fail
from graphmem.errors import GraphmemError, OwnerVersionError, UsageError

app = typer.Typer(
    name="graphmem",
    help="A knowledge-graph memory that answers why, with evidence. Runs locally, needs no LLM.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
commands.register(app)
serve_commands.register(app)
engine_commands.register(app)
hook_command.register(app)
care_commands.register(app)
repair_commands.register(app)


@app.callback()
def _before(
    yes: Annotated[
        bool, typer.Option("--yes", "-y", help="Restart an owner process of another version.")
    ] = False,
) -> None:
    """A knowledge-graph memory that answers why, with evidence. Runs locally, needs no LLM."""


def _may_restart(error: OwnerVersionError, arguments: Sequence[str]) -> bool:
    """Asks a person whether the owner is stopped; without one only ``--yes`` allows it."""
    if arguments[:1] in (["--yes"], ["-y"]):
        return True
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return False
    sys.stderr.write(f"graphmem: {error}\nStop it once its writes are done, and go on? [y/N] ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _run(arguments: list[str]) -> None:
    """Runs the command, once more after an owner of another version was stopped."""
    try:
        app(args=arguments, prog_name="graphmem")
    except OwnerVersionError as error:
        if error.vault is None or not _may_restart(error, arguments):
            raise
        from graphmem.serve.control import stop

        stop(Path(error.vault))
        app(args=arguments, prog_name="graphmem")


def run(arguments: Sequence[str]) -> int:
    """Runs one command line; returns its exit code and shows no traceback for known errors."""
    try:
        _run(list(arguments))
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else EXIT_DONE
    except UsageError as error:
        return fail(error, EXIT_USAGE)
    except GraphmemError as error:
        return fail(error, EXIT_VAULT)
    except BrokenPipeError:
        sys.stderr.close()
    return EXIT_DONE
