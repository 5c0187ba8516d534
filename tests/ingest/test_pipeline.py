"""Ingest and sync: repeats change nothing, edits move little, a bad file or crash loses nothing."""

from collections.abc import Callable, Sequence
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from graphmem.embed.base import EmbedderIdentity, load_embedder
from graphmem.errors import InvalidInputError
from graphmem.ingest import Ingestor, ProgressEvent
from graphmem.ingest import pipeline as pipeline_module
from graphmem.model.items import Fact, Link
from graphmem.model.scope import EVERYTHING, Scope
from graphmem.store.protocols import Store
from graphmem.vocabulary import CAUSAL_KINDS, LinkKind, Origin, StateKind
from tests.ingest.conftest import NOW
from tests.ingest.plain_extractor import PlainExtractor

Write = Callable[..., Path]


def content(store: Store) -> list[str]:
    return list(store.dump(content=True))


def facts_of(store: Store, name: str) -> list[Fact]:
    view = store.view()
    return view.facts_about(view.entities_named([name], EVERYTHING).get(name, []), EVERYTHING)


def statements(store: Store) -> dict[str, str]:
    """The text of each visible statement."""
    view = store.view()
    ids = [ref.passage_id for source in view.source_list() for ref in source.layout]
    passages = view.passages(ids, EVERYTHING)
    return {
        each.id: passages[each.passage_id].text[each.start : each.end]
        for found in view.statements_of(ids, EVERYTHING).values()
        for each in found
    }


def links(store: Store, *kinds: LinkKind) -> list[Link]:
    every = list(statements(store))
    return store.view().links_of(every, frozenset(kinds), EVERYTHING)


def test_the_same_input_again_writes_nothing(
    ingestor: Ingestor, store: Store, write: Write
) -> None:
    folder = write("a.md", "Orion uses Basalt. Orion failed because Basalt broke.").parent
    write("b.md", "Basalt feeds Granite.")
    first = ingestor.ingest([folder])
    assert (first.read, first.facts, first.passages) == (2, 2, 2)
    seq = store.view().seq
    again = ingestor.ingest([folder])
    assert (again.read, again.unchanged, again.facts) == (2, 2, 0)
    assert ingestor.sync().unchanged == 2
    assert store.view().seq == seq


def test_ten_runs_about_one_name_make_one_entity_with_ten_pieces_of_evidence(
    ingestor: Ingestor, store: Store, write: Write
) -> None:
    for number in range(10):
        ingestor.ingest([write(f"{number}.md", f"QHRB checks Bay {number}.")])
    (entity,) = store.view().entities_named(["qhrb"], EVERYTHING)["qhrb"]
    facts = facts_of(store, "qhrb")
    assert len(facts) == 10
    assert {fact.subject_id for fact in facts} == {entity}


def test_a_repeat_in_another_source_adds_evidence_only(
    ingestor: Ingestor, store: Store, write: Write
) -> None:
    ingestor.ingest([write("a.md", "Orion uses Basalt.")])
    report = ingestor.ingest([write("b.md", "Orion uses Basalt.")])
    assert (report.facts, report.evidence) == (0, 1)
    (fact,) = facts_of(store, "orion")
    assert len(store.view().evidence_of([fact.id], EVERYTHING)[fact.id]) == 2


def test_two_relations_of_one_pair_keep_their_direction(
    ingestor: Ingestor, store: Store, write: Write
) -> None:
    text = "Zephyr Depot supplies Anvil Works. Anvil Works audits Zephyr Depot."
    ingestor.ingest([write("a.md", text)])
    facts = facts_of(store, "zephyr depot")
    assert {(fact.subject_surface, fact.predicate) for fact in facts} == {
        ("Zephyr Depot", "supplies"),
        ("Anvil Works", "audits"),
    }


@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_any_order_of_files_gives_the_same_content(
    make_store: Callable[[], Store], write: Write, order: Sequence[int]
) -> None:
    texts = [
        "# 1. Use Granite\n\n## Status\n\nSuperseded by 2\n\n## Decision\n\nWe uses Granite.\n",
        "# 2. Use Basalt\n\n## Status\n\nSupersedes 1\n\n## Decision\n\nWe uses Basalt.\n",
        "Orion failed because Basalt broke. We uses Basalt.\n",
    ]
    names = ["0001-granite.md", "0002-basalt.md", "note.md"]
    files = [write(name, text) for name, text in zip(names, texts, strict=True)]
    dumps = []
    for arrangement in (range(3), order):
        store = make_store()
        ingestor = Ingestor(store, PlainExtractor(), clock=lambda: NOW)
        for at in arrangement:
            ingestor.ingest([files[at]], project="north-yard")
        dumps.append(content(store))
    roots = '"root'
    assert [line for line in dumps[0] if roots not in line] == [
        line for line in dumps[1] if roots not in line
    ]


def test_records_that_supersede_each_other_are_linked_from_new_to_old(
    ingestor: Ingestor, store: Store, write: Write
) -> None:
    old = write(
        "0001-a.md",
        "# A\n\nStatus: Superseded by [2](0002-b.md)\n\n## Decision\n\nOrion uses Granite.\n",
    )
    write("0002-b.md", "# B\n\nStatus: Accepted\n\n## Decision\n\nOrion uses Basalt.\n")
    ingestor.ingest([old.parent])
    (link,) = links(store, LinkKind.SUPERSEDES)
    texts = statements(store)
    assert (texts[link.source_id], texts[link.target_id]) == (
        "Orion uses Basalt",
        "Orion uses Granite",
    )
    assert link.quote == "Superseded by [2](0002-b.md)"
    old.write_text("# A\n\nStatus: Accepted\n\n## Decision\n\nOrion uses Granite.\n")
    ingestor.sync()
    assert links(store, LinkKind.SUPERSEDES) == []


def test_equal_events_form_a_chain_that_mends_itself(
    ingestor: Ingestor, store: Store, write: Write
) -> None:
    files = [write(f"{name}.md", f"Basalt broke.\n\nIn note {name}.") for name in "abcd"]
    for file in files:
        ingestor.ingest([file], project="p")
    assert len(links(store, LinkKind.SAME_EVENT)) == 3
    hidden = files[1].read_text()
    files[1].unlink()
    assert ingestor.sync().absent == 1
    assert len(links(store, LinkKind.SAME_EVENT)) == 2
    files[1].write_text(hidden)
    assert ingestor.sync().returned == 1
    assert len(links(store, LinkKind.SAME_EVENT)) == 3


def test_equal_events_of_two_projects_are_not_joined(
    ingestor: Ingestor, store: Store, write: Write
) -> None:
    ingestor.ingest([write("a.md", "Basalt broke.")], project="north-yard")
    ingestor.ingest([write("b.md", "Basalt broke.")], project="south-yard")
    assert links(store, LinkKind.SAME_EVENT) == []


def test_a_sequence_is_never_a_cause(ingestor: Ingestor, store: Store, write: Write) -> None:
    text = "Opened ticket 88 before touching anything.\n\nCommit a1.\n\nReview of a1 started.\n"
    ingestor.ingest([write("log.md", text)])
    assert links(store, *CAUSAL_KINDS) == []


def test_an_edit_hides_what_left_and_lifts_it_when_it_returns(
    ingestor: Ingestor, store: Store, write: Write
) -> None:
    first = "## A\n\nOrion uses Basalt.\n\n## B\n\nGranite feeds Slate.\n"
    file = write("a.md", first)
    ingestor.ingest([file])
    before = content(store)
    file.write_text("## A\n\nOrion uses Marble.\n\n## B\n\nGranite feeds Slate.\n")
    report = ingestor.sync()
    assert (report.changed, report.passages) == (1, 1)
    (fact,) = facts_of(store, "orion")
    assert fact.predicate == "uses"
    assert facts_of(store, "basalt") == []
    file.write_text(first)
    assert ingestor.sync().passages == 0
    assert len(facts_of(store, "basalt")) == 1
    assert facts_of(store, "marble") == []
    assert [line for line in before if "Basalt" in line]


def test_an_unchanged_passage_is_not_extracted_again(
    ingestor: Ingestor, extractor: PlainExtractor, write: Write
) -> None:
    text = "".join(f"## H{at}\n\nOrion uses Part {at}.\n\n" for at in range(40))
    file = write("a.md", text)
    ingestor.ingest([file])
    extractor.read = 0
    file.write_text(text.replace("Part 20.", "Part 99."))
    assert ingestor.sync().passages == 1
    assert extractor.read <= 3


def test_causes_survive_a_hidden_and_returned_source(
    ingestor: Ingestor, store: Store, write: Write
) -> None:
    text = "The seal cracked because the coolant ran dry."
    file = write("a.md", text)
    ingestor.ingest([file])
    (before,) = links(store, LinkKind.CAUSES)
    file.unlink()
    ingestor.sync()
    assert links(store, LinkKind.CAUSES) == []
    file.write_text(text)
    ingestor.sync()
    assert links(store, LinkKind.CAUSES) == [before]
    file.write_text("# Title\n\n" + text)
    ingestor.sync()
    (after,) = links(store, LinkKind.CAUSES)
    assert (after.quote, after.confidence) == (before.quote, before.confidence)


def test_only_a_complete_scan_makes_a_file_absent(
    ingestor: Ingestor, store: Store, write: Write
) -> None:
    folder = write("a.md", "Orion uses Basalt.").parent
    other = write("b.md", "Orion uses Slate.")
    ingestor.ingest([folder])
    (folder / "a.md").unlink()
    assert ingestor.ingest([other]).absent == 0
    moved = folder.rename(folder.with_name("elsewhere"))
    report = ingestor.sync()
    assert (report.absent, len(report.problems)) == (0, 1)
    moved.rename(folder)
    assert ingestor.sync().absent == 1
    assert len(facts_of(store, "orion")) == 1


def test_a_path_inside_a_root_belongs_to_it(ingestor: Ingestor, store: Store, write: Write) -> None:
    file = write("sub/a.md", "Orion uses Basalt.")
    ingestor.ingest([file.parent.parent])
    report = ingestor.ingest([file.parent, file])
    assert report.unchanged == 1
    assert len(store.view().roots()) == 1
    assert len(store.view().source_list()) == 1


def test_a_bad_file_is_a_problem_and_the_rest_goes_on(
    ingestor: Ingestor, store: Store, write: Write, tmp_path: Path
) -> None:
    folder = write("a.md", "Orion uses Basalt.").parent
    (folder / "bad.md").write_bytes(b"\0\0")
    report = ingestor.ingest([folder, tmp_path / "gone"])
    assert report.read == 1
    assert sorted(Path(problem.path).name for problem in report.problems) == ["bad.md", "gone"]
    assert len(facts_of(store, "orion")) == 1


def test_seven_odd_notes_are_all_read_and_two_are_named(
    ingestor: Ingestor, store: Store, write: Write
) -> None:
    notes = {
        "a.md": "---\ntitle: Log\n---\nNote alpha.\n",
        "b.md": "---\ntitle: Pump: phase 2\n---\nNote bravo.\n",
        "c.md": "---\nup: [[Home]]x\n---\nNote charlie.\n",
        "d.md": "\ufeff---\ntitle: Log\n---\nNote delta.\n",
        "e.md": "---\r\ntitle: Echo log\r\n---",
        "f.md": "---\nNote foxtrot.\n\n---\n\nSecond part.\n",
        "g.md": "---\ncreated: 2031-04-05\ntags:\n---\nNote golf.\n",
    }
    for name, text in notes.items():
        folder = write(name, text).parent
    report = ingestor.ingest([folder])
    assert (report.read, len(report.warnings), report.problems) == (7, 2, ())
    assert [(Path(each.path).name, each.line) for each in report.warnings] == [
        ("b.md", 2),
        ("c.md", 2),
    ]
    view = store.view()
    ids = [ref.passage_id for source in view.source_list() for ref in source.layout]
    stored = " ".join(passage.text for passage in view.passages(ids, EVERYTHING).values())
    for word in ("alpha", "bravo", "charlie", "delta", "Echo log", "foxtrot", "Second", "golf"):
        assert word in stored


@pytest.mark.parametrize(
    "project", ["north-yard", "6f1c1a4e-7d0b-4d0c-9a53-3c2f9a1de001", 'a/b "ratio" OR (x\'']
)
def test_odd_projects_and_names_are_stored_and_found(
    ingestor: Ingestor, store: Store, write: Write, project: str
) -> None:
    ingestor.ingest([write("it's (odd).md", "O'Dell uses Basalt.")], project=project)
    assert [source.project for source in store.view().source_list()] == [project]
    assert len(facts_of(store, "o'dell")) == 1


def test_an_impossible_project_is_refused_before_anything_is_written(
    ingestor: Ingestor, store: Store, write: Write
) -> None:
    with pytest.raises(InvalidInputError):
        ingestor.ingest([write("a.md", "x")], project=" ")
    assert store.view().source_list() == []


class Crash(Exception):
    """Stands for a kill between two batches."""


def test_a_crash_between_batches_continues_on_the_next_run(
    make_store: Callable[[], Store], write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pipeline_module, "BATCH_PASSAGES", 2)
    for number in range(7):
        folder = write(f"{number}.md", f"Orion uses Part {number}. Basalt broke.").parent
    store, whole = make_store(), make_store()

    def crash(event: ProgressEvent) -> None:
        if event.done >= 4:
            raise Crash

    with pytest.raises(Crash):
        Ingestor(store, PlainExtractor(), clock=lambda: NOW, progress=crash).ingest([folder])
    assert 0 < len(store.view().source_list()) < 7
    extractor = PlainExtractor()
    report = Ingestor(store, extractor, clock=lambda: NOW).sync()
    assert (report.read, report.unchanged, extractor.read) == (7, 4, 3)
    Ingestor(whole, PlainExtractor(), clock=lambda: NOW).ingest([folder])
    assert content(store) == content(whole)


def test_a_second_run_over_many_files_writes_no_journal_row(
    ingestor: Ingestor, store: Store, write: Write
) -> None:
    for number in range(200):
        folder = write(
            f"{number}.md", f"# N{number}\n\nOrion {number} uses Part {number}.\n"
        ).parent
    ingestor.ingest([folder])
    before = store.view().seq
    assert ingestor.sync().unchanged == 200
    assert store.view().seq == before


class BrokenEmbedder:
    """An embedder whose model fails on use."""

    name = "broken"
    dimension = 8
    max_tokens = 256

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        raise RuntimeError("the model is damaged")

    def count_tokens(self, text: str) -> int:
        return len(text.split())

    def identity(self) -> EmbedderIdentity:
        return EmbedderIdentity("broken", 8, "none")


def test_a_failing_embedder_is_a_warning_and_the_text_is_stored(store: Store, write: Write) -> None:
    embedder = BrokenEmbedder()
    store.bind_embedder(embedder.identity())  # type: ignore[attr-defined]
    ingestor = Ingestor(store, PlainExtractor(), embedder, clock=lambda: NOW)
    report = ingestor.ingest([write("a.md", "Orion uses Basalt.")])
    assert [warning.path for warning in report.warnings] == ["broken"]
    assert report.facts == 1
    assert store.view().pending_vectors() == 1


def test_vectors_are_made_for_all_text_that_has_tokens(store: Store, write: Write) -> None:
    embedder = load_embedder("hashing")
    store.bind_embedder(embedder.identity())  # type: ignore[attr-defined]
    ingestor = Ingestor(store, PlainExtractor(), embedder, clock=lambda: NOW)
    folder = write("a.md", "Orion uses Basalt.").parent
    write("b.md", "…")
    for number in range(70):
        write(f"n{number}.md", f"Orion uses Part {number}.")
    ingestor.ingest([folder])
    assert store.view().pending_vectors() <= 1


def test_origin_is_what_the_caller_says(ingestor: Ingestor, store: Store, write: Write) -> None:
    ingestor.ingest([write("a.md", "Orion uses Basalt.")], origin=Origin.UNTRUSTED)
    view = store.view()
    ids = [ref.passage_id for source in view.source_list() for ref in source.layout]
    assert {each.origin for each in view.passages(ids, EVERYTHING).values()} == {Origin.UNTRUSTED}


def test_an_absent_source_is_hidden_with_all_its_passages(
    ingestor: Ingestor, store: Store, write: Write
) -> None:
    file = write("a.md", "Orion uses Basalt.")
    ingestor.ingest([file.parent])
    file.unlink()
    ingestor.sync()
    view = store.view()
    (source,) = view.source_list()
    ids = [ref.passage_id for ref in source.layout]
    assert StateKind.ABSENT in view.states([source.id])[source.id]
    assert not view.passages(ids, EVERYTHING)
    assert view.passages(ids, Scope(include_hidden=True))
