"""The help of ``graphmem hook``; the work is done before the command line is loaded."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from graphmem.cli.commands import Vault
from graphmem.hook import BUDGET_TOKENS


class HookAction(StrEnum):
    """What a hook does."""

    RECALL = "recall"
    REMEMBER = "remember"
    PING = "ping"


def hook(
    action: Annotated[HookAction, typer.Argument(help="recall, remember or ping.")],
    budget: Annotated[int, typer.Option(help="Most tokens of context.")] = BUDGET_TOKENS,
    timeout: Annotated[
        float | None, typer.Option(help="Seconds as a whole; recall 2, remember 30.")
    ] = None,
    strict: Annotated[bool, typer.Option("--strict", help="Exit code 2 or 3 on failure.")] = False,
    vault: Vault = None,
) -> None:
    """Give an agent what the vault knows about its prompt, or take a note; never fails the agent.

    Example: graphmem hook recall
    """
    from graphmem.hook import main

    arguments = [action.value, "--budget", str(budget)]
    arguments += ["--timeout", str(timeout)] if timeout is not None else []
    arguments += ["--strict"] if strict else []
    arguments += ["--vault", str(vault)] if vault is not None else []
    raise typer.Exit(main(arguments))


def register(app: typer.Typer) -> None:
    """Adds the command to the application."""
    app.command()(hook)
