"""Helpers that read one text and show candidates as plain words."""

from __future__ import annotations

from typing import Any

from graphmem.extractors import SpacyExtractor
from graphmem.model.extraction import (
    Extraction,
    LiteralTerm,
    MentionTerm,
    NamedTerm,
    PassageInput,
    ProjectTerm,
    StatementRef,
    Term,
)


class Reader:
    """A loaded extractor with shortcuts."""

    def __init__(self, extractor: SpacyExtractor) -> None:
        self.extractor = extractor

    def read(self, text: str, **fields: Any) -> Extraction:
        """The extraction of one passage."""
        return self.extractor.extract([PassageInput("source", text, **fields)])[0]

    def triples(self, text: str, **fields: Any) -> list[tuple[str, str, str]]:
        """Its triples as (subject, predicate, object), in order."""
        made = self.read(text, **fields)
        return [(term(t.subject, made), t.predicate, term(t.object, made)) for t in made.triples]

    def causes(self, text: str, **fields: Any) -> list[tuple[str, str, str]]:
        """Its causal claims as (cause, kind, effect) in the text's own words."""
        passages = [PassageInput("source", text, **fields)]
        return causes_of(passages, self.extractor.extract(passages))


def term(value: Term, made: Extraction) -> str:
    """A term as words: names bare, values in quotes, the project in angle brackets."""
    match value:
        case MentionTerm(mention):
            return made.mentions[mention].surface
        case LiteralTerm(text):
            return f"'{text}'"
        case ProjectTerm():
            return "<project>"
        case NamedTerm(name):
            return f"({name})"


def causes_of(passages: list[PassageInput], made: list[Extraction]) -> list[tuple[str, str, str]]:
    """All causal claims of a call in the passages' own words."""

    def words(ref: StatementRef) -> str:
        statement = made[ref.passage].statements[ref.statement]
        return passages[ref.passage].text[statement.start : statement.end]

    return [(words(c.cause), c.kind.value, words(c.effect)) for e in made for c in e.causes]
