"""The project's decision records in a vault in memory, and ids in any result."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from graphmem.memory import Memory
from graphmem.model.base import Model
from graphmem.model.extraction import Extractor
from tests.acceptance.notes import DECISIONS
from tests.cases.vaults import vault
from tests.demo.scoring import questions

# Fields of results that hold ids without being named so.
_ID_FIELDS = frozenset({"id", "ids", "passage_ids", "starts", "entities", "closed_by", "missing"})
# Fields named like ids that are not ours: a root is no item that a tool opens.
_NOT_OURS = frozenset({"root_id"})


def record_vault(extractor: Extractor) -> Memory:
    """All decision records, ingested."""
    memory = vault(extractor)
    memory.ingest(DECISIONS, project="graphmem", pattern="0*.md")
    return memory


def asked() -> list[str]:
    """The questions of the demonstration that the records answer."""
    return [str(each["question"]) for each in questions() if each.get("records")]


def ids_of(result: Model | Any) -> Iterator[str]:
    """Every id that stands anywhere in a result."""
    data = result.model_dump(mode="json") if isinstance(result, Model) else result
    yield from _walk(data, "")


def _walk(value: Any, field: str) -> Iterator[str]:
    match value:
        case dict():
            for name, each in value.items():
                yield from _walk(each, name)
        case list():
            for each in value:
                yield from _walk(each, field)
        case str() if (
            value and field not in _NOT_OURS and (field in _ID_FIELDS or field.endswith("_id"))
        ):
            yield value
