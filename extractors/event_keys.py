"""The event key: a textual normal form of who did what, equal for equal claims.

Head lemma | polarity | modality | sorted role:argument pairs. Empty when too vague to compare.
"""

from __future__ import annotations

from graphmem.extractors import words as w
from graphmem.extractors.clauses import Predication
from graphmem.extractors.parse import Sentence, Word
from graphmem.extractors.roles import Roles, argument_text, is_vague

# A key longer than this is a sentence that nobody says twice in other words.
MAX_KEY_CHARS = 400

# What links a claim to another is not part of the claim.
_DISCOURSE = frozenset(
    {("as", "result"), ("as", "consequence"), ("for", "reason"), ("on", "account"), ("in", "order")}
)
# Another time is another event.
_REPEATS = frozenset({"again", "twice", "thrice", "repeatedly"})
_REASONS = frozenset({"because", "due", "owing", "thanks"})


def event_key(sentence: Sentence, claim: Predication, roles: Roles, members: frozenset[int]) -> str:
    """The key of a predication, or '' when it has no argument that says anything.

    ``members`` are the positions of the words of its clause; other clauses are no part of it.
    """
    if any(is_vague(word) and word.lower not in w.FIRST_PERSON for word in roles.subject):
        return ""
    parts: set[str] = set()
    for role, heads in (("subj", roles.subject), ("obj", roles.obj), ("is", roles.attribute)):
        for head in heads:
            if head.lower in w.FIRST_PERSON:
                continue
            if is_vague(head):
                return ""
            parts.add(f"{role}:{argument_text(sentence, head)}")
    for prep, noun in roles.preps:
        if not is_vague(noun) and (prep, noun.lemma) not in _DISCOURSE and prep not in _REASONS:
            parts.add(f"{prep}:{_nested(sentence, noun)}")
    adverbs = sentence.children(claim.verb, "advmod")
    parts |= {f"times:{word.lower}" for word in adverbs if parts and word.lower in _REPEATS}
    inside = [c for c in sentence.children(claim.verb, "xcomp", "ccomp") if c.i in members]
    for inner in inside:
        parts.add(f"that:{_nested(sentence, inner)}")
    if not parts:
        return ""
    lemma = verb_lemma(sentence, claim.verb)
    key = "|".join([lemma, claim.polarity, claim.modality, *sorted(parts)])
    return key if len(key) <= MAX_KEY_CHARS else ""


def _nested(sentence: Sentence, word: Word) -> str:
    if not word.is_verb:
        return argument_text(sentence, word)
    inner = [
        argument_text(sentence, child)
        for child in sentence.children(word, "dobj", "nsubj", "attr", "acomp")
    ]
    negated = ["not"] if sentence.child(word, "neg") else []
    return " ".join([*negated, word.lemma, *sorted(inner)])


def verb_lemma(sentence: Sentence, verb: Word) -> str:
    """The lemma with its particle ("shut_down")."""
    particle = sentence.child(verb, "prt")
    return f"{verb.lemma}_{particle.lower}" if particle is not None else verb.lemma


def nominal_key(sentence: Sentence, head: Word) -> str:
    """The key of a claim that is only a noun phrase; '' unless a name or number pins it down."""
    inside = sentence.subtree(head)
    pinned = any(word.mention >= 0 or any(c.isdigit() for c in word.text) for word in inside)
    return f"{head.lemma}|nominal|{argument_text(sentence, head)}" if pinned else ""
