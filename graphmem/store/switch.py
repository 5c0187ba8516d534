"""Changing a vault's graph engine: a new file from the journal, checked, then named in vault.json.

The file formats do not read each other. The old file serves until vault.json names the new
engine; whatever a crash leaves over is removed at the next open.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing, contextmanager
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from graphmem.errors import ProjectionDamagedError, VaultLockedError, VaultNotFoundError
from graphmem.model.results import EngineInfo, EngineReport
from graphmem.store.building import BuildProgress, build_graph, unwatched
from graphmem.store.config import VAULT_FILE, read_config, write_config
from graphmem.store.digest import CLEAN_MARK, Trust, look, remove_marks, write_mark
from graphmem.store.graph.base import GraphStore
from graphmem.store.graph.changes import NothingStored, project
from graphmem.store.graph.engines import ENGINES, MEMORY, Engine, engine_named
from graphmem.store.graph.files import log_bytes, remove_build, remove_files, remove_leftovers
from graphmem.store.graph.memory import MemoryGraph
from graphmem.store.journal import Journal
from graphmem.store.lock import VaultLock
from graphmem.store.projections import Fault, no_fault
from graphmem.store.trouble import JOURNAL_FILE


def switch_engine(
    folder: Path,
    name: str,
    *,
    progress: BuildProgress = unwatched,
    fault: Fault = no_fault,
) -> EngineReport:
    """Gives the vault's graph to the named engine; the same one again changes nothing.

    Raises VaultLockedError when the vault is in use, MissingExtraError for an engine that is not
    installed, ProjectionDamagedError when the new graph is not what the journal says; the vault
    then stays as it was.
    """
    engine = engine_named(name)
    with _held(folder):
        config = read_config(folder)
        if config.engine == name:
            return engine_report(folder)
        engine.require()
        before = look(folder)
        remove_leftovers(folder, config.engine)
        try:
            _build(folder, engine, progress, fault)
        except BaseException:
            remove_build(folder / engine.file)
            raise
        remove_marks(folder)  # they tell of the old graph's files
        write_config(folder, config.model_copy(update={"engine": name}))
        fault("switch_written")
        if config.engine != MEMORY:
            remove_files(folder / engine_named(config.engine).file)
        _leave_mark(folder, before)
        return engine_report(folder, switched=True)


def _leave_mark(folder: Path, before: Trust) -> None:
    """Says again that the files are whole, when they were so before the switch.

    Without the mark the next open compares everything with the journal.
    """
    if before.closed and before.then == before.now:
        write_mark(folder, CLEAN_MARK, before.head, before.head_hash)


@contextmanager
def _held(folder: Path) -> Iterator[None]:
    if not (folder / VAULT_FILE).is_file():
        raise VaultNotFoundError(f"there is no vault at {folder}; make one with graphmem init")
    try:
        lock = VaultLock(folder)
    except VaultLockedError as error:
        raise VaultLockedError(
            f"{error}. An owner process leaves with: graphmem serve --stop", pid=error.pid
        ) from error
    try:
        yield
    finally:
        lock.release()


def _build(folder: Path, engine: Engine, progress: BuildProgress, fault: Fault) -> None:
    """A new file that holds exactly what the journal tells; none for an empty journal."""
    from graphmem.store.graph.cypher_engine import CypherGraph

    with closing(Journal.open(folder / JOURNAL_FILE, os.urandom)) as journal:
        if not journal.head:
            return
        path = folder / engine.file
        build_graph(journal, path, engine, journal.head, progress)
        fault("switch_built")
        told = MemoryGraph()
        told.load(project(journal.rows(), NothingStored()), journal.head)
        with closing(CypherGraph(path, engine)) as built:
            _compare(told, built)
        fault("switch_checked")


def _compare(told: GraphStore, built: GraphStore) -> None:
    same = built.applied_seq == told.applied_seq and built.counts() == told.counts()
    different = [] if same else ["counts"]
    for table in told.tables():
        pairs = zip(told.rows(table), built.rows(table), strict=False)
        if any(dict(one) != dict(two) for one, two in pairs):
            different.append(table)
    if different:
        raise ProjectionDamagedError(
            f"the graph built with {built.engine} is not what the journal tells "
            f"({', '.join(different)}); the vault keeps its engine, report this"
        )


def engine_report(folder: Path, *, switched: bool = False) -> EngineReport:
    """Which engine has the vault's graph, how big it is, and which engines there are.

    Takes no lock and opens nothing. Raises VaultNotFoundError, VaultFormatError.
    """
    if not (folder / VAULT_FILE).is_file():
        raise VaultNotFoundError(f"there is no vault at {folder}; make one with graphmem init")
    current = read_config(folder).engine
    path = None if current == MEMORY else folder / engine_named(current).file
    return EngineReport(
        path=str(folder),
        engine=current,
        file=None if path is None else path.name,
        file_bytes=path.stat().st_size if path is not None and path.exists() else 0,
        log_bytes=0 if path is None else log_bytes(path),
        switched=switched,
        engines=tuple(
            EngineInfo(name=each.name, version=_version(each), install=each.install)
            for each in ENGINES.values()
        ),
    )


def _version(engine: Engine) -> str | None:
    try:
        return version(engine.module_name) if engine.installed else None
    except PackageNotFoundError:
        return None
