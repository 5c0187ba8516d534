"""A small vault that keeps every invariant: two entities merged, a fact, a cause, hidden text."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from graphmem.embed import EmbedderIdentity
from graphmem.model.items import (
    Entity,
    EntityObject,
    Evidence,
    Fact,
    Link,
    Mention,
    Passage,
    PassageBundle,
    SameAs,
    Statement,
)
from graphmem.model.operations import (
    AddEvidence,
    Operation,
    PutEntity,
    PutFact,
    PutLink,
    PutPassage,
    PutSource,
    RedirectEntity,
)
from graphmem.store import VaultStore, open_store
from graphmem.vocabulary import LinkKind, StateKind, StatementKind
from tests.store.conftest import ticking
from tests.store.graph.world import START, source, state
from tests.store.told import ACTOR

TEXT = "Pump 7 uses oil because it ran dry."
RULES = {"extractor": "rules", "revision": 1}
HIDDEN = "psg:9"
TINY = EmbedderIdentity(name="tiny", dimension=2, canary="c")


def passage(number: int, text: str) -> Passage:
    return Passage(id=f"psg:{number}", source_id="src:0", text=text, text_hash=str(number))


def statement(number: int, start: int, end: int) -> Statement:
    kind = StatementKind.FACT
    return Statement(
        id=f"stm:{number}", passage_id="psg:0", kind=kind, start=start, end=end, **RULES
    )


def mention(number: int, entity_id: str, surface: str) -> Mention:
    start = TEXT.index(surface)
    return Mention(
        id=f"mnt:{number}",
        passage_id="psg:0",
        entity_id=entity_id,
        surface=surface,
        start=start,
        end=start + len(surface),
        extractor="rules",
    )


def evidence(number: int = 0, quote: str = "Pump 7 uses oil") -> Evidence:
    return Evidence(
        id=f"evd:{number}",
        fact_id="fct:0",
        passage_id="psg:0",
        statement_id="stm:0",
        quote=quote,
        start=0,
        end=15,
        **RULES,
    )


def fact(number: int = 0) -> Fact:
    return Fact(
        id=f"fct:{number}",
        subject_id="tool:pump-7",
        predicate="uses",
        object=EntityObject(entity_id="tool:oil", surface="oil"),
    )


def entity(slug: str, name: str) -> Entity:
    return Entity(id=f"tool:{slug}", name=name, name_key=name.lower())


def operations() -> list[Operation]:
    bundle = PassageBundle(
        passage=passage(0, TEXT),
        statements=(statement(0, 0, 15), statement(1, 24, 34)),
        mentions=(mention(0, "tool:pump-7", "Pump 7"), mention(1, "tool:oil", "oil")),
    )
    cause = Link(
        id="lnk:0",
        kind=LinkKind.CAUSES,
        source_id="stm:1",
        target_id="stm:0",
        passage_id="psg:0",
        quote="because",
        start=16,
        end=23,
        **RULES,
    )
    names = [("pump-7", "Pump 7"), ("oil", "Oil"), ("pump-7-old", "Old Pump 7")]
    merge = SameAs(loser_id="tool:pump-7-old", survivor_id="tool:pump-7", reason="same key")
    return [
        PutSource(after=source(0)),
        *(PutEntity(after=entity(slug, name)) for slug, name in [*names, ("pump-8", "Pump 8")]),
        PutPassage(after=bundle),
        PutPassage(after=PassageBundle(passage=passage(9, "A hidden word: xyzzy."))),
        PutFact(after=fact()),
        AddEvidence(after=evidence()),
        PutLink(after=cause),
        RedirectEntity(after=merge),
        state(HIDDEN, StateKind.ARCHIVED, START, None),
    ]


def sound(path: Path | None, graph: str = "kuzu") -> VaultStore:
    """The open vault; its one visible passage has a vector."""
    store = open_store(path, create=True, graph=graph, clock=ticking())
    store.writer.commit(operations(), actor=ACTOR)
    store.bind_embedder(TINY)
    [(key, _)] = store.vector_writer.pending(9)
    store.vector_writer.store([key], np.eye(2, dtype=np.float32)[:1])
    return store
