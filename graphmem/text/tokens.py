"""The lexical tokenizer: what goes into the FTS5 columns, and queries made by the same scan.

Nothing from outside reaches FTS5 unescaped: every token becomes one word of ``[a-z0-9]``.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from itertools import pairwise

from snowballstemmer.english_stemmer import EnglishStemmer

from graphmem.text.stopwords import STOP_WORDS

# Raised whenever the same text gives other tokens: an index of another revision is rebuilt.
TOKENIZER_REVISION = 1
# Columns of the index in this order, and a start for the weights of bm25().
COLUMNS = ("whole", "split", "stem")
COLUMN_WEIGHTS = (1.0, 0.5, 1.0)
# Terms of one query; a longer question says nothing new to BM25 and costs a posting list each.
MAX_QUERY_TERMS = 64
# Characters of a token kept as they are; the rest of a longer one (a blob) becomes a hash.
MAX_TOKEN_CHARS = 128
# Parts taken of one identifier; longer runs are encoded data rather than names.
MAX_PARTS = 32
# Distinct words whose stems are remembered: stemming takes about 40 µs, a look-up 0.1 µs.
STEM_CACHE_WORDS = 65_536


class Column(StrEnum):
    """A column of the lexical index."""

    WHOLE = "whole"
    SPLIT = "split"
    STEM = "stem"


@dataclass(frozen=True, slots=True)
class Tokens:
    """The readable tokens of a text by column, in order, repeats kept."""

    whole: tuple[str, ...]
    split: tuple[str, ...]
    stem: tuple[str, ...]

    def columns(self) -> tuple[str, str, str]:
        """The three column values to write, in the order of ``COLUMNS``: escaped words."""
        return _words(self.whole), _words(self.split), _words(self.stem)


@dataclass(frozen=True, slots=True)
class Term:
    """One thing to search for: ``token`` (escaped ``text``) in any of ``columns``.

    ``prefix`` marks a single character of a script without spaces, which also finds the
    bigrams that begin with it.
    """

    text: str
    token: str
    columns: tuple[Column, ...]
    prefix: bool = False


@dataclass(frozen=True, slots=True)
class _Piece:
    text: str
    column: Column
    is_stop: bool = False
    is_tail: bool = False
    prefix: bool = False


# Scripts written without spaces, and Hangul, whose particles stick to the noun.
_SPACELESS = (
    "\u3005\u3007\u3040-\u30ff\u3105-\u312f\u31a0-\u31bf\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uf900-\ufaff\U00020000-\U0003ffff\u1100-\u11ff\uac00-\ud7af"
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"
)
_SPACELESS_RUN = re.compile(f"([{_SPACELESS}]+)")
_APOSTROPHES = str.maketrans({c: "'" for c in "\u2018\u2019\u02bc\u2032"})
_HYPHENS = str.maketrans({c: "-" for c in "\u2010\u2011\u2212"})
# Letters that NFKD does not take apart.
_BARE = str.maketrans(
    {"ł": "l", "ø": "o", "đ": "d", "ð": "d", "ħ": "h", "ı": "i", "ŧ": "t", "æ": "ae", "œ": "oe"}
)
# Marks that readers leave out: Latin, Greek and Cyrillic accents, Hebrew and Arabic points. Marks
# of Indic and Thai scripts and the Japanese voicing marks are letters to their readers.
_ACCENTS = re.compile("[\u0300-\u036f\u0591-\u05bd\u05bf-\u05c7\u064b-\u065f\u0670]")
_ODD = re.compile(r"[^\w\x00-\x7f]")
_CHAR = r"[0-9A-Za-z\x80-\U0010ffff]"
_JOIN = r"[-_./\\:@#+~&']{1,3}"
# A run of words and joints; ".NET" keeps its point, "C++" and "C#" their suffix.
_RUN = re.compile(
    rf"(?:(?<![-\w./\\:@#+~&'])\.(?=[^\W\d_]))?{_CHAR}+(?:{_JOIN}{_CHAR}+)*"
    rf"(?:\+\+(?![+\w])|(?<![\w][\w])\#(?![\#\w]))?"
)
_PROSE_JOINT = re.compile(r"['/-]|\.{2,3}")
_PROSE_COMPOUND = re.compile(r"[a-z]{2,}(?:(?:['/-]|\.{2,3})[a-z]{2,})+")
_OUTER_JOINT = re.compile(r"[/\\:@~&]+|(?<!\+)\+(?!\+)|\#(?=\w)")
_LETTER_SUFFIXED = re.compile(r"[A-Za-z](?:\+\+|\#)")
_ANY_JOINT = re.compile(r"[-_./\\:@#+~&']+")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_WORD_NUMBER = re.compile(r"([a-z]{2,})(\d+)")
_VERSION = re.compile(r"v(\d.*)")


def fold(text: str) -> str:
    """The text with case, compatibility forms and accents folded; lengths may change.

    >>> fold("Zoé"), fold("ＧＰＴ－４"), fold("ポンプ")
    ('zoe', 'gpt-4', 'ポンプ')
    """
    if text.isascii():
        return text.lower()
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    bare = _ACCENTS.sub("", unicodedata.normalize("NFD", folded.translate(_BARE)))
    return unicodedata.normalize("NFC", bare)


def escape(token: str) -> str:
    """The token as one word of ``[a-z0-9]``, the same for no other token.

    Other characters become ``z``, their code point in hex, ``z``; ``z`` itself becomes ``zz``.

    >>> escape("c++"), escape("zoe"), escape("ops-2077")
    ('cz2bzz2bz', 'zzoe', 'opsz2dz2077')
    """
    if len(token) > MAX_TOKEN_CHARS:
        rest = token[MAX_TOKEN_CHARS:].encode("utf-8", "surrogatepass")
        return escape(token[:MAX_TOKEN_CHARS]) + hashlib.blake2s(rest, digest_size=16).hexdigest()
    return _TO_ESCAPE.sub(_escape_char, token)


_TO_ESCAPE = re.compile(r"[^a-y0-9]")


def _escape_char(match: re.Match[str]) -> str:
    char = match.group()
    return "zz" if char == "z" else f"z{ord(char):x}z"


def _words(tokens: Iterable[str]) -> str:
    return " ".join(map(escape, tokens))


@lru_cache(maxsize=STEM_CACHE_WORDS)
def _stem(word: str) -> str:
    # A stemmer object keeps its state between calls, so sharing one is not safe across threads.
    stemmed: str = EnglishStemmer().stemWord(word)
    return stemmed


def stem(word: str) -> str:
    """The stem of a folded word (Snowball English); words with other than a-z stay.

    >>> stem("decided"), stem("q4"), stem("насос")
    ('decid', 'q4', 'насос')
    """
    if word.isascii() and word.isalpha() and len(word) <= MAX_TOKEN_CHARS:
        return _stem(word)
    return word


def _odd_char(match: re.Match[str]) -> str:
    """Non-ASCII characters that are not letters: marks stay, symbols stand alone."""
    char = match.group()
    category = unicodedata.category(char)
    if category == "Cf" and char != "\u200b":
        return ""
    if category[0] == "M":
        return "" if "\ufe00" <= char <= "\ufe0f" or char == "\u20e3" else char
    return f" {char} " if category in {"So", "Sm", "Sc"} else " "


def _prepare(text: str) -> str:
    if text.isascii():
        return text
    plain = unicodedata.normalize("NFKC", text.translate(_APOSTROPHES)).translate(_HYPHENS)
    return _SPACELESS_RUN.sub(r" \1 ", _ODD.sub(_odd_char, plain))


def _spaceless(run: str) -> Iterator[_Piece]:
    """Bigrams, and the last character alone, so that any single character can be found."""
    for first, second in pairwise(run):
        yield _Piece(first + second, Column.WHOLE)
    yield _Piece(run[-1], Column.WHOLE, is_tail=len(run) > 1, prefix=len(run) == 1)


def _camel_parts(raw: str) -> list[str]:
    return [fold(part) for part in _CAMEL.split(raw) if len(part) > 1] if raw.isascii() else []


def _inner_parts(outer: str) -> list[str]:
    # The letter of "C++" and "C#" alone would find every other language named by a letter.
    return [] if _LETTER_SUFFIXED.fullmatch(outer) else _ANY_JOINT.split(outer)


def _parts(raw: str, whole: str) -> list[str]:
    """The distinct parts of an identifier, outer ones first; none that equals the whole."""
    parts: dict[str, None] = {}
    if version := _VERSION.fullmatch(whole):
        parts[version[1]] = None
    for outer in _OUTER_JOINT.split(raw):
        parts[fold(outer.strip("-_.'"))] = None
        for inner in _inner_parts(outer):
            folded = fold(inner)
            parts[folded] = None
            parts.update(dict.fromkeys(_camel_parts(inner)))
            if numbered := _WORD_NUMBER.fullmatch(folded):
                parts.update(dict.fromkeys(numbered.groups()))
    if "'" in whole:
        parts[whole.replace("'", "")] = None
    return [part for part in parts if part and part != whole][:MAX_PARTS]


def _prose(word: str, raw: str) -> Iterator[_Piece]:
    """The stem of a word of prose, unless it is a stop word."""
    if word.isascii() and word.isalpha() and not _is_stop(word, raw):
        yield _Piece(stem(word), Column.STEM)


def _is_stop(word: str, raw: str) -> bool:
    # "IT" and "US" in capitals are names.
    return word in STOP_WORDS and not (raw.isupper() and len(raw) > 1)


def _run_pieces(raw: str) -> Iterator[_Piece]:
    if raw[-2:] in {"'s", "'S"}:
        raw = raw[:-2]
    whole = fold(raw)
    if not whole:
        return
    yield _Piece(whole, Column.WHOLE, is_stop=_is_stop(whole, raw))
    yield from _prose(whole, raw)
    for part in _parts(raw, whole):
        yield _Piece(part, Column.SPLIT, is_stop=part in STOP_WORDS)
    if _PROSE_COMPOUND.fullmatch(whole):
        for part in _PROSE_JOINT.split(whole):
            yield from _prose(part, part)


def _scan(text: str) -> Iterator[_Piece]:
    for match in _RUN.finditer(_prepare(text)):
        run = match.group()
        if _SPACELESS_RUN.match(run):
            yield from _spaceless(fold(run))
        else:
            yield from _run_pieces(run)


def tokenize(text: str) -> Tokens:
    """The tokens of a text; never raises, whatever the string holds.

    >>> tokenize("OPS-2077 breaks src/store.ts").whole
    ('ops-2077', 'breaks', 'src/store.ts')
    >>> tokenize("P-17水泵已更换")
    Tokens(whole=('p-17', '水泵', '泵已', '已更', '更换', '换'), split=('p', '17'), stem=())
    """
    pieces = list(_scan(text))

    def column(name: Column) -> tuple[str, ...]:
        return tuple(piece.text for piece in pieces if piece.column is name)

    return Tokens(column(Column.WHOLE), column(Column.SPLIT), column(Column.STEM))


# A number or word is searched whole and as a part: "1042" finds "OPS-1042".
_SEARCHED_IN = {
    Column.WHOLE: (Column.WHOLE, Column.SPLIT),
    Column.SPLIT: (Column.WHOLE, Column.SPLIT),
    Column.STEM: (Column.STEM,),
}


def query_terms(text: str) -> tuple[Term, ...]:
    """The distinct terms of a question in order, at most ``MAX_QUERY_TERMS``; never raises.

    Stop words are dropped unless nothing else remains.

    >>> [term.text for term in query_terms("why is OPS-2077 open?")]
    ['ops-2077', 'ops', '2077', 'open', 'open']
    """
    # The tail of a run is indexed for searches of that one character; in a query it is noise.
    pieces = [piece for piece in _scan(text) if not piece.is_tail]
    kept = [piece for piece in pieces if not piece.is_stop] or pieces
    terms = (
        Term(piece.text, escape(piece.text), _SEARCHED_IN[piece.column], piece.prefix)
        for piece in kept
    )
    return tuple(dict.fromkeys(terms))[:MAX_QUERY_TERMS]


def _match_term(term: Term) -> str:
    star = " *" if term.prefix else ""
    return f'{{{" ".join(term.columns)}}} : "{term.token}"{star}'


def match_expression(terms: Iterable[Term]) -> str:
    """An FTS5 MATCH string that finds rows with any of the terms; "" for no terms.

    >>> match_expression(query_terms("C#"))
    '{whole split} : "cz23z"'
    """
    return " OR ".join(map(_match_term, terms))
