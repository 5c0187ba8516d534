"""The commands that look after a vault: backup, verify, doctor, migrate."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from graphmem.cli.commands import Json, Vault
from graphmem.cli.output import EXIT_PARTLY, emit
from graphmem.cli.progress import open_vault
from graphmem.cli.steps import StepLine
from graphmem.errors import JournalDamagedError
from graphmem.model.care import Level, VerifyReport
from graphmem.settings import read_settings, vault_path

_MAKE = "create"


class _MakesByDefault(TyperGroup):
    """``graphmem backup DEST``: a word that is no subcommand is where the backup goes."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if args and args[0] not in (*self.commands, "--help"):
            args = [_MAKE, *args]
        return list(super().parse_args(ctx, args))


backups = typer.Typer(
    cls=_MakesByDefault,
    no_args_is_help=True,
    rich_markup_mode=None,
    subcommand_metavar="DEST | COMMAND [ARGS]...",
)


@backups.callback()
def backup() -> None:
    """Copy the vault while it is in use, restore a copy, show what one holds.

    Example: graphmem backup ~/backups/monday
    """


@backups.command(_MAKE)
def backup_create(
    dest: Annotated[Path, typer.Argument(help="Folder to make; it must not exist.")],
    force: Annotated[bool, typer.Option("--force", help="Replace a backup that is there.")] = False,
    vault: Vault = None,
    as_json: Json = False,
) -> None:
    """Copy the vault's journal and settings into a new folder, also while it is in use.

    Example: graphmem backup create ~/backups/monday
    """
    from graphmem.store.backup import backup as make

    with StepLine() as line:
        info = make(_vault(vault), dest, force=force, steps=line.update)
    emit(info, as_json=as_json)


@backups.command("restore")
def backup_restore(
    source: Annotated[Path, typer.Argument(help="Folder of the backup.")],
    force: Annotated[
        bool, typer.Option("--force", help="Move a vault that is there aside first.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Check everything and change nothing.")
    ] = False,
    vault: Vault = None,
    as_json: Json = False,
) -> None:
    """Make a vault of a backup; graph and index are built anew.

    Example: graphmem backup restore ~/backups/monday --vault .graphmem
    """
    from graphmem.store.restore import restore

    with StepLine() as line:
        report = restore(source, _vault(vault), force=force, dry_run=dry_run, steps=line.update)
    emit(report, as_json=as_json)


@backups.command("show")
def backup_show(
    source: Annotated[Path, typer.Argument(help="Folder of the backup.")],
    as_json: Json = False,
) -> None:
    """Show what a backup holds and check that it is whole. Exit code 1 means: it is damaged.

    Example: graphmem backup show ~/backups/monday
    """
    from graphmem.store.backup import show_backup

    info = show_backup(source)
    emit(info, as_json=as_json)
    if info.problem:
        raise typer.Exit(EXIT_PARTLY)


def _vault(explicit: Path | None) -> Path:
    return vault_path(explicit, read_settings(), Path.cwd()).absolute()


def verify(
    quick: Annotated[
        bool, typer.Option("--quick", help="Leave out what reads or replays every text.")
    ] = False,
    vault: Vault = None,
    as_json: Json = False,
) -> None:
    """Check every invariant that can be seen in the data. Exit code 1 means: some do not hold.

    Example: graphmem verify --quick
    """
    report = _verified(vault, quick)
    emit(report, as_json=as_json)
    if not report.ok:
        raise typer.Exit(EXIT_PARTLY)


def _verified(vault: Path | None, quick: bool) -> VerifyReport:
    try:
        memory = open_vault(vault, create=False)
    except JournalDamagedError:
        from graphmem.store.verify import verify_journal

        return verify_journal(_vault(vault))
    with memory:
        return memory.verify(quick=quick)


def doctor(
    models: Annotated[
        bool, typer.Option(help="Load the models and try them (takes some seconds).")
    ] = True,
    vault: Vault = None,
    as_json: Json = False,
) -> None:
    """Look at the environment, the vault's files and who holds it; say what to do. Never writes.

    Exit code 1 means: something does not work.

    Example: graphmem doctor
    """
    from graphmem.care import diagnose

    report = diagnose(vault, Path.cwd(), models=models)
    emit(report, as_json=as_json)
    if report.level is Level.FAIL:
        raise typer.Exit(EXIT_PARTLY)


def migrate(
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show the steps and change nothing.")
    ] = False,
    backup_to: Annotated[
        Path | None, typer.Option(help="Folder of the backup; default: beside the vault.")
    ] = None,
    vault: Vault = None,
    as_json: Json = False,
) -> None:
    """Bring a vault of an older format to this program's, after a backup.

    Example: graphmem migrate --dry-run
    """
    from graphmem.store.migrate import migrate as run

    with StepLine() as line:
        report = run(_vault(vault), dry_run=dry_run, backup_to=backup_to, steps=line.update)
    emit(report, as_json=as_json)


def register(app: typer.Typer) -> None:
    """Adds the commands to the application."""
    app.add_typer(backups, name="backup")
    for command in (verify, doctor, migrate):
        app.command()(command)
