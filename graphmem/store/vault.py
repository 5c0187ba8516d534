"""An open vault: its folder, its parts, and how they are healed, rebuilt and closed."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack, suppress
from datetime import UTC, datetime
from pathlib import Path

from graphmem.embed import EmbedderIdentity
from graphmem.errors import (
    EmbedderMismatchError,
    VaultError,
    VaultNotFoundError,
    VaultReadOnlyError,
)
from graphmem.model.care import VerifyReport
from graphmem.model.results import VaultStatus
from graphmem.model.scope import EVERYTHING
from graphmem.store import dump
from graphmem.store.compact import Compactor
from graphmem.store.compare import Steps, no_steps, watched
from graphmem.store.config import VAULT_FILE, VAULT_FORMAT, VaultConfig, read_config, write_config
from graphmem.store.digest import (
    CLEAN_MARK,
    GRAPH_PREFIX,
    INDEX_FILE,
    OPENED_MARK,
    Trust,
    take_trust,
    write_mark,
)
from graphmem.store.graph.base import GraphStore
from graphmem.store.graph.engines import ENGINES, MEMORY, engine_named
from graphmem.store.graph.files import remove_leftovers
from graphmem.store.heal import (
    open_graph,
    rebuilt_graph,
    replay,
)
from graphmem.store.lock import VaultLock
from graphmem.store.opening import Notices, Opener
from graphmem.store.projections import GRAPH_ROOM_BYTES, Fault, Projections, no_fault
from graphmem.store.salvage import cut_off, open_journal
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
    progress: Steps | None = None,
) -> VaultStore:
    """Opens the vault at a folder (everything in memory for None) and heals it if needed.

    ``graph`` is the engine of a new vault; one that exists keeps its own. ``role`` says in
    owner.json whether the holder serves others (``owner``) or only itself. A log of the graph
    beyond ``max_log_bytes`` is to be folded. ``progress`` is called with what is checked or built
    anew, rows done and rows in all. With a journal that lost rows the vault can only be read
    (VaultReadOnlyError at a write).

    Raises VaultNotFoundError without ``create``, VaultLockedError when it is held,
    VaultFormatError for another format, JournalDamagedError when the journal cannot be read,
    MissingExtraError when the graph's engine is not installed.
    """
    steps = progress or no_steps
    if path is None:
        config, bound = VaultConfig(engine=MEMORY), max_log_bytes
        return VaultStore(None, config, None, clock, random, fault, bound, steps)
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
        config, bound = read_config(path), max_log_bytes
        return VaultStore(path, config, lock, clock, random, fault, bound, steps)
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
        progress: Steps = no_steps,
    ) -> None:
        self._path, self._config, self._lock, self._clock = path, config, lock, clock
        self._closed = False
        self._max_log_bytes = max_log_bytes
        self._compactor: Compactor | None = None
        if path is not None:
            check_journal(path, (INDEX_FILE, *(each.file for each in ENGINES.values())))
        self._notices = Notices(path, clock)
        self._trust = Trust() if path is None else take_trust(path)
        journal = None if path is None else path / JOURNAL_FILE
        self._journal = open_journal(journal, random, self._trust, self._notices.tell)
        with ExitStack() as opened:
            opened.callback(self._journal.close)
            self._open_projections(opened, fault, progress)
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
                self._mark_opened,
            )

    def _open_projections(self, opened: ExitStack, fault: Fault, steps: Steps) -> None:
        """Opens index and graph and heals them; ``opened`` closes what a failure leaves behind."""
        journal, tell = self._journal, self._notices.tell
        opener = Opener(self._path, self._config.engine, journal, self._trust, tell, steps)
        readers = opener.index()
        opened.callback(readers.close)
        if self._path is not None:
            remove_leftovers(self._path, self._config.engine)
        graph = opener.graph()
        opened.callback(graph.close)
        self._projections = Projections(readers, graph, self._reopened)
        opened.callback(self._close_graph)
        self._vectors = VectorTable(readers)
        ahead = max(self._projections.index_seq, graph.applied_seq)
        if ahead > journal.head:
            cut_off(journal, ahead)
        elif journal.purged_after(min(self._projections.index_seq, graph.applied_seq)):
            self._erase()
        replay(journal, self._projections, fault, steps)
        self._mark_opened()

    def _mark_opened(self, but: str = "") -> None:
        """Writes down how the files are, for an open after this process was killed.

        ``but`` begins the names of files that are about to be replaced.
        """
        if self._path is None:
            return
        damage = self._journal.damage()
        newest = self._journal.newest()
        if damage is not None:  # what is known of the rows that were there must not be forgotten
            newest = max(newest, (self._trust.head, self._trust.head_hash))
        self._leave_mark(OPENED_MARK, *newest, stale=damage is not None, but=but)

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
        self._mark_opened(but=GRAPH_PREFIX)
        fresh = rebuilt_graph(self._path, self._config.engine, self._journal)
        self._projections.use_graph(fresh)
        self._mark_opened()

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

    def rebuild(
        self, *, graph: bool = True, index: bool = True, progress: Steps = no_steps
    ) -> None:
        """Makes the projections anew from the journal; vectors are kept by text hash.

        Raises VaultReadOnlyError when the journal is damaged: the projections may hold more.
        """
        journal = self._journal
        with self._writer.paused():
            if self._closed:
                raise VaultError("the vault is closed; open it again")
            if (damage := journal.damage()) is not None:
                raise VaultReadOnlyError(damage.tell(), seqs=damage.seqs)
            if index:
                batches = journal.batches()
                told = watched(batches, "building the index", journal.head, progress)
                self._projections.fill_index(told)
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
            warnings=self._warnings(),
        )

    def needs_compaction(self) -> bool:
        """Whether the graph's log has grown beyond its bound, so that ``compact`` is due."""
        if self._closed or self._journal.damage() is not None:
            return False
        return self._projections.graph.log_bytes() > self._max_log_bytes

    def compact(self) -> bool:
        """Folds the graph's log while reads and writes go on; whether it did.

        It does not when there is no log, when the journal is damaged, or when a rebuild, ``close``
        or another call came between. Raises VaultError when a fresh file could not be built;
        nothing is lost by that.
        """
        if self._closed or self._compactor is None or self._journal.damage() is not None:
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

    def troubles(self) -> tuple[str, ...]:
        """What an answer should carry: a damaged journal, and what this open found and healed."""
        damage = self._journal.damage()
        return (*([] if damage is None else [damage.tell()]), *self._notices.here)

    def _warnings(self) -> tuple[str, ...]:
        """What does not work now, then what was damaged and healed lately."""
        damage, failure = self._journal.damage(), self._writer.failure
        now = [] if damage is None else [damage.tell()]
        now += [] if failure is None else [failure]
        strange = [] if self._path is None else strangers(self._path)
        now += [f"{name} in the vault is no part of it: a sync program left it" for name in strange]
        return (*now, *self._notices.shown())

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
                if self._journal.damage() is None and self._writer.failure is None:
                    closing.callback(self._leave_mark, CLEAN_MARK, *self._journal.newest())
                closing.callback(self._journal.close)
                closing.callback(self._projections.readers.close)
                closing.callback(self._close_graph)
                self._fold_log()

    def _leave_mark(
        self, name: str, head: int, head_hash: str, stale: bool = False, but: str = ""
    ) -> None:
        """Says how the files are; without the mark the next open only looks closer."""
        if self._path is None:
            return
        try:
            write_mark(self._path, name, head, head_hash, stale=stale, but=but)
        except OSError as error:
            LOG.warning("%s cannot be written: %s", self._path / name, error)
            with suppress(OSError):
                (self._path / name).unlink(missing_ok=True)

    def _fold_log(self) -> None:
        graph = self._projections.graph
        whole = self._journal.damage() is None
        if self._path is not None and whole and graph.log_bytes() > self._max_log_bytes:
            graph.close()
            self._mark_opened(but=GRAPH_PREFIX)
            try:
                rebuilt_graph(self._path, self._config.engine, self._journal).close()
            except VaultError as error:
                LOG.warning("the graph's log stays as long as it is: %s", error)
