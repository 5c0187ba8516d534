"""Bounds of replies: whole items are dropped from the end until a reply fits its budget."""

from __future__ import annotations

from typing import TypeVar

from graphmem.model.results import Answer, CausalResult, GetResult, KgResult, Result

# One token is about four characters of English text (OpenAI's rule of thumb); JSON is denser.
CHARS_PER_TOKEN = 4
# Largest reply of any tool: below the 10,000 tokens at which clients warn or cut (BR-37).
MAX_REPLY_TOKENS = 8_000

R = TypeVar("R", bound=Result)


def size(result: Result) -> int:
    """A reply's size in estimated tokens."""
    return len(result.model_dump_json()) // CHARS_PER_TOKEN


def bounded(result: R, max_tokens: int = MAX_REPLY_TOKENS) -> R:
    """The reply, or as much of it as fits, with ``truncated`` set when something was dropped."""
    current: Result = result
    while size(current) > max_tokens:
        smaller = _shorter(current)
        if smaller is None:
            break
        current = smaller
    return current  # type: ignore[return-value]


def _half(items: tuple[object, ...]) -> int:
    return len(items) * 3 // 4 if len(items) > 3 else len(items) - 1


def _shorter(result: Result) -> Result | None:
    """The reply with its longest list cut by a quarter, or None when nothing is left to cut."""
    match result:
        case Answer(hits=hits) if len(hits) > 1:
            return result.model_copy(update={"hits": hits[: _half(hits)], "truncated": True})
        case Answer(chain=chain) if chain:
            return result.model_copy(update={"chain": chain[: _half(chain)], "truncated": True})
        case CausalResult(edges=edges) if edges:
            return result.model_copy(update={"edges": edges[: _half(edges)], "truncated": True})
        case KgResult():
            return _shorter_kg(result)
        case GetResult():
            return _shorter_get(result)
        case _:
            return None


def _shorter_kg(result: KgResult) -> KgResult | None:
    longest = max(result.entities, key=lambda e: len(e.facts), default=None)
    if longest is None or not longest.facts:
        return None
    cut = longest.model_copy(update={"facts": longest.facts[: _half(longest.facts)]})
    entities = tuple(cut if e is longest else e for e in result.entities)
    return result.model_copy(update={"entities": entities, "truncated": True})


def _shorter_get(result: GetResult) -> GetResult | None:
    longest = max(result.items, key=lambda i: len(i.text) + len(str(i.data)), default=None)
    if longest is None or (len(longest.text) < 2 and not longest.data):
        return None
    text = longest.text[: len(longest.text) // 2]
    cut = longest.model_copy(update={"text": text, "data": {}})
    items = tuple(cut if i is longest else i for i in result.items)
    return result.model_copy(update={"items": items, "truncated": True})
