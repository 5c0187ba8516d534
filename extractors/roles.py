"""Who did what to whom: the arguments of a verb with their roles, active and passive alike."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from graphmem.extractors import words as w
from graphmem.extractors.clauses import Predication
from graphmem.extractors.parse import Sentence, Word

_MODIFIERS: Final = frozenset(
    {"compound", "amod", "nummod", "nmod", "poss", "quantmod", "npadvmod"}
)


@dataclass(slots=True)
class Roles:
    """Heads of the argument phrases of one predication; ``subject`` is the logical one."""

    subject: list[Word] = field(default_factory=list)
    obj: list[Word] = field(default_factory=list)
    attribute: list[Word] = field(default_factory=list)
    preps: list[tuple[str, Word]] = field(default_factory=list)
    passive: bool = False


def roles_of(sentence: Sentence, claim: Predication) -> Roles:
    """The roles of a predication; conjoined phrases are all listed."""
    roles = Roles()
    verb = claim.verb
    subject = _subject(sentence, claim)
    roles.passive = _is_passive(sentence, verb, subject)
    for child in sentence.children(verb):
        match child.dep:
            case "dobj" | "dative" if child.dep == "dobj" or child.tag != "IN":
                roles.obj.extend(conjuncts(sentence, child))
            case "attr" | "acomp" | "oprd":
                roles.attribute.extend(conjuncts(sentence, child))
            case "npadvmod" | "dep" | "nmod" if child.name >= 0 and child.i == verb.i + 1:
                roles.obj.extend(conjuncts(sentence, child))
            case "agent":
                for noun in sentence.children(child, "pobj"):
                    roles.subject.extend(conjuncts(sentence, noun))
            case "prep" | "prt" | "dative":
                _add_preps(sentence, child, roles)
    if subject is not None:
        (roles.obj if roles.passive else roles.subject).extend(conjuncts(sentence, subject))
    if roles.passive:
        _by_agent(roles)
    return roles


def _subject(sentence: Sentence, claim: Predication) -> Word | None:
    for verb in (claim.verb, claim.holder):
        found = sentence.child(verb, "nsubj", "nsubjpass") or _lost_subject(sentence, verb)
        if found is not None:
            return found
    head = claim.holder
    for _ in range(4):
        if head.dep != "conj" or not sentence.head(head).is_verb:
            return None
        head = sentence.head(head)
        found = sentence.child(head, "nsubj", "nsubjpass")
        if found is not None:
            return found
    return None


def _lost_subject(sentence: Sentence, verb: Word) -> Word | None:
    """The name right before a finite verb that the parser took for a modifier of it."""
    before = sentence.before(verb)
    lost = (
        verb.tag in {"VBZ", "VBD", "VBP"}
        and before is not None
        and before.name >= 0
        and before.head == verb.i
        and before.dep in {"compound", "nmod", "dep", "npadvmod"}
    )
    return before if lost else None


def _is_passive(sentence: Sentence, verb: Word, subject: Word | None) -> bool:
    if sentence.child(verb, "auxpass", "nsubjpass") is not None:
        return True
    if verb.dep == "conj" and verb.tag == "VBN" and sentence.child(verb, "aux", "nsubj") is None:
        return subject is not None and subject.dep == "nsubjpass"
    return False


def _by_agent(roles: Roles) -> None:
    for prep, noun in list(roles.preps):
        if prep == "by" and not roles.subject:
            roles.subject.append(noun)
            roles.preps.remove((prep, noun))


def _add_preps(sentence: Sentence, prep: Word, roles: Roles) -> None:
    for noun in sentence.children(prep, "pobj", "pcomp"):
        for each in conjuncts(sentence, noun):
            roles.preps.append((prep.lower, each))
    for inner in sentence.children(prep, "prep"):
        for noun in sentence.children(inner, "pobj"):
            roles.preps.append((inner.lower, noun))


def conjuncts(sentence: Sentence, word: Word) -> list[Word]:
    """``word`` and what is coordinated with it."""
    found = [word]
    at = word
    for _ in range(8):
        nexts = [c for c in sentence.children(at, "conj") if not c.is_verb or c.name >= 0]
        nexts = nexts or [c for c in sentence.children(at, "appos") if _is_listed(sentence, c)]
        if not nexts:
            break
        found.extend(nexts)
        at = nexts[-1]
    return found


def _is_listed(sentence: Sentence, word: Word) -> bool:
    """The middle of "A, B and C", which the parser takes for an apposition."""
    joint = sentence.child(word, "cc")
    return word.mention >= 0 and joint is not None and joint.lower == "and"


def is_alternative(sentence: Sentence, word: Word) -> bool:
    """Whether it is one of several that are not all claimed ("A or B")."""
    around = [word, sentence.head(word)] if word.dep == "conj" else [word]
    return any(
        child.lower in {"or", "nor", "but", "not"}
        for each in around
        for child in sentence.children(each, "cc", "neg", "preconj")
        if child.lower != "not" or child.i < each.i or each is not word
    )


def phrase(sentence: Sentence, word: Word) -> list[Word]:
    """The noun phrase of ``word``: modifiers left of it and an "of" phrase, no clauses."""
    first = word.i
    for child in sentence.children(word):
        if child.i < word.i and child.dep in _MODIFIERS | {"det", "neg", "predet", "advmod"}:
            first = min(first, *(w.i for w in sentence.subtree(child)))
    last = word.i
    for child in sentence.children(word, "prep"):
        if child.lower == "of" and child.i > word.i:
            inner = [w for w in sentence.subtree(child) if w.dep != "relcl"]
            if inner and all(not w.is_verb for w in inner):
                last = max(last, inner[-1].i)
    return sentence.words[first : last + 1]


def argument_text(sentence: Sentence, word: Word) -> str:
    """Normal form of an argument: lemmas of its head, names, compounds, modifiers and digits."""
    parts: list[tuple[int, str]] = [(word.i, _form(word))]
    for child in sentence.children(word):
        if child.dep in _MODIFIERS and child.tag not in {"PRP$", "POS", "WP$"}:
            parts.extend((w.i, _form(w)) for w in _modifier_words(sentence, child))
        if child.dep in {"det", "neg"} and child.lower == "no":
            parts.append((child.i, "no"))
        if child.dep == "prep":
            for noun in sentence.children(child, "pobj"):
                parts.append((child.i, child.lower))
                parts.append((noun.i, argument_text(sentence, noun)))
        if child.dep in {"appos", "nummod"} and child.name >= 0:
            parts.append((child.i, _form(child)))
    return " ".join(text for _, text in sorted(set(parts)))


def _modifier_words(sentence: Sentence, child: Word) -> list[Word]:
    return [
        word
        for word in sentence.subtree(child)
        if word.tag not in {"DT", "POS", ",", "PRP$", "HYPH"} and word.text.strip("-'\"")
    ]


def _form(word: Word) -> str:
    return word.lemma if word.name < 0 else word.lower


def is_vague(word: Word) -> bool:
    """A pronoun or a noun that names nothing by itself."""
    return word.mention < 0 and (
        word.lower in w.VAGUE or word.tag in {"PRP", "WP", "WDT", "DT", "EX"}
    )
