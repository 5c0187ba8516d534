"""The commands about the vault itself: status, rebuild, export, mcp."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

import graphmem
from graphmem.cli.commands import Json, Vault
from graphmem.cli.output import emit


class ExportFormat(StrEnum):
    """What ``export`` writes."""

    JSONL = "jsonl"
    CONTENT = "content"
    GRAPHML = "graphml"


def status(vault: Vault = None, as_json: Json = False) -> None:
    """Show what the vault holds and how its parts stand.

    Example: graphmem status --json
    """
    with graphmem.open(vault, create=False) as memory:
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
    with graphmem.open(vault, create=False) as memory:
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

    with graphmem.open(vault, create=False) as memory:
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
    from graphmem.serve.mcp import serve

    serve(vault)


def register(app: typer.Typer) -> None:
    """Adds the commands to the application."""
    for command in (status, rebuild, export, mcp):
        app.command()(command)
