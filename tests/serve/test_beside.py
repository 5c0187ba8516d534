"""A program that has the vault open serves the others, and opens it twice itself (BR-24, BR-27)."""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

import graphmem
from graphmem.errors import UsageError, VaultError, VaultLockedError
from graphmem.ingest import remember
from graphmem.model.extraction import Extraction, PassageInput
from graphmem.serve import control
from graphmem.serve.remote import RemoteMemory
from graphmem.serve.runtime import Alone, read_holder, socket_path
from graphmem.settings import read_settings
from graphmem.store import open_store
from tests.ingest.plain_extractor import PlainExtractor
from tests.serve.conftest import wait_for

HOLDER = (
    "import sys, graphmem; m = graphmem.open(sys.argv[1]); m.remember('Orion moved.');"
    "print(1, flush=True); input(); {end}"
)


@contextmanager
def notebook(vault: Path, end: str = "m.close()") -> Iterator[subprocess.Popen[str]]:
    """Another process that has the vault open, embedded, until a line comes."""
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER.format(end=end), str(vault)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None and process.stdout.readline() == "1\n"
        try:
            yield process
        finally:
            _, said = process.communicate("\n", timeout=60)
            assert process.returncode == 0 and not said, said


@pytest.mark.parametrize("end", ["m.close()", "pass"])
def test_a_notebook_that_has_the_vault_open_serves_the_others(vault: Path, end: str) -> None:
    with notebook(vault, end) as other:
        holder = read_holder(vault)
        assert holder is not None and (holder.pid, holder.role) == (other.pid, "shared")
        with graphmem.open(vault) as memory:
            assert isinstance(memory, RemoteMemory)
            assert memory.remember("Basalt came.", facts=["Orion|uses|Basalt"]).items
            assert memory.status().counts["source"] == 2
        command = [sys.executable, "-m", "graphmem", "kg", "Orion", "--vault", str(vault)]
        shown = subprocess.run(command, capture_output=True, text=True, check=True)
        assert "Basalt" in shown.stdout
        with pytest.raises(VaultLockedError) as caught:
            graphmem.open(vault, mode="embedded")
        assert caught.value.pid == other.pid
        with pytest.raises(UsageError, match=f"process {other.pid} is no owner"):
            control.stop(vault)
    assert not socket_path(vault).exists()
    with graphmem.open(vault, mode="embedded") as memory:
        assert memory.status().counts["source"] == 2


def test_a_client_goes_on_when_the_notebook_leaves(vault: Path) -> None:
    with notebook(vault):
        memory = RemoteMemory(vault, read_settings())
        memory.remember("One.")
    memory.remember("Two.")
    assert memory.status().counts["source"] == 3


def test_a_vault_open_here_is_opened_again_and_counted(vault: Path) -> None:
    first = graphmem.open(vault)
    for mode in ("auto", "embedded"):
        with graphmem.open(vault, mode=mode) as second:  # type: ignore[arg-type]
            second.remember(f"By {mode}.")
            assert first.status().counts["source"] == second.status().counts["source"]
        second.close()
        with pytest.raises(VaultError, match="closed"):
            second.status()
    assert first.status().counts["source"] == 2
    first.close()
    assert read_holder(vault) is None
    with graphmem.open(vault) as third:
        assert third.status().counts["source"] == 2


def test_many_threads_open_one_new_vault(vault: Path) -> None:
    opened: list[object] = []

    def work(n: int) -> None:
        with graphmem.open(vault) as memory:
            memory.remember(f"Note {n} is here.")
            opened.append(memory)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(opened) == 6
    with graphmem.open(vault) as memory:
        assert memory.status().counts["source"] == 6


def _in_a_fork(memory: graphmem.Memory, answers: multiprocessing.Queue[str]) -> None:
    try:
        memory.status()
    except VaultError as error:
        answers.put(str(error))
    memory.close()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_process_leaves_the_parents_vault_alone(vault: Path) -> None:
    context = multiprocessing.get_context("fork")
    memory = graphmem.open(vault, mode="embedded")
    answers: multiprocessing.Queue[str] = context.Queue()
    child = context.Process(target=_in_a_fork, args=(memory, answers))
    child.start()
    assert "fork" in answers.get(timeout=30)
    child.join(30)
    memory.remember("Still here.")
    memory.close()
    with graphmem.open(vault, mode="embedded") as again:
        assert again.status().counts["source"] == 1


def test_the_async_form_gives_the_same(vault: Path, notes: Path) -> None:
    async def session() -> graphmem.Answer:
        async with await graphmem.open_async(vault) as memory:
            await memory.ingest(notes)
            found = await asyncio.gather(*(memory.search("why did the seal crack?"),) * 3)
            assert len(await memory.dump()) > 3
            return found[0]

    answer = asyncio.run(session())
    with graphmem.open(vault) as memory:
        assert memory.search("why did the seal crack?") == answer


CELLS = {
    "sync": (
        "import graphmem\n"
        "memory = graphmem.open({path!r})\n"
        "memory.remember('Orion moved.', facts=['Orion|uses|Basalt'])\n"
        "print(memory.kg_query('Orion').entities[0].facts[0].object)"
    ),
    "async": (
        "import graphmem\n"
        "memory = await graphmem.open_async({path!r})\n"
        "await memory.remember('Orion moved.', facts=['Orion|uses|Basalt'])\n"
        "print((await memory.kg_query('Orion')).entities[0].facts[0].object)"
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("form", CELLS)
@pytest.mark.filterwarnings("ignore")
def test_a_cell_of_a_notebook_runs_twice(vault: Path, form: str) -> None:
    cells = [nbformat.v4.new_code_cell(CELLS[form].format(path=str(vault))) for _ in range(2)]
    book = nbformat.v4.new_notebook(cells=cells)
    NotebookClient(book, timeout=120, kernel_name="python3").execute()
    said = [cell.outputs[-1].text for cell in book.cells]
    print(f"{form}: {said}")
    assert said == ["Basalt\n", "Basalt\n"]
    with graphmem.open(vault) as memory:  # the kernel is gone and left nothing locked
        assert memory.status().counts["source"] == 1


class Sleeper(PlainExtractor):
    """A model that thinks until it is told to go on."""

    def __init__(self) -> None:
        super().__init__()
        self.begun, self.go_on = threading.Event(), threading.Event()

    def extract(self, passages: list[PassageInput]) -> list[Extraction]:  # type: ignore[override]
        self.begun.set()
        assert self.go_on.wait(30)
        return super().extract(passages)


def test_a_model_that_thinks_keeps_nobody_from_writing() -> None:
    store, lock, slow = open_store(None, create=True), threading.RLock(), Sleeper()
    from datetime import UTC, datetime

    def say(text: str, extractor: PlainExtractor) -> None:
        remember(store, text, extractor=extractor, clock=lambda: datetime.now(UTC), lock=lock)

    thinking = threading.Thread(target=say, args=("A slow one.", slow))
    thinking.start()
    assert slow.begun.wait(30)
    say("A quick one.", PlainExtractor())
    assert thinking.is_alive()
    assert len(store.view().source_list()) == 1
    slow.go_on.set()
    thinking.join()
    assert len(store.view().source_list()) == 2
    store.close()


def test_a_small_note_does_not_wait_for_an_ingest(vault: Path, tmp_path: Path) -> None:
    folder = tmp_path / "many"
    folder.mkdir()
    for n in range(900):
        (folder / f"n{n}.md").write_text(f"Seal {n} cracked because coolant {n} ran dry.\n")
    with graphmem.open(vault, mode="embedded") as memory:
        memory.remember("The models are loaded.")
        started = threading.Event()
        running = threading.Thread(
            target=memory.ingest, args=(folder,), kwargs={"progress": lambda _: started.set()}
        )
        begun = time.monotonic()
        running.start()
        assert started.wait(60)
        memory.remember("Orion moved.")
        assert running.is_alive(), f"the ingest took only {time.monotonic() - begun:.2f} s"
        running.join()
        assert memory.status().counts["source"] == 902


def test_the_wait_for_a_holder_begins_anew_when_another_one_has_the_vault(tmp_path: Path) -> None:
    alone = Alone(tmp_path)

    def held_by(pid: int, role: str) -> None:
        (tmp_path / "owner.json").write_text(json.dumps({"pid": pid, "role": role}))

    held_by(1, "embedded")
    assert alone.seconds() == 0.0
    time.sleep(0.02)
    assert alone.seconds() >= 0.02
    held_by(2, "embedded")
    assert alone.seconds() == 0.0
    time.sleep(0.02)
    held_by(2, "shared")
    assert alone.seconds() == 0.0
    (tmp_path / "owner.json").unlink()
    assert alone.seconds() == 0.0
    time.sleep(0.02)
    assert alone.seconds() >= 0.02


def test_two_short_commands_at_once_both_succeed(vault: Path) -> None:
    command = [sys.executable, "-m", "graphmem", "remember", "--vault", str(vault)]
    running = [
        subprocess.Popen([*command, f"Note {n} is here."], stderr=subprocess.PIPE, text=True)
        for n in range(3)
    ]
    for process in running:
        _, said = process.communicate(timeout=120)
        assert process.returncode == 0, said
    wait_for(lambda: not (vault / "owner.json").exists() or read_holder(vault) is not None)
    with graphmem.open(vault) as memory:
        assert memory.status().counts["source"] == 3
