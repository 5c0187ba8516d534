"""The closed list of words a question is allowed to lose before it is searched."""

from __future__ import annotations

_ARTICLES = "a an the"
_PREPOSITIONS = "about as at by for from in into of on to with"
_CONJUNCTIONS = "and but if or so such than then there"
_QUANTIFIERS = "all any some"
_AUXILIARIES = "am are be been being is was were could did do does had has have should would"
_QUESTION_WORDS = "how what when where which who whom whose why"
_PRONOUNS = (
    "he her him his i it its me my our ours she that their them these they this those us we you"
    " your yours"
)

# "may", "will" and "can" are absent on purpose: they are also a month, a name and a noun.
STOP_WORDS = frozenset(
    " ".join(
        (
            _ARTICLES,
            _PREPOSITIONS,
            _CONJUNCTIONS,
            _QUANTIFIERS,
            _AUXILIARIES,
            _QUESTION_WORDS,
            _PRONOUNS,
        )
    ).split()
)
