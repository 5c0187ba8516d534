"""Triples from the roles of a clause: directed, with polarity and modality; none when in doubt."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from graphmem.extractors import words as w
from graphmem.extractors.antecedents import person_before, thing_before
from graphmem.extractors.choices import Choice, choice_of, verb_of_choice
from graphmem.extractors.claims import Claim, Reading
from graphmem.extractors.clauses import (
    Clause,
    Predication,
    is_able_only,
    is_finite,
    marker_of,
    predications_of,
)
from graphmem.extractors.event_keys import verb_lemma
from graphmem.extractors.parse import Sentence, Word
from graphmem.extractors.roles import Roles, is_alternative, is_vague, phrase, roles_of
from graphmem.model.extraction import LiteralTerm, MentionTerm, NamedTerm, ProjectTerm, Term
from graphmem.vocabulary import (
    PREDICATES,
    EntityType,
    Modality,
    PassageRole,
    Polarity,
    SourceKind,
    canonical,
)

MAX_LITERAL_WORDS: Final = 8
TRIPLE_CONFIDENCE: Final = 0.9
RESOLVED_CONFIDENCE: Final = 0.7
APPOSITION_CONFIDENCE: Final = 0.8

# Verbs that say too little by themselves to join two names.
_LIGHT: Final = frozenset(
    "do make let say tell mean get seem go come happen think know want try see look help start "
    "begin stop end take give put keep claim report note find show assume believe expect suggest "
    "ask thank welcome remember forget include contain involve feel call name consider compare "
    "become remain stay turn prove would could should can might".split()
)
_STATE_PAST: Final = frozenset({"works_at", "located_in", "owned_by"})
_INDEFINITE: Final = frozenset("no every each any another some either neither which what".split())


@dataclass(frozen=True, slots=True)
class Triple:
    """A triple being read, with the claim it stands in."""

    claim: Claim
    subject: Term
    predicate: str
    object: Term
    polarity: Polarity
    modality: Modality
    valid_from: datetime | None
    valid_to: datetime | None
    confidence: float


def triples_of(readings: list[Reading], claim: Claim) -> list[Triple]:
    """All triples of a claim of the last of ``readings`` (one source, in order)."""
    reading = readings[-1]
    sentence = reading.sentences[claim.sentence]
    if claim.clause is None or sentence.view.quiet:
        return []
    found: list[Triple] = []
    for predication, roles in claim.predications:
        if _is_claimed(reading, claim, sentence, predication, roles):
            found += _Rules(readings, claim, sentence, predication, roles).all()
    for word in claim.clause.words:
        if word.dep == "appos":
            found += _apposition(readings, claim, sentence, word)
        if word.dep == "relcl" and word.is_verb:
            found += _relative(readings, claim, sentence, word)
    return _unique(found)


def _is_claimed(
    reading: Reading, claim: Claim, sentence: Sentence, predication: Predication, roles: Roles
) -> bool:
    """Not a mere ability, an order to somebody, or what holds only at certain times."""
    verb = predication.verb
    if predication.blocked or is_able_only(sentence, verb):
        return False
    assert claim.clause is not None
    spoken = roles.obj if roles.passive else roles.subject
    if predication.holder is verb and not is_finite(sentence, verb, spoken):
        return False
    at_times = any(
        marker_of(sentence, child) in {"when", "whenever"}
        for child in sentence.children(claim.clause.head, "advcl")
    )
    if at_times and verb.tag in {"VBZ", "VBP"}:
        return False
    order = predication.holder.tag == "VB" and not roles.subject and not roles.passive
    done = reading.passage.kind is SourceKind.COMMIT
    return not order or done or reading.passage.role is PassageRole.DECISION


def _unique(found: list[Triple]) -> list[Triple]:
    kept: dict[tuple[Term, str, Term], Triple] = {}
    for triple in found:
        kept.setdefault((triple.subject, triple.predicate, triple.object), triple)
    return list(kept.values())


def _relative(
    readings: list[Reading], claim: Claim, sentence: Sentence, verb: Word
) -> list[Triple]:
    """ "Kuzu, which stores the graph" says that Kuzu stores the graph."""
    subject = sentence.child(verb, "nsubj", "nsubjpass")
    noun = sentence.head(verb)
    if subject is None or subject.lower not in {"which", "who", "that"} or noun.mention < 0:
        return []
    base = claim.predications[0][0]
    predication = _own(sentence, claim, verb, base.modality)
    roles = roles_of(sentence, predication)
    place = roles.obj if roles.passive else roles.subject
    if subject not in place or is_able_only(sentence, verb):
        return []
    place[place.index(subject)] = noun
    return _Rules(readings, claim, sentence, predication, roles).all()


def _own(sentence: Sentence, claim: Claim, verb: Word, modality: Modality) -> Predication:
    part = Clause(verb, sentence.subtree(verb), None, "")
    made = predications_of(sentence, part)[0]
    strong = modality if made.modality is Modality.ASSERTED else made.modality
    return replace(made, modality=strong)


def _apposition(
    readings: list[Reading], claim: Claim, sentence: Sentence, word: Word
) -> list[Triple]:
    noun = sentence.head(word)
    article = sentence.child(word, "det")
    if noun.mention < 0 or word.mention >= 0 or article is None or article.lower not in {"a", "an"}:
        return []
    if noun.dep == "conj" or sentence.child(noun, "conj", "cc") or sentence.child(word, "cc"):
        return []
    predication, roles = claim.predications[0]
    rules = _Rules(readings, claim, sentence, predication, roles)
    value = rules.literal(word)
    if value is None:
        return []
    made = rules.make(MentionTerm(noun.mention), "is_a", value, APPOSITION_CONFIDENCE)
    return [replace(made, polarity=Polarity.POSITIVE)] if made is not None else []


class _Rules:
    """The patterns over one predication."""

    def __init__(
        self,
        readings: list[Reading],
        claim: Claim,
        sentence: Sentence,
        predication: Predication,
        roles: Roles,
    ) -> None:
        self.readings = readings
        self.reading = readings[-1]
        self.claim = claim
        self.sentence = sentence
        self.predication = predication
        self.roles = roles
        self.verb = predication.verb
        self.lemma = verb_lemma(sentence, predication.verb)

    def all(self) -> list[Triple]:
        """Every triple, self-loops left out."""
        made = [t for t in self._patterns() if t is not None]
        return [triple for triple in made if triple.subject != triple.object]

    def _patterns(self) -> Iterator[Triple | None]:
        if self.lemma == "be":
            yield from self._copula()
            return
        if self._is_status():
            yield from self._status()
            return
        if self.verb.lemma in _LIGHT and not verb_of_choice(self.lemma, self.roles):
            return
        choice = choice_of(self.sentence, self.claim, self.predication, self.roles)
        if choice is not None:
            yield from self._choice(choice)
        elif self.lemma in w.REPLACING_SWAPPED and self._swapped():
            yield from self._replacement()
        elif self.lemma in w.MOVING and self.roles.obj and not self.roles.passive:
            yield from self._moved()
        else:
            yield from self._plain()

    def _plain(self) -> Iterator[Triple | None]:
        subjects = self._subjects()
        for word in self._objects():
            target = self.object_term(word)
            for subject in subjects:
                yield self._directed(subject, self.lemma, target)
        if not self.roles.obj:
            for subject in subjects:
                yield from self._joined(subject)
        elif self.roles.passive and not self.roles.subject and self.lemma != "use":
            for word in self.roles.obj:
                yield from self._joined(self.name_term(word))

    def _joined(self, subject: Term | None) -> Iterator[Triple | None]:
        """Verb and preposition as one predicate; only names stand behind it."""
        for prep, noun in self.roles.preps:
            if prep in w.JOINING_PREPS and not is_alternative(self.sentence, noun):
                target = self.name_term(noun)
                if target is not None:
                    yield self._directed(subject, f"{self.lemma}_{prep}", target)

    def _directed(self, subject: Term | None, lemma: str, target: Term | None) -> Triple | None:
        if lemma in {"own", "cause", "resolve", "fix"} and isinstance(target, MentionTerm):
            turned = {"own": "owned_by", "cause": "caused_by"}.get(lemma, "resolved_by")
            return self.make(target, turned, subject)
        if lemma == "replace" and isinstance(subject, ProjectTerm):
            return None
        person = isinstance(subject, NamedTerm | MentionTerm) and self._is_chooser(subject)
        plain = person and lemma.startswith("move_")
        return self.make(subject, lemma if plain else canonical(lemma), target)

    def _moved(self) -> Iterator[Triple | None]:
        """ "We moved Atlas to Fly": what was moved is now there."""
        for word in self._objects():
            yield from self._joined(self.name_term(word))

    def _swapped(self) -> bool:
        return any(prep in {"with", "for"} for prep, _ in self.roles.preps)

    def _replacement(self) -> Iterator[Triple | None]:
        """ "We replaced A with B": B replaced A."""
        news = [noun for prep, noun in self.roles.preps if prep in {"with", "for", "by"}]
        for new in news:
            for old in self.roles.obj:
                yield self.make(self.name_term(new), "replaced", self.name_term(old))

    def _choice(self, choice: Choice) -> Iterator[Triple | None]:
        for subject in self._choosers():
            for word in choice.taken:
                if not is_alternative(self.sentence, word):
                    yield self.make(subject, choice.predicate, self.object_term(word))
            if self.predication.polarity is Polarity.POSITIVE and self._is_chooser(subject):
                named = all(word.mention >= 0 for word in choice.taken)
                for word in choice.rejected:
                    loser: Term | None = self.name_term(word)
                    if word.mention < 0 and word.name < 0 and named:
                        loser = NamedTerm(word.text)
                    yield self.make(subject, "rejected", loser)

    def _is_chooser(self, subject: Term | None) -> bool:
        """Only people and the project reject things; "Kuzu uses A instead of B" rejects nothing."""
        match subject:
            case ProjectTerm() | NamedTerm():
                return True
            case MentionTerm(mention):
                named = self.reading.names[mention]
                return (
                    named.vote in {EntityType.PERSON, EntityType.ORGANIZATION} and not named.shape
                )
        return False

    def _choosers(self) -> list[Term]:
        subjects = self._subjects()
        told = self.reading.passage.role in {PassageRole.DECISION, PassageRole.OPTIONS}
        if subjects or self.roles.subject or not told:
            return subjects
        return self._project("we") if self.roles.passive else []

    def _is_status(self) -> bool:
        return (
            self.roles.passive
            and not self.roles.subject
            and self.verb.lower in w.STATUS_WORDS
            and not any(p in w.JOINING_PREPS and n.mention >= 0 for p, n in self.roles.preps)
        )

    def _status(self) -> Iterator[Triple | None]:
        for word in self.roles.obj:
            yield self.make(self.name_term(word), "has_status", LiteralTerm(self.verb.lower))

    def _copula(self) -> Iterator[Triple | None]:
        past = self.verb.tag == "VBD" and self.claim.time is None
        for subject in self._subjects():
            for word in self.roles.attribute:
                if is_alternative(self.sentence, word):
                    continue
                if word.dep == "acomp" or word.tag in {"JJ", "VBN"}:
                    if word.lower in w.STATUS_WORDS and not past:
                        yield self.make(subject, "has_status", LiteralTerm(word.lower))
                elif not past and self._classifies(word):
                    yield self.make(subject, "is_a", self.literal(word))
            if not self.roles.attribute and not past:
                for prep, noun in self.roles.preps:
                    if prep == "in":
                        yield self.make(subject, "located_in", self.name_term(noun))

    def _classifies(self, word: Word) -> bool:
        article = self.sentence.child(word, "det")
        return word.mention < 0 and article is not None and article.lower in {"a", "an", "the"}

    def _subjects(self) -> list[Term]:
        found: list[Term] = []
        for word in self.roles.subject:
            term = self.subject_term(word)
            if term is not None and not is_alternative(self.sentence, word):
                found.append(term)
        imperative = (
            not self.roles.subject
            and not self.roles.passive
            and self.verb.tag in {"VB", "VBP"}
            and self.claim.clause is not None
            and self.claim.clause.parent is None
            and self.predication.holder.dep in {"ROOT", "conj"}
        )
        if imperative and self.reading.passage.role is PassageRole.DECISION:
            return self._project("we")
        return found

    def _objects(self) -> list[Word]:
        return [word for word in self.roles.obj if not is_alternative(self.sentence, word)]

    def _project(self, surface: str) -> list[Term]:
        return [ProjectTerm(surface)] if self.reading.passage.project_name else []

    def subject_term(self, word: Word) -> Term | None:
        """Who does it: a name, the project, or the one thing a pronoun can mean."""
        if word.lower in w.FIRST_PLURAL and word.mention < 0:
            return next(iter(self._project(word.text)), None)
        if word.lower in w.TEAM_NOUNS:
            owner = self.sentence.child(word, "poss")
            if owner is not None and owner.lower in w.OUR_TEAM and owner.i == word.i - 1:
                return next(iter(self._project(f"{owner.text} {word.text}")), None)
        if word.tag == "PRP" and word.lower in w.PERSON_PRONOUNS:
            return person_before(self.readings, word)
        if word.tag == "PRP" and word.lower == "it":
            return thing_before(self.reading, self.claim.sentence, word)
        return self.name_term(word)

    def name_term(self, word: Word) -> Term | None:
        """The mention that ``word`` heads, also behind "the ... database"."""
        if any(child.lower in _INDEFINITE for child in self.sentence.children(word, "det", "neg")):
            return None
        if word.text.startswith("http"):
            return None
        article = self.sentence.child(word, "det")
        if word.mention >= 0:
            common = article is not None and self._is_common(word, article)
            return None if common or self._is_part(word) else MentionTerm(word.mention)
        names = [
            c for c in self.sentence.children(word, "compound", "nmod", "appos") if c.mention >= 0
        ]
        one = len({c.mention for c in names}) == 1
        if word.lower in w.CLASS_NOUNS and one and article is not None and article.lower == "the":
            return MentionTerm(names[0].mention)
        return None

    def _is_common(self, word: Word, article: Word) -> bool:
        """ "A Kuzu" and "the API" are kinds of things, not one thing with that name."""
        acronym = word.text.isupper() and word.text.isalpha() and len(word.text) <= 5
        return article.lower in {"a", "an"} or (article.lower == "the" and acronym)

    def _is_part(self, word: Word) -> bool:
        """A word inside a name that goes on behind it, or a counted name, is not the name."""
        after = self.sentence.after(word)
        if (
            after is not None
            and after.mention == word.mention
            and after.dep not in {"case", "punct"}
        ):
            return after.head != word.i and word.head != after.i
        return self.sentence.child(word, "nummod") is not None and word.tag == "NNPS"

    def object_term(self, word: Word) -> Term | None:
        """A name, or the phrase itself as a value."""
        if self.sentence.child(word, "relcl", "acl") is not None:
            return self.name_term(word)
        return self.name_term(word) or self.literal(word)

    def literal(self, word: Word) -> Term | None:
        """The noun phrase as a value; None for pronouns, code, and phrases that are too long."""
        if word.part == "value":
            return LiteralTerm(word.text)
        if word.mention >= 0 or word.name >= 0 or is_vague(word) or word.tag not in {"NN", "NNS"}:
            return None
        article = self.sentence.child(word, "det")
        if article is not None and article.lower in _INDEFINITE - {"no"}:
            return None
        run = phrase(self.sentence, word)
        while run and run[0].tag in {"DT", "PRP$", "PDT"}:
            run = run[1:]
        if (
            not run
            or len(run) > MAX_LITERAL_WORDS
            or any(x.tag in {"PRP", "PRP$", "WDT"} for x in run)
        ):
            return None
        if run[0].lower in w.VAGUE or run[0].lower in {"too", "so", "as"}:
            return None
        value = " ".join(self.reading.passage.text[run[0].start : run[-1].end].split())
        return LiteralTerm(value) if value and not any(c in value for c in "()[]{};:") else None

    def make(
        self,
        subject: Term | None,
        predicate: str,
        target: Term | None,
        confidence: float = TRIPLE_CONFIDENCE,
    ) -> Triple | None:
        """The triple, or None when an end is missing or the tense says it no longer holds."""
        if subject is None or target is None or isinstance(subject, LiteralTerm):
            return None
        if isinstance(target, LiteralTerm) and not self._takes_value(subject, predicate):
            return None
        start, end = self._validity(predicate)
        over = self.verb.tag == "VBD" and predicate in _STATE_PAST and start is None and end is None
        if over:
            return None
        if isinstance(subject, NamedTerm) or isinstance(target, NamedTerm):
            confidence = min(confidence, RESOLVED_CONFIDENCE)
        return Triple(
            self.claim,
            subject,
            predicate,
            target,
            self.predication.polarity,
            self.predication.modality,
            start,
            end,
            confidence,
        )

    def _takes_value(self, subject: Term, predicate: str) -> bool:
        """ "We drop terms that ..." rejects nothing; "we cut passages" is no fact of a project."""
        if predicate == "rejected":
            return self.verb.lemma == "reject"
        return predicate in PREDICATES or not isinstance(subject, ProjectTerm)

    def _validity(self, predicate: str) -> tuple[datetime | None, datetime | None]:
        time = self.claim.time
        if time is None:
            return None, None
        if time.at and predicate not in w.STATES:
            return time.interval.start, None
        return time.interval.start, time.interval.end
