"""Three files, one chain: A because B, B because C, and A because B once more."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphmem.extractors import SpacyExtractor
from graphmem.vocabulary import Direction
from tests.cases.vaults import told, vault, write
from tests.cli.conftest import Command

WORDINGS = [
    (
        "The seal cracked because the coolant ran dry.",
        "The coolant ran dry because the valve was closed.",
        "The seal cracked because the coolant ran dry.",
    ),
    (
        "Because the coolant ran dry, the seal cracked.",
        "The valve was closed, so the coolant ran dry.",
        "The coolant ran dry. As a result, the seal cracked.",
    ),
    (
        "The seal cracked since the coolant is dry.",
        "The coolant is dry because Ivo Brandt closed the valve.",
        "The seal cracked because the coolant is dry.",
    ),
    (
        "We dropped LanceDB because the index was lost.",
        "The index was lost because the disk was full.",
        "The index was lost; therefore we dropped LanceDB.",
    ),
    (
        "The deploy failed because the disk was full.",
        "The disk was full because the logs were never rotated.",
        "The disk was full. Therefore the deploy failed.",
    ),
    (
        "OPS-2077 was reopened because the relay failed.",
        "The relay failed because the fuse blew.",
        "OPS-2077 was reopened, because the relay failed.",
    ),
]
STARTS = [
    "the seal cracked",
    "the seal cracked",
    "the seal cracked",
    "we dropped LanceDB",
    "the deploy failed",
    "OPS-2077 was reopened",
]


@pytest.mark.parametrize(("texts", "start"), list(zip(WORDINGS, STARTS, strict=True)))
def test_the_chain_crosses_files_and_the_repeat_is_a_second_witness(
    extractor: SpacyExtractor, tmp_path: Path, texts: tuple[str, ...], start: str
) -> None:
    with vault(extractor) as memory:
        told(memory, tmp_path, *texts)
        result = memory.find_causal_links(start, depth=2)
        assert [edge.depth for edge in result.edges] == [1, 2]
        first, second = result.edges
        assert len(first.witnesses) == 2
        assert len({w.span.uri for w in first.witnesses}) == 2
        assert len(second.witnesses) == 1
        assert second.via_same_event
        (one,) = memory.find_causal_links(start, depth=1).edges
        assert (one.cause_id, one.witnesses) == (first.cause_id, first.witnesses)
        forward = memory.find_causal_links(
            second.cause_id, direction=Direction.FORWARD, depth=2
        ).edges
        assert [edge.depth for edge in forward] == [1, 2]
        assert start.casefold() in forward[1].effect.casefold()


def test_the_command_line_prints_the_chain(graphmem: Command, tmp_path: Path) -> None:
    write(tmp_path / "notes", *WORDINGS[0])
    assert graphmem("ingest", str(tmp_path / "notes"), "--project", "p").code == 0
    data = graphmem("causes", "the seal cracked", "--depth", "2", "--json").data
    assert [edge["depth"] for edge in data["edges"]] == [1, 2]
    assert [len(edge["witnesses"]) for edge in data["edges"]] == [2, 1]
    printed = graphmem("causes", "the seal cracked", "--depth", "2").out
    assert "the valve was closed" in printed
    assert "n000.md" in printed and "n001.md" in printed and "n002.md" in printed


@pytest.mark.parametrize(
    "other",
    [
        "The seal did not crack because the coolant ran dry.",
        "The seal of pump P-9 cracked because the coolant ran dry.",
        "Did the seal crack because the coolant ran dry?",
        "On Monday the seal cracked because the coolant ran dry.",
        "The seal cracked again because the coolant ran dry.",
        "The seal would have cracked if the coolant had run dry.",
    ],
)
def test_another_event_is_no_second_witness(
    extractor: SpacyExtractor, tmp_path: Path, other: str
) -> None:
    with vault(extractor) as memory:
        told(memory, tmp_path, WORDINGS[0][0], other)
        edges = memory.find_causal_links("the seal cracked", depth=1).edges
        mine = [edge for edge in edges if edge.effect == "The seal cracked"]
        assert [len(edge.witnesses) for edge in mine] == [1]
        assert mine[0].witnesses[0].span.uri.endswith("n000.md")
