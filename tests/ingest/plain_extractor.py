"""A small extractor for tests: capital names around a verb, and "because" between two claims."""

import re
from collections.abc import Sequence

from graphmem.model.extraction import (
    CausalCandidate,
    Extraction,
    MentionCandidate,
    MentionTerm,
    PassageInput,
    ProjectTerm,
    StatementCandidate,
    StatementRef,
    TripleCandidate,
)
from graphmem.vocabulary import EntityType, LinkKind, PassageRole, StatementKind

CLAIM = re.compile(r"(?<!# )[A-Z][^.#\n]*?(?= because|[.\n]|$)|(?<=because )[^.\n]+")
TRIPLE = re.compile(
    r"(?P<subject>We|[A-Z][\w'-]*(?: [A-Z0-9][\w'-]*)*) (?P<verb>[a-z]+s?)"
    r" (?P<object>[A-Z][\w'-]*(?: [A-Z0-9][\w'-]*)*)"
)


class PlainExtractor:
    """Counts what it reads in ``read``."""

    name = "plain"
    revision = 1

    def __init__(self) -> None:
        self.read = 0

    def extract(self, passages: Sequence[PassageInput]) -> list[Extraction]:
        self.read += len(passages)
        return [self._one(at, passage) for at, passage in enumerate(passages)]

    def _one(self, at: int, passage: PassageInput) -> Extraction:
        claims = [found.span() for found in CLAIM.finditer(passage.text)]
        is_decision = passage.role is PassageRole.DECISION
        kind = StatementKind.DECISION if is_decision else StatementKind.FACT
        statements = tuple(
            StatementCandidate(
                start, end, kind, event_key=" ".join(passage.text[start:end].lower().split())
            )
            for start, end in claims
        )
        causes = tuple(
            CausalCandidate(
                LinkKind.CAUSES,
                StatementRef(at, position + 1),
                StatementRef(at, position),
                at,
                claims[position][0],
                claims[position + 1][1],
                "because",
                0.9,
            )
            for position in range(len(claims) - 1)
            if passage.text[claims[position][1] :].startswith(" because")
        )
        mentions: list[MentionCandidate] = []
        triples: list[TripleCandidate] = []
        for found in TRIPLE.finditer(passage.text):
            ends: list[MentionTerm | ProjectTerm] = []
            for group in ("subject", "object"):
                if found[group] == "We":
                    ends.append(ProjectTerm("We"))
                    continue
                start, end = found.span(group)
                mentions.append(MentionCandidate(start, end, found[group], EntityType.TOOL))
                ends.append(MentionTerm(len(mentions) - 1))
            triples.append(TripleCandidate(ends[0], found["verb"], ends[1], *found.span()))
        return Extraction(statements, tuple(mentions), tuple(triples), causes)
