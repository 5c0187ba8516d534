"""Names in a parsed passage: shapes first, then the entity tagger's votes and proper noun runs."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from graphmem.extractors.names import SHAPE_WEIGHT, ShapeName, is_acronym
from graphmem.extractors.parse import Sentence, Word
from graphmem.extractors.words import CALENDAR, CLASS_NOUNS, COMMON_OPENERS, NOT_A_NAME
from graphmem.model.items import MAX_NAME_CHARS
from graphmem.vocabulary import EntityType

_LABELS: Final[dict[str, EntityType | None]] = {
    "PERSON": EntityType.PERSON,
    "ORG": EntityType.ORGANIZATION,
    "GPE": EntityType.PLACE,
    "LOC": EntityType.PLACE,
    "FAC": EntityType.PLACE,
    "PRODUCT": EntityType.TOOL,
    "EVENT": EntityType.EVENT,
    "WORK_OF_ART": EntityType.DOCUMENT,
    "LAW": EntityType.DOCUMENT,
    "LANGUAGE": EntityType.CONCEPT,
    "NORP": None,
}
# Of one-word names the tagger is often wrong ("Kuzu" is a person, then an organisation).
_ONE_WORD_WEIGHT: Final = 0.5
_INSIDE: Final = frozenset({"of", "the", "and", "for", "de", "von", "van", "der", "la", "&", "'s"})
_ROLE_WORDS: Final = NOT_A_NAME | {"readme", "status", "context", "decision", "rationale"}
# Scripts without spaces between words: what the tagger takes for a name there is a sentence.
_UNSPACED: Final = re.compile("[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\u0e00-\u0e7f]")
# An acronym without a vowel is nothing but a name, whatever the tagger says.
_VOWELS: Final = frozenset("AEIOU")
_SHOUTED: Final = _ROLE_WORDS | {"must", "shall", "should", "todo", "fixme", "xxx", "tldr"}
# Endings of nouns that need no article: "Retrieval uses Kuzu", "Testing takes an hour".
_ABSTRACT: Final = (
    "ing",
    "tion",
    "sion",
    "ment",
    "ness",
    "ity",
    "al",
    "ance",
    "ence",
    "ure",
    "ism",
    "cy",
)
_STRIP: Final = " \t\"'“”‘’()[]{}<>.,;:!?*_`"


@dataclass(slots=True)
class Named:
    """A name being read: where it stands and who votes for which type."""

    start: int
    end: int
    vote: EntityType | None
    weight: float
    sentence: int
    shape: bool = False

    @property
    def size(self) -> int:
        """Characters."""
        return self.end - self.start


def find_names(text: str, sentences: list[Sentence], shapes: list[ShapeName]) -> list[Named]:
    """Non-overlapping names in text order, the longest first where two claim the same text.

    Sets ``Word.mention`` of every word that stands in one.
    """
    used = {word.name for sentence in sentences for word in sentence.words}
    found = [
        _shape_named(shape, sentences)
        for index, shape in enumerate(shapes)
        if shape.is_name and (index in used or not shape.made)
    ]
    for number, repaired in enumerate(sentences):
        sentence = repaired.tagged or repaired
        found.extend(_tagged(text, sentence, number, shapes))
        found.extend(_proper_runs(text, sentence, number))
        found.extend(_acronyms(text, sentence, number))
    kept = _longest(found)
    _attach(sentences, kept, shapes)
    return kept


def _shape_named(shape: ShapeName, sentences: list[Sentence]) -> Named:
    inside = (n for n, s in enumerate(sentences) if s.view.start <= shape.start < s.view.end)
    weight = SHAPE_WEIGHT if shape.vote else 0.0
    return Named(shape.name_start, shape.name_end, shape.vote, weight, next(inside, -1), shape=True)


def _tagged(text: str, sentence: Sentence, number: int, shapes: list[ShapeName]) -> Iterable[Named]:
    for run in sentence.entities():
        if run[0].label not in _LABELS or all(word.name >= 0 for word in run):
            continue
        if any(word.name >= 0 and shapes[word.name].closed for word in run):
            continue
        while run and (run[0].tag in {"DT", "PRP$", "IN"} or run[0].lower in NOT_A_NAME):
            run = run[1:]
        while run and (run[-1].tag in {"POS", ".", ","} or run[-1].lower == "'s"):
            run = run[:-1]
        if not run or not all(_fits(word) for word in run):
            continue
        acronym = len(run) == 1 and run[0].text.isupper() and len(run[0].text) <= 5
        vote = None if acronym else _LABELS[run[0].label]
        weight = 1.0 if len(run) > 1 else _ONE_WORD_WEIGHT
        made = _named(text, run, number, vote, weight)
        if run[0].i == 0 and len(run) == 1 and run[0].tag not in {"NNP", "NNPS"}:
            continue
        if made is not None and any(word.is_proper or word.text[:1].isupper() for word in run):
            yield made


def _fits(word: Word) -> bool:
    if word.name >= 0 or word.lower in _INSIDE or word.tag in {"CD", "HYPH", "POS"}:
        return True
    return word.text[:1].isupper() or (word.tag in {"NNP", "NNPS"} and word.text.isalnum())


def _proper_runs(text: str, sentence: Sentence, number: int) -> Iterable[Named]:
    run: list[Word] = []
    for word in [*sentence.words, None]:
        if word is not None and _is_name_word(word, sentence) and _touches(run, word, text):
            run.append(word)
            continue
        if run and any(w.name < 0 for w in run):
            made = _named(text, run, number, None, 0.0)
            if made is not None:
                yield made
        run = [word] if word is not None and _is_name_word(word, sentence) else []


def _touches(run: list[Word], word: Word, text: str) -> bool:
    """Only single spaces may stand between the words of a name."""
    if not run:
        return True
    between = text[run[-1].end : word.start]
    return between in {" ", "\n", "-"} or (between == "" and run[-1].name < 0 and word.name < 0)


def _is_name_word(word: Word, sentence: Sentence) -> bool:
    if word.name >= 0:
        return False
    if _is_bare_subject(word, sentence):
        return True
    if word.tag not in {"NNP", "NNPS"} or not word.text[:1].isupper():
        return False
    if word.lower in _ROLE_WORDS or len(word.text) < 2:
        return False
    if word.i == 0 and word.lower in CLASS_NOUNS:
        return False
    return word.i > 0 or _opens_with_name(word, sentence)


def _is_bare_subject(word: Word, sentence: Sentence) -> bool:
    """ "Orion uses Basalt.": a singular noun without an article that acts on a name is one."""
    if word.i or word.tag != "NN" or word.dep != "nsubj" or not word.text.istitle():
        return False
    if word.lower in _ROLE_WORDS | COMMON_OPENERS | CLASS_NOUNS or word.lower.endswith(_ABSTRACT):
        return False
    verb, after = sentence.head(word), sentence.after(word)
    objects = sentence.children(verb, "dobj", "oprd")
    return after is not None and after.i == verb.i and any(_is_named(each) for each in objects)


def _is_named(word: Word) -> bool:
    return word.name >= 0 or _is_capital(word)


def _opens_with_name(word: Word, sentence: Sentence) -> bool:
    """A capital at the start of a sentence proves nothing: "Fuzzy matching", "Loading", "Ids"."""
    after, head = sentence.after(word), sentence.head(word)
    if after is not None and (after.text == ":" or _is_capital(after)):
        return after.text != ":"
    if word.lower in COMMON_OPENERS or word.lower.endswith("ing"):
        return False
    return head.i == word.i or head.is_verb or head.is_proper


def _is_capital(word: Word) -> bool:
    return word.tag in {"NNP", "NNPS"} and word.text[:1].isupper()


def _acronyms(text: str, sentence: Sentence, number: int) -> Iterable[Named]:
    """Words in capitals that the tagger takes for something else: "Letters to QHRB go ..."."""
    letters = [word for word in sentence.words if word.text.isalpha()]
    if 2 * sum(word.text.isupper() for word in letters) > len(letters):
        return
    for word in letters:
        if word.name >= 0 or not is_acronym(word.text) or word.lower in _SHOUTED:
            continue
        if word.tag in {"NN", "NNS", "FW"} or not _VOWELS & set(word.text):
            made = _named(text, [word], number, None, 0.0)
            if made is not None:
                yield made


def _named(
    text: str, run: list[Word], number: int, vote: EntityType | None, weight: float
) -> Named | None:
    start, end = run[0].start, run[-1].end
    while start < end and text[start] in _STRIP:
        start += 1
    while start < end and text[end - 1] in _STRIP:
        end -= 1
    surface = text[start:end]
    if not 1 < end - start <= MAX_NAME_CHARS or "\n\n" in surface or _UNSPACED.search(surface):
        return None
    words = re.split(r"\W+", surface.casefold())
    if all(word in CALENDAR or word.isdigit() or not word for word in words) or (
        re.fullmatch(r"[QqHh][1-4]", surface)
    ):
        return None
    return Named(start, end, vote, weight, number)


def _longest(found: list[Named]) -> list[Named]:
    kept: list[Named] = []
    for named in sorted(found, key=lambda n: (-n.size, not n.shape, -n.weight, n.start)):
        twin = next((k for k in kept if (k.start, k.end) == (named.start, named.end)), None)
        if twin is not None:
            if twin.vote is None and named.vote is not None:
                twin.vote, twin.weight = named.vote, named.weight
        elif not any(named.start < k.end and k.start < named.end for k in kept):
            kept.append(named)
    return sorted(kept, key=lambda n: n.start)


def _attach(sentences: list[Sentence], kept: list[Named], shapes: list[ShapeName]) -> None:
    for index, named in enumerate(kept):
        if named.sentence < 0:
            continue
        for word in sentences[named.sentence].words:
            start, end = word.start, word.end
            if word.name >= 0:
                start, end = shapes[word.name].name_start, shapes[word.name].name_end
            if named.start <= start and end <= named.end:
                word.mention = index
