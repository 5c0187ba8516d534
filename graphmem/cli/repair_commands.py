"""The command that goes on without the lost rows of a damaged journal."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from graphmem.cli.commands import Vault
from graphmem.cli.output import EXIT_PARTLY
from graphmem.settings import read_settings, vault_path

if TYPE_CHECKING:
    from graphmem.store.repair import Repair


def repair_journal(
    accept: Annotated[
        bool, typer.Option("--accept-loss", help="Go on without the lost rows.")
    ] = False,
    vault: Vault = None,
) -> None:
    """Show what a damaged journal lost, and with --accept-loss go on without it.

    Exit code 1 means: rows are lost and nothing was changed yet.

    Example: graphmem repair-journal --accept-loss
    """
    from graphmem.store.repair import accept_loss, plan_repair

    folder = vault_path(vault, read_settings(), Path.cwd())
    repair = accept_loss(folder) if accept else plan_repair(folder)
    print("\n".join(_lines(repair)))
    if repair.damage is not None and repair.aside is None:
        raise typer.Exit(EXIT_PARTLY)


def _lines(repair: Repair) -> list[str]:
    if repair.damage is None:
        return ["the journal is whole; nothing to do"]
    lines = [
        f"row {row.seq} ({row.op or 'unknown'}): {row.reason}; "
        + ("lost" if row.lost else "its content is intact")
        for row in repair.damage.rows
    ]
    lines += _let_go(repair)
    if repair.aside is None:
        lines.append("nothing was changed; --accept-loss writes the journal anew without them")
    else:
        lines.append(f"written anew; the damaged journal is kept as {repair.aside.name}")
        lines.append("graphmem sync reads files again whose passages were lost")
    return lines


def _let_go(repair: Repair) -> list[str]:
    """What refers to lost rows and is taken back or trimmed with them."""
    removed = Counter(
        operation.op for operation in repair.dangling if getattr(operation, "after", None) is None
    )
    trimmed = Counter(
        operation.op for operation in repair.dangling if getattr(operation, "after", None)
    )
    told = [f"taken back, for what it refers to is lost: {n} {op}" for op, n in removed.items()]
    return told + [f"trimmed of what is lost: {n} {op}" for op, n in trimmed.items()]


def register(app: typer.Typer) -> None:
    """Adds the command to the application."""
    app.command("repair-journal")(repair_journal)
