"""Vaults in memory that share one loaded extractor, and notes as real files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path

from graphmem.memory import Memory
from graphmem.model.extraction import Extractor
from graphmem.model.items import Mention
from graphmem.model.results import EntityView, FactView, IngestReport
from graphmem.model.scope import EVERYTHING
from graphmem.settings import Settings
from graphmem.vocabulary import CAUSAL_KINDS

# Ingests one file per text and gives the vault.
Told = Callable[..., Memory]
# The moment that every test vault lives at.
NOW = datetime(2031, 6, 1, 12, tzinfo=UTC)


def vault(extractor: Extractor, *, embedder: str = "none", path: Path | None = None) -> Memory:
    """An empty vault: in memory, or a real one of the default engine at ``path``."""
    engine = "memory" if path is None else "kuzu"
    settings = Settings(engine=engine, embedder=embedder)
    memory = Memory(path, settings, clock=lambda: NOW)
    memory.engine._extractor = extractor
    return memory


def write(folder: Path, *texts: str) -> list[Path]:
    """One file per text, named in order."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / f"n{number:03}.md" for number in range(len(texts))]
    for path, text in zip(paths, texts, strict=True):
        path.write_text(text + "\n", encoding="utf-8")
    return paths


def told(memory: Memory, folder: Path, *texts: str) -> IngestReport:
    """Ingests one note per text."""
    write(folder, *texts)
    report = memory.ingest(folder, project="p")
    assert not report.problems
    return report


def entity(memory: Memory, name: str) -> EntityView:
    """The only entity of exactly that name."""
    result = memory.kg_query(name)
    assert result.matched_by == "name", f"{name!r} is found by {result.matched_by}"
    (found,) = result.entities
    return found


def facts(views: Iterable[FactView]) -> set[tuple[str, str, str]]:
    """Facts as subject, predicate, object."""
    return {(fact.subject, fact.predicate, fact.object) for fact in views}


def entity_names(memory: Memory) -> set[str]:
    """The names of all mentioned entities."""
    view = memory._store.view()
    ids = {m.entity_id for found in mentions_of(memory).values() for m in found}
    return {e.name for e in view.entities(ids, EVERYTHING).values()}


def _passage_ids(memory: Memory) -> list[str]:
    sources = memory._store.view().source_list()
    return [ref.passage_id for source in sources for ref in source.layout]


def mentions_of(memory: Memory) -> Mapping[str, tuple[Mention, ...]]:
    """All mentions by passage."""
    return memory._store.view().mentions_of(_passage_ids(memory), EVERYTHING)


def causal_links(memory: Memory) -> list[str]:
    """The quotes of all causal links between any statements."""
    view = memory._store.view()
    found = view.statements_of(_passage_ids(memory), EVERYTHING)
    ids = [statement.id for group in found.values() for statement in group]
    return [link.quote for link in view.links_of(ids, CAUSAL_KINDS, EVERYTHING)]


def all_facts(memory: Memory) -> set[tuple[str, str, str]]:
    """Every fact about any mentioned entity, as it was said."""
    return {
        fact
        for name in entity_names(memory)
        for found in memory.kg_query(name).entities
        for fact in facts(view for view in found.facts if not view.derived)
    }
