"""Going on without the lost rows of a journal, once the user has decided so."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import apsw

from graphmem.errors import VaultNotFoundError
from graphmem.model.operations import Operation
from graphmem.store.config import VAULT_FILE
from graphmem.store.damage import JournalDamage
from graphmem.store.dangling import Standing
from graphmem.store.digest import INDEX_FILE, look, remove_marks
from graphmem.store.graph.engines import ENGINES
from graphmem.store.heal import move_aside, open_index
from graphmem.store.index_schema import applied_seq, clear
from graphmem.store.journal import Journal
from graphmem.store.judge import Judged
from graphmem.store.lock import VaultLock
from graphmem.store.salvage import judged_with, memory_journal, rewrite
from graphmem.store.trouble import JOURNAL_FILE

# The actor of the commit that lets go of what refers to lost rows.
ACTOR = "repair-journal"


def _now() -> datetime:
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class Repair:
    """What is damaged in a journal (None: nothing), and what must be let go of with it.

    ``aside`` is where the damaged file was copied to, None when nothing was done.
    """

    damage: JournalDamage | None
    dangling: tuple[Operation, ...] = ()
    aside: Path | None = None


def plan_repair(path: Path) -> Repair:
    """What accepting the loss would mean for the vault at a folder; changes nothing.

    Raises VaultNotFoundError, and VaultLockedError while the vault is open.
    """
    with _held(path):
        return _planned(path)[0]


def accept_loss(
    path: Path,
    random: Callable[[int], bytes] = os.urandom,
    clock: Callable[[], datetime] = _now,
) -> Repair:
    """Writes the journal anew with its good rows, each under its sequence, and gaps for the others.

    Items that refer to lost ones are taken back in a commit of their own. Index and graph are
    built anew by the next open; vectors are kept. A copy of the damaged journal stays beside it.
    """
    with _held(path):
        plan, judged = _planned(path)
        if plan.damage is None:
            return plan
        aside = rewrite(path / JOURNAL_FILE, judged, random)
        remove_marks(path)
        journal = Journal.open(path / JOURNAL_FILE, random)
        try:
            if plan.dangling:
                journal.append(plan.dangling, at=clock(), actor=ACTOR)
        finally:
            journal.close()
        _forget_projections(path)
        return Repair(plan.damage, plan.dangling, aside)


class _held:
    """The vault's lock for as long as the context is open."""

    def __init__(self, path: Path) -> None:
        if not (path / VAULT_FILE).is_file():
            raise VaultNotFoundError(f"there is no vault at {path}; make one with graphmem init")
        self._path = path

    def __enter__(self) -> None:
        self._lock = VaultLock(self._path, ACTOR)

    def __exit__(self, *_: object) -> None:
        self._lock.release()


def _planned(path: Path) -> tuple[Repair, Judged]:
    known = max(look(path).head, _index_seq(path / INDEX_FILE))
    judged, damage = judged_with(path / JOURNAL_FILE, known)
    if damage is None or not damage.lost:
        return Repair(damage), judged
    journal = memory_journal(judged)
    try:
        told = (row.operation for row in journal.rows())
        standing = Standing(operation for operation in told if operation is not None)
    finally:
        journal.close()
    return Repair(damage, tuple(standing.let_go())), judged


def _index_seq(path: Path) -> int:
    """How far the index had come; 0 when it cannot be read."""
    if not path.exists():
        return 0
    try:
        db = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)
        try:
            db.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
            return applied_seq(db)
        finally:
            db.close()
    except (apsw.Error, ValueError):
        return 0


def _forget_projections(path: Path) -> None:
    readers = open_index(path)
    try:
        with readers.writing() as db:
            clear(db)
    finally:
        readers.close()
    for engine in ENGINES.values():
        move_aside(path / engine.file)
