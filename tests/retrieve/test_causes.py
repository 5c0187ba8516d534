"""Causal links from an id or a text: by event, with witnesses, in both directions."""

import pytest

from graphmem.errors import UsageError
from graphmem.model.scope import EVERYTHING
from graphmem.retrieve import find_causal_links, get
from graphmem.vocabulary import Direction, LinkKind, StateKind
from tests.retrieve.vault import Vault

A, B, C = "the alarm rang", "the boiler burst", "the coolant froze"


@pytest.fixture
def vault() -> Vault:
    """Three files: "A because B", "B because C", "A because B"."""
    made = Vault()
    ids: dict[tuple[str, int], str] = {}
    for number, (effect, cause) in enumerate([(A, B), (B, C), (A, B)]):
        text = f"{effect} because {cause}"
        made.note(f"{number}.md", text, statements=[effect, cause])
        ids[effect, number] = made.statement_ids[effect]
        ids[cause, number] = made.statement_ids[cause]
        made.link(LinkKind.CAUSES, cause, effect, text)
    for first, second in [((A, 0), (A, 2)), ((B, 0), (B, 1)), ((B, 1), (B, 2))]:
        text = first[0]
        made.link(LinkKind.SAME_EVENT, text, text, source_id=ids[first], target_id=ids[second])
    made.ids = ids  # type: ignore[attr-defined]
    made.commit()
    return made


def test_depth_two_over_three_files_with_two_witnesses_on_the_first_edge(vault: Vault) -> None:
    found = find_causal_links(vault.view(), vault.retriever(), A, depth=2)
    assert [(e.effect, e.cause, e.depth) for e in found.edges] == [(A, B, 1), (B, C, 2)]
    assert len(found.edges[0].witnesses) == 2
    assert {w.span.uri for w in found.edges[0].witnesses} == {"0.md", "2.md"}
    assert found.edges[1].via_same_event
    assert (found.total, found.truncated) == (2, False)
    assert "not a proven chain" in found.note


def test_depth_one_stops_after_one_hop(vault: Vault) -> None:
    found = find_causal_links(vault.view(), vault.retriever(), A, depth=1)
    assert [e.depth for e in found.edges] == [1]


def test_forward_walks_to_the_effects(vault: Vault) -> None:
    found = find_causal_links(
        vault.view(), vault.retriever(), C, direction=Direction.FORWARD, depth=2
    )
    assert [(e.cause, e.effect) for e in found.edges] == [(C, B), (B, A)]


def test_both_directions_meet_at_the_start(vault: Vault) -> None:
    found = find_causal_links(vault.view(), vault.retriever(), B, direction=Direction.BOTH, depth=1)
    assert {(e.cause, e.effect) for e in found.edges} == {(B, A), (C, B)}


@pytest.mark.parametrize("text", ["Why did the alarm ring?", "what led to the alarm"])
def test_a_question_starts_from_the_statements_that_fit_it(vault: Vault, text: str) -> None:
    found = find_causal_links(vault.view(), vault.retriever(), text, depth=1)
    assert (A, B) in [(e.effect, e.cause) for e in found.edges]
    assert "fit the question" in found.note


def test_every_id_of_a_result_can_be_opened_and_be_a_start(vault: Vault) -> None:
    view, retriever = vault.view(), vault.retriever()
    found = find_causal_links(view, retriever, A, depth=2)
    ids = {e.cause_id for e in found.edges} | {e.effect_id for e in found.edges}
    ids |= {w.link_id for e in found.edges for w in e.witnesses}
    ids |= {w.span.passage_id for e in found.edges for w in e.witnesses}
    ids |= {w.span.source_id for e in found.edges for w in e.witnesses}
    opened = get(view, sorted(ids), scope=EVERYTHING)
    assert opened.missing == ()
    for ident in ids:
        assert find_causal_links(view, retriever, ident, direction=Direction.BOTH).edges


def test_a_forgotten_witness_is_gone_and_the_edge_lives_on_the_other(vault: Vault) -> None:
    vault.state(vault.passage_of[A], StateKind.FORGOTTEN)
    view = vault.commit()
    found = find_causal_links(view, vault.retriever(), A, depth=1)
    assert [len(e.witnesses) for e in found.edges] == [1]


@pytest.mark.parametrize("start", ["stm:unknown", "(", "zzz qqq", "why \ud800"])
def test_an_unknown_start_gives_no_edge_and_a_note(vault: Vault, start: str) -> None:
    found = find_causal_links(vault.view(), vault.retriever(), start)
    assert found.edges == () and found.note


@pytest.mark.parametrize(("start", "depth", "limit"), [("", 1, 1), (A, 0, 1), (A, 1, 0)])
def test_senseless_arguments_are_refused(vault: Vault, start: str, depth: int, limit: int) -> None:
    with pytest.raises(UsageError):
        find_causal_links(vault.view(), vault.retriever(), start, depth=depth, limit=limit)


def test_a_limit_cuts_the_weaker_edges_and_keeps_the_total(vault: Vault) -> None:
    found = find_causal_links(vault.view(), vault.retriever(), A, depth=2, limit=1)
    assert (len(found.edges), found.total, found.truncated) == (1, 2, True)
