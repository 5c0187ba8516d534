"""The commands about the vault itself and who serves it."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from graphmem.cli.commands import Json, Vault
from graphmem.cli.output import emit
from graphmem.cli.progress import open_vault
from graphmem.errors import VaultNotFoundError
from graphmem.settings import read_settings, vault_path


class ExportFormat(StrEnum):
    """What ``export`` writes."""

    JSONL = "jsonl"
    CONTENT = "content"
    GRAPHML = "graphml"


def status(vault: Vault = None, as_json: Json = False) -> None:
    """Show what the vault holds and how its parts stand.

    Example: graphmem status --json
    """
    with open_vault(vault, create=False) as memory:
        emit(memory.status(), as_json=as_json)


def rebuild(
    graph: Annotated[bool, typer.Option(help="Rebuild the graph.")] = True,
    index: Annotated[bool, typer.Option(help="Rebuild the index.")] = True,
    vault: Vault = None,
    as_json: Json = False,
) -> None:
    """Make the graph and the index anew from the journal. Nothing is lost.

    Example: graphmem rebuild --no-index
    """
    with open_vault(vault, create=False) as memory:
        memory.rebuild(graph=graph, index=index)
        emit(memory.status(), as_json=as_json)


def export(
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="File to write; default: standard output.")
    ] = None,
    format: Annotated[ExportFormat, typer.Option(help="jsonl, content or graphml.")] = (
        ExportFormat.JSONL
    ),
    vault: Vault = None,
) -> None:
    """Write everything stored as sorted JSON lines, or as GraphML for graph tools.

    Example: graphmem export --format graphml -o memory.graphml
    """
    from graphmem.retrieve.export import graphml, write_atomically

    with open_vault(vault, create=False) as memory:
        if format is ExportFormat.GRAPHML:
            lines = graphml(memory.to_networkx())
        else:
            lines = memory.dump(content=format is ExportFormat.CONTENT)
        if output is None:
            for line in lines:
                sys.stdout.write(line + "\n")
        else:
            write_atomically(output, lines)


def mcp(vault: Vault = None) -> None:
    """Serve the vault to an MCP client over standard input and output.

    Example: claude mcp add graphmem -- graphmem mcp
    """
    from graphmem.serve.stdio import serve

    serve(vault_path(vault, read_settings(), Path.cwd()))


def serve(
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65_535, help="Port; 0: a free one.")] = 0,
    idle_exit: Annotated[
        str, typer.Option(help="Leave after this long without a request: 45s, 30m, 2h, never.")
    ] = "30m",
    foreground: Annotated[bool, typer.Option("--foreground", help="Stay in this terminal.")] = (
        False
    ),
    allow_remote: Annotated[
        bool, typer.Option("--allow-remote", help="Listen on an address others can reach.")
    ] = False,
    stop: Annotated[bool, typer.Option("--stop", help="Stop the running one.")] = False,
    vault: Vault = None,
) -> None:
    """Run the vault's owner process, which serves everybody else; most never need to.

    Example: graphmem serve --idle-exit 2h
    """
    from graphmem.serve import control
    from graphmem.serve.owner import Options, run_owner, seconds

    settings = read_settings()
    options = Options(
        vault=vault_path(vault, settings, Path.cwd()).absolute(),
        settings=settings,
        host=host,
        port=port,
        idle_exit_s=seconds(idle_exit),
        allow_remote=allow_remote,
    )
    if stop:
        print(control.stop(options.vault))
    elif foreground:
        raise typer.Exit(run_owner(options))
    else:
        print(control.start(options, idle_exit))


def token(
    read: Annotated[bool, typer.Option("--read", help="The token that may only read.")] = False,
    vault: Vault = None,
) -> None:
    """Print the vault's bearer token for HTTP clients. Keep it secret.

    Example: graphmem token --read
    """
    from graphmem.serve.tokens import load_tokens

    folder = vault_path(vault, read_settings(), Path.cwd())
    if not (folder / "vault.json").is_file():
        raise VaultNotFoundError(f"there is no vault at {folder}; make one with graphmem init")
    tokens = load_tokens(folder)
    print(tokens.read if read else tokens.write)


def register(app: typer.Typer) -> None:
    """Adds the commands to the application."""
    for command in (status, rebuild, export, mcp, serve, token):
        app.command()(command)
