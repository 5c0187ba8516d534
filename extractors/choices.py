"""Choices: what is taken and what is not ("we chose A over B", "use A instead of B")."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from graphmem.extractors import words as w
from graphmem.extractors.claims import Claim
from graphmem.extractors.clauses import Predication
from graphmem.extractors.parse import Sentence, Word
from graphmem.extractors.roles import Roles
from graphmem.vocabulary import canonical

# Verb and preposition that together mean a choice.
_WITH_PREP: Final[dict[tuple[str, str], str]] = {
    ("go", "with"): "adopted",
    ("settle", "on"): "adopted",
    ("decide", "on"): "adopted",
    ("decide", "for"): "adopted",
    ("decide", "against"): "rejected",
    ("opt", "for"): "adopted",
    ("standardize", "on"): "adopted",
    ("standardise", "on"): "adopted",
    ("stay", "with"): "uses",
    ("stick", "with"): "uses",
}
_ADOPTING: Final = w.CHOOSING | frozenset({"embrace", "keep", "take", "embed", "favor", "favour"})


@dataclass(frozen=True, slots=True)
class Choice:
    """What was taken under which predicate, and the names that were turned down for it."""

    predicate: str
    taken: list[Word]
    rejected: list[Word]


def verb_of_choice(lemma: str, roles: Roles) -> str | None:
    """The predicate when verb and preposition mean a choice ("go with")."""
    found = (_WITH_PREP.get((lemma, prep)) for prep, _ in roles.preps)
    return next((predicate for predicate in found if predicate), None)


def choice_of(
    sentence: Sentence, claim: Claim, predication: Predication, roles: Roles
) -> Choice | None:
    """The choice a predication states, or None."""
    lemma = predication.verb.lemma
    joined = verb_of_choice(lemma, roles)
    turned_down = _turned_down(sentence, claim, predication, roles)
    if joined is not None:
        taken = [noun for prep, noun in roles.preps if (lemma, prep) in _WITH_PREP]
        return Choice(joined, _without(taken, turned_down), turned_down)
    if lemma not in w.TAKING and not predication.decided:
        return None
    taken = _without(roles.obj, turned_down)
    if not taken:
        return None
    if lemma in {"take", "keep", "embed"} and not turned_down:
        named = [word for word in taken if word.mention >= 0]
        return Choice("uses", named, []) if named and lemma != "take" else None
    return Choice(_predicate(predication, lemma, turned_down), taken, turned_down)


def _predicate(predication: Predication, lemma: str, turned_down: list[Word]) -> str:
    match lemma:
        case "like" | "favor" | "favour" | "love":
            return "prefers"
        case "dislike" | "hate":
            return "avoids"
        case "use" if predication.decided:
            return "adopted"
    if lemma in _ADOPTING and canonical(lemma) == lemma:
        return "adopted"
    return canonical(lemma)


def _without(words: list[Word], others: list[Word]) -> list[Word]:
    return [word for word in words if all(word.i != other.i for other in others)]


def _turned_down(
    sentence: Sentence, claim: Claim, predication: Predication, roles: Roles
) -> list[Word]:
    """Names right behind "over", "instead of", "rather than", or "to" after "prefer"."""
    if claim.clause is None or predication.verb.lemma in w.REJECTING:
        return []
    found = [
        noun
        for prep, noun in roles.preps
        if prep == "to" and predication.verb.lemma == "prefer" and noun.mention >= 0
    ]
    for word in claim.clause.words:
        before = sentence.before(word)
        pair = (before.lower if before is not None else "", word.lower)
        turns = word.lower == "over" or pair in {("instead", "of"), ("rather", "than")}
        if turns and word.i > predication.verb.i:
            found += _names_after(sentence, word)
    return found


def _is_bare_name(sentence: Sentence, word: Word) -> bool:
    """ "over ladybug": one noun without an article, with nothing behind it that it modifies."""
    after = sentence.after(word)
    ends = after is None or after.tag in {"IN", ".", ",", ":", "CC"}
    return ends and word.tag in {"NN", "NNP"} and word.text.isascii() and word.text.isalnum()


def _names_after(sentence: Sentence, word: Word) -> list[Word]:
    """The name that follows, and names joined to it by commas, "and" or "or"."""
    found: list[Word] = []
    for after in sentence.words[word.i + 1 : word.i + 14]:
        nxt = sentence.after(after)
        if after.mention >= 0:
            if nxt is None or nxt.mention != after.mention:
                found.append(after)
        elif not found and after.i == word.i + 1 and _is_bare_name(sentence, after):
            return [after]
        elif after.tag in {"DT", "CC"} or after.text == ",":
            continue
        elif found and after.is_verb:
            return found[:1]
        else:
            break
    return found
