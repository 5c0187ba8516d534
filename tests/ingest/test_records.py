"""Decision records: detection, roles, status, number, date and references."""

from datetime import UTC, datetime

import pytest

from graphmem.ingest.document import ReadDocument
from graphmem.ingest.markdown import read_markdown
from graphmem.ingest.records import references, role_of_heading, witness_span
from graphmem.vocabulary import PassageRole, SourceKind

NYGARD = """# 7. Use Basalt

Date: 2026-02-12

## Status

Accepted

Supersedes [3. Use Granite](0003-use-granite.md)

Amends 2

## Context

Granite was slow.

## Decision

We will use Basalt.

## Consequences

Faster builds.
"""

MADR = """---
status: superseded by ADR-0012
date: 2026-03-01
---
# Use Basalt for storage

## Context and Problem Statement

Granite was slow.

## Decision Drivers

* Speed

## Considered Options

* Basalt
* Granite

## Decision Outcome

Chosen option: "Basalt", because it is fast.

### Positive Consequences

* Speed

## Pros and Cons of the Options

### Granite

* Bad, because slow
"""


def read(text: str, uri: str) -> ReadDocument:
    return read_markdown(text, uri, "yard", content_hash="h")


def test_nygard_record_is_read_with_number_status_date_and_references() -> None:
    document = read(NYGARD, "adr/0007-use-basalt.md")
    assert document.kind is SourceKind.RECORD
    assert document.record is not None
    assert document.record.number == "0007"
    assert document.record.status == "accepted"
    assert document.record.supersedes == ("0003-use-granite.md",)
    assert document.record.superseded_by == ()
    assert document.authored_at == datetime(2026, 2, 12, tzinfo=UTC)
    assert [section.role for section in document.sections] == [
        PassageRole.BODY,
        PassageRole.STATUS,
        PassageRole.STATUS,
        PassageRole.CONTEXT,
        PassageRole.DECISION,
        PassageRole.CONSEQUENCES,
    ]


def test_madr_record_maps_headings_and_inherits_roles() -> None:
    document = read(MADR, "docs/0009-basalt.md")
    roles = {section.heading_path: section.role for section in document.sections}
    assert roles["Context and Problem Statement",] is PassageRole.CONTEXT
    assert roles["Decision Drivers",] is PassageRole.RATIONALE
    assert roles["Considered Options",] is PassageRole.OPTIONS
    assert roles["Decision Outcome",] is PassageRole.DECISION
    assert roles["Decision Outcome", "Positive Consequences"] is PassageRole.CONSEQUENCES
    assert roles["Pros and Cons of the Options", "Granite"] is PassageRole.OPTIONS
    assert document.record is not None
    assert document.record.status == "superseded"
    assert document.record.superseded_by == ("0012",)
    assert document.sections[0].role is PassageRole.STATUS
    assert "superseded by ADR-0012" in document.sections[0].text


@pytest.mark.parametrize(
    "meta",
    [
        "Status: Accepted\nDate: 2026-01-02\n",
        "* Status: accepted\n* Date: 2026-01-02\n",
        "**Status:** Accepted\n\n**Date:** 2026-01-02\n",
    ],
)
def test_status_lines_before_the_first_part_are_a_status_passage(meta: str) -> None:
    document = read(f"# ADR-5: Pick\n\n{meta}\n## Decision\n\nWe pick Basalt.\n", "pick.md")
    assert document.record is not None
    assert (document.record.number, document.record.status) == ("5", "accepted")
    assert document.authored_at == datetime(2026, 1, 2, tzinfo=UTC)
    status = [section for section in document.sections if section.role is PassageRole.STATUS]
    assert [section.text.strip() for section in status] == [meta.strip()]


@pytest.mark.parametrize(
    ("text", "uri"),
    [
        ("# Pump log\n\n## Decision\n\nBuy seals.\n", "log.md"),
        ("# Shopping\n\n## Background\n\nText.\n", "0007-shopping.md"),
        ("# Minutes\n\nWe talked.\n", "2026-03-01-minutes.md"),
        ("---\nstatus: draft\n---\n# Essay\n\nText.\n", "essay.md"),
    ],
)
def test_a_note_stays_a_note(text: str, uri: str) -> None:
    document = read(text, uri)
    assert document.kind is SourceKind.NOTE
    assert {section.role for section in document.sections} <= {PassageRole.BODY, PassageRole.CODE}


@pytest.mark.parametrize(
    ("text", "older", "newer"),
    [
        ("Superseded by [ADR-0009](0009-x.md)", [], ["0009-x.md"]),
        ("Supersedes 3", ["3"], []),
        ("Superseded by 0007 on 2026-03-01", [], ["0007"]),
        ("Accepted. Supersedes 3 and 4. Amends 5.", ["3", "4"], []),
        ("Supersedes [2](../adr/0002-a.md#top), amends [3](0003-b.md)", ["0002-a.md"], []),
        ("Replaced by ADR-12", [], ["12"]),
        ("Accepted on 2026-03-01, version 3.11", [], []),
        ("Amends 0004", [], []),
        ("Supersedes [the talk](https://example.org/0004)", [], []),
    ],
)
def test_references_are_what_the_status_says(text: str, older: list[str], newer: list[str]) -> None:
    assert references(text) == (older, newer)


def test_witness_is_the_clause_that_names_the_reference() -> None:
    text = "Accepted. Supersedes [3](0003-a.md). Amends 2."
    span = witness_span(text, "0003-a.md")
    assert span is not None
    assert text[slice(*span)] == "Supersedes [3](0003-a.md)"
    assert witness_span(text, "0002-b.md") is None


@pytest.mark.parametrize(
    ("heading", "role"),
    [
        ("Context", PassageRole.CONTEXT),
        ("3. Decision", PassageRole.DECISION),
        ("Rationale", PassageRole.RATIONALE),
        ("Decision Rationale", PassageRole.RATIONALE),
        ("Negative Consequences", PassageRole.CONSEQUENCES),
        ("Alternatives considered", PassageRole.OPTIONS),
        ("Installation", None),
        ("Resultset format", None),
    ],
)
def test_headings_open_their_part(heading: str, role: PassageRole | None) -> None:
    assert role_of_heading(heading) is role


@pytest.mark.parametrize("key", ["Supersedes", "Replaces"])
def test_a_line_above_the_parts_names_the_older_record(key: str) -> None:
    head = f"Status: accepted\n{key}: [ADR-0002](0002-old.md)"
    text = f"# 20. Sensors\n\n{head}\n\n## Decision\n\nWe do.\n"
    document = read_markdown(text, "0020-sensors.md", "p", content_hash="h")
    assert document.record is not None
    assert document.record.supersedes == ("0002-old.md",)


def test_an_example_in_a_code_block_gives_no_status() -> None:
    example = "```\nstatus: accepted\ndate: 2020-01-01\n```"
    text = f"# 13. Format\n\n{example}\n\n## Decision\n\nWe do.\n"
    document = read_markdown(text, "0013-format.md", "p", content_hash="h")
    assert document.record is not None
    assert document.record.status is None
    assert document.authored_at is None


def test_a_proposal_is_the_decision_of_its_record() -> None:
    text = "# 4. Names\n\n## Context\n\nNames clash.\n\n## Proposal\n\nWe prefix names.\n"
    document = read_markdown(text, "0004-names.md", "p", content_hash="h")
    assert PassageRole.DECISION in {section.role for section in document.sections}
