"""Cuts an answer to a token budget by whole hits, never by halves of a quote."""

from __future__ import annotations

from collections.abc import Sequence

from graphmem.model.results import Hit

# Characters per token of English text in common tokenizers; a budget is no promise to the token.
CHARS_PER_TOKEN = 4
# What a hit costs beside its texts: ids, spans, ranks, in characters.
OVERHEAD_CHARS = 200


def tokens_of(text: str) -> int:
    """About how many tokens a text takes.

    >>> tokens_of("12345678")
    2
    """
    return -(-len(text) // CHARS_PER_TOKEN)


def cost(hit: Hit) -> int:
    """About how many tokens a hit takes in a reply."""
    steps = sum(len(s.source_text) + len(s.target_text) + len(s.quote) for s in hit.path)
    chars = len(hit.text) + len(hit.quote) + steps + OVERHEAD_CHARS
    return -(-chars // CHARS_PER_TOKEN)


def pack(hits: Sequence[Hit], max_tokens: int) -> tuple[tuple[Hit, ...], bool]:
    """The first hits that fit the budget, and whether anything was left out.

    A hit that does not fit whole is given with its quote alone; the first hit always is.
    """
    kept: list[Hit] = []
    left, truncated = max_tokens, False
    for hit in hits:
        brief = hit.model_copy(update={"text": hit.quote})
        if cost(hit) <= left:
            chosen = hit
        elif cost(brief) <= left or not kept:
            chosen, truncated = brief, True
        else:
            return tuple(kept), True
        kept.append(chosen)
        left -= cost(chosen)
    return tuple(kept), truncated
