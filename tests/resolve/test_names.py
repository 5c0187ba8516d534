"""Name keys: what folds, what is kept, and that no digit is ever lost."""

from __future__ import annotations

import re
import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from graphmem.resolve import digit_signature, is_nameable, name_key
from graphmem.resolve.names import MAX_NAME_CHARS

ANY_TEXT = st.text(st.characters(codec=None), max_size=40)
# Text dense in what a key treats specially.
TRICKY = st.text(
    st.sampled_from(
        list("aB1290 .,:;!?'\"*_~`#-+[]()²①½１🔥’“”™\u200b\u20e3\ufe0f\u0301\u00ad×第三")
    ),
    max_size=16,
)
NAMES = ANY_TEXT | TRICKY


def _ascii_runs(text: str) -> list[str]:
    return re.findall("[0-9]+", text)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("Tidal Pumps", "TIDAL PUMPS:"),
        ("  Orion\u00a0 Relay ", "orion relay"),
        ("Straße", "STRASSE"),
        ("Zoe\u0301", "Zoé"),
        ("ＧＰＴ－４", "GPT-4"),
        ("O’Dell's relay", "O'Dell's relay."),
        ("**Orion**", "Orion"),
        ("the *Orion* seal", 'the "Orion" seal'),
        ("`src/store.ts`,", "src/store.ts"),
        ("~~Orion~~", "Orion"),
        ("“Orion”", "[[Orion]]"),
        ("Kiln 🔥", "kiln"),
        ("👩\u200d🔧 Maren", "maren"),
        ("Acme™", "ACME®"),
        ("## Orion", "Orion"),
        ("soft\u00adhyphen", "softhyphen"),
        ("Rev A.", "Rev A"),
        ("v1.9.", "v1.9"),
        ("仓库。", "仓库"),
        ("wait\u2026", "wait"),
        ("co\u2011op", "co-op"),
    ],
)
def test_decoration_case_and_forms_fold(left: str, right: str) -> None:
    assert name_key(left) == name_key(right) != ""


@pytest.mark.parametrize(
    "names",
    [
        ("C", "C#", "C++", "°C"),
        ("NET", ".NET"),
        ("record", "A record", "the record"),
        ("x2", "x²", "x₂", "x②", "x"),
        ("½", "12", "1/2", "1 2"),
        ("1.9", "1.10", "19", "1 9"),
        ("007", "7", "07"),
        ("1\u200b2", "12"),
        ("1\u20e32", "12"),
        ("1🔥2", "12"),
        ("A*", "A"),
        ("node.js", "nodejs", "node js"),
        ("__init__", "init"),
        ("U.S.", "us"),
        ("WO-2031-114", "WO-2031-115"),
        ("VS-7 Rev A", "VS-7 Rev B"),
        ("Firmware 1.9", "Firmware 1.10"),
        ("sensor b5", "sensor b7"),
        ("OPS-1042", "OPS-2077"),
    ],
)
def test_names_of_different_things_have_different_keys(names: tuple[str, ...]) -> None:
    assert len({name_key(name) for name in names}) == len(names)


@pytest.mark.parametrize("name", ["U.S.", "5 p.m.", "J. R. R.", "Acme Inc.", "Sammy Davis Jr."])
def test_the_point_of_an_abbreviation_stays(name: str) -> None:
    assert name_key(name).endswith(".")


@given(NAMES)
@example("\u00b4\u0301")
@example("İ")
@example("\u0345\u0301")
def test_keys_are_idempotent(name: str) -> None:
    assert name_key(name_key(name)) == name_key(name)


@given(NAMES, NAMES)
@example("1\u200b2", "12")
def test_names_that_differ_in_digits_never_share_a_key(left: str, right: str) -> None:
    if name_key(left) == name_key(right):
        assert digit_signature(left) == digit_signature(right)
        assert _ascii_runs(unicodedata.normalize("NFKC", _plain(left))) == _ascii_runs(
            unicodedata.normalize("NFKC", _plain(right))
        )


def _plain(text: str) -> str:
    """Without the characters whose NFKC form has digits although they are none themselves."""
    return "".join(
        char
        for char in text
        if unicodedata.category(char) == "Nd"
        or not re.search(r"\d", unicodedata.normalize("NFKC", char))
    )


@given(
    st.text(st.characters(codec=None, max_codepoint=0x2FF) | st.sampled_from("①²½"), max_size=30)
)
def test_a_key_keeps_every_ascii_digit_run(name: str) -> None:
    assert _ascii_runs(name_key(name)) == _ascii_runs(name)


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=30), st.sampled_from(" \t\u00a0"))
def test_outer_space_and_canonical_form_do_not_matter(name: str, space: str) -> None:
    key = name_key(unicodedata.normalize("NFC", name))
    assert name_key(unicodedata.normalize("NFD", name)) == key
    assert name_key(f"{space}{name}{space}") == name_key(name)


@given(st.text(st.characters(categories=["Lu", "Ll", "Nd"], max_codepoint=0x17F), max_size=30))
def test_case_and_compatibility_form_do_not_matter(name: str) -> None:
    if any(unicodedata.decomposition(char).startswith("<super>") for char in name):
        return
    assert name_key(unicodedata.normalize("NFKC", name)) == name_key(name)
    assert name_key(name.casefold()) == name_key(name)


@given(NAMES)
def test_a_key_can_be_stored(name: str) -> None:
    key = name_key(name)
    assert key.encode("utf-8").decode("utf-8") == key
    assert "\x00" not in key
    assert key == key.strip()


@pytest.mark.parametrize(
    ("name", "signature"),
    [
        ("WO-2031-0114 rev 2", ("2031", "0114", "2")),
        ("Firmware 1.10", ("1", "10")),
        ("ｖ１．９", ("1", "9")),
        ("m²", ("²",)),
        ("x2²", ("2", "²")),
        ("Orion", ()),
        ("三倉庫", ()),
    ],
)
def test_digit_runs_are_kept_in_order(name: str, signature: tuple[str, ...]) -> None:
    assert digit_signature(name) == signature


@pytest.mark.parametrize(
    "name",
    ["C++", "C", ".NET", "IT", "US", "WHO", "水泵", "src/store.ts", "42nd Street", "[[Orion]]"],
)
def test_names_are_nameable(name: str) -> None:
    assert is_nameable(name)


@pytest.mark.parametrize(
    "name",
    [
        "",
        "   ",
        "...",
        "🔥",
        "++",
        "it",
        "It",
        "We",
        "this",
        "unknown",
        "N/A",
        "[redacted]",
        "Not specified",
        "<name>",
        "${PROJECT}",
        "{{ user }}",
        "___",
        "xxx",
        "a" * (MAX_NAME_CHARS + 1),
    ],
)
def test_placeholders_pronouns_and_bare_signs_are_not_nameable(name: str) -> None:
    assert not is_nameable(name)


@pytest.mark.parametrize("name", ["Sidekiq][sidekiq", "MADR](https://adr.github.io) 4.0.0"])
def test_a_cut_off_link_is_no_name(name: str) -> None:
    assert not is_nameable(name)
