"""The commands and their exit codes; the work is done by ``graphmem.Memory``."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import typer

from graphmem.cli import commands, repair_commands, serve_commands
from graphmem.cli.output import EXIT_DONE, EXIT_USAGE, EXIT_VAULT, fail
from graphmem.errors import GraphmemError, UsageError

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
repair_commands.register(app)


def run(arguments: Sequence[str]) -> int:
    """Runs one command line; returns its exit code and shows no traceback for known errors."""
    try:
        app(args=list(arguments), prog_name="graphmem")
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else EXIT_DONE
    except UsageError as error:
        return fail(error, EXIT_USAGE)
    except GraphmemError as error:
        return fail(error, EXIT_VAULT)
    except BrokenPipeError:
        sys.stderr.close()
    return EXIT_DONE
