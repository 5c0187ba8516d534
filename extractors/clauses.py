"""Clauses of a parsed sentence, and how each claim stands: its content verb, modality, polarity."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from graphmem.extractors import words as w
from graphmem.extractors.parse import Sentence, Word
from graphmem.vocabulary import Modality, PassageRole, Polarity

_SUBJECTS: Final = ("nsubj", "nsubjpass", "csubj", "csubjpass", "expl")
SUBORDINATORS: Final = frozenset(
    "because since as so if unless although though while whereas when whenever until once before "
    "after whether provided".split()
)
_CONDITIONS: Final = frozenset({"if", "unless", "whether", "provided", "in_case", "once"})
CAUSATIVES: Final = frozenset(
    "cause lead result trigger enable allow let prevent stop block force motivate produce "
    "permit".split()
)


@dataclass(slots=True)
class Clause:
    """A clause: its head, its words, the clause it hangs on and the word that joins it."""

    head: Word
    words: list[Word]
    parent: Clause | None = None
    marker: str = ""
    index: int = 0

    @property
    def start(self) -> int:
        """First character of the passage that belongs to it."""
        return self.words[0].start

    @property
    def end(self) -> int:
        """One past its last character."""
        return max(word.end for word in self.words)


@dataclass(frozen=True, slots=True)
class Predication:
    """One claim of a clause: ``verb`` says what, ``holder`` has the subject and auxiliaries."""

    verb: Word
    holder: Word
    modality: Modality
    polarity: Polarity
    decided: bool = False
    blocked: bool = False


def clauses_of(sentence: Sentence) -> list[Clause]:
    """The clauses in text order; a sentence without a verb gives none."""
    heads = _heads(sentence)
    if not heads:
        return []
    owner = _owners(sentence, heads)
    made: dict[int, Clause] = {}
    for head, marker in heads.items():
        mine = [word for word in sentence.words if owner.get(word.i) == head]
        trimmed = _trim(mine, marker)
        if trimmed:
            made[head] = Clause(sentence.words[head], trimmed, None, marker)
    for head, clause in made.items():
        above = sentence.words[head].head
        if above != head and owner.get(above) in made:
            clause.parent = made[owner[above]]
    ordered = sorted(made.values(), key=lambda clause: clause.start)
    for index, clause in enumerate(ordered):
        clause.index = index
    return ordered


def _heads(sentence: Sentence) -> dict[int, str]:
    heads: dict[int, str] = {}
    explained = _why(sentence)
    if explained is not None:
        return {explained.i: ""}
    for root in sentence.roots():
        if root.is_verb or root.tag == "MD" or _has_verb_child(sentence, root):
            heads[root.i] = ""
    for word in sentence.words:
        marker = _splits(sentence, word, heads)
        if marker is not None:
            heads[word.i] = marker
    return heads


def _why(sentence: Sentence) -> Word | None:
    """The verb that "That is why ..." explains."""
    lead = [word.lower for word in sentence.words[:3]]
    if lead[:1] not in (["that"], ["this"]) or lead[2:] != ["why"]:
        return None
    below = [
        word for word in sentence.words[3:] if word.is_verb and word.dep not in {"relcl", "acl"}
    ]
    inner = [word for word in below if sentence.child(word, "nsubj", "nsubjpass") is not None]
    return inner[0] if inner else None


def _has_verb_child(sentence: Sentence, root: Word) -> bool:
    return any(
        child.dep in {"nsubj", "nsubjpass", "aux", "auxpass", "cop"}
        for child in sentence.children(root)
    )


def _splits(sentence: Sentence, word: Word, heads: dict[int, str]) -> str | None:
    """The marker ('' if none) when ``word`` heads a clause of its own, else None."""
    if word.head == word.i:
        return None
    if not (word.is_verb or word.tag == "MD"):
        # "because the boiler burst": the tagger took the verb for a noun
        reason = word.dep == "advcl" and marker_of(sentence, word) == "because"
        return "because" if reason else None
    own_subject = sentence.child(word, *_SUBJECTS) is not None
    match word.dep:
        case "conj":
            return "" if own_subject and sentence.head(word).is_verb else None
        case "advcl":
            marker = marker_of(sentence, word)
            if marker in {"because", "since", "as", "so", "so_that", "if", "unless"} or (
                marker and own_subject
            ):
                return marker
            return "" if own_subject or word.lemma in CAUSATIVES else None
        case "ccomp" | "parataxis":
            apart = own_subject and not marker_of(sentence, word) and _is_apart(sentence, word)
            marked = marker_of(sentence, word) in {"because", "so_that"}
            return "" if apart else marker_of(sentence, word) if marked else None
        case "relcl" | "acl":
            if _in_order(sentence, word):
                return "in_order_to"
            subject = sentence.child(word, "nsubj")
            which = subject is not None and subject.lower in {"which", "that"}
            return "" if word.lemma in CAUSATIVES and (which or word.tag == "VBG") else None
    return None


def marker_of(sentence: Sentence, word: Word) -> str:
    """The subordinating word of a clause ("because", "so_that"), or ''."""
    for child in sentence.children(word, "mark", "advmod"):
        if child.i < word.i and child.lower in SUBORDINATORS:
            after = sentence.after(child)
            if child.lower == "so":
                return "so_that" if after is not None and after.lower == "that" else "so"
            return child.lower
        if child.lower == "that" and child.i > 0 and sentence.words[child.i - 1].lower == "so":
            return "so_that"
        if child.lower == "case" or (child.lower == "in" and child.dep == "mark"):
            return "if"
    return ""


def _in_order(sentence: Sentence, word: Word) -> bool:
    head = sentence.head(word)
    before = sentence.before(head)
    return head.lower == "order" and before is not None and before.lower == "in"


def _is_apart(sentence: Sentence, word: Word) -> bool:
    """Joined by a semicolon, or said before the main verb without being reported."""
    low, high = sorted((word.i, word.head))
    between = {w.text for w in sentence.words[low:high]}
    if ";" in between or "—" in between:
        return True
    head = sentence.head(word)
    quoting = w.REPORTING | w.DOUBTING | w.KNOWING
    return word.i < head.i and head.lemma not in quoting and "," in between


def _owners(sentence: Sentence, heads: dict[int, str]) -> dict[int, int]:
    owner: dict[int, int] = {}
    for head in heads:
        stack = [head]
        seen: set[int] = set()
        while stack:
            at = stack.pop()
            if at in seen or (at in heads and at != head):
                continue
            seen.add(at)
            owner[at] = head
            stack.extend(sentence.words[at].children)
    return owner


_EDGE_PUNCT: Final = frozenset(",.;:!?-–—()[]\"'`…")
_EDGE_WORDS: Final = frozenset(
    "and but or because since so that as then therefore thus why".split()
)


def _trim(mine: list[Word], marker: str) -> list[Word]:
    """Without joining words and punctuation at the edges."""
    first, last = _after_stray_adverbs(mine, marker), len(mine)
    while first < last and (
        mine[first].text in _EDGE_PUNCT
        or (marker == "so_that" and mine[first].lower == "that")
        or (
            mine[first].dep in {"cc", "mark", "advmod", "punct", "preconj"}
            and (mine[first].lower in _EDGE_WORDS or mine[first].lower == marker)
        )
    ):
        first += 1
    while last > first and (mine[last - 1].text in _EDGE_PUNCT or mine[last - 1].dep == "cc"):
        last -= 1
    if [word.lower for word in mine[last - 2 : last]] == ["in", "order"]:
        last -= 2
    return mine[first:last]


def _after_stray_adverbs(mine: list[Word], marker: str) -> int:
    """Where the clause begins: "equally" in "scored X equally because Y" is not Y's."""
    if marker != "because":
        return 0
    places = [at for at, word in enumerate(mine[:3]) if word.lower == marker]
    stray = bool(places) and all(word.dep == "advmod" for word in mine[: places[0]])
    return places[0] if stray else 0


def predications_of(
    sentence: Sentence, clause: Clause, role: PassageRole = PassageRole.BODY
) -> list[Predication]:
    """What the clause claims: its head's content and that of coordinated verbs."""
    found: list[Predication] = []
    stack = [clause.head]
    while stack:
        head = stack.pop(0)
        made = _predication(sentence, clause, head, role)
        if found and head.tag == "VB" and sentence.child(head, "aux", *_SUBJECTS) is None:
            made = _inherit(made, found[0])
        found.append(made)
        members = {word.i for word in clause.words}
        for verb in dict.fromkeys((head.i, made.verb.i)):
            stack.extend(
                child
                for child in sentence.children(sentence.words[verb], "conj")
                if child.is_verb and child.i in members and len(found) + len(stack) < 8
            )
    return found


def _inherit(made: Predication, first: Predication) -> Predication:
    """A bare verb after "and" shares the auxiliary, and maybe the negation, of the first one."""
    return replace(
        made,
        modality=_stronger(made.modality, first.modality),
        blocked=made.blocked or first.polarity is Polarity.NEGATIVE,
    )


def _predication(sentence: Sentence, clause: Clause, head: Word, role: PassageRole) -> Predication:
    modality = _sentence_modality(sentence, clause)
    holder, verb = head, head
    negative = is_negated(sentence, head)
    decided = blocked = False
    for _ in range(3):
        inner = sentence.child(verb, "xcomp", "ccomp")
        modality = _stronger(modality, _verb_modality(sentence, clause, verb, role))
        if inner is None or not (inner.is_verb or inner.tag == "MD"):
            break
        step = _step(sentence, verb, inner)
        if step is None:
            break
        change, blocks = step
        decided = decided or verb.lemma in w.DECIDING
        modality = _stronger(modality, change)
        blocked = blocked or blocks
        negative ^= verb.lemma in w.NEGATING
        negative ^= is_negated(sentence, inner)
        if sentence.child(inner, *_SUBJECTS) is not None:
            holder = inner
        verb = inner
    blocked = blocked or _is_former(sentence, holder)
    polarity = Polarity.NEGATIVE if negative else Polarity.POSITIVE
    return Predication(verb, holder, modality, polarity, decided, blocked)


_FORMERLY: Final = frozenset("previously formerly originally initially".split())


def _is_former(sentence: Sentence, verb: Word) -> bool:
    """Whether the text says that it was so before, which is not how it is."""
    return any(child.lower in _FORMERLY for child in sentence.children(verb, "advmod"))


def _step(sentence: Sentence, verb: Word, inner: Word) -> tuple[Modality, bool] | None:
    """How a verb frames its complement: the modality it adds, whether it forbids triples."""
    own = sentence.child(inner, *_SUBJECTS) is not None
    lemma = verb.lemma
    if inner.dep == "ccomp" or own:
        if lemma in w.REPORTING:
            return Modality.REPORTED, False
        if lemma in w.DOUBTING:
            return Modality.HEDGED, False
        if lemma in w.KNOWING and own:
            return _known(sentence, verb), False
        if lemma in w.DECIDING and own:
            return Modality.ASSERTED, False
        if lemma in w.SEEMING:
            return Modality.HEDGED, False
        return None
    if sentence.child(verb, "dobj") is not None:
        return None
    if lemma in w.DECIDING:
        return Modality.ASSERTED, False
    if lemma in w.PLANNING:
        return Modality.PLANNED, False
    if lemma in w.SEEMING or lemma in w.DOUBTING:
        return Modality.HEDGED, False
    if lemma in w.STARTING or lemma in w.NEGATING:
        return Modality.ASSERTED, False
    if lemma in w.ENDING:
        return Modality.ASSERTED, True
    return None


def _known(sentence: Sentence, verb: Word) -> Modality:
    """What "we found" is claimed; what "users found" is reported."""
    subject = sentence.child(verb, "nsubj")
    if subject is None or subject.lower in w.FIRST_PERSON or verb.lemma in {"mean", "show"}:
        return Modality.ASSERTED
    return Modality.REPORTED


_RANK: Final = (
    Modality.ASSERTED,
    Modality.PLANNED,
    Modality.HEDGED,
    Modality.REPORTED,
    Modality.CONDITIONAL,
    Modality.QUESTION,
)


def _stronger(first: Modality, second: Modality) -> Modality:
    return max(first, second, key=_RANK.index)


def _sentence_modality(sentence: Sentence, clause: Clause) -> Modality:
    text = sentence.view.text.rstrip("\"'”’)")
    if text.endswith("?"):
        return Modality.QUESTION
    if clause.marker in _CONDITIONS or _has_condition(sentence, clause.head):
        return Modality.CONDITIONAL
    parent = clause.parent
    if parent is not None and clause.head.dep == "conj" and _has_condition(sentence, parent.head):
        return Modality.CONDITIONAL
    lowered = text.lower()
    if "according to" in lowered or "allegedly" in lowered or "reportedly" in lowered:
        return Modality.REPORTED
    return Modality.ASSERTED


def _has_condition(sentence: Sentence, head: Word) -> bool:
    return any(
        marker_of(sentence, child) in _CONDITIONS for child in sentence.children(head, "advcl")
    )


def _verb_modality(sentence: Sentence, clause: Clause, verb: Word, role: PassageRole) -> Modality:
    for child in sentence.children(verb, "aux", "advmod", "auxpass"):
        if child.lower in w.HEDGES:
            return Modality.HEDGED
        match child.lower:
            case "being":
                return Modality.PLANNED
            case "would" | "'d":
                return Modality.CONDITIONAL
            case "will" | "shall" | "'ll" | "wo":
                return _promised(sentence, clause, role)
            case "should" | "must" | "ought":
                return Modality.PLANNED
    before = sentence.before(clause.words[0])
    if clause.words[0].lower in w.HEDGES or (before is not None and before.lower in w.HEDGES):
        return Modality.HEDGED
    return Modality.ASSERTED


def _promised(sentence: Sentence, clause: Clause, role: PassageRole) -> Modality:
    """ "We will use X" is how a decision record states its decision."""
    subject = sentence.child(clause.head, "nsubj")
    decides = role is PassageRole.DECISION and subject is not None
    if decides and subject is not None and subject.lower in w.FIRST_PLURAL:
        return Modality.ASSERTED
    return Modality.PLANNED


def is_finite(sentence: Sentence, verb: Word, subjects: Sequence[Word]) -> bool:
    """Whether the verb is really one that ``subjects`` are the subject of.

    In headlines and commit subjects ("node: remove gc", "GitHub workflow security") the tagger
    finds verbs that do not agree with their subject, and participles without an auxiliary.
    """
    if any(_colon_between(sentence, word, verb) for word in subjects):
        return False
    if verb.tag == "VBG" and verb.dep == "conj" and sentence.head(verb).tag != "VBG":
        return False  # "have looked into using X and using Y" uses neither
    at = verb
    for _ in range(4):
        if sentence.child(at, "aux", "auxpass") is not None or at.dep != "conj":
            break
        if at.tag in {"VBZ", "VBD"}:
            break
        at = sentence.head(at)
    helpers = [child.lower for child in sentence.children(at, "aux", "auxpass")]
    match verb.tag:
        case "VBZ" | "VBD":
            return True
        case "VBP":
            return bool(helpers) or _is_plural(sentence, subjects)
        case "VB":
            return any(word != "to" for word in helpers) or not subjects
        case "VBN" | "VBG":
            return any(word != "to" for word in helpers)
    return False


def _colon_between(sentence: Sentence, word: Word, verb: Word) -> bool:
    low, high = sorted((word.i, verb.i))
    return any(between.text == ":" for between in sentence.words[low:high])


def _is_plural(sentence: Sentence, subjects: Sequence[Word]) -> bool:
    plural = {"we", "they", "you", "i", "us", "these", "those", "who", "which", "that"}
    return len(subjects) != 1 or any(
        word.lower in plural or word.tag in {"NNS", "NNPS"} for word in subjects
    )


def is_able_only(sentence: Sentence, verb: Word) -> bool:
    """Whether the text says no more than that it can be."""
    return any(child.lower in {"can", "ca"} for child in sentence.children(verb, "aux"))


def is_negated(sentence: Sentence, verb: Word) -> bool:
    """Whether the verb or what it takes is denied ("no longer", "no query uses X")."""
    for child in sentence.children(verb):
        if child.dep == "neg" or (child.dep == "advmod" and child.lower in w.NEGATIONS):
            return True
        if child.dep in {"nsubj", "nsubjpass", "dobj"}:
            if child.lower in {"nobody", "nothing", "none"}:
                return True
            if any(c.lower == "no" for c in sentence.children(child, "det", "neg")):
                return True
        if child.dep == "advmod" and child.lower == "longer":
            return True
    return False
