"""Pronouns: a single compatible antecedent or nothing. The speaker is never a default."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from graphmem.extractors.claims import Reading
from graphmem.extractors.mentions import Named
from graphmem.extractors.parse import Sentence, Word
from graphmem.model.extraction import NamedTerm
from graphmem.vocabulary import EntityType

# Turns without any name ("Noted.") do not change who is talked about; more of them do.
MAX_TURNS_BACK: Final = 2


@dataclass(frozen=True, slots=True)
class _Person:
    name: str
    key: tuple[str, ...]


def person_before(readings: list[Reading], word: Word) -> NamedTerm | None:
    """The only person named before ``word`` here, or else in the last passage that names anyone.

    ``readings`` are the passages of one source so far, the current one last.
    """
    current = readings[-1]
    here = [n for n in current.names if n.end <= word.start]
    found = _people(current, here)
    for earlier in reversed(readings[-2 - MAX_TURNS_BACK : -1]):
        if found:
            break
        found = _people(earlier, earlier.names)
        if earlier.names:
            break
    return NamedTerm(found[0].name, EntityType.PERSON) if len(found) == 1 else None


def _people(reading: Reading, names: list[Named]) -> list[_Person]:
    """Distinct people; "Ivo" and "Ivo Brandt" are one."""
    people: list[_Person] = []
    for named in names:
        surface = " ".join(reading.passage.text[named.start : named.end].split())
        if not _is_person_like(named, surface):
            continue
        key = tuple(surface.casefold().split())
        same = next((p for p in people if set(p.key) <= set(key) or set(key) <= set(p.key)), None)
        if same is None:
            people.append(_Person(surface, key))
        elif len(key) > len(same.key):
            people[people.index(same)] = _Person(surface, key)
    return people


def _is_person_like(named: Named, surface: str) -> bool:
    """Tagged so, or shaped like first and last name: the tagger takes some of those for firms."""
    if named.shape:
        return False
    if named.vote is EntityType.PERSON:
        return True
    words = surface.split()
    titled = all(word.isalpha() and word.istitle() for word in words)
    return titled and len(words) == 2 and named.vote is not EntityType.PLACE


def thing_before(reading: Reading, number: int, word: Word) -> NamedTerm | None:
    """What "it" is: the subject of the previous sentence where that names nothing else."""
    if number == 0 or any(w.mention >= 0 or _is_noun(w) for w in _left(reading, number, word)):
        return None
    before = reading.sentences[number - 1]
    here = reading.sentences[number]
    if before.view.block != here.view.block:
        return None
    subjects = [w for w in before.words if w.dep in {"nsubj", "nsubjpass"}]
    if len(subjects) != 1 or subjects[0].mention < 0:
        return None
    named = reading.names[subjects[0].mention]
    others = [w for w in before.words if w.mention not in {-1, subjects[0].mention}]
    nouns = [w for w in before.words if _is_noun(w) and not _is_predicate(before, w)]
    surface = reading.passage.text[named.start : named.end]
    if others or nouns or _is_person_like(named, surface):
        return None
    return NamedTerm(surface, named.vote)


def _left(reading: Reading, number: int, word: Word) -> list[Word]:
    return reading.sentences[number].words[: word.i]


def _is_noun(word: Word) -> bool:
    return word.mention < 0 and word.tag in {"NN", "NNS"}


def _is_predicate(sentence: Sentence, word: Word) -> bool:
    """A noun that says what the subject is, or a modifier of it."""
    at = word
    for _ in range(3):
        if at.dep == "attr":
            return True
        if at.dep not in {"compound", "amod", "nmod"}:
            return False
        at = sentence.head(at)
    return at.dep == "attr"
