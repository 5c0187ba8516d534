"""No caller waits for the embedding model or for passages without a vector (BR-31)."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import graphmem
from graphmem.embed import Embedder
from graphmem.memory import LOADING, MAX_WAITING_VECTORS, Memory
from graphmem.serve.background import Background
from graphmem.serve.owner import OwnedMemory
from graphmem.serve.writes import WriteQueue
from graphmem.settings import Settings
from tests.serve.conftest import wait_for
from tests.serve.test_stdio import Peer, call, hello, request

QUESTION = "why did we drop LanceDB?"
# A quarter of the public case: the passages take minutes to make, the behaviour is the same.
BACKLOG = 5_000


class SlowModel(OwnedMemory):
    """An owner's memory whose model comes from a slow disk."""

    queue: WriteQueue
    arrived: threading.Event


@pytest.fixture
def owned(monkeypatch: pytest.MonkeyPatch) -> Iterator[SlowModel]:
    memory = SlowModel(None, Settings(engine="memory", embedder="hashing"))
    memory.queue, memory.arrived = WriteQueue(), threading.Event()
    load = memory.engine._load_embedder

    def slowly() -> Embedder | None:
        memory.arrived.wait()
        return load()

    monkeypatch.setattr(memory.engine, "_load_embedder", slowly)
    with memory:
        yield memory


def test_searches_and_notes_go_on_while_the_model_loads_and_say_so(
    owned: SlowModel, tmp_path: Path
) -> None:
    background = Background(owned, tmp_path, owned.queue)
    background.start()
    owned.remember("We dropped LanceDB because its index was lost twice.")
    answer = owned.search(QUESTION)
    assert answer.supported and answer.note == LOADING
    assert LOADING in str(answer) and LOADING in owned.status().warnings
    assert owned.find_causal_links(QUESTION).edges
    owned.arrived.set()
    wait_for(lambda: owned.status().vectors > 0)
    later = owned.search(QUESTION)
    assert (later.note, later.vectors_pending) == ("", 0)
    assert LOADING not in owned.status().warnings
    background.stop()


def test_a_note_does_not_wait_for_a_backlog_which_is_embedded_beside_it(
    owned: SlowModel, tmp_path: Path
) -> None:
    for number in range(MAX_WAITING_VECTORS + 6):
        owned.remember(f"Pump {number} moved to bay {number}.")
    owned.arrived.set()
    owned.warm()
    waiting = owned.search(QUESTION).vectors_pending
    assert waiting > MAX_WAITING_VECTORS
    owned.remember("One more pump moved.")
    assert owned.search(QUESTION).vectors_pending == waiting + 1
    background = Background(owned, tmp_path, owned.queue)
    background.start()
    wait_for(lambda: owned.search(QUESTION).vectors_pending == 0)
    owned.remember("Yet one more pump moved.")  # few wait: embedded at once
    assert owned.search(QUESTION).vectors_pending == 0
    background.stop()


def backlog(folder: Path, count: int) -> Path:
    """A vault with so many passages and no vector."""
    notes, vault = folder / "notes", folder / "vault"
    notes.mkdir()
    for part in range(count // 500):
        lines = [f"## Pump {part}-{n}\n\nPump {part}-{n} moved to bay {n}.\n" for n in range(500)]
        (notes / f"{part}.md").write_text("\n".join(lines))
    with Memory(vault, Settings(embedder="none")) as memory:
        memory.ingest(notes)
    return vault


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_a_handshake_and_every_tool_are_answered_before_a_backlog_is_embedded(
    tmp_path: Path,
) -> None:
    vault = backlog(tmp_path, BACKLOG)
    times: dict[str, float] = {}
    begun = time.monotonic()
    peer = Peer(vault, GRAPHMEM_EMBEDDER="minilm")

    def timed(message: dict[str, Any], name: str) -> dict[str, Any]:
        start = time.monotonic()
        reply = peer.ask(message)
        times[name] = time.monotonic() - start
        assert not reply["result"].get("isError"), reply
        return dict(reply["result"])

    timed(hello(), "initialize")
    assert len(timed(request(1, "tools/list"), "tools/list")["tools"]) == 5
    shaken = time.monotonic() - begun
    arguments = {"kg_query": {"name": "Pump 1-1"}, "get": {"ids": ["psg:1"]}}
    arguments |= {"intent_search": {"question": "Where is Pump 1-1?"}}
    arguments |= {"find_causal_links": {"start": "Pump 1-1"}, "remember": {"text": "It moved."}}
    for number, (tool, given) in enumerate(arguments.items(), 2):
        result = timed(call(number, tool, **given), tool)
        if tool == "intent_search":
            answer = result["structuredContent"]
            assert answer.get("note") or answer["vectors_pending"] > 0
    peer.close()
    with graphmem.open(vault, mode="client") as memory:
        pending = memory.status().vectors_pending
    bare = [sys.executable, "-c", "pass"]
    start = time.monotonic()
    subprocess.run(bare, check=True)
    told = json.dumps({name: round(took, 2) for name, took in times.items()})
    print(
        f"{BACKLOG} passages, {pending} still without vector; handshake {shaken:.2f} s "
        f"(bare Python {time.monotonic() - start:.2f} s); seconds per call: {told}"
    )
    assert pending > BACKLOG // 2, "every call was answered long before the vectors were there"
