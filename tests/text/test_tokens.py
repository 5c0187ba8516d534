"""The lexical tokenizer, alone and inside a real contentless FTS5 table."""

from __future__ import annotations

import re
from collections.abc import Iterator

import apsw
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphmem.text import (
    COLUMN_WEIGHTS,
    escape,
    fold,
    match_expression,
    query_terms,
    stem,
    tokenize,
)

ANY_TEXT = st.text(st.characters(codec=None), max_size=60)
HOSTILE = st.lists(
    st.sampled_from(
        ["\ud800", "\x00", '"', "'", "*", "(", ")", ":", "NEAR", "AND", "^", "-", "{", "水", "é"]
    )
    | ANY_TEXT,
    max_size=12,
).map("".join)


@pytest.fixture
def index() -> Iterator[Index]:
    connection = apsw.Connection(":memory:")
    yield Index(connection)
    connection.close()


class Index:
    """A contentless FTS5 table filled and searched as the store does it."""

    def __init__(self, connection: apsw.Connection) -> None:
        self.connection = connection
        connection.execute(
            "CREATE VIRTUAL TABLE lex USING fts5(whole, split, stem, content='',"
            " contentless_delete=1, tokenize='ascii')"
        )

    def add(self, *texts: str) -> None:
        for row, text in enumerate(texts):
            self.connection.execute(
                "INSERT INTO lex(rowid, whole, split, stem) VALUES (?, ?, ?, ?)",
                (row, *tokenize(text).columns()),
            )

    def search(self, question: str) -> list[tuple[int, float]]:
        match = match_expression(query_terms(question))
        if not match:
            return []
        rows = self.connection.execute(
            "SELECT rowid, bm25(lex, ?, ?, ?) AS score FROM lex WHERE lex MATCH ?"
            " ORDER BY score, rowid",
            (*COLUMN_WEIGHTS, match),
        )
        return [(int(row), float(score)) for row, score in rows]


@pytest.mark.parametrize(
    "identifier",
    [
        "src/store.ts",
        "q4_k_m",
        "v0.8.2",
        "ops-2077",
        "c++",
        "c#",
        ".net",
        "north-yard",
        "3f2504e0-4f89-11d3-9a0c-0305e82c3301",
        r"logs\pump\main.txt",
        "redis:6379",
        "user@example.com",
    ],
)
@pytest.mark.parametrize("frame", ["{}", "see {}, then", '("{}")', "it is {}.", "**{}**:"])
def test_identifiers_stay_whole_and_are_never_stemmed(identifier: str, frame: str) -> None:
    tokens = tokenize(frame.format(identifier))
    assert identifier in tokens.whole
    assert identifier not in tokens.stem


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("OPS-2077", ("ops", "2077")),
        ("src/store.ts", ("src", "store.ts", "store", "ts")),
        ("v0.8.2", ("0.8.2", "v0", "8", "2")),
        ("user@example.com", ("user", "example.com", "example", "com")),
        ("MemoryStore", ("memory", "store")),
        ("gpt4", ("gpt", "4")),
        ("C++/C#", ("c++", "c#")),
        ("C++", ()),
        ("b7", ()),
        ("O’Dell's", ("o", "dell", "odell")),
    ],
)
def test_parts_of_identifiers_go_to_the_split_column(text: str, parts: tuple[str, ...]) -> None:
    assert tokenize(text).split == parts


@pytest.mark.parametrize(
    ("text", "whole"),
    [
        ("P-17水泵", ("p-17", "水泵", "泵")),
        ("ポンプ", ("ポン", "ンプ", "プ")),
        ("水 tank", ("水", "tank")),
        ("Kiln 🔥!", ("kiln", "🔥")),
        ("soft\u00adhyphen", ("softhyphen",)),
        ("wait\u2026 what\u2014now", ("wait", "what", "now")),
    ],
)
def test_scripts_and_symbols_are_cut_apart(text: str, whole: tuple[str, ...]) -> None:
    assert tokenize(text).whole == whole


def test_prose_is_stemmed_and_stop_words_and_digits_are_not() -> None:
    assert tokenize("the pumps were decided q4 on long-running jobs").stem == (
        "pump",
        "decid",
        "long",
        "run",
        "job",
    )
    assert stem("q4s") == "q4s"


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("Zoé", "zoe"),
        ("STRASSE", "straße"),
        ("ＯＰＳ－２０７７", "OPS-2077"),
        ("Ł\u0301ódź", "lodz"),
    ],
)
def test_case_accents_and_compatibility_forms_are_folded(left: str, right: str) -> None:
    assert tokenize(left).whole == tokenize(right).whole


def test_japanese_voicing_marks_are_letters() -> None:
    assert fold("ポ") != fold("ホ")


@pytest.mark.parametrize("question", ["", "   ", "(", '"', "?!", "\x00", "\ud800"])
def test_questions_without_words_give_an_empty_expression(question: str) -> None:
    assert match_expression(query_terms(question)) == ""


def test_stop_words_are_dropped_unless_nothing_else_remains() -> None:
    assert {term.text for term in query_terms("why was it slow")} == {"slow"}
    assert {term.text for term in query_terms("what is it")} == {"what", "is", "it"}
    assert "it" in {term.text for term in query_terms("the IT desk")}


@given(ANY_TEXT, ANY_TEXT)
def test_escaping_keeps_distinct_tokens_distinct(left: str, right: str) -> None:
    assert re.fullmatch("[a-z0-9]*", escape(left))
    assert (escape(left) == escape(right)) == (left == right)


def test_a_very_long_token_is_shortened_and_still_distinct() -> None:
    left, right = "a" * 5000, "a" * 4999 + "b"
    assert len(escape(left)) < 200
    assert escape(left) != escape(right)


@given(HOSTILE)
def test_any_string_is_a_safe_query(text: str) -> None:
    connection = apsw.Connection(":memory:")
    index = Index(connection)
    index.add("the pump failed", text)
    found = [row for row, _ in index.search(text)]
    assert (1 in found) == bool(query_terms(text))
    connection.close()


@given(st.text(max_size=40))
def test_every_indexed_word_is_one_fts5_token(text: str) -> None:
    for column in tokenize(text).columns():
        assert re.fullmatch("[a-z0-9 ]*", column)
        assert column.isascii()


BR16 = ("sensor b5 offline", "sensor b7 offline", "ticket OPS-1042 closed", "ticket OPS-2077 open")


@pytest.mark.parametrize(
    ("question", "first"),
    [("b7", 1), ("sensor b7", 1), ("OPS-2077", 3), ("1042", 2), ("ops 2077", 3), ("b5?", 0)],
)
def test_the_named_identifier_is_first_and_nothing_ties_with_it(
    index: Index, question: str, first: int
) -> None:
    index.add(*BR16)
    found = index.search(question)
    assert found[0][0] == first
    assert all(score > found[0][1] for _, score in found[1:])


BR17 = (
    "north-yard is the project",
    "run 3f2504e0-4f89-11d3-9a0c-0305e82c3301 ended",
    "O'Dell's relay broke",
    "we don't know",
    "the a/b ratio is high",
    r"see logs\pump\main.txt",
    "relay: status? unknown",
    'an "unbalanced quote',
)


@pytest.mark.parametrize(
    ("question", "first"),
    [
        ("north-yard", 0),
        ("3f2504e0-4f89-11d3-9a0c-0305e82c3301", 1),
        ("O'Dell's relay", 2),
        ("o’dell", 2),
        ("don't", 3),
        ("a/b ratio", 4),
        (r"logs\pump\main.txt", 5),
        ("main.txt", 5),
        ("relay: status?", 6),
        ('"unbalanced', 7),
    ],
)
def test_punctuation_in_a_question_is_never_an_operator(
    index: Index, question: str, first: int
) -> None:
    index.add(*BR17)
    assert index.search(question)[0][0] == first


BR18 = (
    "北京仓库的水泵坏了",
    "第三倉庫でポンプが故障した",
    "P-17水泵已更换",
    "Zoé Lindqvist checked the pump.",
)


@pytest.mark.parametrize(
    ("question", "rows"),
    [
        ("水泵", {0, 2}),
        ("仓库", {0}),
        ("ポンプ", {1}),
        ("P-17", {2}),
        ("Zoé", {3}),
        ("zoe", {3}),
        ("pumps", {3}),
        ("水", {0, 2}),
        ("换", {2}),
    ],
)
def test_text_without_spaces_and_accents_is_found(
    index: Index, question: str, rows: set[int]
) -> None:
    index.add(*BR18)
    assert {row for row, _ in index.search(question)} == rows


@pytest.mark.parametrize(
    ("question", "rows"),
    [("C++", {0}), ("C#", {1}), ("C", {2}), (".NET", {3, 4}), ("net", {3, 4}), ("GPT-4", {5, 6})],
)
def test_languages_named_by_a_letter_and_a_sign_are_told_apart(
    index: Index, question: str, rows: set[int]
) -> None:
    index.add("C++ code", "C# code", "plain C code", ".NET code", "a net", "GPT-4 code", "GPT-5")
    assert {row for row, _ in index.search(question)} == rows


def test_an_inflected_word_finds_the_others_and_itself_first(index: Index) -> None:
    index.add("the pump broke", "two pumps broke", "a valve broke", "nothing", "else", "here")
    assert [row for row, _ in index.search("pumps")] == [1, 0]
