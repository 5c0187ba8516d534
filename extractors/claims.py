"""Statements while a passage is being read: what kind of claim a clause makes."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from graphmem.extractors import words as w
from graphmem.extractors.clauses import Clause, Predication, clauses_of, predications_of
from graphmem.extractors.event_keys import event_key, nominal_key
from graphmem.extractors.mentions import Named
from graphmem.extractors.parse import Sentence, Word
from graphmem.extractors.roles import Roles, roles_of
from graphmem.extractors.times import ClauseTime, find_time
from graphmem.model.extraction import PassageInput
from graphmem.vocabulary import Modality, PassageRole, Polarity, Refusal, StatementKind

RECORD_ROLES = frozenset(
    {
        PassageRole.CONTEXT,
        PassageRole.DECISION,
        PassageRole.RATIONALE,
        PassageRole.OPTIONS,
        PassageRole.CONSEQUENCES,
    }
)
# A fragment without a verb says less surely what it claims.
FRAGMENT_CONFIDENCE = 0.6
CLAIM_CONFIDENCE = 0.9
_CATEGORY_KINDS = {kind.value: kind for kind in StatementKind}


@dataclass(slots=True)
class Claim:
    """A statement being read; ``index`` is set when all of its passage are known.

    ``is_fragment`` marks a sentence of a record that has no verb.
    """

    passage: int
    sentence: int
    start: int
    end: int
    kind: StatementKind
    polarity: Polarity = Polarity.POSITIVE
    modality: Modality = Modality.ASSERTED
    time: ClauseTime | None = None
    event_key: str = ""
    confidence: float = CLAIM_CONFIDENCE
    clause: Clause | None = None
    predications: list[tuple[Predication, Roles]] = field(default_factory=list)
    is_fragment: bool = False
    index: int = -1

    @property
    def is_main(self) -> bool:
        """Whether it is the main clause of its sentence, or all of it."""
        return self.clause is None or (self.clause.parent is None and not self.clause.marker)


@dataclass(slots=True)
class Reading:
    """A passage while it is read: its sentences, names and claims."""

    index: int
    passage: PassageInput
    sentences: list[Sentence]
    names: list[Named]
    claims: list[Claim] = field(default_factory=list)
    dropped: Counter[Refusal] = field(default_factory=Counter)

    def of_sentence(self, number: int) -> list[Claim]:
        """The clause claims of a sentence, in order."""
        return [c for c in self.claims if c.sentence == number and c.clause is not None]

    def main_claim(self, number: int) -> Claim | None:
        """The claim of a sentence that a later sentence refers to."""
        own = [c for c in self.claims if c.sentence == number and (c.clause or c.is_fragment)]
        return next((c for c in own if c.is_main), own[0] if own else None)

    def name_claim(self, number: int, head: Word, span: tuple[int, int] | None = None) -> Claim:
        """The claim that a noun phrase stands for; made once per span."""
        sentence = self.sentences[number]
        start, end = span or nominal_span(sentence, head)
        for claim in self.claims:
            if (claim.start, claim.end) == (start, end):
                return claim
        problem = head.lemma in w.PROBLEM_NOUNS
        made = Claim(
            self.index,
            number,
            start,
            end,
            StatementKind.PROBLEM if problem else StatementKind.EVENT,
            event_key=nominal_key(sentence, head),
            confidence=FRAGMENT_CONFIDENCE,
        )
        self.claims.append(made)
        return made


def nominal_span(sentence: Sentence, head: Word) -> tuple[int, int]:
    """The phrase of a noun with its complements, without relative clauses."""
    skip: set[int] = set()
    for child in sentence.children(head, "relcl", "appos", "conj", "cc", "punct"):
        if child.dep == "relcl" and any(c.lower == "to" for c in sentence.children(child, "aux")):
            continue
        skip.update(word.i for word in sentence.subtree(child))
    inside = [word for word in sentence.subtree(head) if word.i not in skip]
    run = [word for word in inside if word.i <= head.i]
    expected = head.i + 1
    for word in inside:
        if word.i == expected:
            run.append(word)
            expected += 1
    while len(run) > 1 and run[-1].text in {",", ".", ";", ":"}:
        run.pop()
    return run[0].start, max(word.end for word in run)


def read_claims(reading: Reading) -> None:
    """Add one claim per clause, and in records one per sentence that has no verb."""
    for number, sentence in enumerate(reading.sentences):
        if sentence.view.heading:
            continue
        clauses = clauses_of(sentence)
        for clause in clauses:
            made = _clause_claim(reading, number, sentence, clause)
            if made is not None:
                reading.claims.append(made)
        if not clauses and reading.passage.role in RECORD_ROLES:
            _fragment(reading, number, sentence)


def _clause_claim(
    reading: Reading, number: int, sentence: Sentence, clause: Clause
) -> Claim | None:
    if clause.end <= clause.start or (len(clause.words) < 2 and clause.marker == ""):
        return None
    role = reading.passage.role
    pairs = [(p, roles_of(sentence, p)) for p in predications_of(sentence, clause, role)]
    first, roles = pairs[0]
    members = frozenset(word.i for word in clause.words)
    keys = [event_key(sentence, claim, part, members) for claim, part in pairs]
    return Claim(
        reading.index,
        number,
        clause.start,
        clause.end,
        _kind(reading, sentence, clause, first, roles),
        first.polarity,
        first.modality,
        _time(reading, clause),
        " & ".join(key for key in keys if key) if all(keys) else "",
        clause=clause,
        predications=pairs,
    )


def _time(reading: Reading, clause: Clause) -> ClauseTime | None:
    try:
        return find_time(reading.passage.text[clause.start : clause.end])
    except ValueError:
        reading.dropped[Refusal.REVERSED_INTERVAL] += 1
        return None


def _fragment(reading: Reading, number: int, sentence: Sentence) -> None:
    words = [word for word in sentence.words if word.text[:1].isalnum()]
    if len(words) < 2:
        return
    kind = _role_kind(reading.passage.role, problem=_is_problem_text(words))
    made = Claim(
        reading.index,
        number,
        words[0].start,
        words[-1].end,
        kind,
        confidence=FRAGMENT_CONFIDENCE,
        is_fragment=True,
    )
    reading.claims.append(made)


def _is_problem_text(words: list[Word]) -> bool:
    return any(word.lemma in w.PROBLEM_NOUNS for word in words)


def _role_kind(role: PassageRole, problem: bool) -> StatementKind:
    match role:
        case PassageRole.DECISION:
            return StatementKind.DECISION
        case PassageRole.RATIONALE:
            return StatementKind.RATIONALE
        case PassageRole.CONTEXT | PassageRole.OPTIONS if problem:
            return StatementKind.PROBLEM
    return StatementKind.FACT


def _kind(
    reading: Reading, sentence: Sentence, clause: Clause, claim: Predication, roles: Roles
) -> StatementKind:
    category = _CATEGORY_KINDS.get(sentence.view.category)
    if category is not None:
        return category
    role = reading.passage.role
    problem = _is_problem(sentence, claim, roles)
    if role in {PassageRole.DECISION, PassageRole.RATIONALE} and clause.marker == "because":
        return StatementKind.RATIONALE
    if role in RECORD_ROLES - {PassageRole.OPTIONS}:
        return _role_kind(role, problem)
    if claim.modality is Modality.QUESTION:
        return StatementKind.FACT
    if _is_decision(claim, roles, clause):
        return StatementKind.DECISION
    if claim.verb.lemma in w.PREFERRING and _by_someone(roles):
        return StatementKind.PREFERENCE
    if _is_instruction(sentence, claim, roles, clause):
        return StatementKind.INSTRUCTION
    return _event_kind(sentence, claim, problem)


def _event_kind(sentence: Sentence, claim: Predication, problem: bool) -> StatementKind:
    if problem:
        return StatementKind.PROBLEM
    past = claim.verb.tag in {"VBD", "VBN"} and claim.verb.lemma != "be"
    if past and claim.modality is Modality.ASSERTED:
        present = any(
            child.tag in {"VBZ", "VBP"} for child in sentence.children(claim.verb, "auxpass")
        )
        if claim.verb.lemma in w.MILESTONES and claim.polarity is Polarity.POSITIVE:
            return StatementKind.MILESTONE
        return StatementKind.FACT if present else StatementKind.EVENT
    return StatementKind.FACT


def _is_decision(claim: Predication, roles: Roles, clause: Clause) -> bool:
    if claim.decided:
        return True
    people = any(word.lower in w.FIRST_PLURAL | {"i"} for word in roles.subject)
    past = claim.verb.tag in {"VBD", "VBN"}
    chosen = claim.verb.lemma in w.DECISION_VERBS
    return (people and chosen and past) or (
        claim.verb.lemma in w.CHOOSING | {"reject", "decide"} and past and clause.marker == ""
    )


def _by_someone(roles: Roles) -> bool:
    return any(word.lower in w.FIRST_PERSON or word.is_proper for word in roles.subject)


def _is_instruction(sentence: Sentence, claim: Predication, roles: Roles, clause: Clause) -> bool:
    subjectless = not roles.subject and not roles.passive
    if clause.head.tag == "VB" and subjectless and clause.marker == "":
        return sentence.child(clause.head, "aux") is None or claim.polarity is Polarity.NEGATIVE
    duty = any(child.lower in {"must", "should"} for child in sentence.children(clause.head, "aux"))
    return duty and any(word.lower == "you" for word in roles.subject)


def _is_problem(sentence: Sentence, claim: Predication, roles: Roles) -> bool:
    if claim.verb.lemma in w.PROBLEMS and claim.polarity is Polarity.POSITIVE:
        return claim.verb.lemma != "reject" or not roles.subject
    if any(word.lemma in w.PROBLEM_NOUNS for word in [*roles.subject, *roles.attribute]):
        return claim.polarity is Polarity.POSITIVE
    able = any(
        child.lower in {"can", "ca", "could"} for child in sentence.children(claim.verb, "aux")
    )
    return able and claim.polarity is Polarity.NEGATIVE
