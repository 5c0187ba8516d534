"""An open vault: its folder, its parts, and how they are healed, rebuilt and closed."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack, suppress
from datetime import UTC, datetime
from pathlib import Path

from graphmem.embed import EmbedderIdentity
from graphmem.errors import EmbedderMismatchError, VaultError, VaultNotFoundError
from graphmem.model.care import VerifyReport
from graphmem.model.results import VaultStatus
from graphmem.model.scope import EVERYTHING
from graphmem.store import dump
from graphmem.store.compact import Compactor
from graphmem.store.config import VAULT_FILE, VAULT_FORMAT, VaultConfig, read_config, write_config
from graphmem.store.graph.base import GraphStore
from graphmem.store.graph.engines import ENGINES, MEMORY, engine_named
from graphmem.store.graph.files import remove_leftovers
from graphmem.store.heal import (
    CLEAN_MARK,
    INDEX_FILE,
    clean_mark,
    open_graph,
    open_index,
    rebuilt_graph,
    replay,
    take_mark,
)
from graphmem.store.journal import Journal
from graphmem.store.lock import VaultLock
from graphmem.store.projections import GRAPH_ROOM_BYTES, Fault, Projections, no_fault
from graphmem.store.trouble import JOURNAL_FILE, Place, check_journal, need_room, strangers, told
from graphmem.store.vectors import VectorTable
from graphmem.store.view import StoreView
from graphmem.store.writer import StoreWriter

LOG = logging.getLogger("graphmem.store")

# A log of the graph beyond this is folded into a fresh file: replaying 6.6 MB takes 0.2 s and reads
# with a log are 1.4 times slower (measured).
MAX_LOG_BYTES = 64 * 1024 * 1024

Clock = Callable[[], datetime]


def _now() -> datetime:
    return datetime.now(UTC)


def open_store(
    path: Path | None,
    *,
    create: bool = False,
    graph: str = "kuzu",
    clock: Clock = _now,
    random: Callable[[int], bytes] = os.urandom,
    fault: Fault = no_fault,
    role: str = "embedded",
    max_log_bytes: int = MAX_LOG_BYTES,
) -> VaultStore:
    """Opens the vault at a folder (everything in memory for None) and heals it if needed.

    ``graph`` is the engine of a new vault; one that exists keeps its own. ``role`` says in
    owner.json whether the holder serves others (``owner``) or only itself. A log of the graph
    beyond ``max_log_bytes`` is to be folded.

    Raises VaultNotFoundError without ``create``, VaultLockedError when it is held,
    VaultFormatError for another format, JournalDamagedError when the journal cannot be read,
    MissingExtraError when the graph's engine is not installed.
    """
    if path is None:
        config = VaultConfig(engine=MEMORY)
        return VaultStore(None, config, None, clock, random, fault, max_log_bytes)
    if not _is_vault(path):
        if not create:
            raise VaultNotFoundError(f"there is no vault at {path}; make one with graphmem init")
        if graph != MEMORY:
            engine_named(graph).require()
        _make_folder(path)
    lock = VaultLock(path, role)
    try:
        if not (path / VAULT_FILE).is_file():
            write_config(path, VaultConfig(engine=graph))
        return VaultStore(path, read_config(path), lock, clock, random, fault, max_log_bytes)
    except BaseException:
        lock.release()
        raise


def _make_folder(path: Path) -> None:
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise told(f"cannot make a vault at {path}", error) from error


def _is_vault(path: Path) -> bool:
    try:
        return (path / VAULT_FILE).is_file()
    except OSError as error:
        raise told(f"{path} cannot be read", error) from error


class VaultStore:
    """See ``graphmem.store.protocols.Store``."""

    def __init__(
        self,
        path: Path | None,
        config: VaultConfig,
        lock: VaultLock | None,
        clock: Clock,
        random: Callable[[int], bytes],
        fault: Fault,
        max_log_bytes: int,
    ) -> None:
        self._path, self._config, self._lock, self._clock = path, config, lock, clock
        self._closed = False
        self._max_log_bytes = max_log_bytes
        self._compactor: Compactor | None = None
        if path is not None:
            check_journal(path, (INDEX_FILE, *(each.file for each in ENGINES.values())))
        self._journal = Journal.open(None if path is None else path / JOURNAL_FILE, random)
        with ExitStack() as opened:
            opened.callback(self._journal.close)
            self._open_projections(opened, fault)
            opened.pop_all()
        if config.embedder is not None:
            self._vectors.bind(config.embedder.name, config.embedder.dimension)
        place = (lambda: None) if path is None else Place(path).check
        self._writer = StoreWriter(self._journal, self._projections, self.view, clock, fault, place)
        self._writer.erase_with(self._erase)
        if path is not None and config.engine != MEMORY:
            self._compactor = Compactor(
                path,
                engine_named(config.engine),
                self._journal,
                self._projections,
                self._writer.paused,
                fault,
            )

    def _open_projections(self, opened: ExitStack, fault: Fault) -> None:
        """Opens index and graph and heals them; ``opened`` closes what a failure leaves behind."""
        path, journal = self._path, self._journal
        trusted = take_mark(path)
        readers = open_index(path, trusted)
        opened.callback(readers.close)
        if path is not None:
            remove_leftovers(path, self._config.engine)
        graph = open_graph(path, self._config.engine, journal, trusted)
        opened.callback(graph.close)
        self._projections = Projections(readers, graph, self._reopened)
        opened.callback(self._close_graph)
        self._vectors = VectorTable(readers)
        if journal.purged_after(min(self._projections.index_seq, graph.applied_seq)):
            self._erase()
        replay(journal, self._projections, fault)

    def _erase(self) -> None:
        """Makes everything anew from a journal that was purged; leaves no copy behind."""
        self._projections.fill_index(self._journal.batches(), erase=True)
        self._new_graph()
        self._vectors.forget_unused()
        self._projections.readers.erase_log()

    def _close_graph(self) -> None:
        self._projections.graph.close()

    def _new_graph(self) -> None:
        if self._compactor is not None:
            self._compactor.outdate()
        self._close_graph()
        fresh = rebuilt_graph(self._path, self._config.engine, self._journal)
        self._projections.use_graph(fresh)

    def _reopened(self) -> GraphStore:
        need_room(self._path, GRAPH_ROOM_BYTES)
        self._close_graph()
        return open_graph(self._path, self._config.engine, self._journal)

    def __repr__(self) -> str:
        return f"VaultStore({str(self._path) if self._path else 'in memory'})"

    @property
    def writer(self) -> StoreWriter:
        """The only way in."""
        return self._writer

    @property
    def vector_writer(self) -> VectorTable:
        """Where vectors go."""
        return self._vectors

    def view(self, seq: int | None = None) -> StoreView:
        """A view of the newest published sequence; raises VaultError for another one."""
        if self._closed:
            raise VaultError("the vault is closed; open it again")
        with self._projections.readers.alone():
            pin, graph = self._projections.published()
            view = StoreView(pin, graph, self._vectors, self._clock())
        if seq is not None and seq != view.seq:
            raise VaultError(f"sequence {seq} is not served; the newest is {view.seq}")
        return view

    def bind_embedder(self, identity: EmbedderIdentity) -> None:
        """Binds the vault to an embedder, or checks that it is the one it is bound to.

        Raises EmbedderMismatchError when the vectors were made by another one.
        """
        bound = self._config.embedder
        if bound is not None and bound != identity:
            raise EmbedderMismatchError(
                f"the vectors were made by {bound.name} ({bound.dimension} dimensions), not by "
                f"{identity.name} ({identity.dimension}); use that one, or delete index.sqlite "
                "and the embedder in vault.json to embed everything again"
            )
        if bound is None:
            self._config = self._config.model_copy(update={"embedder": identity})
            if self._path is not None:
                write_config(self._path, self._config)
        self._vectors.bind(identity.name, identity.dimension)

    def rebuild(self, *, graph: bool = True, index: bool = True) -> None:
        """Makes the projections anew from the journal; vectors are kept by text hash."""
        with self._writer.paused():
            if self._closed:
                raise VaultError("the vault is closed; open it again")
            if index:
                self._projections.fill_index(self._journal.batches())
            if graph:
                self._new_graph()

    def dump(self, *, content: bool = False) -> Iterable[str]:
        """Sorted JSON lines of what the projections hold: exact, or content only."""
        parts = self._projections
        with self._writer.paused():
            found = (
                dump.content(parts.readers) if content else dump.exact(parts.readers, parts.graph)
            )
            return iter(list(found))

    def describe(self, holder: Mapping[str, object]) -> None:
        """Tells others how the process that holds this vault can be reached."""
        if self._lock is not None:
            self._lock.describe(holder)

    def status(self) -> VaultStatus:
        """What the vault holds and how its parts stand."""
        view = self.view()
        bound = self._config.embedder
        failure = self._writer.failure
        strange = [] if self._path is None else strangers(self._path)
        warnings = [] if failure is None else [failure]
        warnings += [
            f"{name} in the vault is no part of it: a sync program left it" for name in strange
        ]
        return VaultStatus(
            path=str(self._path or ":memory:"),
            format=VAULT_FORMAT,
            seq=self._journal.head,
            graph_engine=self._projections.graph.engine,
            graph_seq=self._projections.graph.applied_seq,
            index_seq=self._projections.index_seq,
            embedder=bound.name if bound else "",
            embedder_dimension=bound.dimension if bound else 0,
            vectors=self._vectors.count(),
            vectors_pending=view.pending_vectors(),
            counts=dict(view.counts(EVERYTHING)),
            roots=tuple(root.path for root in view.roots()),
            warnings=tuple(warnings),
        )

    def needs_compaction(self) -> bool:
        """Whether the graph's log has grown beyond its bound, so that ``compact`` is due."""
        return not self._closed and self._projections.graph.log_bytes() > self._max_log_bytes

    def compact(self) -> bool:
        """Folds the graph's log while reads and writes go on; whether it did.

        It does not when there is no log, or when a rebuild, ``close`` or another call came
        between. Raises VaultError when a fresh file could not be built; nothing is lost by that.
        """
        if self._closed or self._compactor is None:
            return False
        return self._compactor.run()

    def verify(self, *, quick: bool = False) -> VerifyReport:
        """Looks for broken invariants in all parts; reads everything and changes nothing."""
        from graphmem.store.verify import Subject, verify

        if self._closed:
            raise VaultError("the vault is closed; open it again")
        name = str(self._path or ":memory:")
        parts = (self._journal, self._projections, self._writer, self._config)
        return verify(Subject(name, *parts), quick=quick)

    def close(self) -> None:
        """Releases the files and the lock; folds a long log of the graph into a fresh file."""
        if self._compactor is not None:
            self._compactor.stop()
        with self._writer.paused():
            if self._closed:
                return
            self._closed = True
            with ExitStack() as closing:
                if self._lock is not None:
                    closing.callback(self._lock.release)
                closing.callback(self._leave_mark)
                closing.callback(self._journal.close)
                closing.callback(self._projections.readers.close)
                closing.callback(self._close_graph)
                self._fold_log()

    def _leave_mark(self) -> None:
        """Says that the files are whole; without the mark the next open only looks closer."""
        if self._path is None or self._writer.failure is not None:
            return
        mark = self._path / CLEAN_MARK
        try:
            mark.write_text(clean_mark(self._path), encoding="utf-8")
        except OSError as error:
            LOG.warning("%s cannot be written: %s", mark, error)
            with suppress(OSError):
                mark.unlink(missing_ok=True)

    def _fold_log(self) -> None:
        graph = self._projections.graph
        if self._path is not None and graph.log_bytes() > self._max_log_bytes:
            graph.close()
            try:
                rebuilt_graph(self._path, self._config.engine, self._journal).close()
            except VaultError as error:
                LOG.warning("the graph's log stays as long as it is: %s", error)
