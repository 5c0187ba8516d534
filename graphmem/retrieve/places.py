"""Where things stand: spans and readable texts for items of a view."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from graphmem.model.items import Passage, Source
from graphmem.model.results import Span
from graphmem.model.scope import Scope
from graphmem.store.protocols import View


@dataclass(frozen=True, slots=True)
class Places:
    """Passages of one read with their sources."""

    passages: Mapping[str, Passage]
    sources: Mapping[str, Source]

    def span(self, passage_id: str, start: int, end: int) -> Span | None:
        """The place of an offset span; None for a passage that may not be seen.

        ``line`` counts from 1 in the file, when the source knows where the passage stands.
        """
        passage = self.passages.get(passage_id)
        source = self.sources.get(passage.source_id) if passage is not None else None
        if passage is None or source is None:
            return None
        ref = next((ref for ref in source.layout if ref.passage_id == passage_id), None)
        line = ref.line + passage.text.count("\n", 0, start) if ref is not None else None
        return Span(
            source_id=source.id,
            uri=source.uri,
            title=source.title,
            passage_id=passage_id,
            start=start,
            end=end,
            line=line,
        )


def places(view: View, passage_ids: Iterable[str], scope: Scope) -> Places:
    """The visible passages of the ids with their sources."""
    passages = view.passages(dict.fromkeys(passage_ids), scope)
    sources = view.sources({passage.source_id for passage in passages.values()}, scope)
    return Places(passages, sources)
