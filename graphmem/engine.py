"""What one process has open of a vault: its store, locks and models, shared by all its handles.

Kuzu loses data when a process opens a file twice, so a vault that is opened again in the same
process (a notebook cell that runs twice) is the same engine, counted.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from graphmem.errors import EmbedderError
from graphmem.settings import Settings

if TYPE_CHECKING:
    from graphmem.embed import Embedder
    from graphmem.model.extraction import Extraction, Extractor, PassageInput
    from graphmem.store import VaultStore
    from graphmem.store.projections import Fault

Clock = Callable[[], datetime]
# What is being done, rows done, rows in all.
Steps = Callable[[str, int, int], None]


class OneAtATime:
    """An extractor for several threads; spaCy's pipelines are not made for that."""

    def __init__(self, extractor: Extractor) -> None:
        self._extractor, self._lock = extractor, threading.Lock()

    @property
    def name(self) -> str:
        """See ``Extractor``."""
        return self._extractor.name

    @property
    def revision(self) -> int:
        """See ``Extractor``."""
        return self._extractor.revision

    def extract(self, passages: Sequence[PassageInput]) -> list[Extraction]:
        """See ``Extractor``."""
        with self._lock:
            return self._extractor.extract(passages)


class Engine:
    """An open vault of this process; ``writes`` is held while a commit is planned and made."""

    def __init__(
        self,
        path: Path | None,
        settings: Settings,
        *,
        create: bool,
        clock: Clock,
        role: str,
        fault: Fault | None = None,
        progress: Steps | None = None,
    ) -> None:
        from graphmem.store import open_store
        from graphmem.store.projections import no_fault

        self.store: VaultStore = open_store(
            path,
            create=create,
            graph=settings.engine,
            clock=clock,
            role=role,
            fault=fault or no_fault,
            max_log_bytes=settings.max_log_bytes,
            progress=progress,
        )
        self.writes = threading.RLock()
        self.runs = threading.Lock()  # an ingest at a time; others write between its commits
        self.warnings: list[str] = []
        self.handles = 0
        self._settings = settings
        # Reads need the embedder, and must wait neither for an ingest nor for the extractor.
        self._embedders, self._extractors = threading.RLock(), threading.RLock()
        self.textless: set[str] = set()  # hashes of passages that no vector can be made of
        self._embedder: Embedder | None = None
        self.embedder_tried = False
        self._extractor: Extractor | None = None
        self._sharing = threading.Lock()
        self._unshare: Callable[[], None] | None = None

    def extractor(self) -> Extractor:
        """What reads text, loaded on first use."""
        with self._extractors:
            if self._extractor is None:
                from graphmem.extractors import SpacyExtractor

                self._extractor = OneAtATime(SpacyExtractor())
            return self._extractor

    @property
    def loaded_embedder(self) -> Embedder | None:
        """The embedder when it is loaded."""
        return self._embedder

    def embedder(self) -> Embedder | None:
        """The embedder, or None when there is none or it cannot be loaded (said once)."""
        with self._embedders:
            if not self.embedder_tried:
                self._embedder = self._load_embedder()
                self.embedder_tried = True
            return self._embedder

    def _load_embedder(self) -> Embedder | None:
        from graphmem.embed import load_embedder

        try:
            embedder = load_embedder(self._settings.embedder)
            if embedder.dimension == 0:
                return None
            self.store.bind_embedder(embedder.identity())
        except EmbedderError as error:
            self.warnings.append(f"answers without vectors: {error}")
            return None
        return embedder

    def share(self, start: Callable[[], Callable[[], None]]) -> None:
        """Runs ``start`` unless that was done; what it returns is run before the vault closes."""
        with self._sharing:
            if self._unshare is None:
                self._unshare = start()

    def close(self) -> None:
        """Ends the sharing, then releases the vault."""
        try:
            if self._unshare is not None:
                self._unshare()
        finally:
            self.store.close()


class _Open:
    """The engines of this process by the real path of their vault."""

    def __init__(self) -> None:
        self.guard = threading.Lock()
        self.engines: dict[str, Engine] = {}

    def forget(self) -> None:
        """In a forked child: what the parent has open is not the child's."""
        self.guard = threading.Lock()
        self.engines = {}


# A process has a vault open once, whoever asks; that can only be known in one place.
_OPEN = _Open()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_OPEN.forget)


def acquire(
    path: Path | None,
    settings: Settings,
    *,
    create: bool,
    clock: Clock,
    role: str,
    fault: Fault | None = None,
    progress: Steps | None = None,
) -> Engine:
    """The engine of a vault, opened unless this process has it open; ``release`` it once.

    Raises what ``open_store`` raises.
    """
    how: dict[str, Any] = {
        "create": create,
        "clock": clock,
        "role": role,
        "fault": fault,
        "progress": progress,
    }
    if path is None:
        engine = Engine(None, settings, **how)
        engine.handles = 1
        return engine
    key = os.path.realpath(path)
    with _OPEN.guard:
        found = _OPEN.engines.get(key)
        if found is None:
            found = Engine(path, settings, **how)
            _OPEN.engines[key] = found
        found.handles += 1
        return found


def release(engine: Engine) -> None:
    """Gives one handle back; the last one closes the vault."""
    with _OPEN.guard:
        engine.handles -= 1
        if engine.handles:
            return
        try:
            engine.close()
        finally:
            for key, known in list(_OPEN.engines.items()):
                if known is engine:
                    del _OPEN.engines[key]


def is_open_here(path: Path) -> bool:
    """Whether this process has the vault open."""
    return os.path.realpath(path) in _OPEN.engines


def close_all() -> None:
    """Closes every vault of this process; for its end."""
    with _OPEN.guard:
        engines, _OPEN.engines = _OPEN.engines, {}
    for engine in engines.values():
        engine.close()
