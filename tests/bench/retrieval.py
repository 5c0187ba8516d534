"""How well the decision of a record is found by its title, shown to the index and hidden from it.

Run as ``python -m tests.bench.retrieval --data DIR --json OUT``.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import graphmem
from graphmem.cli.progress import ProgressLine
from graphmem.model.items import Passage
from graphmem.settings import Settings
from graphmem.vocabulary import PassageRole, SourceKind
from tests.bench.records import NoDataError, Record, find_records, hide_titles, write_records
from tests.bench.stats import Estimate, estimate, show_progress, table
from tests.bench.systems import DEFAULT, HYBRID, PLAIN, VECTOR_WEIGHTS, Run, Systems

REPO = Path(__file__).resolve().parents[2]
DATA = REPO.parent / "shared" / "bench-data"
OWN_RECORDS = REPO / "docs" / "decisions"

# The parts of a record that answer why, when its title is hidden.
EXPLAINING = frozenset({PassageRole.DECISION, PassageRole.CONTEXT, PassageRole.RATIONALE})
# Depths at which recall is measured with the title hidden.
SHALLOW, DEEP = 5, 10

Section = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Question:
    """A record's title as a question, and the sections that answer it."""

    text: str
    source_id: str
    decision: frozenset[Section]
    explaining: frozenset[Section]


@dataclass(frozen=True, slots=True)
class Outcome:
    """Each system's rank of the right section (None: not found) and seconds, per question."""

    ranks: dict[str, list[int | None]]
    seconds: dict[str, list[float]]


@dataclass(frozen=True, slots=True)
class Table:
    """One benchmark table: rows of metrics and the default's paired advantages."""

    name: str
    questions: int
    metrics: tuple[str, ...]
    rows: dict[str, dict[str, Estimate]]
    differences: dict[str, dict[str, Estimate]]
    milliseconds: dict[str, float]
    missed: int

    def __str__(self) -> str:
        lines = [
            [name, *(str(row[m]) for m in self.metrics), f"{self.milliseconds[name]:.1f}"]
            for name, row in self.rows.items()
        ]
        gains = [
            [f"{DEFAULT} - {name}", *(str(row[m]) for m in self.metrics), ""]
            for name, row in self.differences.items()
        ]
        shown = table(["", *self.metrics, "p50 ms"], [*lines, *gains])
        note = (
            f"{self.questions} questions; {DEFAULT} does not find {self.missed}; "
            "lanes are timed together"
        )
        return f"{self.name}: {note}\n{shown}"

    def as_json(self) -> dict[str, Any]:
        """Plain data with the same numbers."""
        return {
            "questions": self.questions,
            "missed": self.missed,
            "systems": {
                name: {
                    **{metric: each.as_json() for metric, each in row.items()},
                    "p50_ms": round(self.milliseconds[name], 2),
                }
                for name, row in self.rows.items()
            },
            "default_minus": {
                name: {metric: each.as_json() for metric, each in row.items()}
                for name, row in self.differences.items()
            },
        }


def section_of(passage: Passage) -> Section:
    """A section is a top-level heading of a source; what stands before the first is one too."""
    return passage.source_id, passage.heading_path[0] if passage.heading_path else ""


def questions_of(systems: Systems, titles: Mapping[tuple[str, str], str]) -> list[Question]:
    """A question for each record that has a title and a decision section.

    ``titles`` are by project and path, for the vault may not know them.
    """
    roles: dict[str, dict[PassageRole, set[Section]]] = {}
    for passage in systems.passages.values():
        own = roles.setdefault(passage.source_id, {})
        own.setdefault(passage.role, set()).add(section_of(passage))
    found = []
    for source in sorted(systems.sources.values(), key=lambda each: (each.project, each.uri)):
        own = roles.get(source.id, {})
        title = _title_of(titles, source.project, source.uri)
        decision = frozenset(own.get(PassageRole.DECISION, ()))
        if source.kind is SourceKind.RECORD and title and decision:
            explaining = frozenset(s for role in EXPLAINING for s in own.get(role, ()))
            found.append(Question(f"Why: {title}?", source.id, decision, explaining))
    return found


def _title_of(titles: Mapping[tuple[str, str], str], project: str, uri: str) -> str:
    exact = titles.get((project, uri))
    if exact is not None:
        return exact
    ends = [title for (_, path), title in titles.items() if uri.endswith(path)]
    return ends[0] if len(ends) == 1 else ""


def run_all(systems: Systems, questions: Sequence[Question], *, hidden: bool) -> Outcome:
    """Asks every question of every system."""
    outcome = Outcome({}, {})
    for done, question in enumerate(questions, 1):
        right = question.explaining if hidden else question.decision
        for name, run in systems.ask(question.text).items():
            outcome.ranks.setdefault(name, []).append(rank_of(run, right, systems.passages))
            outcome.seconds.setdefault(name, []).append(run.seconds)
        show_progress("hidden titles" if hidden else "indexed titles", done, len(questions))
    return outcome


def rank_of(run: Run, right: frozenset[Section], passages: Mapping[str, Passage]) -> int | None:
    """The rank, from 1, of the first right section among the sections a run gave."""
    seen: dict[Section, None] = {}
    for passage_id in run.ranked:
        section = section_of(passages[passage_id])
        seen.setdefault(section)
        if section in right:
            return len(seen)
    return None


def summarize(name: str, outcome: Outcome, *, hidden: bool) -> Table:
    """Metrics with intervals for each system; of the hybrids only the one tuned on this set."""
    names = [each for each in outcome.ranks if not each.startswith(HYBRID)]
    values = {each: _values(ranks, hidden) for each, ranks in outcome.ranks.items()}
    last = tuple(values[PLAIN])[-1]
    best = max(VECTOR_WEIGHTS, key=lambda w: sum(values[f"{HYBRID} {w}"][last]))
    shown = [*(each for each in names if each != DEFAULT), f"{HYBRID} {best}", DEFAULT]
    rivals = (PLAIN, "lane bm25", f"{HYBRID} {best}")
    return Table(
        name=name,
        questions=len(outcome.ranks[DEFAULT]),
        metrics=tuple(values[PLAIN]),
        rows={each: {m: estimate(v) for m, v in values[each].items()} for each in shown},
        differences={
            rival: {
                metric: estimate(_minus(values[DEFAULT][metric], values[rival][metric]))
                for metric in values[DEFAULT]
            }
            for rival in rivals
        },
        milliseconds={each: 1000 * statistics.median(outcome.seconds[each]) for each in shown},
        missed=sum(rank is None for rank in outcome.ranks[DEFAULT]),
    )


def _values(ranks: Sequence[int | None], hidden: bool) -> dict[str, list[float]]:
    if hidden:
        return {f"R@{k}": [float(bool(r and r <= k)) for r in ranks] for k in (SHALLOW, DEEP)}
    return {
        "R@1": [float(r == 1) for r in ranks],
        "MRR": [1.0 / r if r else 0.0 for r in ranks],
    }


def _minus(left: Sequence[float], right: Sequence[float]) -> list[float]:
    return [a - b for a, b in zip(left, right, strict=True)]


def measure(records: Sequence[Record], embedder: str, *, hidden: bool, limit: int | None) -> Table:
    """Ingests the records into a fresh vault and asks for each of them."""
    stored = hide_titles(records) if hidden else list(records)
    titles = {(s.project, s.path): r.title for s, r in zip(stored, records, strict=True)}
    name = "title hidden" if hidden else "title indexed"
    settings = Settings(engine="memory", embedder=embedder)
    with tempfile.TemporaryDirectory(prefix="graphmem-bench-") as folder:
        memory = graphmem.memory.Memory(None, settings)
        with memory, ProgressLine() as line:
            for project, root in write_records(stored, Path(folder)).items():
                report = memory.ingest(root, project=project, progress=line.update)
                for problem in report.problems:
                    print(f"not read: {problem.path}: {problem.reason}", file=sys.stderr)
            systems = Systems(memory)
            questions = questions_of(systems, titles)[:limit]
            left_out = len(records) - len(questions)
            print(f"{name}: {left_out} records without a decision section", file=sys.stderr)
            if not questions:
                raise NoDataError("no record has a section for its decision")
            systems.ask(questions[0].text)
            return summarize(name, run_all(systems, questions, hidden=hidden), hidden=hidden)


def load(data: Path | None) -> tuple[list[Record], Path]:
    """The records and where they are from; the project's own without ``data`` and shared data.

    Raises NoDataError when ``data`` is given and has none.
    """
    if data is not None:
        return find_records(data), data
    try:
        return find_records(DATA), DATA
    except NoDataError as error:
        print(f"{error}; measuring on {OWN_RECORDS} instead", file=sys.stderr)
        return find_records(OWN_RECORDS), OWN_RECORDS


def main(arguments: list[str] | None = None) -> int:
    """Prints both tables; returns 2 when there is no data."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, help="folder with adr/<project>/**/*.md")
    parser.add_argument("--json", type=Path, help="write the numbers to this file")
    parser.add_argument("--embedder", default="minilm", help="minilm, hashing or none")
    parser.add_argument("--limit", type=int, help="ask only so many questions")
    options = parser.parse_args(arguments)
    try:
        records, origin = load(options.data)
        tables = [
            measure(records, options.embedder, hidden=hidden, limit=options.limit)
            for hidden in (False, True)
        ]
    except NoDataError as error:
        print(error, file=sys.stderr)
        return 2
    projects = sorted({each.project for each in records})
    print(f"adr: {len(records)} records of {len(projects)} projects from {origin}")
    for each in tables:
        print(f"\n{each}")
    if options.json:
        result = {
            "set": "adr",
            "embedder": options.embedder,
            "records": len(records),
            "projects": projects,
            "tables": {each.name: each.as_json() for each in tables},
        }
        options.json.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
