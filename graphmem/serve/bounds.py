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
    """Drops facts from the end, so that the cursor of the last one kept gives the rest."""
    last = next((each for each in reversed(result.entities) if each.facts), None)
    if last is None or sum(len(each.facts) for each in result.entities) < 2:
        return _without_aliases(result)
    cut = last.model_copy(update={"facts": last.facts[: _half(last.facts)]})
    entities = tuple(cut if each is last else each for each in result.entities)
    kept = next((each.facts[-1].id for each in reversed(entities) if each.facts), "")
    return result.model_copy(update={"entities": entities, "truncated": True, "cursor": kept})


def _without_aliases(result: KgResult) -> KgResult | None:
    """The reply without the spellings of its entities; one name may have thousands."""
    if not any(each.aliases for each in result.entities):
        return None
    bare = tuple(each.model_copy(update={"aliases": ()}) for each in result.entities)
    return result.model_copy(update={"entities": bare, "truncated": True})


def _shorter_get(result: GetResult) -> GetResult | None:
    longest = max(result.items, key=lambda i: len(i.text) + len(str(i.data)), default=None)
    if longest is None or (len(longest.text) < 2 and not longest.data):
        return None
    text = longest.text[: len(longest.text) // 2]
    cut = longest.model_copy(update={"text": text, "data": {}})
    items = tuple(cut if i is longest else i for i in result.items)
    return result.model_copy(update={"items": items, "truncated": True})
