"""The Markdown reader: titles, paths, masks, front matter, and that nothing is lost."""

import itertools
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphmem.ingest import chunk, read_file
from graphmem.ingest.document import ReadDocument
from graphmem.ingest.markdown import code_spans, read_markdown

NORMAL = "---\ntitle: Pump log\ntags: [pump, log]\n---\nThe pump was serviced.\n"


def read(text: str, uri: str = "note.md") -> ReadDocument:
    return read_markdown(text, uri, "yard", content_hash="h")


def words(document: ReadDocument) -> str:
    return " ".join(" ".join(section.text for section in document.sections).split())


def load(folder: Path, data: bytes) -> ReadDocument:
    path = folder / "note.md"
    path.write_bytes(data)
    return read_file(path, folder, "yard")


@pytest.mark.parametrize(
    ("value", "line"), [("title: Pump: phase 2", 2), ("title: ok\nup: [[Home]]x", 3)]
)
def test_broken_front_matter_stays_as_text_with_file_line_and_reason(value: str, line: int) -> None:
    document = read(f"---\n{value}\n---\nThe pump was serviced.\n")
    (warning,) = document.warnings
    assert (warning.path, warning.line, warning.fatal) == ("note.md", line, False)
    assert "front matter ignored" in warning.reason
    assert value.rsplit("\n", maxsplit=1)[-1] in words(document)
    assert "The pump was serviced." in words(document)


@pytest.mark.parametrize(
    "data",
    [
        b"\xef\xbb\xbf" + NORMAL.encode(),
        NORMAL.replace("\n", "\r\n").encode(),
        b"\xef\xbb\xbf" + NORMAL.replace("\n", "\r\n").encode(),
        NORMAL.encode("utf-16"),
    ],
    ids=["bom", "crlf", "bom and crlf", "utf-16"],
)
def test_byte_order_mark_and_line_ends_change_nothing(tmp_path: Path, data: bytes) -> None:
    plain, other = load(tmp_path, NORMAL.encode()), load(tmp_path, data)
    assert other.metadata == plain.metadata == {"title": "Pump log", "tags": ["pump", "log"]}
    assert (other.title, other.sections) == (plain.title, plain.sections)


def test_front_matter_closed_at_the_end_of_the_file_is_read_and_stays_findable() -> None:
    document = read("---\r\ntitle: Pump log\r\n---".replace("\r\n", "\n"))
    assert document.metadata == {"title": "Pump log"}
    assert "Pump log" in words(document)


def test_rulers_are_no_front_matter_and_lose_nothing() -> None:
    text = "---\nFirst part of the log.\n\n---\n\nSecond part.\n"
    document = read(text)
    assert document.metadata == {}
    assert document.warnings == ()
    assert "First part of the log." in words(document)
    assert "Second part." in words(document)


def test_dates_are_iso_strings_and_empty_values_keep_their_kind() -> None:
    document = read("---\ncreated: 2031-04-05\ntags:\nauthor:\nnumber: 0007\n---\nBody.\n")
    assert document.metadata == {
        "created": "2031-04-05",
        "tags": [],
        "author": None,
        "number": "0007",
    }
    assert document.authored_at == datetime(2031, 4, 5, tzinfo=UTC)


@pytest.mark.parametrize(
    "block",
    [
        "a: &x [1]\nb: *x",
        "a: &x 1",
        "a: " + "[" * 5000,
        "? [a]\n: b",
        "a: \x01",
        "a: b\n" + "c: d\n" * 20_000,
    ],
    ids=["alias", "anchor", "deep", "list as key", "control", "too long"],
)
def test_hostile_front_matter_is_refused_and_kept(block: str) -> None:
    document = read(f"---\n{block}\n---\nThe body.\n")
    assert document.metadata == {}
    assert "The body." in words(document)


def test_unknown_front_matter_keys_stay_findable_as_code() -> None:
    document = read("---\nsummary: moved off Redis\n---\nBody.\n")
    front = document.sections[0]
    assert "moved off Redis" in front.text
    assert front.masked == ((0, len(front.text)),)


def test_title_is_no_part_of_the_heading_path() -> None:
    document = read("# Relay\n\nIntro.\n\n## Wiring\n\n### `Fuse` [box](x.md)\n\nText.\n\n## End\n")
    assert document.title == "Relay"
    assert [section.heading_path for section in document.sections] == [
        (),
        ("Wiring",),
        ("Wiring", "Fuse box"),
        ("End",),
    ]


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("# One\n", "One"),
        ("---\ntitle: Two\n---\nBody\n", "Two"),
        ("---\ntitle: Two\n---\n# One\n", "One"),
        ("Body only\n", "note"),
        ("> # Quoted\n\n```\n# code\n```\n", "note"),
    ],
)
def test_title_is_first_heading_then_front_matter_then_file(text: str, title: str) -> None:
    assert read(text).title == title


def test_lines_and_offsets_point_into_the_file() -> None:
    text = "---\ntitle: T\n---\nIntro.\n\n## A\n\nText a.\n\n## B\n\nText b.\n"
    for section in read(text).sections:
        assert text[section.start :].startswith(section.text)
        assert section.line == text.count("\n", 0, section.start) + 1


def test_a_sentence_above_a_ruler_is_no_heading() -> None:
    document = read("The valve leaks.\n---\nNext.\n")
    assert [section.heading_path for section in document.sections] == [()]


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("Use `a b` now.", ["`a b`"]),
        ("Use ``a ` b`` now.", ["``a ` b``"]),
        ("Lone ` tick.", []),
        ("See [x](y.md) now.", ["(y.md)"]),
        ("Text.\n\n```\nrelates_to [[Fenced]]\n```\n", ["```\nrelates_to [[Fenced]]\n```\n"]),
        ("Text.\n\n    code\n\nEnd.", ["    code\n"]),
        ("<!-- hidden -->\n\nText.", ["<!-- hidden -->\n"]),
    ],
)
def test_code_and_markup_are_masked(text: str, masked: list[str]) -> None:
    (section,) = read(text).sections
    assert [section.text[start:end] for start, end in section.masked] == masked


def test_lines_that_only_look_structured_all_stay_as_text() -> None:
    text = (
        "- [/] repaint valve\n- [00:01:12] Speaker: hello\n> [!warning] Hot surface\n\n"
        "Write `- part_of [[Template]]` as a pattern.\n\n```\nrelates_to [[Fenced]]\n```\n\n"
        "- [fact] Valve V-3 feeds [[Tank 2]]\n"
    )
    document = read(text)
    (section,) = document.sections
    assert section.text == text
    hidden = "".join(section.text[start:end] for start, end in section.masked)
    assert "Template" in hidden and "Fenced" in hidden
    assert "Tank 2" not in hidden


@given(st.text(alphabet="`a \\\n", max_size=60))
def test_code_spans_are_sound_for_any_text(text: str) -> None:
    spans = code_spans(text, 0, len(text))
    assert all(0 <= start < end <= len(text) for start, end in spans)
    assert all(left[1] <= right[0] for left, right in itertools.pairwise(spans))


@given(
    st.lists(
        st.one_of(
            st.sampled_from(
                ["# T", "## A", "---", "===", "```", "    x", "> q", "- i", "", "key: v", "<div>"]
            ),
            st.text(alphabet="ab `[]()#-.:\t\u00a0\u2028é", max_size=20),
        ),
        max_size=25,
    )
)
def test_every_character_of_the_body_is_in_some_passage(lines: list[str]) -> None:
    text = "\n".join(lines)
    document = read(text)
    body = text[text.index("\n---", 3) + 4 :] if document.metadata else text
    pieces = chunk(document, "src:x")
    assert all(text[piece.start : piece.start + len(piece.text)] == piece.text for piece in pieces)
    stored = "".join("".join(piece.text.split()) for piece in pieces)
    assert "".join(body.split()) in stored
