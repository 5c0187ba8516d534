"""Ingest with the default extractor, on odd Markdown and on our own decision records."""

from collections.abc import Callable
from pathlib import Path

import pytest

from graphmem.extractors import SpacyExtractor
from graphmem.ingest import Ingestor, remember
from graphmem.model.items import Link
from graphmem.model.scope import EVERYTHING
from graphmem.store.protocols import Store
from graphmem.vocabulary import CAUSAL_KINDS, LinkKind
from tests.conftest import REPO
from tests.ingest.conftest import NOW

Write = Callable[..., Path]


@pytest.fixture(scope="module")
def spacy_extractor() -> SpacyExtractor:
    return SpacyExtractor()


@pytest.fixture
def reader(store: Store, spacy_extractor: SpacyExtractor) -> Ingestor:
    return Ingestor(store, spacy_extractor, clock=lambda: NOW)


def links(store: Store, kinds: frozenset[LinkKind]) -> list[Link]:
    view = store.view()
    ids = [ref.passage_id for source in view.source_list() for ref in source.layout]
    found = view.statements_of(ids, EVERYTHING)
    return view.links_of([each.id for group in found.values() for each in group], kinds, EVERYTHING)


def test_markdown_that_only_looks_like_facts_gives_one_triple(
    reader: Ingestor, store: Store, write: Write
) -> None:
    text = (
        "- [/] repaint valve\n- [00:01:12] Speaker: hello\n\n> [!warning] Hot surface\n\n"
        "Write `- part_of [[Template]]` as a pattern.\n\n```\nrelates_to [[Fenced]]\n```\n\n"
        "- [fact] Valve V-3 feeds [[Tank 2]]\n"
    )
    report = reader.ingest([write("a.md", text)])
    assert report.facts == 1
    named = store.view().entities_named(["template", "fenced", "tank 2"], EVERYTHING)
    assert list(named) == ["tank 2"]


def test_a_log_without_causal_words_has_no_causes(
    reader: Ingestor, store: Store, write: Write
) -> None:
    text = "10:00 Opened ticket 88 before touching anything.\n\n10:00 Commit a1.\n\n10:05 Review.\n"
    reader.ingest([write("log.md", text)])
    assert links(store, CAUSAL_KINDS) == []


def test_our_own_decisions_are_records_that_explain_and_supersede(
    reader: Ingestor, store: Store
) -> None:
    folder = REPO / "docs" / "decisions"
    report = reader.ingest([folder], project="graphmem")
    assert report.problems == ()
    assert links(store, CAUSAL_KINDS)
    quotes = {link.quote for link in links(store, frozenset({LinkKind.SUPERSEDES}))}
    assert "Supersedes [0002](0002-search-words-with-kuzu-full-text.md)" in quotes
    seq = store.view().seq
    assert reader.sync().unchanged == report.read
    assert store.view().seq == seq


def test_a_remembered_cause_is_found_with_its_direction(
    store: Store, spacy_extractor: SpacyExtractor
) -> None:
    text = "The seal cracked because the coolant ran dry."
    remember(store, text, extractor=spacy_extractor, clock=lambda: NOW)
    (link,) = links(store, CAUSAL_KINDS)
    said = store.view().statements([link.source_id, link.target_id], EVERYTHING)
    cause, effect = said[link.source_id], said[link.target_id]
    assert "coolant" in text[cause.start : cause.end]
    assert "seal" in text[effect.start : effect.end]
