"""What forbids to join two names, whatever their similarity. Vetoes come before thresholds."""

from __future__ import annotations

import re
from collections.abc import Callable
from enum import StrEnum

from graphmem.resolve.names import digit_signature, name_key


class VetoReason(StrEnum):
    """Why two names are not one: the first difference found, in this order."""

    DIGITS = "digits"
    NUMERALS = "numerals"
    LETTERS = "letters"
    SYMBOLS = "symbols"
    NUMBER_WORDS = "number_words"
    CALENDAR = "calendar"
    OPPOSITES = "opposites"


_WORD = re.compile(r"[^\W\d_]+")
# Numerals of two or more letters up to XXXIX; "mix" and "mild" are words, "i" is a letter.
_NUMERAL = re.compile(r"(?=..)x{0,3}(?:ix|iv|v?i{0,3})")
# A letter alone or at a digit: "rev a", "7a", "b5". Not "v2", "o'dell" or "dell's".
_LETTER = re.compile(r"(?<![^\W\d_])(?<!')(?!v\d)([^\W\d_])(?![^\W\d_])(?!')(?P<point>\.?)")
_SYMBOL = re.compile(r"(?<![^\W_])[^\W_]+(?:\+\+|#)(?!\w)|(?<!\S)\.[^\W\d_]+")
_HAN_NUMBER = re.compile("[〇零一二三四五六七八九十百千万]")
_NUMBER_WORDS = frozenset(
    (
        "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen"
        " fifteen sixteen seventeen eighteen nineteen twenty thirty forty fifty sixty seventy"
        " eighty ninety hundred thousand million billion dozen half first second third fourth"
        " fifth sixth seventh eighth ninth tenth eleventh twelfth last next previous alpha beta"
        " gamma delta epsilon"
    ).split()
)
_MONTHS = {
    form: number
    for number, forms in enumerate(
        (
            "january jan",
            "february feb",
            "march mar",
            "april apr",
            "may",
            "june jun",
            "july jul",
            "august aug",
            "september sep sept",
            "october oct",
            "november nov",
            "december dec",
        )
    )
    for form in forms.split()
}
_DAYS = frozenset("monday tuesday wednesday thursday friday saturday sunday".split())
# Words that exclude each other: two names of which each holds another one are two things.
_OPPOSITES = tuple(
    frozenset(group.split())
    for group in (
        "north south east west",
        "northern southern eastern western",
        "upper lower",
        "left right",
        "inner outer",
        "internal external",
        "primary secondary tertiary backup replica",
        "client server",
        "frontend backend",
        "staging production prod dev development test",
        "input output",
        "read write",
        "old new legacy",
        "public private",
        "min max",
        "minimum maximum",
        "up down",
        "upstream downstream",
        "source target destination",
        "buyer seller",
        "senior junior",
        "mr mrs ms",
        "small medium large",
        "red green blue yellow black white",
    )
)


def _words(key: str) -> list[str]:
    return _WORD.findall(key)


def _numerals(key: str) -> tuple[str, ...]:
    return tuple(word for word in _words(key) if _NUMERAL.fullmatch(word))


def _letters(key: str) -> tuple[tuple[str, bool], ...]:
    """Single cased letters with whether a point makes them an initial."""
    found = _LETTER.finditer(key)
    return tuple((match[1], bool(match["point"])) for match in found if match[1].islower())


def _letters_differ(a: str, b: str) -> bool:
    """Different letters; a name that has none may still lack only the other's initials."""
    left, right = _letters(a), _letters(b)
    if [letter for letter, _ in left] == [letter for letter, _ in right]:
        return False
    only_initials = all(is_initial for _, is_initial in left + right)
    return not (only_initials and (not left or not right))


def _symbols(key: str) -> tuple[str, ...]:
    return tuple(_SYMBOL.findall(key))


def _number_words(key: str) -> tuple[str, ...]:
    words = (word for word in _words(key) if word in _NUMBER_WORDS)
    return (*words, *_HAN_NUMBER.findall(key))


def _calendar(key: str) -> tuple[str, ...]:
    words = _words(key)
    return tuple(str(_MONTHS.get(word, word)) for word in words if word in _MONTHS or word in _DAYS)


def _both_and_differ(signature: Callable[[str], tuple[str, ...]], a: str, b: str) -> bool:
    left, right = signature(a), signature(b)
    return bool(left and right and left != right)


def _oppose(a: str, b: str) -> bool:
    def members(group: frozenset[str]) -> Callable[[str], tuple[str, ...]]:
        return lambda key: tuple(word for word in _words(key) if word in group)

    return any(_both_and_differ(members(group), a, b) for group in _OPPOSITES)


_CHECKS: tuple[tuple[VetoReason, Callable[[str, str], bool]], ...] = (
    (VetoReason.DIGITS, lambda a, b: digit_signature(a) != digit_signature(b)),
    (VetoReason.NUMERALS, lambda a, b: _numerals(a) != _numerals(b)),
    (VetoReason.LETTERS, _letters_differ),
    (VetoReason.SYMBOLS, lambda a, b: _symbols(a) != _symbols(b)),
    (VetoReason.NUMBER_WORDS, lambda a, b: _number_words(a) != _number_words(b)),
    (VetoReason.CALENDAR, lambda a, b: _both_and_differ(_calendar, a, b)),
    (VetoReason.OPPOSITES, _oppose),
)


def veto(a: str, b: str) -> VetoReason | None:
    """The first reason why the names cannot be one thing, or None; symmetric.

    A veto implies different name keys: names of one key are never vetoed.

    >>> veto("VS-7 Rev A", "VS-7 Rev B"), veto("Firmware 1.9", "Firmware 1.10")
    (<VetoReason.LETTERS: 'letters'>, <VetoReason.DIGITS: 'digits'>)
    >>> veto("Tidal pump", "tidal  PUMP")
    """
    left, right = name_key(a), name_key(b)
    if left == right:
        return None
    return next((reason for reason, differ in _CHECKS if differ(left, right)), None)
