"""What an ingest costs beside its two models, and what reading unchanged files again costs.

Run as ``python -m tests.bench.ingest --data DIR --json OUT``.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

from graphmem.embed import Embedder, load_embedder
from graphmem.extractors import SpacyExtractor
from graphmem.ingest import Ingestor, pipeline
from graphmem.memory import _now
from graphmem.model.scope import EVERYTHING
from graphmem.store import open_store
from tests.bench.records import NoDataError, Record, write_records
from tests.bench.retrieval import load
from tests.bench.stats import show_progress, table

# Goals: an ingest takes at most so many times what its models take on the same text, and reading
# unchanged files again at most this share of the first run.
MODEL_RATIO, AGAIN_RATIO = 1.5, 0.1
# Texts in one call of the models, as an ingest has them.
SPACY_BATCH, EMBED_BATCH = 128, 64
FILES, REPEATS = 1000, 3
# Sections of a generated file and sentences of a section: about what a short record has.
SECTIONS, SENTENCES = 4, 3
SEED = 11

_SUBJECTS = ("The importer", "The scheduler", "Our gateway", "Redis", "The report", "PostgreSQL")
_VERBS = ("stores", "reads", "replaced", "depends on", "slows down", "needs", "publishes")
_OBJECTS = ("the queue", "old invoices", "Kafka", "its cache", "the search index", "SQLite 3")
_ENDS = ("", " because the disk was full", " since March 2021", ", so we moved it", " every night")


@dataclass(frozen=True, slots=True)
class Parts:
    """Seconds of one ingest by what it did; ``other`` is planning and everything else."""

    total: float
    read: float
    extract: float
    embed: float
    commit: float

    @property
    def other(self) -> float:
        """What no named part took."""
        return max(0.0, self.total - self.read - self.extract - self.embed - self.commit)

    def as_json(self) -> dict[str, float]:
        """All parts in seconds."""
        names = ("total", "read", "extract", "embed", "commit", "other")
        return {name: round(float(getattr(self, name)), 4) for name in names}


@dataclass(frozen=True, slots=True)
class Repeat:
    """One repetition: the models alone and the whole ingest of the same passages, in seconds."""

    spacy: float
    embedder: float
    parts: Parts
    passages: int

    @property
    def ratio(self) -> float:
        """The ingest's time in units of the models' time."""
        return self.parts.total / (self.spacy + self.embedder)


@dataclass(frozen=True, slots=True)
class Again:
    """The first and the second, unchanged, run over the generated files, in seconds."""

    files: int
    first: float
    second: float

    @property
    def ratio(self) -> float:
        """The second run's share of the first."""
        return self.second / self.first


def write_generated(folder: Path, files: int, seed: int = SEED) -> None:
    """Markdown notes and records of made-up sentences, the same for the same seed."""
    choose = random.Random(seed)
    for number in range(files):
        lines = [f"# {number}. {choose.choice(_SUBJECTS)} and {choose.choice(_OBJECTS)}\n"]
        for heading in ("Context", "Decision", "Consequences", "Notes")[:SECTIONS]:
            said = [_sentence(choose, number) for _ in range(SENTENCES)]
            lines.append(f"## {heading}\n\n{' '.join(said)}\n")
        (folder / f"{number:04d}-note.md").write_text("\n".join(lines), encoding="utf-8")


def _sentence(choose: random.Random, number: int) -> str:
    words = (choose.choice(_SUBJECTS), choose.choice(_VERBS), choose.choice(_OBJECTS))
    return f"{' '.join(words)} {number}{choose.choice(_ENDS)}."


@contextmanager
def _timed_calls(
    spent: dict[str, float], targets: Sequence[tuple[Any, str, str]]
) -> Iterator[None]:
    """Adds up the seconds inside some functions while the block runs."""
    originals = [(owner, name, getattr(owner, name)) for owner, name, _ in targets]
    for owner, name, label in targets:
        setattr(owner, name, _timing(getattr(owner, name), spent, label))
    try:
        yield
    finally:
        for owner, name, original in originals:
            setattr(owner, name, original)


def _timing(call: Callable[..., Any], spent: dict[str, float], label: str) -> Callable[..., Any]:
    def timed(*args: Any, **kwargs: Any) -> Any:
        start = perf_counter()
        try:
            return call(*args, **kwargs)
        finally:
            spent[label] = spent.get(label, 0.0) + perf_counter() - start

    return timed


class Bench:
    """Loaded models, shared by all runs so that loading is in no measurement."""

    def __init__(self, embedder: str, engine: str) -> None:
        self.extractor = SpacyExtractor()
        self.embedder: Embedder | None = load_embedder(embedder)
        if self.embedder.dimension == 0:
            self.embedder = None
        self._engine = engine
        self.extractor.nlp("Warm up the parser.")
        if self.embedder is not None:
            self.embedder.embed(["warm up"])

    def models(self, texts: Sequence[str]) -> tuple[float, float]:
        """Seconds of spaCy's pipe and of the embedder over the texts."""
        start = perf_counter()
        for _ in self.extractor.nlp.pipe(texts, batch_size=SPACY_BATCH):
            pass
        middle = perf_counter()
        if self.embedder is not None:
            for at in range(0, len(texts), EMBED_BATCH):
                self.embedder.embed(texts[at : at + EMBED_BATCH])
        return middle - start, perf_counter() - middle

    def ingest(
        self, folders: Sequence[Path], vault: Path, runs: int = 1
    ) -> tuple[list[Parts], list[str]]:
        """Ingests the folders into a new vault; gives each run's parts and all passages' texts."""
        store = open_store(vault, create=True, graph=self._engine, clock=_now)
        try:
            if self.embedder is not None:
                store.bind_embedder(self.embedder.identity())
            found = [self._run(store, folders) for _ in range(runs)]
            view = store.view()
            ids = [ref.passage_id for source in view.source_list() for ref in source.layout]
            texts = [each.text for each in view.passages(ids, EVERYTHING).values()]
        finally:
            store.close()
        return found, texts

    def _run(self, store: Any, folders: Sequence[Path]) -> Parts:
        spent: dict[str, float] = {}
        targets: list[tuple[Any, str, str]] = [
            (pipeline, "load_file", "read"),
            (pipeline, "parse_file", "read"),
            (pipeline, "draft_of", "read"),
            (pipeline, "extract", "extract"),
            (pipeline, "try_embed", "embed"),
            (type(store.writer), "commit", "commit"),
        ]
        ingestor = Ingestor(store, self.extractor, self.embedder, clock=_now)
        with _timed_calls(spent, targets):
            start = perf_counter()
            report = ingestor.ingest(folders)
            total = perf_counter() - start
        for problem in report.problems:
            print(f"not read: {problem.path}: {problem.reason}", file=sys.stderr)
        parts = {name: spent.get(name, 0.0) for name in ("read", "extract", "embed", "commit")}
        return Parts(total, **parts)


def measure(bench: Bench, records: Sequence[Record], repeats: int) -> list[Repeat]:
    """Models alone and ingest in turn, each ingest into a fresh vault."""
    found = []
    with tempfile.TemporaryDirectory(prefix="graphmem-bench-") as folder:
        roots = list(write_records(records, Path(folder) / "records").values())
        _, texts = bench.ingest(roots, Path(folder) / "warm")
        for number in range(repeats):
            spacy, embedder = bench.models(texts)
            (parts,), _ = bench.ingest(roots, Path(folder) / f"vault-{number}")
            found.append(Repeat(spacy, embedder, parts, len(texts)))
            show_progress("repetitions", number + 1, repeats)
    return found


def measure_again(bench: Bench, files: int) -> tuple[Again, Parts]:
    """A first and an unchanged second run over generated files, and the first run's parts."""
    with tempfile.TemporaryDirectory(prefix="graphmem-bench-") as folder:
        notes = Path(folder) / "notes"
        notes.mkdir()
        write_generated(notes, files)
        (first, second), _ = bench.ingest([notes], Path(folder) / "vault", runs=2)
        show_progress("generated files", files, files)
        return Again(files, first.total, second.total), first


def _report(repeats: Sequence[Repeat], again: Again, parts: Parts) -> str:
    head = [
        "",
        "spaCy",
        "embedder",
        "ingest",
        "ratio",
        "read",
        "extract",
        "embed",
        "commit",
        "other",
    ]
    rows = [
        [
            f"run {number}",
            *_seconds(each.spacy, each.embedder, each.parts.total),
            f"{each.ratio:.2f}",
            *_breakdown(each.parts),
        ]
        for number, each in enumerate(repeats, 1)
    ]
    rows.append([f"{again.files} files", "", "", *_seconds(again.first), "", *_breakdown(parts)])
    ratio = statistics.median(each.ratio for each in repeats)
    return "\n".join(
        [
            f"seconds over {repeats[0].passages} passages",
            table(head, rows),
            f"ingest / (spaCy + embedder): {ratio:.2f} (goal: at most {MODEL_RATIO})",
            f"unchanged run / first run: {again.second:.2f} / {again.first:.2f} s = "
            f"{again.ratio:.3f} (goal: below {AGAIN_RATIO})",
        ]
    )


def _breakdown(parts: Parts) -> list[str]:
    return _seconds(parts.read, parts.extract, parts.embed, parts.commit, parts.other)


def _seconds(*values: float) -> list[str]:
    return [f"{value:.2f}" for value in values]


def _as_json(repeats: Sequence[Repeat], again: Again) -> dict[str, Any]:
    return {
        "passages": repeats[0].passages,
        "ratio": round(statistics.median(each.ratio for each in repeats), 3),
        "ratios": [round(each.ratio, 3) for each in repeats],
        "runs": [
            {
                "spacy": round(each.spacy, 4),
                "embedder": round(each.embedder, 4),
                **each.parts.as_json(),
            }
            for each in repeats
        ],
        "again": {
            "files": again.files,
            "first": round(again.first, 4),
            "second": round(again.second, 4),
            "ratio": round(again.ratio, 4),
        },
    }


def main(arguments: list[str] | None = None) -> int:
    """Prints the ratios with their breakdown; returns 2 when there is no data."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, help="folder with adr/<project>/**/*.md")
    parser.add_argument("--json", type=Path, help="write the numbers to this file")
    parser.add_argument("--embedder", default="minilm", help="minilm, hashing or none")
    parser.add_argument("--engine", default="kuzu", choices=("kuzu", "ladybug", "memory"))
    parser.add_argument("--repeats", type=int, default=REPEATS)
    parser.add_argument("--files", type=int, default=FILES, help="generated files")
    options = parser.parse_args(arguments)
    try:
        records, origin = load(options.data)
    except NoDataError as error:
        print(error, file=sys.stderr)
        return 2
    bench = Bench(options.embedder, options.engine)
    print(f"{len(records)} records from {origin}, {options.embedder}, {options.engine}")
    repeats = measure(bench, records, options.repeats)
    again, parts = measure_again(bench, options.files)
    print(_report(repeats, again, parts))
    if options.json:
        text = json.dumps(_as_json(repeats, again), indent=2)
        options.json.write_text(f"{text}\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
