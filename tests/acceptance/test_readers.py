"""Readers beside a writer on a real vault: no error, and never a part of a source."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

from graphmem.extractors import SpacyExtractor
from graphmem.memory import Memory
from graphmem.model.scope import EVERYTHING
from tests.cases.vaults import vault

SOURCES = 24
PARTS = 4


def _write(folder: Path) -> Path:
    folder.mkdir()
    for number in range(SOURCES):
        parts = [
            f"## Part {part}\n\nPump P-{number} failed in hall {part} because fuse F-{part} blew.\n"
            for part in range(PARTS)
        ]
        (folder / f"s{number:02}.md").write_text("\n".join(parts), encoding="utf-8")
    return folder


def _look(memory: Memory) -> int:
    """Checks that one view has whole sources only; gives their number."""
    view = memory._store.view()
    sources = view.source_list()
    for source in sources:
        wanted = {ref.passage_id for ref in source.layout}
        assert len(wanted) >= PARTS
        assert set(view.passages(wanted, EVERYTHING)) == wanted
        statements = view.statements_of(wanted, EVERYTHING)
        adjacency = view.adjacency(EVERYTHING)
        assert all(adjacency.handle(s.id) is not None for g in statements.values() for s in g)
    counts = view.counts(EVERYTHING)
    assert counts["source"] == len(sources)
    assert counts["passage"] == sum(len(source.layout) for source in sources)
    return len(sources)


def _ask(memory: Memory) -> int:
    answer = memory.search("why did the pump fail?")
    ids = [hit.passage_id for hit in answer.hits]
    assert not ids or memory.get(ids).missing == ()
    found = memory.kg_query("P-3").entities
    if found:
        assert found[0].mentions >= PARTS
    links = memory.find_causal_links("why did the pump fail?")
    assert all(edge.witnesses for edge in links.edges)
    return memory.status().seq


def test_reads_beside_an_ingest_see_whole_sources_and_never_fail(
    extractor: SpacyExtractor, tmp_path: Path
) -> None:
    notes = _write(tmp_path / "notes")
    faults: list[BaseException] = []
    seen: dict[str, list[int]] = {"look": [], "ask": []}
    done = threading.Event()
    with vault(extractor, path=tmp_path / "vault") as memory:

        def read(name: str, once: Callable[[Memory], int]) -> None:
            try:
                while not done.is_set():
                    seen[name].append(once(memory))
            except BaseException as error:
                faults.append(error)

        threads = [
            threading.Thread(target=read, args=("look", _look)),
            threading.Thread(target=read, args=("ask", _ask)),
        ]
        for thread in threads:
            thread.start()
        try:
            for path in sorted(notes.iterdir()):
                assert memory.ingest(path, project="p").changed == 1
        finally:
            done.set()
            for thread in threads:
                thread.join(timeout=60)
        assert faults == []
        assert not any(thread.is_alive() for thread in threads)
        assert all(numbers == sorted(numbers) for numbers in seen.values())
        assert len(set(seen["look"])) > 2
        assert _look(memory) == SOURCES
