"""Valid commits for an open store, random and small ones."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from random import Random

from graphmem.errors import InvalidInputError
from graphmem.model.items import Passage, PassageBundle
from graphmem.model.operations import AddEvidence, Operation, PutFact, PutPassage, PutSource
from graphmem.store import VaultStore
from graphmem.text import match_expression, query_terms
from tests.store.graph.world import World, evidence, source

ACTOR = "test"


class BackedWorld(World):
    """A world in which every new fact comes with evidence and no fact ever loses its last."""

    def tell_fact(self) -> list[Operation]:
        held = deepcopy(self)
        told = super().tell_fact()
        made_now = next((op.after for op in told if isinstance(op, PutFact)), None)
        if made_now is None:
            return told
        home = self.pick(self.bundles)
        key = made_now.id
        if any(item.fact_id == key for item in self.evidence.values()):
            return told
        number = 10 + len(self.evidence)
        if home is None or f"evd:{number}" in self.evidence:
            return self._back_to(held)
        made = evidence(number, key, None, home)
        self.evidence[made.id] = made
        return [*told, AddEvidence(after=made)]

    def tell_evidence(self) -> list[Operation]:
        held = deepcopy(self)
        told = super().tell_evidence()
        proven = {item.fact_id for item in self.evidence.values()}
        return told if set(self.facts) <= proven else self._back_to(held)

    def _back_to(self, held: World) -> list[Operation]:
        self.facts, self.evidence = held.facts, held.evidence
        return []


def commits(seed: int, steps: int) -> Iterator[list[Operation]]:
    """Batches of one to three steps, each valid after the ones before."""
    chance = Random(seed)
    world = BackedWorld(chance)
    for _ in range(steps):
        batch = [op for _ in range(chance.randint(1, 3)) for op in world.step()]
        if batch:
            yield batch


def tell(store: VaultStore, seed: int, steps: int) -> list[list[Operation]]:
    """Commits a random history; gives the batches the store took.

    A batch the store refuses ends the history, for the world has gone on without it.
    """
    taken = []
    for batch in commits(seed, steps):
        try:
            store.writer.commit(batch, actor=ACTOR)
        except InvalidInputError:
            break
        taken.append(batch)
    return taken


def passage(number: int, text: str, source_id: str = "src:0", **more: object) -> PassageBundle:
    """A bundle without statements or mentions."""
    fields = {"text": text, "text_hash": str(number), "source_id": source_id, **more}
    return PassageBundle(passage=Passage.model_validate({"id": f"psg:{number}", **fields}))


def put_notes(store: VaultStore, *texts: str) -> None:
    """One source with a passage per text: ``psg:0``, ``psg:1``, …"""
    bundles = [passage(number, text) for number, text in enumerate(texts)]
    operations: list[Operation] = [PutSource(after=source(0))]
    operations += [PutPassage(after=bundle) for bundle in bundles]
    store.writer.commit(operations, actor=ACTOR)


def matching(words: str) -> str:
    """The full-text expression of a question."""
    return match_expression(query_terms(words))
