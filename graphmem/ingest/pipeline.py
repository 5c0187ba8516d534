"""Ingest and sync: files in, batches of whole sources out, the same input changes nothing.

Reading and extraction run before the transaction; a batch is one commit, so that a crash leaves
whole sources only and the next run goes on where it stopped.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from datetime import UTC, datetime, tzinfo
from pathlib import Path
from time import perf_counter
from typing import Final

import numpy as np

from graphmem.embed.base import Embedder
from graphmem.errors import ConflictError, GraphmemError, InvalidInputError, ReadError
from graphmem.ingest.document import ReadDocument
from graphmem.ingest.files import load_file, parse_file
from graphmem.ingest.plan import Draft, Plan, absence, draft_of, extract, plan_batch
from graphmem.ingest.receipt import Earlier, Receipt, earlier
from graphmem.ingest.roots import Job, declare, project_of, scan
from graphmem.ingest.same_event import same_event_operations
from graphmem.model.extraction import Extractor
from graphmem.model.ids import source_id
from graphmem.model.inputs import Progress, ProgressEvent, check_text
from graphmem.model.items import Root, Source
from graphmem.model.operations import Operation
from graphmem.model.results import IngestReport, Problem
from graphmem.store.protocols import Store, VectorWriter
from graphmem.vocabulary import Origin, Refusal, SourceKind, StateKind

# Passages after which a batch is committed: a few seconds of extraction, one small transaction.
BATCH_PASSAGES: Final = 300
# Texts embedded in one call; bounds memory.
EMBED_BATCH: Final = 64
# How often a plan is made anew when another writer changed what it was made for.
MAX_ATTEMPTS: Final = 3
# Files between two progress events while nothing is stored.
PROGRESS_FILES: Final = 50
# The counts of a report.
COUNTED: Final = (
    *("read", "changed", "unchanged", "absent", "returned"),
    *("passages", "statements", "entities", "facts", "evidence", "links"),
)
# Who the journal names for what an ingest wrote.
ACTOR: Final = "ingest"

Clock = Callable[[], datetime]


@dataclass(slots=True)
class _Run:
    """What one run has seen and done so far."""

    started: float
    total: int = 0
    done: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    refused: Counter[Refusal] = field(default_factory=Counter)
    problems: list[Problem] = field(default_factory=list)
    warnings: list[Problem] = field(default_factory=list)
    seen: set[str] = field(default_factory=set)
    returning: list[Source] = field(default_factory=list)
    batch: list[Draft] = field(default_factory=list)
    sources: dict[str, Source] = field(default_factory=dict)
    absent: set[str] = field(default_factory=set)
    embeds: bool = True
    receipt: Receipt | None = None
    earlier: Earlier = field(default_factory=Earlier)
    commits: int = 0

    def next_key(self) -> str | None:
        """The journal's key of the next commit."""
        return None if self.receipt is None else self.receipt.name(self.commits)


class Ingestor:
    """Reads files and documents into a store; one run at a time."""

    def __init__(
        self,
        store: Store,
        extractor: Extractor,
        embedder: Embedder | None = None,
        *,
        clock: Clock,
        progress: Progress | None = None,
        zone: tzinfo = UTC,
        lock: AbstractContextManager[object] | None = None,
    ) -> None:
        """``zone`` is what a stamp without a zone in a source means; ``lock`` is held while a
        commit is planned and made, not while models run."""
        self._store = store
        self._extractor = extractor
        self._embedder = embedder if embedder is not None and embedder.dimension else None
        self._clock = clock
        self._progress = progress
        self._zone = zone
        self._lock = lock or nullcontext()

    def ingest(
        self,
        paths: Iterable[Path],
        *,
        project: str | None = None,
        origin: Origin = Origin.OWNER,
        pattern: str | None = None,
        key: str | None = None,
    ) -> IngestReport:
        """Reads files and folders and keeps each as a root, unless a known root holds it.

        What cannot be read is a problem in the report; what an earlier attempt with the same
        ``key`` stored counts as stored by this one. Raises InvalidInputError for a project name
        that cannot be one, KeyReusedError for a key of another call.
        """
        check_text("the project", [project])
        check_text("the pattern", [pattern])
        paths = list(paths)
        asked = {"project": project, "origin": origin, "pattern": pattern}
        run = self._begin(Receipt.of(key, "ingest", paths=paths, **asked))
        known = self._store.view().roots()
        operations, scans, missing = declare(
            paths, known, project=project, pattern=pattern, origin=origin
        )
        run.problems += missing
        if operations:
            self._commit(run, lambda: Plan([*operations]))
        return self._read(run, scans)

    def sync(self, *, key: str | None = None) -> IngestReport:
        """Reads all roots again; files that are gone become absent after a complete scan."""
        run = self._begin(Receipt.of(key, "sync"))
        return self._read(run, [(Path(r.path), r) for r in self._store.view().roots()])

    def ingest_documents(
        self, documents: Iterable[ReadDocument], *, origin: Origin = Origin.OWNER
    ) -> IngestReport:
        """Stores documents that another reader made (transcripts, commits)."""
        run = self._begin()
        for document in documents:
            run.total += 1
            self._take(run, document, origin, None)
        self._flush(run)
        return self._end(run)

    # one run

    def _begin(self, receipt: Receipt | None = None) -> _Run:
        run = _Run(perf_counter(), receipt=receipt)
        if receipt is not None:
            run.earlier = earlier(receipt.stored(self._store.writer))
            run.commits = run.earlier.commits
            run.counts.update(run.earlier.counts)
            run.counts["returned"] += len(run.earlier.returned)
        view = self._store.view()
        run.sources = {source.id: source for source in view.source_list()}
        states = view.states(run.sources)
        run.absent = {each for each, set_ in states.items() if StateKind.ABSENT in set_}
        return run

    def _read(self, run: _Run, scans: Sequence[tuple[Path, Root]]) -> IngestReport:
        roots = self._store.view().roots()
        found = scan(scans, roots, _single_files(run.sources.values(), roots))
        run.problems += found.problems
        run.total = len(found.jobs)
        for job in found.jobs:
            self._read_job(run, job)
        self._flush(run)
        self._mark(run, self._vanished(run, [r for r in roots if r.id in found.complete]))
        return self._end(run)

    def _read_job(self, run: _Run, job: Job) -> None:
        try:
            raw = load_file(job.path, Path(job.root.path), job.project.base)
            ident = source_id(job.project.id, raw.uri)
            run.seen.add(ident)
            known = run.sources.get(ident)
            if known is not None and known.content_hash == raw.content_hash:
                self._unchanged(run, known)
                return
            document = parse_file(raw, job.project.id, self._zone)
        except ReadError as error:
            run.done += 1
            run.problems.append(Problem(path=error.path, reason=str(error)))
            return
        self._take(run, document, job.root.origin, job.root.id, str(job.path))

    def _unchanged(self, run: _Run, known: Source) -> None:
        run.done += 1
        run.counts["read"] += 1
        if known.id in run.absent:
            run.returning.append(known)
        elif known.id in run.earlier.sources:
            run.counts["changed"] += 1
        elif known.id not in run.earlier.returned:
            run.counts["unchanged"] += 1
        if run.done % PROGRESS_FILES == 0:
            self._tell(run)

    def _take(
        self,
        run: _Run,
        document: ReadDocument,
        origin: Origin,
        root_id: str | None,
        path: str | None = None,
    ) -> None:
        previous = run.sources.get(source_id(document.project, document.uri))
        if previous is not None and previous.content_hash == document.content_hash:
            self._unchanged(run, previous)
            return
        draft = draft_of(
            document,
            previous=previous,
            origin=origin,
            root_id=root_id,
            count_tokens=self._embedder.count_tokens if self._embedder else None,
        )
        run.warnings += [
            warning.model_copy(update={"path": path or warning.path})
            for warning in document.warnings
        ]
        run.batch.append(draft)
        if sum(len(each.pieces) for each in run.batch) >= BATCH_PASSAGES:
            self._flush(run)

    # one batch

    def _flush(self, run: _Run) -> None:
        batch, run.batch = run.batch, []
        if not batch:
            return
        try:
            self._store_batch(run, batch)
        except InvalidInputError:
            for draft in batch:
                self._store_alone(run, draft)
        self._embed(run)

    def _store_alone(self, run: _Run, draft: Draft) -> None:
        """One source by itself after its batch was refused: only the bad one is left out."""
        try:
            self._store_batch(run, [draft])
        except InvalidInputError as error:
            run.done += 1
            run.problems.append(Problem(path=draft.source.uri, reason=str(error)))

    def _store_batch(self, run: _Run, batch: Sequence[Draft]) -> None:
        known = self._store.view().bundles([p.id for draft in batch for p in draft.pieces])
        extracted = extract(batch, frozenset(known), self._extractor)
        records = {s.id: s for s in run.sources.values() if s.kind is SourceKind.RECORD}

        def planned() -> Plan:
            return plan_batch(self._store.view(), batch, extracted, records, self._clock())

        plan = self._commit(run, planned)
        run.counts.update(plan.counts)
        run.refused.update(plan.refused)
        for draft in batch:
            run.counts["read"] += 1
            run.counts["changed"] += 1
            run.counts["returned"] += draft.source.id in run.absent
            run.absent.discard(draft.source.id)
            run.sources[draft.source.id] = draft.source
        run.done += len(batch)
        self._tell(run)

    def _commit(self, run: _Run, planned: Callable[[], Plan]) -> Plan:
        """Commits a plan; it is made anew when another writer came between."""
        for attempt in range(1, MAX_ATTEMPTS + 1):
            try:
                with self._lock:
                    plan = planned()
                    if plan.operations:
                        key = run.next_key()
                        self._store.writer.commit(plan.operations, actor=ACTOR, key=key)
                        run.commits += 1
                return plan
            except ConflictError:
                if attempt == MAX_ATTEMPTS:
                    raise
        raise AssertionError("unreachable")

    def _embed(self, run: _Run) -> None:
        if self._embedder is None or not run.embeds:
            return
        fault = try_embed(self._store.vector_writer, self._embedder)
        if fault is not None:
            run.embeds = False
            reason = f"vectors stay pending: {fault}"
            run.warnings.append(Problem(path=self._embedder.name, reason=reason, fatal=False))

    # absent and returned sources

    def _vanished(self, run: _Run, roots: Sequence[Root]) -> list[Source]:
        """The sources of completely scanned roots whose file is not there any more."""
        gone: list[Source] = []
        for root in roots:
            base = project_of(root).base
            gone += [
                source
                for source in run.sources.values()
                if source.root_id == root.id
                and source.id not in run.seen | run.absent
                and (source.project != root.project or not (base / source.uri).exists())
            ]
        return gone

    def _mark(self, run: _Run, gone: Sequence[Source]) -> None:
        if not gone and not run.returning:
            return

        def planned() -> Plan:
            view = self._store.view()
            leaving = {source.id for source in gone}
            coming = {source.id for source in run.returning}
            states = view.states([*leaving, *coming, *_passages(gone), *_passages(run.returning)])
            missing = {each for each, set_ in states.items() if StateKind.ABSENT in set_}
            operations: list[Operation] = [
                *same_event_operations(
                    view,
                    [],
                    gone=_passages(gone) - missing,
                    back=_passages(run.returning) - missing,
                ),
                *absence(leaving - missing, coming & missing, states, self._clock()),
            ]
            return Plan(operations)

        self._commit(run, planned)
        run.counts["absent"] += len(gone)
        run.counts["returned"] += len(run.returning)

    # reporting

    def _tell(self, run: _Run) -> None:
        if self._progress is not None:
            seconds = perf_counter() - run.started
            self._progress(ProgressEvent(run.done, run.total, run.counts["passages"], seconds))

    def _end(self, run: _Run) -> IngestReport:
        self._tell(run)
        return IngestReport(
            **{name: run.counts[name] for name in COUNTED},
            refused=dict(run.refused),
            problems=tuple(run.problems),
            warnings=tuple(run.warnings),
            seconds=perf_counter() - run.started,
        )


def _single_files(sources: Iterable[Source], roots: Sequence[Root]) -> frozenset[str]:
    """The roots that are one file: their only source is named like the root."""
    names = {root.id: Path(root.path).name for root in roots}
    uris: dict[str, list[str]] = {}
    for source in sources:
        if source.root_id in names:
            uris.setdefault(source.root_id, []).append(Path(source.uri).name)
    return frozenset(ident for ident, found in uris.items() if found == [names[ident]])


def _passages(sources: Iterable[Source]) -> set[str]:
    """The current passages of sources; they are hidden with their source."""
    return {ref.passage_id for source in sources for ref in source.layout}


def embed_pending(writer: VectorWriter, embedder: Embedder) -> int:
    """Embeds all passages without a vector; gives how many vectors were stored.

    Texts without a token have no vector and stay pending.
    """
    stored = 0
    empty: set[str] = set()
    while batch := embed_batch(writer, embedder, empty):
        stored += batch
    return stored


def embed_batch(writer: VectorWriter, embedder: Embedder, empty: set[str]) -> int:
    """Embeds one batch of passages without a vector; 0 when there are none left.

    Texts without a token are added to ``empty`` and not read again.
    """
    while True:
        found = writer.pending(EMBED_BATCH + len(empty))
        pending = [(each, text) for each, text in found if each not in empty]
        if not pending:
            return 0
        vectors = embedder.embed([text for _, text in pending])
        sound = np.isfinite(vectors).all(axis=1) & (np.abs(vectors).sum(axis=1) > 0)
        hashes = [each for (each, _), good in zip(pending, sound, strict=True) if good]
        empty |= {each for (each, _), good in zip(pending, sound, strict=True) if not good}
        if hashes:
            writer.store(hashes, vectors[sound])
            return len(hashes)


def try_embed(writer: VectorWriter, embedder: Embedder) -> str | None:
    """Embeds what is pending; gives the reason when the model failed and vectors stay pending."""
    try:
        embed_pending(writer, embedder)
    except (GraphmemError, OSError, RuntimeError, ValueError) as error:
        return str(error) or type(error).__name__
    return None
