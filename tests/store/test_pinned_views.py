"""A view answers as when it was taken, whatever is committed, rebuilt or closed meanwhile."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from graphmem.errors import VaultError
from graphmem.model.operations import (
    AddEvidence,
    Operation,
    PutEntity,
    PutFact,
    PutPassage,
    PutSource,
)
from graphmem.model.scope import EVERYTHING
from graphmem.store import VaultStore, open_store
from graphmem.store.view import StoreView
from graphmem.vocabulary import StateKind
from tests.store.conftest import ticking
from tests.store.engines import FILE_ENGINE
from tests.store.graph.world import START, bundle, entity, evidence, fact, mention, source, state
from tests.store.told import ACTOR, matching, passage, put_notes

PUMPS = matching("pump")


@pytest.fixture(params=["memory", FILE_ENGINE, "memory on disk"])
def vault(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[VaultStore]:
    path = None if request.param == "memory" else tmp_path / "vault"
    engine = FILE_ENGINE if request.param == FILE_ENGINE else "memory"
    store = open_store(path, create=True, graph=engine, clock=ticking())
    put_notes(store, "pump seal", "pump ring", "pump valve pump")
    yield store
    store.close()


def known(store: VaultStore) -> list[Operation]:
    said = bundle("psg:9", "src:0", (), [mention("psg:9", 1, "thing:a")])
    proof = evidence(0, "fct:0", None, "psg:9")
    made = fact(0, "thing:a", "thing:b")
    told: list[Operation] = [PutEntity(after=entity(name)) for name in "ab"]
    told += [PutPassage(after=said), PutFact(after=made), AddEvidence(after=proof)]
    store.writer.commit(told, actor=ACTOR)
    return [op.inverse() for op in reversed(told)]


def answers(view: StoreView) -> dict[str, object]:
    graph = view.adjacency(EVERYTHING)
    return {
        "lexical": view.lexical(PUMPS, 99, EVERYTHING),
        "frequency": view.document_frequency(["pump", "seal", "zzoe"]),
        "counts": view.counts(EVERYTHING),
        "nodes": [graph.key(node) for node in range(graph.node_count)],
        "facts": view.facts_about(["thing:a"], EVERYTHING),
        "evidence": view.evidence_of(["fct:0"], EVERYTHING),
        "named": view.entities_named(["a", "b"], EVERYTHING),
        "surfaces": view.surfaces("thing:a", EVERYTHING),
        "window": view.in_window(None, None, 99, EVERYTHING),
        "passages": view.passages([f"psg:{n}" for n in range(12)], EVERYTHING),
    }


def test_a_view_taken_before_commits_answers_as_before(vault: VaultStore) -> None:
    taken_back = known(vault)
    view = vault.view()
    before = answers(view)
    old = passage(0, "pump seal")
    told: list[Operation] = [
        PutPassage(before=old, after=passage(0, "nothing of the kind")),
        PutPassage(after=passage(10, "pump pump pump")),
        state("psg:1", StateKind.FORGOTTEN, START, None),
    ]
    vault.writer.commit(told, actor=ACTOR)
    assert answers(view) == before
    vault.writer.commit(taken_back, actor=ACTOR)
    vault.rebuild()
    assert answers(view) == before
    assert answers(vault.view()) != before


def test_many_threads_share_a_view_of_the_past(vault: VaultStore) -> None:
    known(vault)
    view = vault.view()
    before = answers(view)
    vault.writer.commit([PutPassage(after=passage(10, "pump"))], actor=ACTOR)
    found: list[object] = []

    def read() -> None:
        try:
            found.extend(answers(view) == before for _ in range(5))
        except Exception as error:
            found.append(error)

    threads = [threading.Thread(target=read) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [True] * 20


def test_every_read_of_one_view_sees_whole_commits_only(vault: VaultStore) -> None:
    problems: list[object] = []
    done = threading.Event()

    def read() -> None:
        try:
            while not done.is_set():
                view = vault.view()
                one, two = answers(view), answers(view)
                hits = len(view.lexical(PUMPS, 9999, EVERYTHING))
                if one != two or hits != view.passage_count(EVERYTHING) or hits % 3:
                    problems.append((view.seq, hits))
        except Exception as error:
            problems.append(error)

    threads = [threading.Thread(target=read) for _ in range(2)]
    for thread in threads:
        thread.start()
    for number in range(1, 25):
        fresh = [PutPassage(after=passage(100 + number * 3 + i, "pump")) for i in range(3)]
        vault.writer.commit(fresh, actor=ACTOR)
    done.set()
    for thread in threads:
        thread.join()
    assert problems == []


def test_closing_waits_for_reads_and_refuses_later_ones(tmp_path: Path) -> None:
    store = open_store(tmp_path, create=True, graph="memory")
    put_notes(store, *["pump"] * 300)
    errors: list[BaseException] = []
    started = threading.Event()

    def read() -> None:
        view = store.view()
        try:
            while True:
                view.lexical(PUMPS, 300, EVERYTHING)
                view.counts(EVERYTHING)
                started.set()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=read) for _ in range(3)]
    for thread in threads:
        thread.start()
    started.wait(10)
    store.close()
    store.close()
    for thread in threads:
        thread.join(10)
    assert [type(error) for error in errors] == [VaultError] * 3
    open_store(tmp_path).close()


def test_views_come_and_go_while_the_log_of_the_index_stays_small(tmp_path: Path) -> None:
    store = open_store(tmp_path, create=True, graph="memory")
    put_notes(store)
    for number in range(150):
        view = store.view()
        view.passage_count(EVERYTHING)
        made = passage(number, f"pump {number} " * 300)
        store.writer.commit([PutPassage(after=made)], actor=ACTOR)
        del view
    assert (tmp_path / "index.sqlite-wal").stat().st_size < 12 * 2**20
    store.close()


def test_a_passage_told_before_its_source_belongs_to_the_sources_project(store: VaultStore) -> None:
    told: list[Operation] = [PutPassage(after=passage(0, "pump")), PutSource(after=source(0))]
    store.writer.commit(told, actor=ACTOR)
    mine = EVERYTHING.model_copy(update={"projects": frozenset({"p"})})
    assert list(store.view().passages(["psg:0"], mine)) == ["psg:0"]
