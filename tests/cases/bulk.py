"""A bulk import in a process of its own: ``python -m tests.cases.bulk VAULT NOTES``.

Prints one JSON line per step (notes done, seconds, resident memory in MiB) and at the end the
report and the vault's sequence number.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path

import psutil

from graphmem.memory import Memory
from graphmem.model.extraction import (
    Extraction,
    MentionCandidate,
    MentionTerm,
    PassageInput,
    StatementCandidate,
    TripleCandidate,
)
from graphmem.model.inputs import ProgressEvent
from graphmem.settings import Settings
from graphmem.vocabulary import StatementKind

# Lines of a note, each one triple; 5,000 notes give 50,000.
TRIPLES_PER_NOTE = 10
# Names that the notes share.
NAMES = 3_000

_LINE = re.compile(r"(Unit \d+) supplies (Unit \d+)\.")


def note(number: int) -> str:
    """The text of a note: ten triples between named units, none between a unit and itself."""
    first = number * TRIPLES_PER_NOTE
    lines = range(first, first + TRIPLES_PER_NOTE)
    return "".join(
        f"Unit {line % NAMES} supplies Unit {(line * 7 + line // NAMES * 6 + 1) % NAMES}.\n"
        for line in lines
    )


class StubExtractor:
    """One statement with two names and a triple per line; no model."""

    name = "stub"
    revision = 1

    def extract(self, passages: Sequence[PassageInput]) -> list[Extraction]:
        """One extraction per passage."""
        return [_extraction(each.text) for each in passages]


def _extraction(text: str) -> Extraction:
    statements, mentions, triples = [], [], []
    for at, found in enumerate(_LINE.finditer(text)):
        statements.append(StatementCandidate(found.start(), found.end(), StatementKind.FACT))
        for name in (1, 2):
            start, end = found.span(name)
            mentions.append(MentionCandidate(start, end, found[name], statement=at))
        triples.append(
            TripleCandidate(
                subject=MentionTerm(2 * at),
                predicate="supplies",
                object=MentionTerm(2 * at + 1),
                start=found.start(),
                end=found.end(),
                statement=at,
            )
        )
    return Extraction(tuple(statements), tuple(mentions), tuple(triples), ())


def run(vault: Path, notes: Path) -> None:
    """Imports the notes and prints how it goes."""
    process = psutil.Process()

    def progress(event: ProgressEvent) -> None:
        memory_mib = process.memory_info().rss / 2**20
        print(json.dumps([event.done, event.seconds, memory_mib]), flush=True)

    with Memory(vault, Settings(embedder="hashing")) as memory:
        memory.engine._extractor = StubExtractor()
        report = memory.ingest(notes, project="p", progress=progress)
        told = {**report.model_dump(mode="json"), "seq": memory.status().seq}
        print(json.dumps({**told, "pending": memory.status().vectors_pending}), flush=True)


if __name__ == "__main__":
    run(Path(sys.argv[1]), Path(sys.argv[2]))
