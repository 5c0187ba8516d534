"""Nothing printed is made up: every edge has a witness that opens, every quote stands there."""

from __future__ import annotations

import numpy as np
import pytest

from graphmem.memory import Memory
from graphmem.model.results import PathStep, Span
from graphmem.model.scope import EVERYTHING
from graphmem.vocabulary import CAUSAL_KINDS, Direction, EdgeType, LinkKind
from tests.acceptance.notes import DECISIONS
from tests.acceptance.records import asked


def _stands(quote: str, span: Span) -> None:
    """The quote is in the file, and begins in the stated line."""
    text = (DECISIONS / span.uri.rpartition("/")[2]).read_text(encoding="utf-8")
    assert quote and span.line is not None
    lines = text.splitlines(keepends=True)
    before = sum(map(len, lines[: span.line - 1]))
    at = text.find(quote, before)
    assert 0 <= at - before <= len(lines[span.line - 1]), (quote, span)


def _in_passage(records: Memory, quote: str, span: Span) -> None:
    (passage,) = records.get(span.passage_id).items
    assert passage.text[span.start : span.end] == quote


def _edge_exists(records: Memory, step: PathStep) -> None:
    """The step is an edge of the graph, with the step's witness behind it where there is one."""
    adjacency = records._store.view().adjacency(EVERYTHING)
    source, target = adjacency.handle(step.source_id), adjacency.handle(step.target_id)
    assert source is not None and target is not None
    hop = adjacency.expand(np.array([source], np.int32), step.edge.value)
    behind = [
        adjacency.witness(int(edge))
        for node, edge in zip(hop.target, hop.edge, strict=True)
        if node == target
    ]
    assert behind, step
    if step.witness_id is not None:
        assert records.get(step.witness_id).missing == ()
    else:
        assert step.edge in {
            *(EdgeType.CONTAINS, EdgeType.PART_OF, EdgeType.NEXT, EdgeType.PREVIOUS),
            *(EdgeType.MENTIONS, EdgeType.MENTIONED_IN),
        }, step


@pytest.mark.parametrize("question", asked())
def test_an_answer_is_quoted_and_its_paths_exist(records: Memory, question: str) -> None:
    answer = records.search(question)
    assert answer.supported
    assert any(hit.path for hit in answer.hits)
    for hit in answer.hits:
        _stands(hit.quote, hit.span)
        _in_passage(records, hit.quote, hit.span)
        for step in hit.path:
            _edge_exists(records, step)
            if step.span is not None:
                _stands(step.quote, step.span)
                _in_passage(records, step.quote, step.span)
        for left, right in zip(hit.path, hit.path[1:], strict=False):
            assert left.target_id == right.source_id


@pytest.mark.parametrize("question", asked())
@pytest.mark.parametrize("direction", [Direction.BACK, Direction.FORWARD])
def test_every_causal_edge_is_witnessed(
    records: Memory, question: str, direction: Direction
) -> None:
    for edge in records.find_causal_links(question, direction=direction).edges:
        assert edge.witnesses
        assert edge.kind in CAUSAL_KINDS
        for witness in edge.witnesses:
            _stands(witness.quote, witness.span)
            _in_passage(records, witness.quote, witness.span)
            (link,) = records.get(witness.link_id).items
            assert LinkKind(str(link.data["kind"])) is edge.kind


def test_every_fact_is_quoted(records: Memory) -> None:
    names = ("Kuzu", "SQLite FTS5", "MPFP", "Hindsight", "apsw", "graphmem")
    facts = [
        fact
        for name in names
        for entity in records.kg_query(name, include_history=True).entities
        for fact in entity.facts
    ]
    assert len(facts) > 10
    for fact in facts:
        assert fact.evidence
        for evidence in fact.evidence:
            _stands(evidence.quote, evidence.span)
            _in_passage(records, evidence.quote, evidence.span)
