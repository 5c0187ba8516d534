"""Closed vocabulary of statements: what a claim is, whether it holds, and how it was said."""

from __future__ import annotations

from enum import StrEnum


class StatementKind(StrEnum):
    """What a clause-sized claim does in its text."""

    DECISION = "decision"
    RATIONALE = "rationale"
    PREFERENCE = "preference"
    INSTRUCTION = "instruction"
    EVENT = "event"
    PROBLEM = "problem"
    MILESTONE = "milestone"
    FACT = "fact"


class Polarity(StrEnum):
    """Whether the text affirms or denies the claim."""

    POSITIVE = "positive"
    NEGATIVE = "negative"


class Modality(StrEnum):
    """How the text stands to the claim; only ``ASSERTED`` claims may become facts."""

    ASSERTED = "asserted"
    HEDGED = "hedged"
    PLANNED = "planned"
    CONDITIONAL = "conditional"
    QUESTION = "question"
    REPORTED = "reported"


class Granularity(StrEnum):
    """How exact a time in a text is; a month stays a month."""

    INSTANT = "instant"
    DAY = "day"
    MONTH = "month"
    QUARTER = "quarter"
    YEAR = "year"
    RANGE = "range"
