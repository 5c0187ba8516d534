"""The everyday commands: init, ingest, sync, ask, kg, causes, get, remember."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from graphmem.cli.output import EXIT_PARTLY, emit
from graphmem.cli.progress import ProgressLine, open_vault
from graphmem.errors import UsageError
from graphmem.memory import DEFAULT_DEPTH, DEFAULT_FACTS, DEFAULT_LIMIT
from graphmem.model.results import IngestReport
from graphmem.model.scope import Scope
from graphmem.vocabulary import Direction

Vault = Annotated[
    Path | None,
    typer.Option(help="Folder of the vault; default: GRAPHMEM_VAULT, .graphmem, the user's."),
]
Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
Project = Annotated[str | None, typer.Option(help="Only this project.")]


def _scope(project: str | None) -> Scope:
    return Scope(projects=None if project is None else frozenset({project}))


def _finish(report: IngestReport, as_json: bool) -> None:
    emit(report, as_json=as_json)
    if report.problems:
        raise typer.Exit(EXIT_PARTLY)


def init(
    engine: Annotated[
        str | None, typer.Option(help="Graph engine of a new vault: kuzu (default) or ladybug.")
    ] = None,
    vault: Vault = None,
    as_json: Json = False,
) -> None:
    """Create a vault.

    Example: graphmem init --vault .graphmem
    """
    with open_vault(vault, engine=engine) as memory:
        emit(memory.status(), as_json=as_json)


def ingest(
    paths: Annotated[list[Path], typer.Argument(help="Files and folders to read.")],
    project: Annotated[
        str | None, typer.Option(help="Project name; default: git remote or folder.")
    ] = None,
    pattern: Annotated[
        str | None, typer.Option(help="Only files that match, as '**/*.md'.")
    ] = None,
    vault: Vault = None,
    as_json: Json = False,
) -> None:
    """Read notes, decision records and text files into the graph.

    Exit code 1 means: some files could not be read (they are listed), the rest is stored.

    Example: graphmem ingest docs/ notes/today.md
    """
    with open_vault(vault) as memory, ProgressLine() as line:
        report = memory.ingest(paths, project=project, pattern=pattern, progress=line.update)
    _finish(report, as_json)


def sync(vault: Vault = None, as_json: Json = False) -> None:
    """Read all known folders again; mark files that are gone, bring back those that returned.

    Example: graphmem sync
    """
    with open_vault(vault) as memory, ProgressLine() as line:
        report = memory.sync(progress=line.update)
    _finish(report, as_json)


def ask(
    question: Annotated[str, typer.Argument(help="A question in plain words.")],
    limit: Annotated[int, typer.Option(min=1, help="Most hits.")] = DEFAULT_LIMIT,
    max_tokens: Annotated[
        int | None, typer.Option(min=100, help="Budget of the answer in tokens.")
    ] = None,
    recipe: Annotated[
        str, typer.Option(help="Search configuration: default, hybrid, lexical, …")
    ] = "default",
    project: Project = None,
    vault: Vault = None,
    as_json: Json = False,
) -> None:
    """Answer a question with quoted evidence and the path through the graph.

    Example: graphmem ask "why did we drop LanceDB?"
    """
    with open_vault(vault, create=False) as memory:
        answer = memory.search(
            question, limit=limit, max_tokens=max_tokens, recipe=recipe, scope=_scope(project)
        )
    emit(answer, as_json=as_json)


def _moment(text: str | None) -> datetime | None:
    if text is None:
        return None
    try:
        value = datetime.fromisoformat(text)
    except ValueError:
        raise UsageError(f"--as-of {text!r} is not a date; write it as 2026-03-01") from None
    return value.replace(tzinfo=UTC) if value.tzinfo is None else value


def kg(
    name: Annotated[str, typer.Argument(help="A name or an entity id.")],
    as_of: Annotated[
        str | None, typer.Option(help="The moment to look at, as 2026-03-01 (UTC).")
    ] = None,
    history: Annotated[bool, typer.Option("--history", help="Also facts of the past.")] = False,
    limit: Annotated[int, typer.Option(min=1, help="Most facts.")] = DEFAULT_FACTS,
    cursor: Annotated[
        str | None, typer.Option(help="The cursor of the page before, from --json.")
    ] = None,
    project: Project = None,
    vault: Vault = None,
    as_json: Json = False,
) -> None:
    """Show the facts about exactly one entity, with their evidence.

    Example: graphmem kg "Node 200" --as-of 2026-03-01
    """
    with open_vault(vault, create=False) as memory:
        result = memory.kg_query(
            name,
            as_of=_moment(as_of),
            include_history=history,
            limit=limit,
            cursor=cursor,
            scope=_scope(project),
        )
    emit(result, as_json=as_json)


def causes(
    start: Annotated[str, typer.Argument(help="An id or a question.")],
    direction: Annotated[
        Direction, typer.Option(help="back: what led to it; forward: what it led to.")
    ] = Direction.BACK,
    depth: Annotated[int, typer.Option(min=1, help="Causal hops.")] = DEFAULT_DEPTH,
    project: Project = None,
    vault: Vault = None,
    as_json: Json = False,
) -> None:
    """Follow causal links from an id or a question, each edge with its quoted witness.

    Example: graphmem causes "the pump stopped" --direction forward --depth 2
    """
    with open_vault(vault, create=False) as memory:
        result = memory.find_causal_links(
            start, direction=direction, depth=depth, scope=_scope(project)
        )
    emit(result, as_json=as_json)


def get(
    ids: Annotated[list[str], typer.Argument(help="Ids that any command printed.")],
    vault: Vault = None,
    as_json: Json = False,
) -> None:
    """Open stored items by id. Exit code 1 means: some ids are unknown.

    Example: graphmem get psg:0f3a… tool:kuzu
    """
    with open_vault(vault, create=False) as memory:
        result = memory.get(ids)
    emit(result, as_json=as_json)
    if result.missing:
        raise typer.Exit(EXIT_PARTLY)


def remember(
    text: Annotated[str, typer.Argument(help="What to remember.")],
    fact: Annotated[
        list[str] | None, typer.Option(help="A fact as 'subject|predicate|object'; repeatable.")
    ] = None,
    because: Annotated[list[str] | None, typer.Option(help="What led to it; repeatable.")] = None,
    project: Annotated[str, typer.Option(help="Project it belongs to.")] = "",
    key: Annotated[
        str | None, typer.Option(help="Idempotency key: the same one again stores nothing twice.")
    ] = None,
    vault: Vault = None,
    as_json: Json = False,
) -> None:
    """Store a statement with the facts and causes you state.

    Exit code 1 means: something was refused (it is listed with the reason), the rest is stored.

    Example: graphmem remember "We dropped LanceDB." --because "Its index was lost twice."
    """
    with open_vault(vault) as memory:
        result = memory.remember(
            text, facts=fact or (), because=tuple(because or ()), project=project, key=key
        )
    emit(result, as_json=as_json)
    if any(item.outcome == "refused" for item in result.items):
        raise typer.Exit(EXIT_PARTLY)


def register(app: typer.Typer) -> None:
    """Adds the commands to the application."""
    for command in (init, ingest, sync, ask, kg, causes, get, remember):
        app.command()(command)
