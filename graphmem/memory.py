"""The public class: one open vault with everything a user or an agent can do to it.

Engines and models are loaded on first use; a model that cannot be loaded degrades the answer,
is named once in ``status().warnings`` and never fails a memory operation.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from graphmem.engine import Engine, Steps, acquire, release
from graphmem.errors import UsageError, VaultError
from graphmem.model.care import BackupInfo, VerifyReport
from graphmem.model.results import (
    Answer,
    CausalResult,
    GetResult,
    IngestReport,
    KgResult,
    RememberResult,
    VaultStatus,
)
from graphmem.model.scope import EVERYTHING, Scope
from graphmem.settings import Settings
from graphmem.vocabulary import Direction, Origin

if TYPE_CHECKING:
    import networkx as nx

    from graphmem.embed import Embedder
    from graphmem.ingest import Ingestor
    from graphmem.model.extraction import Extractor
    from graphmem.model.inputs import CauseInput, FactInput, Progress
    from graphmem.retrieve import Retriever
    from graphmem.store import VaultStore
    from graphmem.store.projections import Fault

Clock = Callable[[], datetime]

# Hits of a search when the caller names no number: what fits the default token budget.
DEFAULT_LIMIT = 8
# Causal hops when the caller names no number: problem, rationale, decision.
DEFAULT_DEPTH = 3
# Facts shown of one entity when the caller names no number (BR-37 asks for a default cap).
DEFAULT_FACTS = 50
# A note is embedded at once unless more than this many passages wait: then some 2 s would pass.
MAX_WAITING_VECTORS = 64
# What is said while the embedding model is being loaded.
LOADING = "the embedding model is loading: answered without vectors, ask again for more"


def _now() -> datetime:
    return datetime.now(UTC)


class Memory:
    """One open vault. Safe to use from several threads; close it or use it in a ``with``.

    Opened again in the same process it is the same vault: both are handles of one engine, whose
    models are those of the first, and the vault is released when the last one is closed.
    """

    # Whether a search waits for the embedding model, or does without until it is loaded.
    waits_for_embedder = True

    def __init__(
        self,
        path: Path | None,
        settings: Settings,
        *,
        create: bool = True,
        clock: Clock = _now,
        role: str = "embedded",
        fault: Fault | None = None,
        progress: Steps | None = None,
    ) -> None:
        """Opens the store; ``path`` None keeps everything in memory, for tests.

        ``role`` is what others are told about this process: ``owner`` serves them. ``fault`` is
        called at the named points of a commit, where a test may end the process.
        ``progress(what, done, total)`` is called while a damaged vault is healed.
        Raises VaultLockedError when another process holds the vault, VaultNotFoundError without
        ``create``, VaultFormatError for a vault of another format.
        """
        self._settings = settings
        self._clock = clock
        self.path = path
        self._engine = acquire(
            path,
            settings,
            create=create,
            clock=clock,
            role=role,
            fault=fault,
            progress=progress,
        )
        self._pid = os.getpid()
        self._closed = False
        self._counted = True

    @classmethod
    def beside(cls, other: Memory) -> Memory:
        """Another handle that does not keep the vault open: for what serves it to others."""
        made = cls.__new__(cls)
        made.__dict__.update(other.__dict__, _counted=False, _closed=False)
        return made

    @property
    def _store(self) -> VaultStore:
        """The open store; raises VaultError when this handle is closed or a forked one."""
        if self._closed:
            raise VaultError("the vault is closed; open it again")
        if self._pid != os.getpid():
            raise VaultError("this vault was opened before a fork; open it again in this process")
        return self._engine.store

    def __repr__(self) -> str:
        state = "closed" if self._closed else f"seq={self._store.view().seq}"
        return f"<graphmem.Memory {self.path or 'in memory'} {state}>"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    # writing

    def ingest(
        self,
        paths: str | Path | Iterable[str | Path],
        *,
        project: str | None = None,
        pattern: str | None = None,
        origin: Origin = Origin.OWNER,
        progress: Progress | None = None,
        key: str | None = None,
    ) -> IngestReport:
        """Reads files and folders; each folder becomes a root that ``sync`` reads again.

        A file that cannot be read is listed in the report and the rest goes on. The same input
        again changes nothing. The same ``key`` again goes on where that call stopped and reports
        what both stored; raises KeyReusedError when it asked for something else.
        """
        chosen = [paths] if isinstance(paths, str | Path) else list(paths)
        if not chosen:
            raise UsageError("nothing to ingest: name at least one file or folder")
        ingestor = self._ingestor(progress)
        with self._engine.runs:
            return ingestor.ingest(
                [Path(p) for p in chosen], project=project, pattern=pattern, origin=origin, key=key
            )

    def sync(self, *, progress: Progress | None = None, key: str | None = None) -> IngestReport:
        """Reads all roots again; files that are gone become absent, until they are back.

        ``key`` is as with ``ingest``.
        """
        ingestor = self._ingestor(progress)
        with self._engine.runs:
            return ingestor.sync(key=key)

    def remember(
        self,
        text: str,
        *,
        facts: Sequence[str | FactInput] = (),
        because: str | Sequence[str] = (),
        causes: Sequence[CauseInput] = (),
        project: str = "",
        origin: Origin = Origin.OWNER,
        key: str | None = None,
    ) -> RememberResult:
        """Stores a text with the facts and causes the caller states.

        A fact is ``"subject|predicate|object"`` or a ``FactInput``; ``because`` is what led to the
        text's main claim. Returns what was stored, merged with known evidence, or refused and why.
        The same ``key`` again returns what the first call stored, with ``repeated``, and stores
        nothing; raises KeyReusedError when that call said something else.
        """
        from graphmem.ingest import remember

        return remember(
            self._store,
            text,
            facts=facts,
            because=[because] if isinstance(because, str) else because,
            causes=causes,
            project=project,
            origin=origin,
            key=key,
            extractor=self._extraction(),
            embedder=self._embedder_for_note(),
            clock=self._clock,
            lock=self._engine.writes,
        )

    def embed_some(self) -> int:
        """Embeds a few passages that have no vector yet; gives how many, 0 when all is done.

        Raises EmbedderError when the model fails.
        """
        from graphmem.ingest import embed_batch

        embedder = self._embedding()
        if embedder is None:
            return 0
        return embed_batch(self._store.vector_writer, embedder, self._engine.textless)

    # reading

    def search(
        self,
        question: str,
        *,
        limit: int = DEFAULT_LIMIT,
        max_tokens: int | None = None,
        recipe: str = "default",
        scope: Scope = EVERYTHING,
    ) -> Answer:
        """Answers a question with quoted statements and the path to each; says when it cannot."""
        answer = self._retriever().search(
            question,
            scope=scope,
            limit=limit,
            max_tokens=max_tokens or self._settings.max_tokens,
            recipe=recipe,
        )
        notes = (*(() if self._is_loaded() else (LOADING,)), *self._store.troubles())
        return answer.model_copy(update={"note": "; ".join(notes)}) if notes else answer

    def kg_query(
        self,
        name: str,
        *,
        as_of: datetime | None = None,
        include_history: bool = False,
        limit: int = DEFAULT_FACTS,
        cursor: str | None = None,
        scope: Scope = EVERYTHING,
    ) -> KgResult:
        """The facts about exactly the named entity (a name or an id) as they stood at ``as_of``.

        ``cursor`` of a result gives the page after it.
        """
        from graphmem.retrieve import kg_query

        update = {"as_of": as_of or scope.as_of, "include_history": include_history}
        return kg_query(
            self._store.view(),
            name,
            scope=scope.model_copy(update=update),
            now=self._clock(),
            limit=limit,
            cursor=cursor,
        )

    def find_causal_links(
        self,
        start: str,
        *,
        direction: Direction | str = Direction.BACK,
        depth: int = DEFAULT_DEPTH,
        scope: Scope = EVERYTHING,
    ) -> CausalResult:
        """What led to ``start`` (an id or a question), or with ``forward`` what it led to."""
        from graphmem.retrieve import find_causal_links

        try:
            way = Direction(direction)
        except ValueError:
            words = ", ".join(Direction)
            raise UsageError(f"direction {direction!r} is not one of {words}") from None
        return find_causal_links(
            self._store.view(), self._retriever(), start, direction=way, depth=depth, scope=scope
        )

    def get(self, ids: str | Sequence[str], *, scope: Scope = EVERYTHING) -> GetResult:
        """Opens ids of any kind; unknown and hidden ones are listed as missing."""
        from graphmem.retrieve import get

        return get(self._store.view(), [ids] if isinstance(ids, str) else list(ids), scope=scope)

    def to_networkx(
        self, around: str | None = None, *, depth: int = 2, scope: Scope = EVERYTHING
    ) -> nx.MultiDiGraph[str]:
        """The graph, or the neighbourhood of one id, with text, kind and witness on each part."""
        from graphmem.retrieve.export import to_networkx

        return to_networkx(self._store.view(), around=around, depth=depth, scope=scope)

    # housekeeping

    def status(self) -> VaultStatus:
        """What the vault holds, how its parts stand, and what does not work right now."""
        status: VaultStatus = self._store.status()
        loading = () if self._is_loaded() else (LOADING,)
        embedder = self._engine.loaded_embedder
        name = embedder.name if embedder else status.embedder or self._settings.embedder
        warnings = (*status.warnings, *self._engine.warnings, *loading)
        return status.model_copy(update={"embedder": name, "warnings": warnings})

    def rebuild(self, *, graph: bool = True, index: bool = True) -> None:
        """Makes graph and index anew from the journal; nothing is lost, vectors are kept."""
        with self._engine.writes:
            self._store.rebuild(graph=graph, index=index)

    def dump(self, *, content: bool = False) -> Iterator[str]:
        """All that is stored as sorted JSON lines; ``content`` leaves out times of recording and
        ids that depend on the order of arrival."""
        return iter(self._store.dump(content=content))

    def backup(self, dest: str | Path, *, force: bool = False) -> BackupInfo:
        """Copies the journal as it is now into the new folder ``dest``; writers go on meanwhile.

        ``force`` replaces a backup that is there. Raises UsageError for a place that is taken and
        for a vault in memory, VaultError when it cannot be written, JournalDamagedError when the
        copy does not verify; nothing is left then.
        """
        from graphmem.store.backup import backup

        if self.path is None:
            raise UsageError("a vault in memory has no backup; open one in a folder")
        return backup(self.path, Path(dest), force=force, clock=self._clock)

    def verify(self, *, quick: bool = False) -> VerifyReport:
        """Checks every invariant that can be seen in the data; changes nothing.

        ``quick`` leaves out what reads every text or replays the journal.
        """
        report: VerifyReport = self._store.verify(quick=quick)
        return report

    def describe(self, holder: Mapping[str, object]) -> None:
        """Tells others how this process can be reached; used by the owner process."""
        self._store.describe(holder)

    def fold_log(self) -> bool:
        """Folds the graph's log into its file when it is long, while reads and writes go on.

        Whether it did; used by the owner process. Raises VaultError when it could not.
        """
        return self._store.needs_compaction() and self._store.compact()

    def close(self) -> None:
        """Releases the vault when this is its last handle; a second call does nothing."""
        if not self._closed:
            self._closed = True
            if self._counted and self._pid == os.getpid():
                release(self._engine)

    @property
    def engine(self) -> Engine:
        """What this process has open of the vault, shared with its other handles."""
        return self._engine

    # parts

    def warm(self) -> None:
        """Loads the models now instead of on first use."""
        self._embedding()
        self._extraction()

    def _retriever(self) -> Retriever:
        from graphmem.retrieve import Retriever

        return Retriever(self._store.view, self._loaded(), now=self._clock)

    def _ingestor(self, progress: Progress | None) -> Ingestor:
        from graphmem.ingest import Ingestor

        return Ingestor(
            self._store,
            self._extraction(),
            self._embedding(),
            clock=self._clock,
            progress=progress,
            lock=self._engine.writes,
        )

    def _extraction(self) -> Extractor:
        return self._engine.extractor()

    def _embedding(self) -> Embedder | None:
        return self._engine.embedder()

    def _is_loaded(self) -> bool:
        return self.waits_for_embedder or self._engine.embedder_tried

    def _loaded(self) -> Embedder | None:
        """The embedder for what may go without: as it stands where nobody waits for it."""
        return self._embedding() if self.waits_for_embedder else self._engine.loaded_embedder

    def _embedder_for_note(self) -> Embedder | None:
        """The embedder unless so much waits for it that a note would wait long."""
        embedder = self._loaded()
        if embedder is None or self._store.view().pending_vectors() > MAX_WAITING_VECTORS:
            return None
        return embedder
