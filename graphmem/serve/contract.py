"""What every open vault can do, whether its engine runs here or in the owner process."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Protocol, Self, runtime_checkable

from graphmem.memory import DEFAULT_DEPTH, DEFAULT_FACTS, DEFAULT_LIMIT
from graphmem.model.care import BackupInfo, VerifyReport
from graphmem.model.inputs import CauseInput, FactInput, Progress
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
from graphmem.vocabulary import Direction, Origin

if TYPE_CHECKING:
    import networkx as nx


@runtime_checkable
class MemoryLike(Protocol):
    """See ``graphmem.Memory``; one contract suite runs over every implementation."""

    path: Path | None

    def __enter__(self) -> Self: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...

    def ingest(
        self,
        paths: str | Path | Iterable[str | Path],
        *,
        project: str | None = None,
        pattern: str | None = None,
        origin: Origin = Origin.OWNER,
        progress: Progress | None = None,
        key: str | None = None,
    ) -> IngestReport: ...

    def sync(self, *, progress: Progress | None = None, key: str | None = None) -> IngestReport: ...

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
    ) -> RememberResult: ...

    def search(
        self,
        question: str,
        *,
        limit: int = DEFAULT_LIMIT,
        max_tokens: int | None = None,
        recipe: str = "default",
        scope: Scope = EVERYTHING,
    ) -> Answer: ...

    def kg_query(
        self,
        name: str,
        *,
        as_of: datetime | None = None,
        include_history: bool = False,
        limit: int = DEFAULT_FACTS,
        cursor: str | None = None,
        scope: Scope = EVERYTHING,
    ) -> KgResult: ...

    def find_causal_links(
        self,
        start: str,
        *,
        direction: Direction | str = Direction.BACK,
        depth: int = DEFAULT_DEPTH,
        scope: Scope = EVERYTHING,
    ) -> CausalResult: ...

    def get(self, ids: str | Sequence[str], *, scope: Scope = EVERYTHING) -> GetResult: ...

    def to_networkx(
        self, around: str | None = None, *, depth: int = 2, scope: Scope = EVERYTHING
    ) -> nx.MultiDiGraph[str]: ...

    def status(self) -> VaultStatus: ...

    def rebuild(self, *, graph: bool = True, index: bool = True) -> None: ...

    def verify(self, *, quick: bool = False) -> VerifyReport: ...

    def backup(self, dest: str | Path, *, force: bool = False) -> BackupInfo: ...

    def dump(self, *, content: bool = False) -> Iterator[str]: ...

    def warm(self) -> None: ...

    def close(self) -> None: ...
