"""Ingests the project's own decision records into a fresh vault and asks the twelve questions.

Run as ``python -m tests.demo.run``; exits with 1 when fewer than ten are answered right.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path
from typing import Any

import graphmem
from graphmem.cli.progress import ProgressLine
from graphmem.memory import Memory
from graphmem.model.results import Answer
from graphmem.model.show import show
from tests.demo.scoring import DECISIONS, Verdict, judge, questions

# Right answers the demonstration must reach, of twelve.
ENOUGH = 10


def records_on_path(memory: Memory, answer: Answer) -> list[str]:
    """Stems of the records that the first hit's path touches, by the ids on it."""
    if not answer.hits:
        return []
    steps = answer.hits[0].path
    ids = {step.source_id for step in steps} | {step.target_id for step in steps}
    items = memory.get(sorted(ids)).items if ids else ()
    spans = [item.data.get("span") for item in items]
    return sorted({Path(str(span["uri"])).stem for span in spans if isinstance(span, dict)})


def ask_all(
    memory: Memory, recipe: str = "default"
) -> list[tuple[dict[str, Any], Answer, Verdict]]:
    """Every question with its answer and verdict."""
    rows = []
    for question in questions():
        answer = memory.search(question["question"], recipe=recipe)
        rows.append((question, answer, judge(question, answer, records_on_path(memory, answer))))
    return rows


def _first_hit(answer: Answer) -> str:
    return show(answer.model_copy(update={"hits": answer.hits[:1], "chain": ()}))


def main(arguments: list[str] | None = None) -> int:
    """Runs the demonstration; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--vault", type=Path, help="keep the vault in this folder")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="graphmem-demo-") as folder:
        vault = options.vault or Path(folder) / "vault"
        with graphmem.open(vault) as memory, ProgressLine() as line:
            print(f"graphmem ingest {DECISIONS.relative_to(DECISIONS.parents[1])}")
            print(
                show(
                    memory.ingest(
                        DECISIONS, project="graphmem", pattern="0*.md", progress=line.update
                    )
                )
            )
            return _report(memory)


def _report(memory: Memory) -> int:
    right = 0
    for question, answer, verdict in ask_all(memory):
        right += verdict.right
        mark = "right" if verdict.right else f"WRONG ({verdict.reason})"
        print(f'\n$ graphmem ask "{question["question"]}"\n{_first_hit(answer)}\n  {mark}')
    lexical = {q["id"]: v for q, _, v in ask_all(memory, "lexical")}
    two = [q["id"] for q in questions() if q["kind"] == "two_records"]
    lost = sum(not lexical[name].right for name in two)
    print(f"\n{right} of {len(lexical)} answered right")
    print(f"with the graph lanes off {lost} of the {len(two)} two-record questions fail")
    return 0 if right >= ENOUGH else 1


if __name__ == "__main__":
    sys.exit(main())
