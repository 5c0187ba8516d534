"""Names as keys: what makes two spellings the same name. Pure, and never joins on doubt.

A key folds case, compatibility forms, white space and decoration. It keeps articles, every digit
and the punctuation of identifiers: "C", "C#", "C++", ".NET" and "a record" stay apart.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

# A name is at most this many characters; longer "names" are sentences.
MAX_NAME_CHARS = 200
# A key settles within two rounds; the bound only guards against an endless loop.
_MAX_ROUNDS = 8

_APOSTROPHES = str.maketrans({c: "'" for c in "\u2018\u2019\u201b\u02bc\u2032`\u00b4"})
_DOUBLE_QUOTES = str.maketrans({c: '"' for c in "\u201c\u201d\u201e\u201f\u00ab\u00bb\u300c\u300d"})
_HYPHENS = str.maketrans({c: "-" for c in "\u2010\u2011\u2212"})
# Marks that are written beside a name and are no part of it; NFKC would turn two into letters.
_OWNER_MARKS = re.compile("[\u2122\u2120\u00ae\u00a9]")
# Emoji and pictographs begin here; symbols below (degree, arrows) are part of what is named.
_FIRST_PICTOGRAPH = "\u2300"
_NON_ASCII = re.compile(r"[^\x00-\x7f]")
# Stands for any invisible character until it is known what surrounds it.
_INVISIBLE = "\u200b"
_INVISIBLE_IN_NUMBER = re.compile(rf"(?<=\d){_INVISIBLE}+(?=\d)")
# Balanced marks around words: **bold**, `code`, ~~struck~~, "quoted", [[link]].
_BALANCED = re.compile(
    r"(?<!\S)(?:(?P<mark>\*{1,3}|~~|[\"'])(?=\S)(?P<inner>[^\"*~]*?)(?<=\S)(?P=mark)"
    r"|\[\[(?P<link>[^\[\]]+)\]\])(?=[,;:!?.]*(?:\s|$))"
)
_EMPHASIS = re.compile(r"(?<!\S)(_{1,2})(?=\S)([^_]*\s[^_]*)(?<=\S)\1(?!\S)")
_LINE_MARK = re.compile(r"^(?:#{1,6}|>|[-*+])\s+")
_OPENING = re.compile(r"^[\"\u00bf\u00a1]+(?=.)")
_TRAILING = re.compile(r"(?:[,;:!?\u3001\u3002\s]|(?<!\d)\")+$")
_ELLIPSIS = re.compile(r"\s*\.{2,}$")
# "U.S.", "p.m.", "J. R. R." keep their last point; a lone letter does not ("Rev A.").
_DOTTED = re.compile(r"(?:^|[\s(])(?:[^\W\d_]\.\s?){2,}$")
_ABBREVIATION = re.compile(
    r"(?:^|\s)(?:inc|ltd|co|corp|llc|jr|sr|dr|mr|mrs|ms|st|prof|vs|etc|approx|dept|bros|gmbh)\.$"
)

_PLACEHOLDERS = frozenset(
    (
        "unknown|unspecified|unnamed|undefined|none|null|nil|nan|n/a|na|tbd|tba|todo|redacted"
        "|placeholder|entity|subject|object|not specified|not available|not mentioned|no name"
        "|various|several|others|other|etc|someone|somebody|something|anyone|anybody|anything"
        "|everyone|everybody|everything|no one|nobody|nothing|the user|user|assistant"
    ).split("|")
)
_PRONOUNS = frozenset(
    (
        "i me my mine myself we us our ours ourselves you your yours yourself yourselves he him his"
        " himself she her hers herself it its itself they them their theirs themselves this that"
        " these those who whom whose which what there here one ones each both either neither all"
        " some any many few such same another it's that's i'm we're"
    ).split()
)
# Keys kept: a note says the same names again and again, and a key takes 50 regex passes.
KEY_CACHE_NAMES = 20_000
# Pronouns that are names when written in capitals: a department, a country, an organisation.
_CAPITAL_NAMES = frozenset({"IT", "US", "WHO", "ME", "ALL", "ONE"})
_TEMPLATE = re.compile(r"\$?[<{]+[\w\s./-]*[>}]+|%[\w\s]+%|%[sd]|_+|x{3,}")


def _is_kept(char: str) -> bool:
    """Whether NFKC would turn the character into another digit or letter of another meaning."""
    kind = unicodedata.decomposition(char).partition(" ")[0]
    if kind in {"<super>", "<sub>", "<fraction>"}:
        return True
    plain = unicodedata.normalize("NFKC", char)
    return plain != char and unicodedata.category(char) != "Nd" and any(map(str.isdigit, plain))


def _compatible(text: str) -> str:
    """NFKC of everything but superscripts, fractions and enclosed or squared digits."""
    parts: list[str] = []
    start = 0
    for match in _NON_ASCII.finditer(text):
        if _is_kept(match.group()):
            parts += [unicodedata.normalize("NFKC", text[start : match.start()]), match.group()]
            start = match.end()
    parts.append(unicodedata.normalize("NFKC", text[start:]))
    return "".join(parts)


def _visible(match: re.Match[str]) -> str:
    """A non-ASCII character, or what stands for it: a space for pictographs and controls."""
    char = match.group()
    category = unicodedata.category(char)
    if category == "Cf" or "\ufe00" <= char <= "\ufe0f" or char == "\u20e3":
        return _INVISIBLE
    if category in {"Cc", "Cs", "Zl", "Zp"}:
        return " "
    is_pictograph = category in {"So", "Sk"} and char >= _FIRST_PICTOGRAPH
    return " " if is_pictograph and unicodedata.normalize("NFKC", char) == char else char


def _fold(text: str) -> str:
    """Case and compatibility folded, one form per quote and hyphen, single spaces."""
    if not text.isascii():
        text = _NON_ASCII.sub(_visible, _OWNER_MARKS.sub(" ", text))
        text = _INVISIBLE_IN_NUMBER.sub(" ", text).replace(_INVISIBLE, "")
        text = _compatible(text)
        text = text.translate(_DOUBLE_QUOTES).translate(_HYPHENS)
    text = _compatible(text.translate(_APOSTROPHES).casefold())
    return " ".join(re.sub(r"[\x00-\x1f\x7f]", " ", text).split())


def _inner(match: re.Match[str]) -> str:
    return match["inner"] if match["link"] is None else match["link"]


def _keeps_point(text: str) -> bool:
    return bool(_DOTTED.search(text) or _ABBREVIATION.search(text))


def _undecorated(text: str) -> str:
    """Without marks around words, marks before the name and punctuation after it."""
    text = _EMPHASIS.sub(r"\2", _BALANCED.sub(_inner, text))
    text = _OPENING.sub("", _LINE_MARK.sub("", text))
    text = _ELLIPSIS.sub("", _TRAILING.sub("", text))
    if text.endswith(".") and not _keeps_point(text):
        text = text[:-1]
    return " ".join(text.split())


@lru_cache(maxsize=KEY_CACHE_NAMES)
def name_key(name: str) -> str:
    """The key under which equal names meet; "" when nothing but decoration is left.

    Idempotent. Names with different digit runs never share a key.

    >>> name_key("  **Orion**\\u00a0Relay: "), name_key("O’Dell's relay."), name_key("🔥 Kiln")
    ('orion relay', "o'dell's relay", 'kiln')
    >>> [name_key(name) for name in ("C", "C#", "C++", ".NET", "A record", "x²", "v1.10", "U.S.")]
    ['c', 'c#', 'c++', '.net', 'a record', 'x²', 'v1.10', 'u.s.']
    """
    key = _undecorated(_fold(name))
    for _ in range(_MAX_ROUNDS):
        again = _undecorated(_fold(key))
        if again == key:
            break
        key = again
    return key


def _digit_class(char: str) -> str:
    if char.isdecimal():
        return "run"
    return "mark" if char.isnumeric() and not char.isalpha() else ""


def digit_signature(name: str) -> tuple[str, ...]:
    """The digit runs of a name in order, leading zeros kept; superscripts and the like apart.

    >>> digit_signature("WO-2031-0114 rev 2"), digit_signature("m²"), digit_signature("Orion")
    (('2031', '0114', '2'), ('²',), ())
    """
    runs: list[str] = []
    before = ""
    for char in name_key(name):
        kind = _digit_class(char)
        if kind and kind == before:
            runs[-1] += char
        elif kind:
            runs.append(char)
        before = kind
    return tuple(runs)


def is_nameable(name: str) -> bool:
    """Whether an entity may have this name: no placeholder, pronoun, markup or essay.

    >>> is_nameable("C++"), is_nameable("IT"), is_nameable("it"), is_nameable("n/a")
    (True, True, False, False)
    """
    if len(name) > MAX_NAME_CHARS or _TEMPLATE.fullmatch(name.strip().casefold()):
        return False
    if "](" in name or "][" in name:  # a cut-off Markdown link
        return False
    key = name_key(name)
    if (
        not any(map(str.isalnum, key))
        or key.strip("[]()") in _PLACEHOLDERS
        or _TEMPLATE.fullmatch(key)
    ):
        return False
    return key not in _PRONOUNS or name.strip() in _CAPITAL_NAMES
