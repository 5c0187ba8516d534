"""The life of an owner process, with real processes on real vaults (BR-24, BR-25)."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import graphmem
from graphmem.errors import OwnerVersionError, VaultLockedError
from graphmem.model.inputs import ProgressEvent
from graphmem.serve.remote import RemoteMemory
from graphmem.serve.runtime import MAX_SOCKET_BYTES, OWNER_FILE, read_holder, socket_path
from graphmem.serve.start import find_owner, older
from graphmem.settings import read_settings
from tests.serve.conftest import Start, alive, harness, owner_of, wait_for

# Files of an ingest that is stored in more than one commit (300 passages each).
MANY = 650


def cli(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "graphmem", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


def test_a_command_beside_a_client_is_served_by_the_owner(vault: Path) -> None:
    with graphmem.open(vault, mode="client") as memory:
        pid = owner_of(vault).pid
        told = cli("remember", "Orion moved.", "--fact", "Orion|uses|Basalt", "--vault", str(vault))
        assert told.returncode == 0, told.stderr
        assert memory.kg_query("Orion").entities[0].facts[0].object == "Basalt"
        shown = cli("kg", "Orion", "--json", "--vault", str(vault))
        assert json.loads(shown.stdout)["entities"][0]["name"] == "Orion"
        assert owner_of(vault).pid == pid != os.getpid()


def test_auto_embeds_a_free_vault_and_is_a_client_of_a_served_one(vault: Path) -> None:
    with graphmem.open(vault) as memory:
        assert isinstance(memory, graphmem.Memory)
    with graphmem.open(vault, mode="client"), graphmem.open(vault) as second:
        assert isinstance(second, RemoteMemory)
        with pytest.raises(VaultLockedError) as caught:
            graphmem.open(vault, mode="embedded")
        assert caught.value.pid == owner_of(vault).pid


@pytest.mark.slow
def test_a_vault_kept_by_another_program_is_refused_with_its_pid(vault: Path) -> None:
    script = (
        "import sys, graphmem; m = graphmem.open(sys.argv[1], mode='embedded');"
        "print(1, flush=True); input()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script, str(vault)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as notebook:
        assert notebook.stdout is not None and notebook.stdout.readline() == "1\n"
        for mode in ("auto", "client"):
            with pytest.raises(VaultLockedError, match=str(notebook.pid)) as caught:
                graphmem.open(vault, mode=mode)  # type: ignore[arg-type]
            assert caught.value.pid == notebook.pid
        assert cli("status", "--vault", str(vault)).returncode == 3
        notebook.communicate("\n")
    with graphmem.open(vault, mode="client") as memory:
        assert memory.status().seq == 0


def test_a_command_that_holds_the_vault_for_a_moment_is_waited_for(vault: Path) -> None:
    held = graphmem.open(vault, mode="embedded")
    opened: list[int] = []

    def other() -> None:
        script = "import sys, graphmem; graphmem.open(sys.argv[1]).close()"
        opened.append(
            subprocess.run([sys.executable, "-c", script, str(vault)], check=False).returncode
        )

    waiting = threading.Thread(target=other)
    waiting.start()
    time.sleep(1.2)
    held.close()
    waiting.join()
    assert opened == [0]


def test_a_killed_owner_is_replaced_and_nothing_acknowledged_is_lost(vault: Path) -> None:
    with graphmem.open(vault, mode="client") as memory:
        memory.remember("Orion moved.", facts=["Orion|uses|Basalt"])
        first = owner_of(vault).pid
        os.kill(first, signal.SIGKILL)
        wait_for(lambda: not alive(first))
        assert memory.kg_query("Orion").entities[0].facts[0].object == "Basalt"
        assert owner_of(vault).pid != first
        assert memory.remember("It cracked.").passage_ids


@pytest.mark.slow
def test_an_owner_killed_in_the_middle_of_a_write_stores_it_once(
    vault: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "many"
    folder.mkdir()
    for n in range(MANY):
        (folder / f"n{n}.md").write_text(f"Seal {n} cracked because coolant {n} ran dry.\n")
    killed: list[int] = []

    def kill_once(event: ProgressEvent) -> None:
        if not killed and event.passages:
            assert event.done < event.total
            killed.append(owner_of(vault).pid)
            os.kill(killed[0], signal.SIGKILL)

    with graphmem.open(vault, mode="client") as memory:
        report = memory.ingest(folder, progress=kill_once)
        assert killed and owner_of(vault).pid != killed[0]
        assert report.changed == MANY  # also what was stored before the kill
        assert memory.status().counts["source"] == MANY
        assert memory.ingest(folder).unchanged == MANY


def test_two_that_start_at_once_share_one_owner(vault: Path) -> None:
    script = (
        "import sys, graphmem; m = graphmem.open(sys.argv[1], mode='client');"
        "m.remember('Note ' + sys.argv[2] + ' is here.'); print(m.status().path)"
    )
    command = [sys.executable, "-c", script, str(vault)]
    starters = [
        subprocess.Popen([*command, str(n)], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        for n in range(4)
    ]
    for starter in starters:
        _, said = starter.communicate(timeout=120)
        assert starter.returncode == 0, said
    with graphmem.open(vault, mode="client") as memory:
        assert memory.status().counts["source"] == 4
    pid = owner_of(vault).pid
    others = [
        int(entry.name)
        for entry in Path("/proc").iterdir()
        if entry.name.isdigit()
        and str(vault).encode() in _command_line(entry)
        and b"--foreground" in _command_line(entry)
        and alive(int(entry.name))
    ]
    assert others == [pid]


def _command_line(entry: Path) -> bytes:
    try:
        return (entry / "cmdline").read_bytes()
    except OSError:
        return b""


def test_many_writes_and_reads_at_once_all_succeed(vault: Path) -> None:
    with graphmem.open(vault, mode="client") as memory, ThreadPoolExecutor(25) as pool:
        writes = [
            pool.submit(memory.remember, f"Pump {n} moved.", facts=[f"Pump {n}|is in|Bay {n}"])
            for n in range(20)
        ]
        reads = [pool.submit(memory.kg_query, "Pump 1") for _ in range(5)]
        assert all(item.outcome == "stored" for w in writes for item in w.result().items)
        assert len([read.result() for read in reads]) == 5
        assert memory.status().counts["fact"] == 20


@pytest.mark.slow
def test_reads_do_not_wait_for_a_long_write(vault: Path, tmp_path: Path) -> None:
    folder = tmp_path / "many"
    folder.mkdir()
    for n in range(300):
        (folder / f"n{n}.md").write_text(f"The seal {n} cracked because coolant {n} ran dry.\n" * 5)
    with graphmem.open(vault, mode="client") as memory:
        memory.search("why did it crack?")  # models are loaded
        running = threading.Thread(target=memory.ingest, args=(folder,))
        begun = time.monotonic()
        running.start()
        slowest, count = 0.0, 0
        while running.is_alive():
            before = time.monotonic()
            memory.kg_query("Seal 1")
            slowest, count = max(slowest, time.monotonic() - before), count + 1
        whole = time.monotonic() - begun
    assert count > 3
    assert slowest < whole / 2, f"a read took {slowest:.2f} of {whole:.2f} s"


def test_an_owner_leaves_when_nobody_comes(serve: Start, vault: Path) -> None:
    process = serve("--idle-exit", "1.5s")
    path = socket_path(vault)
    assert path.exists()
    assert process.wait(timeout=30) == 0
    assert not path.exists()
    assert not (vault / OWNER_FILE).exists()
    with graphmem.open(vault) as memory:
        assert isinstance(memory, graphmem.Memory)


def test_an_owner_leaves_when_its_vault_is_deleted(serve: Start, vault: Path) -> None:
    import shutil

    process = serve()
    shutil.rmtree(vault)
    process.wait(timeout=30)


def test_sigterm_finishes_the_accepted_writes(serve: Start, vault: Path, tmp_path: Path) -> None:
    folder = tmp_path / "many"
    folder.mkdir()
    for n in range(80):
        (folder / f"n{n}.md").write_text(f"The seal {n} cracked because coolant {n} ran dry.\n")
    process = serve()
    reports: list[graphmem.IngestReport] = []
    memory = RemoteMemory(vault, read_settings())
    started = threading.Event()
    writing = threading.Thread(
        target=lambda: reports.append(memory.ingest(folder, progress=lambda _: started.set()))
    )
    writing.start()
    assert started.wait(60)
    process.send_signal(signal.SIGTERM)
    writing.join(timeout=60)
    assert process.wait(timeout=30) == 0
    assert [report.changed for report in reports] == [80]
    with graphmem.open(vault, mode="embedded") as opened:
        assert opened.status().counts["source"] == 80


@pytest.mark.slow
def test_a_second_sigterm_ends_it_at_once(serve: Start, vault: Path, tmp_path: Path) -> None:
    folder = tmp_path / "many"
    folder.mkdir()
    for n in range(400):
        (folder / f"n{n}.md").write_text(f"The seal {n} cracked because coolant {n} ran dry.\n" * 9)
    process = serve()
    started = threading.Event()
    memory = RemoteMemory(vault, read_settings())
    writing = threading.Thread(
        target=lambda: memory.ingest(folder, progress=lambda _: started.set()), daemon=True
    )
    writing.start()
    assert started.wait(60)
    process.send_signal(signal.SIGTERM)
    time.sleep(0.3)
    assert process.poll() is None
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=10) == 1  # 1: not drained
    writing.join(timeout=120)  # the client starts a new owner and finishes there


@pytest.mark.slow
def test_a_new_owner_waits_for_one_that_finishes_a_long_write(vault: Path, tmp_path: Path) -> None:
    folder = tmp_path / "many"
    folder.mkdir()
    for n in range(MANY):
        (folder / f"n{n}.md").write_text(f"The seal {n} cracked because coolant {n} ran dry.\n" * 9)
    started = threading.Event()
    reports: list[graphmem.IngestReport] = []
    with graphmem.open(vault, mode="client") as memory:
        first = owner_of(vault).pid
        writing = threading.Thread(
            target=lambda: reports.append(memory.ingest(folder, progress=lambda _: started.set()))
        )
        writing.start()
        assert started.wait(60)
        os.kill(first, signal.SIGTERM)
        wait_for(lambda: find_owner(vault) is None)
        assert alive(first)
        assert RemoteMemory(vault, read_settings()).remember("Orion moved.").passage_ids
        writing.join(timeout=60)
        assert owner_of(vault).pid != first
        assert [report.changed for report in reports] == [MANY]


def test_a_stopping_owner_hands_over_to_a_new_one(vault: Path) -> None:
    with graphmem.open(vault, mode="client") as memory:
        first = owner_of(vault).pid
        os.kill(first, signal.SIGTERM)
        assert memory.remember("Orion moved.").passage_ids
        assert owner_of(vault).pid != first


@pytest.mark.parametrize("version", ["0.0.9", "99.0.0"])
def test_another_version_is_named_with_what_to_do(vault: Path, version: str) -> None:
    with harness(vault, "--version", version) as process:
        for mode in ("auto", "client"):
            with pytest.raises(OwnerVersionError, match="graphmem serve --stop") as caught:
                graphmem.open(vault, mode=mode)  # type: ignore[arg-type]
            assert (caught.value.theirs, caught.value.ours) == (version, graphmem.__version__)
        refused = cli("status", "--vault", str(vault))
        assert refused.returncode == 3 and version in refused.stderr
        assert process.poll() is None
        restarted = cli("--yes", "status", "--vault", str(vault))
        assert restarted.returncode == 0, restarted.stderr
        assert process.wait(30) == 0


def test_a_server_of_agents_replaces_an_older_owner_but_no_newer_one(vault: Path) -> None:
    memory = RemoteMemory(vault, read_settings(), replace=older)
    with harness(vault, "--version", "0.0.9") as process:
        memory.remember("Orion moved.")
        assert process.wait(30) == 0
    os.kill(owner_of(vault).pid, signal.SIGKILL)
    wait_for(lambda: find_owner(vault) is None)
    with harness(vault, "--version", "99.0.0") as process:
        with pytest.raises(OwnerVersionError):
            RemoteMemory(vault, read_settings(), replace=older).status()
        assert process.poll() is None
        process.kill()


def test_a_signal_while_the_vault_is_opened_is_not_lost(vault: Path) -> None:
    held = graphmem.open(vault, mode="embedded")  # an owner that starts waits for it
    command = [sys.executable, "-m", "graphmem", "serve", "--foreground", "--vault", str(vault)]
    process = subprocess.Popen(command)
    caught = Path(f"/proc/{process.pid}/status")
    wait_for(lambda: _takes_sigterm(caught))
    process.send_signal(signal.SIGTERM)
    assert process.wait(10) == 0
    held.close()


def _takes_sigterm(status: Path) -> bool:
    line = next(x for x in status.read_text().splitlines() if x.startswith("SigCgt:"))
    return bool(int(line.split()[1], 16) & 1 << (signal.SIGTERM - 1))


@pytest.mark.slow
def test_five_processes_that_start_at_once_all_write(vault: Path) -> None:
    script = (
        "import sys, graphmem; print(1, flush=True); input();"
        "m = graphmem.open(sys.argv[1], mode=sys.argv[3]);"
        "m.remember('Note ' + sys.argv[2] + ' is here.'); m.close()"
    )
    modes = ["client", "auto", "client", "auto", "client"]
    running = [
        subprocess.Popen(
            [sys.executable, "-c", script, str(vault), str(n), mode],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for n, mode in enumerate(modes)
    ]
    for process in running:
        assert process.stdout is not None and process.stdout.readline() == "1\n"
    for process in running:  # the barrier
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()
    for process in running:
        _, said = process.communicate(timeout=180)
        assert process.returncode == 0, said
    with graphmem.open(vault) as memory:
        assert memory.status().counts["source"] == 5
    print("5 of 5 wrote; 5 notes are there")


@pytest.mark.slow
def test_fifty_writers_at_once_are_served_or_told_to_wait(vault: Path) -> None:
    with graphmem.open(vault, mode="client") as memory, ThreadPoolExecutor(50) as pool:
        memory.remember("The models are loaded.")
        begun = time.monotonic()
        waiting = [pool.submit(memory.remember, f"Pump {n} moved.") for n in range(50)]
        assert all(each.result().passage_ids for each in waiting)
        assert memory.status().counts["source"] == 51
    print(f"50 parallel writes in {time.monotonic() - begun:.1f} s, 0 refused")


def test_serve_starts_and_stops_one_owner(vault: Path) -> None:
    first = cli("serve", "--vault", str(vault))
    assert first.returncode == 0 and "http://127.0.0.1:" in first.stdout, first.stderr
    assert "already served" in cli("serve", "--vault", str(vault)).stdout
    pid = owner_of(vault).pid
    assert str(pid) in cli("serve", "--stop", "--vault", str(vault)).stdout
    wait_for(lambda: not alive(pid))
    assert cli("serve", "--stop", "--vault", str(vault)).returncode == 2


def test_token_prints_what_opens_the_vault(vault: Path) -> None:
    assert cli("token", "--vault", str(vault)).returncode == 3
    cli("init", "--vault", str(vault))
    write, read = (cli("token", *more, "--vault", str(vault)) for more in ((), ("--read",)))
    assert len({write.stdout, read.stdout}) == 2
    assert len(write.stdout.strip()) == 43


def test_a_copied_vault_is_not_served_by_the_owner_of_the_original(
    vault: Path, tmp_path: Path
) -> None:
    import shutil

    with graphmem.open(vault, mode="client") as memory:
        memory.remember("Orion moved.")
        copy = tmp_path / "copy"
        shutil.copytree(vault, copy)
        assert read_holder(copy) == read_holder(vault)
        assert find_owner(copy) is None
        with graphmem.open(copy, mode="client") as other:
            other.remember("Only in the copy.")
            assert owner_of(copy).pid != owner_of(vault).pid
        assert memory.status().counts["source"] == 1


def test_an_owner_that_cannot_open_the_vault_says_why(vault: Path) -> None:
    vault.mkdir()
    (vault / "vault.json").write_text('{"format": 999}')
    with pytest.raises(graphmem.VaultError, match="999"):
        graphmem.open(vault, mode="client")


@pytest.mark.parametrize("depth", [1, 40])
def test_the_sockets_name_is_short_and_private(tmp_path: Path, depth: int) -> None:
    path = socket_path(tmp_path.joinpath(*["a-rather-long-folder-name"] * depth))
    assert len(os.fsencode(path)) < MAX_SOCKET_BYTES
    assert path.parent.stat().st_mode & 0o077 == 0


def test_a_runtime_folder_others_can_enter_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "graphmem").mkdir(mode=0o755)
    (tmp_path / "graphmem").chmod(0o755)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    assert tmp_path not in socket_path(tmp_path / "vault").parents
