"""Fusion, linking, packing and opening ids, each by itself."""

from datetime import UTC, datetime

import pytest

from graphmem.errors import UsageError
from graphmem.model.results import Hit, Span
from graphmem.model.scope import EVERYTHING, Scope
from graphmem.retrieve import get
from graphmem.retrieve.anchors import sentence_of
from graphmem.retrieve.context import LaneResult, content_keys
from graphmem.retrieve.fuse import fuse
from graphmem.retrieve.linking import link
from graphmem.retrieve.pack import cost, pack
from graphmem.vocabulary import Lane
from tests.retrieve.vault import Vault


def test_fusion_weighs_ranks_and_time_only_breaks_ties() -> None:
    words = LaneResult(Lane.BM25, (("a", 9.0), ("b", 8.0)))
    cosine = LaneResult(Lane.VECTOR, (("b", 0.9), ("a", 0.8)))
    weights = {Lane.BM25: 1.0, Lane.VECTOR: 0.5}
    assert [f.passage_id for f in fuse([words, cosine], weights)] == ["a", "b"]
    equal = {Lane.BM25: 1.0, Lane.VECTOR: 1.0}
    late = {"b": datetime(2026, 1, 2, tzinfo=UTC), "a": datetime(2026, 1, 1, tzinfo=UTC)}
    assert [f.passage_id for f in fuse([words, cosine], equal)] == ["a", "b"]
    assert [f.passage_id for f in fuse([words, cosine], equal, late)] == ["b", "a"]
    assert fuse([words], weights)[0].lanes[0].rank == 1
    assert fuse([words], {}) == []


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("Does Python 3.11 work?", ["tool:python-3-11"]),
        ("Does Python 3.1 work?", []),
        ("Is Python 3.12 out", ["tool:python-3-12"]),
        ("Why does “New York Times” matter", ["org:nyt"]),
        ("What is New York's area?", ["place:ny"]),
        ("open tool:python-3-11 now", ["tool:python-3-11"]),
        ("who is it", []),
        ("", []),
    ],
)
def test_only_exact_names_link_and_the_longest_wins(question: str, expected: list[str]) -> None:
    vault = Vault()
    vault.note(
        "n.md",
        "Python 3.11 and Python 3.12, New York and New York Times.",
        mentions=[
            ("Python 3.11", "tool:python-3-11"),
            ("Python 3.12", "tool:python-3-12"),
            ("New York", "place:ny"),
            ("New York Times", "org:nyt"),
        ],
    )
    view = vault.commit()
    found = link(question, view, EVERYTHING)
    assert [item.entity_id for item in found] == expected
    for item in found:
        assert question[item.start : item.end] == item.surface


def test_all_homographs_of_a_name_are_linked() -> None:
    vault = Vault()
    vault.note("n.md", "Mercury rose.", mentions=[("Mercury", "place:mercury")])
    vault.note("m.md", "Mercury sang.", mentions=[("Mercury", "person:mercury")])
    found = link("Who is Mercury?", vault.commit(), EVERYTHING)
    assert [item.entity_id for item in found] == ["person:mercury", "place:mercury"]


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ("Why did we drop GPT-4?", ("drop", "gpt-4")),
        ("Why don't we install it", ("instal",)),
        ("the of and", ()),
    ],
)
def test_content_is_stems_and_whole_identifiers(text: str, keys: tuple[str, ...]) -> None:
    assert content_keys(text) == keys


def test_a_clause_is_judged_with_its_sentence() -> None:
    text = "# T\nFirst v0.8.2 came. We kept it because it works.\nNext line"
    at = text.index("it works")
    assert sentence_of(text, at, at + 8) == "We kept it because it works."


def hit(number: int, text: str) -> Hit:
    span = Span(source_id="src:1", uri="u", title="t", passage_id=f"psg:{number}", start=0, end=4)
    return Hit(
        passage_id=span.passage_id, score=1.0, span=span, heading_path=(), quote=text[:4], text=text
    )


def test_packing_keeps_order_and_the_first_hit_always() -> None:
    hits = [hit(n, "word " * 150) for n in range(3)]
    kept, truncated = pack(hits, cost(hits[0]) * 3)
    assert (len(kept), truncated) == (3, False)
    kept, truncated = pack(hits, cost(hits[0]) + 1)
    assert [h.passage_id for h in kept] == ["psg:0"] and truncated
    kept, truncated = pack(hits, 1)
    assert (len(kept), kept[0].text, truncated) == (1, "word", True)


def test_get_opens_each_kind_in_the_order_asked_and_lists_the_rest() -> None:
    vault = Vault()
    (key,) = vault.note(
        "n.md",
        "Atlas uses Kuzu. It is fast because it is small.",
        statements=["It is fast", "it is small"],
        mentions=[("Atlas", "project:atlas"), ("Kuzu", "tool:kuzu")],
    )
    fact = vault.fact("project:atlas", "uses", "tool:kuzu", key, "Atlas uses Kuzu.")
    from graphmem.vocabulary import LinkKind

    linked = vault.link(LinkKind.CAUSES, "it is small", "It is fast", "It is fast because it is")
    view = vault.commit()
    evidence = view.evidence_of([fact], EVERYTHING)[fact][0].id
    statement = vault.statement_ids["It is fast"]
    source = view.passages([key], EVERYTHING)[key].source_id
    ids = [fact, statement, "tool:kuzu", key, linked, evidence, source, "stm:none", "nonsense"]
    found = get(view, ids, scope=EVERYTHING)
    assert [item.id for item in found.items] == ids[:7]
    assert [item.kind for item in found.items] == [
        "fact", "statement", "entity", "passage", "link", "evidence", "source",
    ]  # fmt: skip
    assert found.missing == ("stm:none", "nonsense")
    assert found.items[0].text == "Atlas uses Kuzu"
    assert found.items[1].text == "It is fast"
    hidden = get(view, [key, fact], scope=Scope(projects=frozenset({"other"})))
    assert hidden.items == ()


@pytest.mark.parametrize("ids", [[], ["stm:x"] * 0, [f"stm:{n}" for n in range(500)]])
def test_get_refuses_no_ids_and_too_many(ids: list[str]) -> None:
    with pytest.raises(UsageError):
        get(Vault().view(), ids, scope=EVERYTHING)
