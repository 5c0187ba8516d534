"""From question to answer over a small vault: order, quotes, paths, silence and hidden items."""

from datetime import UTC, datetime

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from graphmem.errors import UsageError
from graphmem.model.results import Answer
from graphmem.model.scope import EVERYTHING, Scope
from graphmem.retrieve import RECIPES
from graphmem.retrieve.answer import bare_last
from graphmem.retrieve.context import read_passages
from graphmem.vocabulary import (
    Audience,
    EdgeType,
    Intent,
    Lane,
    LinkKind,
    Origin,
    PassageRole,
    StateKind,
    StatementKind,
)
from tests.retrieve.vault import LAYOUT, Vault

ROLE = PassageRole
QUESTION = "Why do we cut the boards with a laser beside the press?"
REASON = "the old saw tears the copper"


def day(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def records() -> Vault:
    """A new decision whose words the question has, and the old one that holds the reason."""
    vault = Vault()
    vault.note(
        "new.md",
        (ROLE.CONTEXT, "The workshop was rebuilt in spring."),
        (ROLE.DECISION, "We cut the boards with a laser. The laser stands beside the press."),
        (ROLE.CONSEQUENCES, "The laser needs a filter because smoke is toxic."),
        statements=[
            "The workshop was rebuilt in spring",
            ("We cut the boards with a laser", StatementKind.DECISION),
            "The laser stands beside the press",
            "The laser needs a filter",
            "smoke is toxic",
        ],
    )
    vault.note(
        "old.md",
        (ROLE.DECISION, "Panels are separated by sawing."),
        (ROLE.CONSEQUENCES, f"Every tenth panel failed because {REASON}."),
        statements=[
            ("Panels are separated by sawing", StatementKind.DECISION),
            ("Every tenth panel failed", StatementKind.PROBLEM),
            REASON,
        ],
    )
    vault.note("other.md", "The press is oiled on Mondays.", statements=["The press is oiled"])
    cause = LinkKind.CAUSES
    new, old = "We cut the boards with a laser", "Panels are separated by sawing"
    vault.link(LinkKind.MOTIVATES, "The workshop was rebuilt in spring", new, confidence=LAYOUT)
    vault.link(cause, new, "The laser needs a filter", confidence=LAYOUT)
    vault.link(cause, "smoke is toxic", "The laser needs a filter", "needs a filter because smoke")
    vault.link(LinkKind.SUPERSEDES, new, old)
    vault.link(cause, old, "Every tenth panel failed", confidence=LAYOUT)
    quote = f"Every tenth panel failed because {REASON}."
    vault.link(cause, REASON, "Every tenth panel failed", quote)
    vault.commit()
    return vault


def test_the_record_that_holds_the_reason_comes_first_with_the_path_from_the_decision() -> None:
    vault = records()
    answer = vault.retriever().search(QUESTION)
    first = answer.hits[0]
    assert answer.intent is Intent.WHY
    assert first.span.uri == "old.md"
    assert REASON in first.quote
    edges = [step.edge for step in first.path]
    assert EdgeType.SUPERSEDES in edges and edges[-1] is EdgeType.CAUSED_BY
    assert first.path[0].source_id.startswith("stm:")
    assert first.path[-1].quote == f"Every tenth panel failed because {REASON}."
    assert "new.md" in [hit.span.uri for hit in answer.hits]
    assert [edge.effect for edge in answer.chain][-1] != ""


@pytest.mark.parametrize("recipe", ["bm25", "hybrid", "lexical"])
def test_without_graph_lanes_the_words_decide(recipe: str) -> None:
    answer = records().retriever().search(QUESTION, recipe=recipe)
    assert answer.hits[0].span.uri == "new.md"
    assert not any(hit.path for hit in answer.hits)


def test_an_explicit_reason_beside_the_decision_stays_first() -> None:
    vault = Vault()
    vault.note(
        "one.md",
        (ROLE.CONTEXT, "Glue comes in many kinds."),
        (ROLE.DECISION, "We keep the epoxy glue because it survives the oven."),
        statements=[
            "Glue comes in many kinds",
            ("We keep the epoxy glue", StatementKind.DECISION),
            ("it survives the oven", StatementKind.RATIONALE),
        ],
    )
    vault.link(
        LinkKind.MOTIVATES, "Glue comes in many kinds", "We keep the epoxy glue", confidence=LAYOUT
    )
    vault.link(
        LinkKind.CAUSES, "it survives the oven", "We keep the epoxy glue",
        "We keep the epoxy glue because it survives the oven.",
    )  # fmt: skip
    vault.commit()
    first = vault.retriever().search("Why did we keep the epoxy glue?").hits[0]
    assert "it survives the oven" in first.quote


def test_a_quote_is_verbatim_and_its_span_points_at_it() -> None:
    vault = records()
    for question in (QUESTION, "What stands beside the press?", "Tell me about the laser"):
        answer = vault.retriever().search(question)
        assert answer.hits
        for hit in answer.hits:
            assert hit.text[hit.span.start : hit.span.end] == hit.quote
            assert hit.span.line is not None


@pytest.mark.parametrize(
    "question",
    [
        "Why did we pick Kotlin for the mobile app?",
        "who paints violins",
        "how do I descale a kettle",
    ],
)
def test_a_question_about_nothing_stored_is_not_supported(question: str) -> None:
    answer = records().retriever().search(question)
    assert (answer.supported, answer.hits) == (False, ())
    assert answer.reason


@pytest.mark.parametrize("question", ["", "   ", "\n", "?!", "\x00"])
def test_an_empty_question_is_answered_with_a_reason(question: str) -> None:
    answer = records().retriever().search(question)
    assert not answer.supported and "empty" in answer.reason


@pytest.mark.parametrize("recipe", sorted(RECIPES))
@pytest.mark.parametrize(
    "question",
    [
        "north-yard",
        "don't",
        "a/b ratio",
        "logs\\pump\\main.txt",
        "relay: status?",
        '"unbalanced',
        "(",
        "NEAR(a b)",
        "a AND NOT",
        "* OR *",
        "why \ud800",
        "为什么",
        "{whole} : x",
        "press " * 3000,
    ],
)
def test_no_string_raises(question: str, recipe: str) -> None:
    answer = records().retriever().search(question, recipe=recipe)
    assert isinstance(answer, Answer)
    answer.model_dump_json()


@given(st.text(max_size=80))
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_arbitrary_text_never_raises(text: str) -> None:
    SHARED.retriever().search(text)


@pytest.mark.parametrize(
    ("query", "wanted"),
    [("b7", "b7"), ("sensor b7", "b7"), ("OPS-2077", "OPS-2077"), ("1042", "OPS-1042"),
     ("O'Dell's relay", "O'Dell"), ("north-yard", "north-yard")],
)  # fmt: skip
def test_an_identifier_finds_its_note_first_and_no_other_ties(query: str, wanted: str) -> None:
    vault = Vault()
    for n, text in enumerate(
        ["sensor b5 offline", "sensor b7 offline", "ticket OPS-1042 closed", "ticket OPS-2077 open",
         "O'Dell's relay was wired", "gate of north-yard opened"]
    ):  # fmt: skip
        vault.note(f"{n}.md", text)
    vault.commit()
    hits = vault.retriever().search(query).hits
    assert wanted in hits[0].text
    assert len(hits) == 1 or hits[0].score > hits[1].score


@pytest.mark.parametrize(
    "question", ["What tools does Vireo group use?", "Vireo group tools", "Why Vireo group tools?"]
)
def test_a_fact_of_a_named_entity_is_found_under_every_label(question: str) -> None:
    vault = Vault()
    (key,) = vault.note(
        "v.md",
        "Vireo group uses the tool Lathe.",
        mentions=[("Vireo group", "org:vireo-group"), ("Lathe", "tool:lathe")],
    )
    vault.fact("org:vireo-group", "uses", "tool:lathe", key, "Vireo group uses the tool Lathe.")
    for n in range(50):
        vault.note(f"n{n}.md", f"The group in hall {n} cleaned tools and tables.")
    vault.commit()
    answer = vault.retriever().search(question)
    assert answer.hits[0].span.uri == "v.md"
    assert answer.entities == ("org:vireo-group",)
    assert Lane.FACTS in [rank.lane for rank in answer.hits[0].lanes]


def test_every_lane_of_the_default_recipe_has_a_voice_under_every_intent() -> None:
    for plan in RECIPES["default"].plans.values():
        assert set(plan.lanes) == set(Lane)
        assert min(plan.lanes.values()) > 0


def test_when_puts_what_fits_in_time_order_and_a_window_brings_its_notes() -> None:
    vault = Vault()
    for n, at in enumerate(["2026-05-20", "2026-03-02", "2026-05-04"]):
        vault.note(f"{n}.md", f"The kiln was moved to bay {n}.", at=day(at))
    vault.commit()
    hits = vault.retriever().search("When was the kiln moved?").hits
    assert [hit.span.uri for hit in hits] == ["1.md", "2.md", "0.md"]
    answer = vault.retriever().search("kiln moved in May 2026")
    assert answer.window == (day("2026-05-01"), day("2026-06-01"))
    assert {h.span.uri for h in answer.hits if Lane.TIME in [r.lane for r in h.lanes]} == {
        "0.md",
        "2.md",
    }


def test_a_question_about_a_time_alone_gets_what_lies_in_it() -> None:
    vault = Vault()
    vault.note("1.md", "The kiln was moved.", at=day("2026-05-04"))
    vault.note("2.md", "The pump was sold.", at=day("2026-06-04"))
    vault.commit()
    answer = vault.retriever().search("What happened in May 2026?")
    assert [hit.span.uri for hit in answer.hits] == ["1.md"]
    empty = vault.retriever().search("What happened in 2019?")
    assert not empty.supported and "2019" in empty.reason


def test_a_rare_word_tells_more_than_a_common_one() -> None:
    vault = Vault()
    for n in range(20):
        vault.note(f"{n}.md", f"Pump {n} was checked." + (" Its gasket cracked." if n == 7 else ""))
    view = vault.commit()
    asked = vault.retriever().understand("pump gasket", view=view)
    assert asked.passage_total == 20
    assert asked.coverage("the gasket") > 0.7 > 0.3 > asked.coverage("the pump") > 0


def test_a_passage_that_states_nothing_and_holds_no_word_of_the_question_comes_last() -> None:
    vault = Vault()
    bare, told, worded = vault.note(
        "a.md", "## Date", "They burn oil.", "oil list", statements=["They burn oil"]
    )
    view = vault.commit()
    asked = vault.retriever().understand("kilns oil", view=view)
    reading = read_passages(view, [bare, told, worded], EVERYTHING)
    assert bare_last(asked, reading, [bare, worded, told]) == [worded, told, bare]


def test_the_token_budget_cuts_whole_hits_and_says_so() -> None:
    vault = Vault()
    for n in range(10):
        vault.note(f"{n}.md", f"Pump {n} leaks. " + "It was inspected twice that year. " * 15)
    vault.commit()
    wide = vault.retriever().search("pump leaks", max_tokens=20_000)
    tight = vault.retriever().search("pump leaks", max_tokens=300)
    assert not wide.truncated and tight.truncated
    assert 1 <= len(tight.hits) < len(wide.hits)
    assert tight.hits[0].quote in tight.hits[0].text


@pytest.mark.parametrize("limit", [0, -1])
def test_a_limit_below_one_is_refused(limit: int) -> None:
    with pytest.raises(UsageError):
        SHARED.retriever().search("laser", limit=limit)
    with pytest.raises(UsageError):
        SHARED.retriever().search("laser", recipe="no such recipe")


def _strip(answer: Answer) -> Answer:
    """The answer without the sequence and BM25's raw scores, which know the whole index."""
    hits = tuple(
        hit.model_copy(update={"lanes": tuple((rank.lane, rank.rank) for rank in hit.lanes)})
        for hit in answer.hits
    )
    return answer.model_copy(update={"seq": 0, "hits": hits})


HIDERS = [
    pytest.param("state", Scope(), id="forgotten"),
    pytest.param("archive", Scope(), id="archived"),
    pytest.param("audience", Scope(audiences=frozenset({Audience.SHARED})), id="audience"),
    pytest.param("origin", Scope(origins=frozenset({Origin.OWNER})), id="origin"),
    pytest.param("project", Scope(projects=frozenset({"demo"})), id="project"),
]


@pytest.mark.parametrize(("way", "scope"), HIDERS)
@pytest.mark.parametrize(
    "question",
    [
        QUESTION,
        "What did sawing lead to?",
        "Tell me about Saw Six",
        "saw copper",
        "When in May 2026?",
    ],
)
def test_a_hidden_item_is_like_an_absent_one_in_every_lane(
    way: str, scope: Scope, question: str
) -> None:
    plain, hiding = records(), records()
    hidden = hiding.note(
        "secret.md",
        "We cut the boards with a laser because Saw Six lost a tooth in the copper.",
        statements=["Saw Six lost a tooth in the copper"],
        mentions=[("Saw Six", "tool:saw-six")],
        at=day("2026-05-05"),
        project="elsewhere" if way == "project" else "demo",
        origin=Origin.UNTRUSTED if way == "origin" else Origin.OWNER,
        audience=Audience.PRIVATE if way == "audience" else Audience.SHARED,
    )
    hiding.link(
        LinkKind.CAUSES,
        "Saw Six lost a tooth in the copper",
        "Every tenth panel failed",
        "Saw Six lost a tooth in the copper",
    )
    hiding.fact("tool:saw-six", "cut", "copper", hidden[0], "Saw Six lost a tooth in the copper")
    hiding.commit()
    if way in ("state", "archive"):
        kind = StateKind.FORGOTTEN if way == "state" else StateKind.ARCHIVED
        hiding.state(hidden[0], kind)
        hiding.commit()
    asked = [v.retriever().search(question, scope=scope) for v in (plain, hiding)]
    assert _strip(asked[0]) == _strip(asked[1])


SHARED = records()
