"""No order of sources and no spelling of a name changes what is known."""

from __future__ import annotations

import random
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphmem.extractors import SpacyExtractor
from graphmem.resolve import digit_signature, name_key
from tests.acceptance.notes import DECISIONS, note
from tests.cases.vaults import vault, write

TEXTS = (
    *(note(number) for number in range(6)),
    "orion group supplies ZEPHYR DEPOT. Zoé Lindqvist approved OPS-1000.",
    "The seal cracked because the coolant ran dry.",
    "The coolant ran dry because the valve was closed.",
    "The seal cracked because the coolant ran dry. Orion Group uses Basalt.",
    "Orion Group does not use Basalt. Node 20 replaced Node 200.",
    "`[[Template]]` is code. GPT-4 replaced GPT-5 because GPT-5 was slow.",
)


@pytest.mark.parametrize("seed", range(4))
def test_any_order_and_any_batches_give_the_same_content(
    extractor: SpacyExtractor, tmp_path: Path, seed: int
) -> None:
    paths = write(tmp_path / "notes", *TEXTS)
    with vault(extractor) as memory:
        memory.ingest(paths, project="p")
        together = _said(memory.dump(content=True))
    chance = random.Random(seed)
    chance.shuffle(paths)
    with vault(extractor) as memory:
        while paths:
            size = chance.randint(1, 4)
            batch, paths = paths[:size], paths[size:]
            memory.ingest(batch, project="p")
        assert _said(memory.dump(content=True)) == together


@pytest.mark.parametrize("seed", [0])
def test_records_in_any_order_give_the_same_content(
    extractor: SpacyExtractor, tmp_path: Path, seed: int
) -> None:
    records = sorted(DECISIONS.glob("0*.md"))
    mixed = random.Random(seed).sample(records, len(records))
    dumps = []
    for order in (records, mixed):
        with vault(extractor) as memory:
            for path in order:
                memory.ingest(path, project="p")
            dumps.append(_said(memory.dump(content=True)))
    assert dumps[0] == dumps[1]


def _said(lines: object) -> list[str]:
    return list(lines)  # type: ignore[call-overload, no-any-return]


@pytest.mark.parametrize(
    "name",
    [
        "ZOÉ LINDQVIST",
        "zoé lindqvist",
        "Zoé  Lindqvist",
        "Zoé\u00a0Lindqvist",
        unicodedata.normalize("NFD", "Zoé Lindqvist"),
        " Zoé Lindqvist ",
        "**Zoé Lindqvist**",
        "Zo\u200bé Lindqvist",
        "Ｚｏé Lindqvist",
    ],
)
def test_case_space_and_form_of_a_name_do_not_matter(extractor: SpacyExtractor, name: str) -> None:
    with vault(extractor) as memory:
        memory.remember("One.", facts=["Zoé Lindqvist|uses|Basalt"])
        memory.remember("Two.", facts=[f"{name}|uses|Lathe"])
        (found,) = memory.kg_query(name).entities
        assert found.id == memory.kg_query("Zoé Lindqvist").entities[0].id
        assert {fact.object for fact in found.facts} == {"Basalt", "Lathe"}


DIGITED = st.builds(
    lambda word, a, joint, b: f"{word}{joint}{a}{joint}{b}".strip(),
    st.sampled_from(["Node", "GPT", "OPS", "Rev", "x²", "Pump P"]),
    st.integers(0, 120).map(str) | st.sampled_from(["007", "1.9", "1.10", "٣"]),
    st.sampled_from([" ", "-", "."]),
    st.just("") | st.integers(0, 12).map(str),
)


@given(DIGITED, DIGITED)
def test_names_that_differ_in_digits_have_different_keys(one: str, other: str) -> None:
    if digit_signature(one) != digit_signature(other):
        assert name_key(one) != name_key(other)


def test_numbered_names_in_one_vault_are_one_entity_each(extractor: SpacyExtractor) -> None:
    names = ["Node 2", "Node 20", "Node 200", "node  20", "Node 2.0", "Node-20", "Node 020"]
    with vault(extractor) as memory:
        for number, name in enumerate(names):
            memory.remember(f"Line {number}.", facts=[f"{name}|uses|Part {number}"])
        ids = [memory.kg_query(name).entities[0].id for name in names]
        assert ids[1] == ids[3]
        assert len(set(ids)) == len(names) - 1
        for name in names:
            (found,) = memory.kg_query(name).entities
            spelled = {digit_signature(each) for each in (found.name, *found.aliases)}
            assert spelled == {digit_signature(name)}
