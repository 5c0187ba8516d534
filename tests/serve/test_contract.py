"""One contract for every way to open a vault: the engine here, or in the owner process."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

import graphmem
from graphmem.errors import (
    GraphmemError,
    InvalidInputError,
    KeyReusedError,
    UsageError,
    VaultError,
    VaultNotFoundError,
)
from graphmem.model.inputs import CauseInput, FactInput, ProgressEvent
from graphmem.model.results import Result
from graphmem.model.scope import Scope
from graphmem.serve.contract import MemoryLike
from graphmem.vocabulary import LinkKind, Origin, Polarity

MODES = ("embedded", "client")
# A client of an owner process, and one of a program that has the vault open itself.
WAYS = (*MODES, "beside")


@pytest.fixture(params=WAYS)
def memory(request: pytest.FixtureRequest, vault: Path) -> Iterator[MemoryLike]:
    if request.param != "beside":
        with graphmem.open(vault, mode=request.param) as opened:
            yield opened
        return
    with graphmem.open(vault) as holder, graphmem.open(vault, mode="client") as opened:
        assert isinstance(holder, graphmem.Memory) and not isinstance(opened, graphmem.Memory)
        yield opened


def test_it_has_every_public_method(memory: MemoryLike, vault: Path) -> None:
    assert isinstance(memory, MemoryLike)
    assert memory.path == vault


def test_an_ingest_reports_progress_and_is_idempotent(memory: MemoryLike, notes: Path) -> None:
    seen: list[ProgressEvent] = []
    report = memory.ingest(notes, project="kiln", progress=seen.append)
    assert (report.changed, report.problems) == (2, ())
    assert seen and seen[-1].done == seen[-1].total == 2
    again = memory.ingest([notes], project="kiln")
    assert (again.changed, again.unchanged) == (0, 2)


def test_relative_paths_start_from_the_callers_folder(
    memory: MemoryLike, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(notes.parent)
    assert memory.ingest("notes").changed == 2


def test_sync_hides_what_is_gone_and_brings_it_back(memory: MemoryLike, notes: Path) -> None:
    memory.ingest(notes)
    text = (notes / "a.md").read_text()
    (notes / "a.md").unlink()
    assert memory.sync().absent == 1
    assert not memory.search("why did the seal crack?").supported
    (notes / "a.md").write_text(text)
    assert memory.sync().returned == 1
    assert memory.search("why did the seal crack?").supported


def test_stated_facts_and_causes_keep_all_their_parts(memory: MemoryLike) -> None:
    since = datetime(2026, 3, 1, tzinfo=UTC)
    stored = memory.remember(
        "Orion moved to Basalt.",
        facts=[
            FactInput("Orion", "uses", "Basalt", valid_from=since),
            FactInput("Orion", "uses", "Chalk", polarity=Polarity.NEGATIVE),
            "Orion|is in|Bay 3",
        ],
        because="Chalk was too soft.",
        causes=[CauseInput("Chalk broke twice.", "the kiln stopped", LinkKind.ENABLES)],
        project="kiln",
        origin=Origin.AGENT,
    )
    assert {item.outcome for item in stored.items} == {"stored"}
    facts = {fact.object: fact for fact in memory.kg_query("Orion").entities[0].facts}
    assert facts["Basalt"].valid_from == since
    assert facts["Chalk"].polarity is Polarity.NEGATIVE
    assert "Bay 3" in facts
    edges = memory.find_causal_links("the kiln stopped").edges
    assert LinkKind.ENABLES in {edge.kind for edge in edges}
    hidden = memory.kg_query("Orion", scope=Scope(projects=frozenset({"other"})))
    assert not any(entity.facts for entity in hidden.entities)


def test_the_same_key_stores_once_and_answers_as_before(memory: MemoryLike) -> None:
    asked: dict[str, Any] = {"facts": ["Orion|uses|Basalt"], "key": "k1 with spaces, ü"}
    first = memory.remember("The first text.", **asked)
    again = memory.remember("The first text.", **asked)
    assert again == first.model_copy(update={"repeated": True})
    assert memory.status().counts["source"] == 1
    with pytest.raises(KeyReusedError, match="k1"):
        memory.remember("The second text.", **asked)


def test_an_ingest_with_a_known_key_reports_what_was_stored(
    memory: MemoryLike, notes: Path
) -> None:
    first = memory.ingest(notes, key="run-1")
    again = memory.ingest(notes, key="run-1")
    assert again.model_copy(update={"seconds": first.seconds}) == first
    assert memory.ingest(notes, key="run-2").unchanged == 2
    with pytest.raises(KeyReusedError, match="run-1"):
        memory.ingest(notes / "a.md", key="run-1")


def test_the_same_text_without_a_key_is_one_source(memory: MemoryLike) -> None:
    memory.remember("Orion moved.", facts=["Orion|uses|Basalt"])
    again = memory.remember("Orion moved.", facts=["Orion|uses|Basalt"])
    assert [item.outcome for item in again.items] == ["merged"]
    assert memory.status().counts["source"] == 1


def test_every_id_of_an_answer_can_be_opened(memory: MemoryLike, notes: Path) -> None:
    memory.ingest(notes)
    hit = memory.search("why did the seal crack?").hits[0]
    found = memory.get([hit.passage_id, "psg:00000000000000000000"])
    assert [item.id for item in found.items] == [hit.passage_id]
    assert found.missing == ("psg:00000000000000000000",)
    assert memory.get(hit.passage_id).items == found.items


def test_the_graph_has_text_and_kind_on_its_nodes(memory: MemoryLike, notes: Path) -> None:
    memory.ingest(notes)
    graph = memory.to_networkx()
    assert graph.number_of_edges() > 0
    assert {"kind", "label", "text"} <= set(next(iter(graph.nodes(data=True)))[1])
    some = next(iter(graph.nodes))
    assert some in memory.to_networkx(some, depth=1)


def test_a_vault_in_use_is_verified_and_backed_up(
    memory: MemoryLike, notes: Path, tmp_path: Path
) -> None:
    memory.ingest(notes)
    report = memory.verify()
    assert report.ok and report.seq == memory.status().seq
    quick = memory.verify(quick=True)
    assert len(quick.checks) < len(report.checks)
    made = memory.backup(tmp_path / "copy")
    assert made.manifest.head == report.seq
    with pytest.raises(UsageError):
        memory.backup(tmp_path / "copy")


def test_a_rebuild_keeps_the_dump(memory: MemoryLike, notes: Path) -> None:
    memory.ingest(notes)
    before = list(memory.dump())
    memory.rebuild()
    assert list(memory.dump()) == before
    assert len(list(memory.dump(content=True))) > 5


@pytest.mark.parametrize(
    ("call", "kind", "words"),
    [
        (lambda m: m.remember("   "), InvalidInputError, "empty"),
        (lambda m: m.remember("A note.", facts=["no bars"]), InvalidInputError, "no bars"),
        (lambda m: m.remember("x" * 100_001), InvalidInputError, "100001"),
        (lambda m: m.ingest([]), UsageError, "nothing to ingest"),
        (lambda m: m.find_causal_links("x", direction="up"), UsageError, "up"),
        (lambda m: m.to_networkx("psg:none"), UsageError, "psg:none"),
        (lambda m: m.search("x", recipe="soup"), UsageError, "soup"),
    ],
)
def test_errors_have_the_same_class_and_words(
    memory: MemoryLike, call: Any, kind: type[GraphmemError], words: str
) -> None:
    with pytest.raises(kind, match=words) as caught:
        call(memory)
    assert type(caught.value) is kind


def test_a_closed_vault_says_so(memory: MemoryLike) -> None:
    memory.close()
    memory.close()
    with pytest.raises(VaultError, match="closed"):
        memory.search("why?")


@pytest.mark.parametrize("mode", MODES)
def test_without_create_a_missing_vault_is_not_made(vault: Path, mode: Any) -> None:
    with pytest.raises(VaultNotFoundError, match="vault"):
        graphmem.open(vault, create=False, mode=mode)
    assert not vault.exists()


def test_both_give_equal_results(vault: Path, notes: Path) -> None:
    def results(memory: MemoryLike) -> list[dict[str, Any]]:
        found: list[Result] = [
            memory.search("why did the seal crack?"),
            memory.kg_query("Zephyr Depot", as_of=datetime(2030, 1, 1, tzinfo=UTC)),
            memory.find_causal_links("the seal cracked", direction="both"),
            memory.get([node for node in sorted(memory.to_networkx().nodes)]),
            memory.status(),
        ]
        return [each.model_dump(mode="json") for each in found]

    with graphmem.open(vault, mode="embedded") as memory:
        memory.ingest(notes)
        here, dump = results(memory), list(memory.dump())
    with graphmem.open(vault, mode="client") as memory:
        assert results(memory) == here
        assert list(memory.dump()) == dump
