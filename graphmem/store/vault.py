"""An open vault: its folder, its parts, and how they are healed, rebuilt and closed."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from pathlib import Path

from graphmem.embed import EmbedderIdentity
from graphmem.errors import EmbedderMismatchError, VaultError, VaultNotFoundError
from graphmem.model.results import VaultStatus
from graphmem.model.scope import EVERYTHING
from graphmem.store import dump
from graphmem.store.config import VAULT_FILE, VAULT_FORMAT, VaultConfig, read_config, write_config
from graphmem.store.heal import CLEAN_MARK, open_graph, open_index, rebuilt_graph, replay
from graphmem.store.journal import Journal
from graphmem.store.lock import VaultLock
from graphmem.store.projections import Fault, Projections, no_fault
from graphmem.store.vectors import VectorTable
from graphmem.store.view import StoreView
from graphmem.store.writer import StoreWriter

# A log of Kuzu beyond this is folded into a fresh file at close: replaying 6.6 MB takes 0.2 s and
# reads with a log are 1.4 times slower (measured).
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
) -> VaultStore:
    """Opens the vault at a folder (everything in memory for None) and heals it if needed.

    Raises VaultNotFoundError without ``create``, VaultLockedError when it is held,
    VaultFormatError for another format, JournalDamagedError when the journal cannot be read.
    """
    if path is None:
        return VaultStore(None, VaultConfig(engine="memory"), None, clock, random, fault)
    if not (path / VAULT_FILE).is_file():
        if not create:
            raise VaultNotFoundError(f"there is no vault at {path}; make one with graphmem init")
        _make(path, graph)
    lock = VaultLock(path)
    try:
        return VaultStore(path, read_config(path), lock, clock, random, fault)
    except BaseException:
        lock.release()
        raise


def _make(path: Path, engine: str) -> None:
    try:
        path.mkdir(parents=True, exist_ok=True)
        write_config(path, VaultConfig(engine=engine))
    except OSError as error:
        raise VaultError(f"cannot make a vault at {path}: {error.strerror}") from error


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
    ) -> None:
        self._path, self._config, self._lock, self._clock = path, config, lock, clock
        self._closed = False
        self._guard = threading.RLock()
        self._journal = Journal.open(None if path is None else path / "journal.sqlite", random)
        try:
            readers = open_index(path)
            opened = open_graph(path, config.engine, self._journal)
            self._projections = Projections(readers, opened)
            self._vectors = VectorTable(readers)
            replay(self._journal, self._projections)
        except BaseException:
            self._journal.close()
            raise
        if config.embedder is not None:
            self._vectors.bind(config.embedder.name, config.embedder.dimension)
        self._writer = StoreWriter(self._journal, self._projections, self.view, clock, fault)

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
        parts = self._projections
        view = StoreView(parts.readers, parts.graph, parts.pinned(), self._vectors, self._clock())
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
        with self._guard:
            if index:
                self._projections.fill_index(self._journal.batches())
            if graph:
                self._projections.graph.close()
                fresh = rebuilt_graph(self._path, self._config.engine, self._journal)
                self._projections.use_graph(fresh)

    def dump(self, *, content: bool = False) -> Iterable[str]:
        """Sorted JSON lines of what the projections hold: exact, or content only."""
        parts = self._projections
        if content:
            return dump.content(parts.readers)
        return dump.exact(parts.readers, parts.graph)

    def status(self) -> VaultStatus:
        """What the vault holds and how its parts stand."""
        view = self.view()
        bound = self._config.embedder
        failure = self._writer.failure
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
            warnings=() if failure is None else (failure,),
        )

    def close(self) -> None:
        """Releases the files and the lock; folds a long log of the graph into a fresh file."""
        with self._guard:
            if self._closed:
                return
            self._closed = True
            try:
                self._fold_log()
            finally:
                self._projections.graph.close()
                self._projections.readers.close()
                self._journal.close()
                if self._path is not None:
                    (self._path / CLEAN_MARK).touch()
                if self._lock is not None:
                    self._lock.release()

    def _fold_log(self) -> None:
        graph = self._projections.graph
        if self._path is not None and graph.log_bytes() > MAX_LOG_BYTES:
            graph.close()
            rebuilt_graph(self._path, self._config.engine, self._journal).close()
