"""Causal claims: an explicit connective or causative verb, with its direction.

Sequence is never cause: "after", "then", "when" and a temporal "since" give nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from graphmem.extractors.claims import Claim, Reading, nominal_span
from graphmem.extractors.clauses import Predication, is_able_only, is_finite
from graphmem.extractors.parse import Sentence, Word
from graphmem.extractors.roles import Roles
from graphmem.vocabulary import EntityType, LinkKind, Modality, Polarity, StatementKind

CONNECTIVE_CONFIDENCE: Final = 0.9
UNSURE_CONFIDENCE: Final = 0.5

_CAUSATIVE: Final[dict[str, LinkKind]] = {
    "cause": LinkKind.CAUSES,
    "lead": LinkKind.CAUSES,
    "result": LinkKind.CAUSES,
    "trigger": LinkKind.CAUSES,
    "force": LinkKind.CAUSES,
    "enable": LinkKind.ENABLES,
    "allow": LinkKind.ENABLES,
    "let": LinkKind.ENABLES,
    "permit": LinkKind.ENABLES,
    "prevent": LinkKind.PREVENTS,
    "block": LinkKind.PREVENTS,
    "motivate": LinkKind.MOTIVATES,
    "prompt": LinkKind.MOTIVATES,
}
_VERB_PREPS: Final = {"lead": "to", "result": "in"}
_BEFORE_NOUNS: Final[tuple[tuple[tuple[str, ...], LinkKind], ...]] = (
    (("as", "a", "result", "of"), LinkKind.CAUSES),
    (("as", "a", "consequence", "of"), LinkKind.CAUSES),
    (("on", "account", "of"), LinkKind.CAUSES),
    (("because", "of"), LinkKind.CAUSES),
    (("due", "to"), LinkKind.CAUSES),
    (("owing", "to"), LinkKind.CAUSES),
    (("thanks", "to"), LinkKind.ENABLES),
)
_OPENERS: Final[tuple[tuple[str, ...], ...]] = (
    ("as", "a", "result", ","),
    ("as", "a", "consequence", ","),
    ("for", "this", "reason"),
    ("for", "that", "reason"),
    ("that", "is", "why"),
    ("this", "is", "why"),
    ("that", "was", "why"),
    ("this", "was", "why"),
    ("that", "'s", "why"),
    ("therefore",),
    ("consequently",),
    ("accordingly", ","),
    ("hence",),
    ("thus",),
    ("so", ","),
    ("so", "we"),
)
_ADVERBS: Final = frozenset({"therefore", "consequently", "hence", "thus"})
_POINTERS: Final = frozenset({"this", "that"})
_NO_CLAIM: Final = frozenset({Modality.QUESTION, Modality.CONDITIONAL})


@dataclass(frozen=True, slots=True)
class Cause:
    """A causal claim being read; ``passage``, ``start`` and ``end`` are its witness."""

    kind: LinkKind
    cause: Claim
    effect: Claim
    passage: int
    start: int
    end: int
    connective: str | None
    confidence: float


def causes_of(readings: list[Reading]) -> list[Cause]:
    """The causal claims of the last of ``readings`` (one source, in order)."""
    reading = readings[-1]
    found: dict[tuple[int, int], Cause] = {}
    for number in range(len(reading.sentences)):
        if reading.sentences[number].view.quiet:
            continue
        rules = _SentenceCauses(readings, number)
        for cause in rules.all():
            if cause.cause is not cause.effect:
                found.setdefault((id(cause.cause), id(cause.effect)), cause)
    return list(found.values())


class _SentenceCauses:
    """The rules over one sentence."""

    def __init__(self, readings: list[Reading], number: int) -> None:
        self.readings = readings
        self.reading = readings[-1]
        self.number = number
        self.sentence: Sentence = self.reading.sentences[number]
        self.claims = self.reading.of_sentence(number)
        self.by_clause = {id(claim.clause): claim for claim in self.claims}

    def all(self) -> Iterator[Cause]:
        """Every causal claim; none for questions."""
        if not self.claims or self.claims[0].modality is Modality.QUESTION:
            return
        yield from self._clauses()
        yield from self._adverbs()
        yield from self._openers()
        yield from self._nouns()
        for claim in list(self.claims):
            yield from self._named_reason(claim)
            for predication, roles in claim.predications:
                yield from self._verb(claim, predication, roles)

    def previous(self) -> Claim | None:
        """The main claim of the sentence before, here or at the end of the passage before."""
        if self.number > 0:
            return self.reading.main_claim(self.number - 1)
        if len(self.readings) > 1:
            before = self.readings[-2]
            return before.main_claim(len(before.sentences) - 1) if before.sentences else None
        return None

    def make(
        self, kind: LinkKind, cause: Claim, effect: Claim, connective: str, sure: bool = True
    ) -> Cause:
        """The claim with its witness; a reason for a decision motivates it."""
        if kind is LinkKind.CAUSES and effect.kind is StatementKind.DECISION:
            kind = LinkKind.MOTIVATES
        unsure = not sure or Modality.HEDGED in {cause.modality, effect.modality}
        view = self.sentence.view
        return Cause(
            kind,
            cause,
            effect,
            self.reading.index,
            view.start,
            view.end,
            connective,
            UNSURE_CONFIDENCE if unsure else CONNECTIVE_CONFIDENCE,
        )

    def _clauses(self) -> Iterator[Cause]:
        for claim in self.claims:
            clause = claim.clause
            assert clause is not None
            above = self.by_clause.get(id(clause.parent)) if clause.parent else None
            if above is not None and above.modality in _NO_CLAIM:
                continue
            match clause.marker:
                case "because":
                    yield from self._because(claim, above)
                case "since" if above is not None and self._is_causal_since(claim):
                    yield self.make(LinkKind.CAUSES, claim, above, "since")
                case "so_that" if above is not None:
                    yield self.make(LinkKind.ENABLES, self._stated(above), claim, "so that")
                case "so" if above is not None:
                    yield self.make(LinkKind.CAUSES, above, claim, "so")
                case "in_order_to" if above is not None:
                    yield self.make(LinkKind.MOTIVATES, claim, above, "in order to")

    def _stated(self, claim: Claim) -> Claim:
        """The main clause of a "while" or "when" clause: that is what a purpose belongs to."""
        clause = claim.clause
        while clause is not None and clause.marker and clause.parent is not None:
            clause = clause.parent
        return self.by_clause.get(id(clause), claim)

    def _because(self, claim: Claim, above: Claim | None) -> Iterator[Cause]:
        assert claim.clause is not None
        at = next(
            (
                w
                for w in self.sentence.words
                if w.lower == "because"
                and w.start < claim.end
                and (w.i >= claim.clause.words[0].i - 4)
            ),
            None,
        )
        before = self.sentence.before(at) if at is not None else None
        if before is not None and before.lower in {"not", "just", "simply", "merely"}:
            return
        sure = before is None or before.lower not in {"probably", "perhaps", "maybe", "possibly"}
        if above is None and before is not None:
            return  # "Good, because X": what it explains is no clause, and not the line before
        effect = self.previous() if above is None or self._points_back(above) else above
        if effect is not None:
            yield self.make(LinkKind.CAUSES, claim, effect, "because", sure)

    def _points_back(self, claim: Claim) -> bool:
        """ "This is because ..." explains the sentence before."""
        assert claim.clause is not None
        words = [word.lower for word in claim.clause.words]
        return words[:2] in (["this", "is"], ["that", "is"], ["this", "was"], ["that", "was"]) and (
            len([w for w in words if w.isalpha()]) == 2
        )

    def _is_causal_since(self, claim: Claim) -> bool:
        """Past tense after "since" is a time; a present state or a cannot is a reason."""
        assert claim.clause is not None
        head = claim.clause.head
        aux = {child.lower for child in self.sentence.children(head, "aux", "auxpass")}
        if claim.time is not None:
            return False
        present = head.tag in {"VBZ", "VBP"} or aux & {"is", "are", "can", "ca", "does", "do"}
        return bool(present) or bool(aux & {"could", "must"})

    def _adverbs(self) -> Iterator[Cause]:
        """ "X, so Y" and "X; therefore Y": the clause before and the clause behind."""
        for word in self.sentence.words[1:]:
            result = self._is_result(word)
            if not result and (word.lower not in _ADVERBS | {"so"} or not self._joins(word)):
                continue
            left = [c for c in self.claims if c.clause and c.clause.words[-1].i < word.i]
            right = [c for c in self.claims if c.clause and c.clause.head.i > word.i]
            if not left or not right:
                continue
            cause = next((c for c in reversed(left) if c.clause and not c.clause.marker), left[-1])
            effect = right[0]
            if cause.modality not in _NO_CLAIM and effect.modality not in _NO_CLAIM:
                connective = "as a result" if result else word.lower
                yield self.make(LinkKind.CAUSES, cause, effect, connective)

    def _is_result(self, word: Word) -> bool:
        """ "...; as a result, ..." inside a sentence."""
        before = self.sentence.before(word)
        follows = [w.lower for w in self.sentence.words[word.i : word.i + 4]]
        joined = before is not None and before.text in {",", ";", "and", "—"}
        return joined and follows == ["as", "a", "result", ","]

    def _joins(self, word: Word) -> bool:
        before, after = self.sentence.before(word), self.sentence.after(word)
        if before is None or after is None or after.lower in {"that", "far", "much", "many"}:
            return False
        if word.lower == "so":
            return before.text in {",", ";", "—", "–"} or before.lower == "and"
        return (
            before.text in {",", ";", "—", "–"} or before.lower == "and" or (word.dep == "advmod")
        )

    def _openers(self) -> Iterator[Cause]:
        lowers = tuple(word.lower for word in self.sentence.words[:6])
        offset = 1 if lowers[:1] in {("and",), ("but",)} else 0
        opener = next((o for o in _OPENERS if lowers[offset : offset + len(o)] == o), None)
        if opener is None and len(self.claims) == 1:
            inner = next((w for w in self.sentence.words[1:4] if w.lower in _ADVERBS), None)
            opener = (inner.lower,) if inner is not None else None
        cause = self.previous()
        effect = self.reading.main_claim(self.number)
        if opener is None or cause is None or effect is None:
            return
        if effect.modality not in _NO_CLAIM and cause.modality not in _NO_CLAIM:
            text = " ".join(opener).rstrip(" ,").replace(" 's", "'s")
            yield self.make(LinkKind.CAUSES, cause, effect, text.removesuffix(" we"))

    def _nouns(self) -> Iterator[Cause]:
        lowers = [word.lower for word in self.sentence.words]
        at = 0
        while at < len(lowers):
            hit = next(
                (p for p in _BEFORE_NOUNS if tuple(lowers[at : at + len(p[0])]) == p[0]), None
            )
            if hit is None:
                at += 1
                continue
            yield from self._noun(at, at + len(hit[0]), hit[1], " ".join(hit[0]))
            at += len(hit[0])

    def _noun(self, first: int, after: int, kind: LinkKind, connective: str) -> Iterator[Cause]:
        before = self.sentence.words[first - 1].lower if first else ""
        owner = self._owner(first)
        if owner is None or before in {"not", "n't", "just"} or after >= len(self.sentence.words):
            return
        if owner.modality in _NO_CLAIM:
            return
        cause = self._noun_claim(after)
        effect: Claim | None = owner
        lead = self._subject_noun(owner)
        if connective == "due to" and lead is not None:
            effect = self._phrase(lead)
        if cause is not None and effect is not None:
            sure = before not in {"probably", "perhaps", "maybe", "possibly", "likely"}
            yield self.make(kind, cause, effect, connective, sure)

    def _subject_noun(self, owner: Claim) -> Word | None:
        """The subject of "X was due to Y", where X is the effect."""
        predication, roles = owner.predications[0]
        if predication.verb.lemma != "be" or (
            roles.attribute and (roles.attribute[0].lower != "due")
        ):
            return None
        return next(iter(roles.subject), None)

    def _owner(self, at: int) -> Claim | None:
        """The claim whose clause the word stands in, by the parse or by position."""
        for claim in self.claims:
            if claim.clause and any(word.i == at for word in claim.clause.words):
                return claim
        return next((c for c in self.claims if c.is_main), None)

    def _noun_claim(self, at: int) -> Claim | None:
        """What stands behind a connective that takes a noun phrase."""
        word = self.sentence.words[at]
        follow = self.sentence.after(word)
        if word.lower in _POINTERS and (follow is None or not follow.tag.startswith(("NN", "JJ"))):
            return self.previous()
        head = self._noun_head(at)
        return self._phrase(head) if head is not None else None

    def _noun_head(self, at: int) -> Word | None:
        connective = self.sentence.words[at - 1]
        for word in self.sentence.words[at : at + 10]:
            linked = word.dep in {"pobj", "pcomp"} and word.head <= connective.i
            if linked and (word.tag.startswith("NN") or word.name >= 0 or word.tag == "VBG"):
                return word
        return None

    def _points(self, noun: Word) -> bool:
        """ "This leak" is what the sentence before speaks of."""
        article = self.sentence.child(noun, "det")
        return article is not None and article.lower in _POINTERS | {"these", "those"}

    def _phrase(self, head: Word) -> Claim | None:
        """A noun phrase as a claim; a bare name or pronoun claims nothing."""
        if head.tag in {"PRP", "DT", "WDT", "WP", "EX"} or self._points(head):
            return None
        start, end = nominal_span(self.sentence, head)
        if not any(char.isalnum() for char in self.reading.passage.text[start:end]):
            return None
        if head.mention >= 0:
            named = self.reading.names[head.mention]
            happening = named.vote in {EntityType.TICKET, EntityType.EVENT}
            if end - start <= named.size + 4 and not happening:
                return None
        return self.reading.name_claim(self.number, head)

    def _verb(self, claim: Claim, predication: Predication, roles: Roles) -> Iterator[Cause]:
        verb = predication.verb
        kind = _CAUSATIVE.get(verb.lemma)
        if kind is None or predication.polarity is Polarity.NEGATIVE:
            return
        if predication.modality in _NO_CLAIM or predication.blocked:
            return
        spoken = roles.obj if roles.passive else roles.subject
        if spoken and not is_finite(self.sentence, verb, spoken):
            return
        back = verb.lemma == "result" and any(p == "from" for p, _ in roles.preps)
        causes = self._agents(claim, predication, roles)
        effects = self._effects(verb, roles, "from" if back else None)
        if back:
            causes, effects = effects, causes
        sure = predication.modality is Modality.ASSERTED and not is_able_only(self.sentence, verb)
        prep = "from" if back else _VERB_PREPS.get(verb.lemma)
        passive = "by" if roles.passive else prep
        connective = f"{verb.lower} {passive}" if passive else verb.lower
        for cause in causes:
            for effect in effects:
                yield self.make(kind, cause, effect, connective, sure)

    def _named_reason(self, claim: Claim) -> Iterator[Cause]:
        """ "The reason for the outage was a full disk."""
        predication, roles = claim.predications[0]
        lead = next(iter(roles.subject), None)
        asserted = predication.modality is Modality.ASSERTED
        if predication.verb.lemma != "be" or lead is None or not roles.attribute or not asserted:
            return
        if lead.lemma not in {"reason", "cause"} or predication.polarity is Polarity.NEGATIVE:
            return
        for prep in self.sentence.children(lead, "prep"):
            for noun in self.sentence.children(prep, "pobj"):
                effect, cause = self._phrase(noun), self._phrase(roles.attribute[0])
                if prep.lower in {"for", "of"} and cause is not None and effect is not None:
                    yield self.make(LinkKind.CAUSES, cause, effect, f"{lead.lower} {prep.lower}")

    def _agents(self, claim: Claim, predication: Predication, roles: Roles) -> list[Claim]:
        clause = claim.clause
        assert clause is not None
        verb = predication.verb
        above = self.by_clause.get(id(clause.parent)) if clause.parent else None
        gerund = self.sentence.child(verb, "csubj", "csubjpass")
        if gerund is not None:
            span = nominal_span(self.sentence, gerund)
            return [self.reading.name_claim(self.number, gerund, span)]
        if not roles.subject and verb.tag == "VBG" and above is not None:
            return [above]
        found: list[Claim | None] = []
        for word in roles.subject:
            if word.lower in {"which", "that"} and word.tag == "WDT":
                found.append(self._relative(clause.head, above))
            elif word.lower in _POINTERS or self._points(word):
                found.append(self.previous())
            else:
                found.append(self._phrase(word))
        return [each for each in found if each is not None]

    def _relative(self, head: Word, above: Claim | None) -> Claim | None:
        """ "A, which caused B" speaks of the clause; "the leak that caused B" of the noun."""
        noun = self.sentence.head(head)
        first = min(word.i for word in self.sentence.subtree(head))
        comma = first > 0 and self.sentence.words[first - 1].text == ","
        if comma or noun.is_verb or self.sentence.words[first].text == ",":
            return above
        return self._phrase(noun)

    def _effects(self, verb: Word, roles: Roles, only: str | None) -> list[Claim]:
        prep = only or _VERB_PREPS.get(verb.lemma)
        if prep is not None:
            nouns = [noun for name, noun in roles.preps if name == prep]
            found = [self._phrase(noun) for noun in nouns]
            if nouns or verb.lemma != "lead":
                return [each for each in found if each is not None]
        inner = self.sentence.child(verb, "ccomp", "xcomp")
        if inner is not None and inner.i > verb.i:
            return [self._inner(inner, roles)]
        stopped = [n for p, n in roles.preps if p == "from" and n.tag == "VBG"]
        if stopped and roles.obj and not roles.passive:
            return [self._span_claim(stopped[0], roles.obj[0])]
        found = [self._phrase(word) for word in roles.obj]
        return [each for each in found if each is not None]

    def _inner(self, inner: Word, roles: Roles) -> Claim:
        first = roles.obj[0] if roles.obj and not roles.passive else inner
        return self._span_claim(inner, first)

    def _span_claim(self, verb: Word, first: Word) -> Claim:
        inside = [*self.sentence.subtree(verb)]
        own = {
            word.i
            for claim in self.claims
            if claim.clause and claim.clause.marker
            for word in claim.clause.words
            if claim.clause.head.i != verb.i
        }
        inside = [
            word
            for word in inside
            if word.i == verb.i or (word.i not in own and word.text not in {".", ",", ";"})
        ]
        start = min(nominal_span(self.sentence, first)[0], inside[0].start)
        end = max(word.end for word in inside if word.i >= verb.i)
        return self.reading.name_claim(self.number, verb, (start, end))
