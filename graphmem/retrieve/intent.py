"""What a question wants, by rules over its cue words; a cue in quotes or denied does not count."""

from __future__ import annotations

import re
from dataclasses import dataclass

from graphmem.vocabulary import Direction, Intent

# A cue that opens the question decides almost surely; one further in may be a subordinate clause.
LEADING = 0.95
INNER = 0.8
# Nothing matched: most such questions ask for a description.
DEFAULT = 0.5
# Characters that may stand before a leading cue ("So, why ...", "and when ...").
LEAD_CHARS = 12
# Characters of a question that are read for cues; what follows is pasted text.
MAX_CHARS = 1000


@dataclass(frozen=True, slots=True)
class IntentGuess:
    """An intent with its direction (WHY only), a confidence in 0..1 and the cues that decided."""

    intent: Intent
    direction: Direction | None
    confidence: float
    cues: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Rule:
    intent: Intent
    pattern: re.Pattern[str]
    direction: Direction | None = None
    leading_only: bool = False


def _rule(
    intent: Intent,
    pattern: str,
    direction: Direction | None = None,
    *,
    leading_only: bool = False,
) -> _Rule:
    return _Rule(intent, re.compile(rf"(?<![\w-])(?:{pattern})", re.I), direction, leading_only)


_OUTCOME = "consequences?|implications?|impacts?|effects?|outcomes?|results?|fallout|repercussions?"
_REASON = "reasons?|reasoning|rationale|motivations?|motives?|justifications?|purposes?|causes?"
_KIND = (
    "person|people|team|company|organi[sz]ation|author|owner|tools?|librar(?:y|ies)|engines?"
    "|databases?|services?|systems?|frameworks?|packages?|models?|languages?|servers?|hosts?"
    "|products?|projects?|vendors?|places?|cit(?:y|ies)|components?|entit(?:y|ies)|versions?"
    "|tickets?|files?|modules?|drivers?|extensions?|embedders?"
)
_BACK, _FORWARD, _BOTH = Direction.BACK, Direction.FORWARD, Direction.BOTH
_RELATION = (
    "use|uses|depends? on|run|runs|runs? on|support|supports|replace|replaces|own|owns|prefer"
    "|prefers|integrate with|integrates with|require|requires|store|stores|maintain|maintains"
)

# The first rule that matches decides; forward cues stand before back cues because they contain
# weaker words of them ("what happened because of" holds "because").
_RULES: tuple[_Rule, ...] = (
    _rule(Intent.WHY, r"causes? and (?:effects?|consequences?)\b", _BOTH),
    _rule(Intent.WHY, r"because of wh(?:at|ich|om?)\b", _BACK),
    _rule(
        Intent.WHY,
        r"(?:what|which \w+) (?:has |have |had )?happen(?:s|ed)? (?:because|as a result"
        r"|due|after|if)\b",
        _FORWARD,
    ),
    _rule(
        Intent.WHY,
        r"what (?:\w+ ){1,2}(?:because of|as a result of|due to|thanks to)\b",
        _FORWARD,
    ),
    _rule(
        Intent.WHY,
        r"(?:what|where) (?:did|does|do|has|have|had|will|would|could)\b.*?\b(?:leads? to"
        r"|led to|led|lead|causes?|caused|results? in|resulted in|triggers?"
        r"|entails?)\s*(?:\?|$)",
        _FORWARD,
    ),
    _rule(Intent.WHY, rf"(?:{_OUTCOME}) (?:of|from|on)\b", _FORWARD),
    _rule(
        Intent.WHY,
        rf"what (?:\w+ )?(?:{_OUTCOME}) (?:did|does|do|has|have|had|will|would)\b",
        _FORWARD,
    ),
    _rule(
        Intent.WHY,
        r"what (?:has |have |had )?(?:followed|follows|resulted|results|came|comes|arose"
        r"|arises) (?:from|of|out of)\b",
        _FORWARD,
    ),
    _rule(
        Intent.WHY,
        r"how (?:did|does|do|has|have|will|would)\b.*?\b(?:affect|affected|impact|impacted"
        r"|influence|influenced|change)\b",
        _FORWARD,
    ),
    _rule(Intent.WHY, r"why\b", _BACK),
    _rule(Intent.WHY, r"how come\b", _BACK),
    _rule(
        Intent.WHY,
        r"(?:what|which \w+|who) (?:has |have |had |eventually |first |originally )?(?:led"
        r"|leads|caused|causes|made|makes|motivated|motivates|drove|drives|prompted"
        r"|prompts|triggered|triggers|persuaded|convinced|forced|justifies|justified"
        r"|explains|explained)\b",
        _BACK,
    ),
    _rule(Intent.WHY, rf"(?:{_REASON}) (?:for|of|behind|why|that|to|we|was|were|did)\b", _BACK),
    _rule(Intent.WHY, rf"(?:for|with) (?:what|which) (?:{_REASON})\b", _BACK),
    _rule(
        Intent.WHY,
        rf"(?:what|which) (?:is|was|were|are) (?:the |our |their |your "
        rf"|its )?(?:\w+ )?(?:{_REASON})\b",
        _BACK,
    ),
    _rule(Intent.WHY, r"what(?:'s| is| was| stands| lies) behind\b", _BACK),
    _rule(Intent.WHY, r"what for\b", _BACK),
    _rule(Intent.WHY, r"root causes?\b", _BACK),
    _rule(Intent.WHEN, r"(?:since|until|till|from|by) when\b"),
    _rule(Intent.WHEN, r"when\b", leading_only=True),
    _rule(
        Intent.WHEN,
        r"(?:know|tell me|remember|say|recall|wonder|wondering|ask|asking"
        r"|but) (?:\w+ )?when\b",
    ),
    _rule(Intent.WHEN, r"(?:what|which) (?:exact )?(?:date|day|week|month|quarter|year|time)s?\b"),
    _rule(Intent.WHEN, r"how (?:long ago|long|recently|soon|often)\b"),
    _rule(Intent.WHEN, r"(?:timeline|chronology|history|dates?) of\b"),
    _rule(Intent.WHEN, r"in wh(?:at|ich) order\b"),
    _rule(Intent.ENTITY, r"wh(?:o|om|ose)(?:'s)?\b", leading_only=True),
    _rule(Intent.ENTITY, r"(?:know|tell me|remember|by|to|for|with|from) who(?:m|se)?\b"),
    _rule(Intent.ENTITY, r"where\b", leading_only=True),
    _rule(Intent.ENTITY, rf"(?:what|which) (?:\w+ )?(?:{_KIND})\b"),
    _rule(Intent.ENTITY, r"which\b(?! (?:way|means|reason))", leading_only=True),
    _rule(Intent.ENTITY, rf"what (?:does|do|did)\b.*?\b(?:{_RELATION})\s*(?:\?|$)"),
    _rule(
        Intent.ENTITY,
        r"(?:tell me|what do (?:we|you|i) know|everything|anything|facts) (?:more |all "
        r"|everything )?about\b",
    ),
    _rule(Intent.ENTITY, r"(?:describe|introduce)\b", leading_only=True),
)  # fmt: skip

_QUOTED = re.compile(r"\"[^\"]*\"|“[^”]*”|«[^»]*»|`[^`]*`|(?<!\w)'[^']*'(?!\w)")
# A denial right before a cue takes the cue out: "not why but when", "never mind the reason for".
_DENIED = re.compile(
    r"(?:\bnot|\bnever mind|\bno matter|\bregardless of|\bforget|\bignore|\brather than"
    r"|\b(?:don't|do not|doesn't|does not|needn't|won't)"
    r" (?:\w+ )?(?:ask|asking|tell|care|explain|need|want|mean|know)"
    r"|\b(?:i|we) (?:already )?know)(?: (?:me|you|to know|to ask|about|the|so much|just))*\s*$",
    re.I,
)


def classify(question: str) -> IntentGuess:
    """The intent of a question, with the direction for WHY.

    >>> classify("Why did we drop LanceDB?").direction
    <Direction.BACK: 'back'>
    >>> classify("What did the outage lead to?").direction
    <Direction.FORWARD: 'forward'>
    """
    plain = question[:MAX_CHARS].replace("’", "'")
    text = _QUOTED.sub(lambda found: " " * len(found.group()), plain)
    for rule in _RULES:
        for found in rule.pattern.finditer(text):
            if _DENIED.search(text[: found.start()]):
                continue
            leading = _is_leading(text, found.start())
            if rule.leading_only and not leading:
                continue
            confidence = LEADING if leading else INNER
            cue = " ".join(found.group().lower().split())
            return IntentGuess(rule.intent, rule.direction, confidence, (cue,))
    return IntentGuess(Intent.WHAT, None, DEFAULT)


def _is_leading(text: str, start: int) -> bool:
    """Whether only a short opener (or an earlier sentence) stands before the position."""
    before = re.split(r"[.!?;:,]\s|[—–]", text[:start])[-1].strip(" \t\n\"'(¿")
    return len(before) <= LEAD_CHARS and not re.search(r"\b(?:what|how|which|who)\b", before, re.I)
