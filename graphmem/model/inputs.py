"""What callers hand to ingest and remember: stated facts and causes, and the progress callback."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime

from graphmem.errors import InvalidInputError
from graphmem.vocabulary import LinkKind, Polarity


@dataclass(frozen=True, slots=True)
class FactInput:
    """A fact a caller states; times in UTC, only where the caller knows them."""

    subject: str
    predicate: str
    object: str
    polarity: Polarity = Polarity.POSITIVE
    valid_from: datetime | None = None
    valid_to: datetime | None = None

    @classmethod
    def parse(cls, text: str) -> FactInput:
        """The fact in ``subject|predicate|object``; raises InvalidInputError on another form.

        >>> FactInput.parse("Orion | not runs on | Basalt").polarity.value
        'negative'
        """
        parts = [part.strip() for part in text.split("|")]
        if len(parts) != 3 or not all(parts):
            raise InvalidInputError(f"a fact is written subject|predicate|object, not {text!r}")
        subject, predicate, target = parts
        positive = predicate.removeprefix("not ").strip()
        polarity = Polarity.POSITIVE if positive == predicate else Polarity.NEGATIVE
        return cls(subject, positive, target, polarity)


@dataclass(frozen=True, slots=True)
class CauseInput:
    """A cause a caller states, in words: what led to what."""

    cause: str
    effect: str
    kind: LinkKind = LinkKind.CAUSES


@dataclass(frozen=True, slots=True)
class ProgressEvent:
    """How far an ingest is: files done of all, passages stored so far, seconds since the start."""

    done: int
    total: int
    passages: int
    seconds: float


Progress = Callable[[ProgressEvent], None]


def check_text(field: str, texts: Iterable[str | None]) -> None:
    """Raises InvalidInputError that names the field when a text is no valid Unicode.

    A lone surrogate is half a character, made by cutting a text in the middle of one or by decoding
    it wrongly; it can be neither encoded nor stored.
    """
    for text in texts:
        if text is not None and without_surrogates(text) != text:
            raise InvalidInputError(
                f"{field} is no valid Unicode: it holds half a character (a lone surrogate)"
            )


def without_surrogates(text: str) -> str:
    """The text with lone surrogates replaced, so that it can be encoded.

    >>> without_surrogates("why \\ud800")
    'why ?'
    """
    return text.encode("utf-8", "replace").decode("utf-8")
