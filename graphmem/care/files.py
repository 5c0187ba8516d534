"""The vault's files: formats, sequences, sizes, and whether the last process left cleanly."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from graphmem.care.findings import fail, ok, size, warn
from graphmem.errors import GraphmemError, VaultError
from graphmem.model.care import Finding
from graphmem.store import inspect
from graphmem.store.config import VAULT_FORMAT, check_format, raw_config, read_format
from graphmem.store.journal import JOURNAL_FORMAT

_BACKUP = "keep a copy of the folder, then graphmem backup restore the newest backup"
_HEALS = "the next open mends it"


def formats(vault: Path) -> Iterator[Finding]:
    """Whether this program reads the vault's format."""
    try:
        found = read_format(vault)
        check_format(vault, found)
    except VaultError as error:
        advice = "run graphmem migrate" if "migrate" in str(error) else _BACKUP
        yield fail("format", str(error), "upgrade graphmem" if "upgrade" in str(error) else advice)
        return
    yield ok("format", f"vault format {VAULT_FORMAT}, engine {raw_config(vault).get('engine')}")


def journal(vault: Path, free: bool) -> Iterator[Finding]:
    """Whether the journal can be read and its rows fit the chain."""
    try:
        facts = inspect.journal_facts(vault, still=free)
    except VaultError as error:
        yield fail("journal", str(error), _BACKUP)
        return
    if facts.version > JOURNAL_FORMAT:
        told = f"format {facts.version}, this graphmem reads {JOURNAL_FORMAT}"
        yield fail("journal", told, "upgrade graphmem")
    elif facts.damaged:
        rows = ", ".join(map(str, facts.damaged[:5]))
        yield fail("journal", f"row {rows} does not fit the hash chain", _BACKUP)
    elif not facts.sound:
        yield fail("journal", "SQLite finds damage in the file", _BACKUP)
    else:
        looked = "the chain holds" if facts.damaged is not None else "graphmem verify reads it all"
        yield ok("journal", f"{facts.head} rows, {size(facts.bytes + facts.log_bytes)}, {looked}")


def projections(vault: Path, free: bool) -> Iterator[Finding]:
    """Whether index and graph have come as far as the journal."""
    head = inspect.journal_facts(vault, still=free).head
    try:
        facts = inspect.index_facts(vault, still=free)
    except GraphmemError as error:
        yield warn("index", str(error), _HEALS)
    else:
        yield from _index(facts, head, free)
    yield from _graph(vault, head, free)


def _index(facts: inspect.IndexFacts, head: int, free: bool) -> Iterator[Finding]:
    about = f"at row {facts.seq} of {head}, {size(facts.bytes + facts.log_bytes)}"
    if facts.seq > head:
        yield fail("index", f"{about}: the journal has lost rows", _BACKUP)
    elif facts.seq < head and free:
        yield warn("index", about, _HEALS)
    else:
        yield ok("index", about)
    vectors = f"{facts.vectors} vectors, {facts.pending} pending"
    if facts.pending:
        yield warn("vectors", vectors, "graphmem sync computes them")
    else:
        yield ok("vectors", vectors)


def _graph(vault: Path, head: int, free: bool) -> Iterator[Finding]:
    log, bound = inspect.graph_log(vault)
    about = f"log {size(log)} of at most {size(bound)}"
    if raw_config(vault).get("engine") == "memory":
        yield ok("graph", "kept in memory, made at every open")
    elif not free:
        yield ok("graph", f"{about}; in use, so not looked into")
    elif not inspect.has_graph_file(vault):
        yield (
            warn("graph", "there is no file yet", "the next open builds it")
            if head
            else ok("graph", "empty")
        )
    else:
        yield from _graph_at(inspect.graph_seq(vault), head, about)
    if log > bound:
        yield warn("graph log", about, "it is folded when the vault is closed: close it once")


def _graph_at(seq: int | None, head: int, about: str) -> Iterator[Finding]:
    if seq is None:
        yield warn("graph", f"it cannot be read; {about}", "the next open builds it anew")
    elif seq > head:
        yield fail("graph", f"at row {seq} of {head}: the journal has lost rows", _BACKUP)
    elif seq < head:
        yield warn("graph", f"at row {seq} of {head}; {about}", _HEALS)
    else:
        yield ok("graph", f"at row {seq} of {head}; {about}")


def clean(vault: Path, free: bool) -> Iterator[Finding]:
    """Whether the last process closed the vault."""
    if not free:
        return
    if inspect.was_closed(vault):
        yield ok("last stop", "the vault was closed")
    else:
        told = "the vault was not closed, or its files were changed since"
        yield warn("last stop", told, "the next open checks and mends it; graphmem verify looks")
