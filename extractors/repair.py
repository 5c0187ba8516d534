"""A second view of a sentence whose first parse has lost its verb among names.

"Anvil Works audits Zephyr Depot" reads as one long noun; with its names as stand-ins it does not.
"""

from __future__ import annotations

from graphmem.extractors.names import ShapeName, is_acronym
from graphmem.extractors.parse import Sentence, Word
from graphmem.extractors.view import SentenceView, merged_view, origin_of
from graphmem.extractors.words import NOT_A_NAME

_MAX_LEAD_WORDS = 3
_FINITE = frozenset({"VBD", "VBP", "VBZ", "MD"})


def repair_view(
    sentence: Sentence, doc_offsets: list[int], names: list[ShapeName]
) -> SentenceView | None:
    """The view to parse instead, or None where the first parse will do.

    ``doc_offsets`` are where each word begins in the view; ``names`` grows by the new stand-ins.
    """
    suspect = _lost_verb(sentence)
    if suspect is None:
        return None
    runs = _runs(sentence, suspect)
    if not runs:
        return None
    regions: list[tuple[int, int, int]] = []
    for run in runs:
        begin, last = doc_offsets[run[0].i], run[-1]
        end = doc_offsets[last.i] + (
            len(last.text) if last.name < 0 else _stand_in_length(sentence, doc_offsets, last)
        )
        start = origin_of(sentence.view, begin)
        inner = names[last.name] if last.name >= 0 else None
        names.append(
            ShapeName(
                start,
                last.end,
                inner.name_start if inner else start,
                inner.name_end if inner else last.end,
                inner.vote if inner else None,
                inner.part if inner else "name",
                closed=inner.closed if inner else False,
                made=True,
            )
        )
        regions.append((begin, end, len(names) - 1))
    for verb in [suspect, *_further_verbs(sentence, suspect)]:
        begin = doc_offsets[verb.i]
        names.append(ShapeName(verb.start, verb.end, verb.start, verb.end, None, "verb", made=True))
        regions.append((begin, begin + len(verb.text), len(names) - 1))
    return merged_view(sentence.view, sorted(regions), names)


def _further_verbs(sentence: Sentence, first: Word) -> list[Word]:
    """The lost verbs of further clauses: ", and Postgres stores orders"."""
    found: list[Word] = []
    for word in sentence.words[first.i + 3 : -1]:
        name, joint = sentence.words[word.i - 1], sentence.words[word.i - 2]
        joined = name.is_proper and (joint.tag == "CC" or joint.text in {",", ";"})
        if joined and word.text.islower() and word.lower.endswith("s") and word.tag == "NNS":
            found.append(word)
    return found


def _stand_in_length(sentence: Sentence, offsets: list[int], last: Word) -> int:
    begin = offsets[last.i]
    after = offsets[last.i + 1] if last.i + 1 < len(offsets) else len(sentence.view.text)
    return len(sentence.view.text[begin:after].rstrip())


def _lost_verb(sentence: Sentence) -> Word | None:
    """The word in -s that should be the verb: a noun to the parser, right after a name."""
    if sentence.words[-1].text not in {".", "!"}:
        return None
    for word in sentence.words[1:-1]:
        if word.tag not in {"NNS", "NN", "NNPS", "NNP"} or not word.text.islower():
            continue
        before = sentence.words[word.i - 1]
        if not word.lower.endswith("s") or word.name >= 0 or not _is_like_a_name(before):
            continue
        verbs = [w for w in sentence.words if w.tag in _FINITE and not is_acronym(w.text)]
        people = word.lower.endswith(("ers", "ors"))
        swapped = word.dep in {"nsubj", "compound"} and verbs and verbs[0].i == word.i + 1
        if not verbs or (swapped and not people):
            return word
    return None


def _is_like_a_name(word: Word) -> bool:
    return word.is_proper or is_acronym(word.text)


def _runs(sentence: Sentence, suspect: Word) -> list[list[Word]]:
    runs: list[list[Word]] = []
    lead = [word for word in sentence.words[: suspect.i] if word.tag not in {"DT", "-LRB-"}]
    simple = all(word.text.replace("-", "").isalnum() or word.name >= 0 for word in lead)
    if not lead or not simple or lead[0].lower in NOT_A_NAME or len(lead) > _MAX_LEAD_WORDS + 1:
        return []
    capital = lead[-1].name < 0 and not all(word.text[:1].isupper() for word in lead)
    if capital:
        return []
    runs.append(lead)
    run: list[Word] = []
    for word in sentence.words[suspect.i + 1 :]:
        if word.name < 0 and word.text[:1].isupper() and word.text.isalpha():
            run.append(word)
            continue
        if len(run) > 1:
            runs.append(run)
        run = []
    return [*runs, run] if len(run) > 1 else runs
