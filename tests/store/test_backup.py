"""Backups of a vault in use, killed backups and restores, damaged backups."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from time import monotonic

import apsw
import pytest

from graphmem.errors import JournalDamagedError, UsageError, VaultError, VaultLockedError
from graphmem.model.operations import PutPassage, PutSource
from graphmem.store import VaultStore, dump, open_store
from graphmem.store.backup import backup, read_manifest, show_backup
from graphmem.store.reading import journal_of, reading
from graphmem.store.restore import restore
from graphmem.store.trouble import JOURNAL_FILE
from graphmem.store.verify_replay import _replay
from tests.store.conftest import ticking
from tests.store.graph.world import source
from tests.store.told import ACTOR, passage, put_notes, tell

REPO = Path(__file__).parents[2]
# Commits one note after another until its input ends; says that it began.
WRITER = """
import select, sys
from pathlib import Path
from graphmem.model.operations import PutPassage, PutSource
from graphmem.store import open_store
from tests.store.told import ACTOR, passage, put_notes
store = open_store(Path(sys.argv[1]), create=True, graph=sys.argv[2])
put_notes(store, "first")
number = 0
while not select.select([sys.stdin], [], [], 0)[0]:
    number += 1
    made = [passage(10 * number + i, f"note {number} of pump {i}") for i in range(3)]
    store.writer.commit([PutPassage(after=each) for each in made], actor=ACTOR)
    if number == 1:
        print("writing", flush=True)
store.close()
print(number, flush=True)
"""
# Runs a function of a module on two paths and kills itself at the named point.
KILLED = """
import os, signal, sys
from importlib import import_module
from pathlib import Path
module, name, one, two, point, more = sys.argv[1:]
def fault(at):
    if at == point:
        os.kill(os.getpid(), signal.SIGKILL)
run = getattr(import_module(module), name)
run(Path(one), Path(two), fault=fault, force=more == "force")
"""


def run(script: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", script, *arguments],
        cwd=REPO,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def made(path: Path, graph: str = "kuzu", seed: int = 5) -> list[str]:
    """A vault with a history; gives its exact dump."""
    store = open_store(path, create=True, graph=graph, clock=ticking())
    tell(store, seed, 40)
    return closed(store)


def closed(store: VaultStore) -> list[str]:
    told = list(store.dump())
    store.close()
    return told


def dumped(path: Path) -> list[str]:
    return closed(open_store(path))


def prefix(vault: Path, head: int, folder: Path) -> list[str]:
    """The exact dump of a replay of the journal's rows up to ``head``."""
    folder.mkdir()
    with reading(vault / JOURNAL_FILE) as db:
        index, graph = _replay(journal_of(db), head, folder)
    try:
        return list(dump.exact(index, graph))
    finally:
        index.close()


def change(journal: Path, statement: str) -> None:
    """Changes a journal behind its back."""
    db = apsw.Connection(str(journal))
    for (name,) in db.execute("SELECT name FROM sqlite_schema WHERE type = 'trigger'").fetchall():
        db.execute(f"DROP TRIGGER {name}")
    db.execute(statement)
    db.close()


def left_over(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.glob(".*.part"))


@pytest.mark.parametrize(("graph", "count"), [("memory", 12), ("kuzu", 4)])
def test_each_backup_of_a_vault_being_written_is_a_prefix_of_its_journal(
    tmp_path: Path, graph: str, count: int
) -> None:
    vault = tmp_path / "vault"
    with subprocess.Popen(
        [sys.executable, "-c", WRITER, str(vault), graph],
        cwd=REPO,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as writer:
        assert writer.stdin is not None and writer.stdout is not None
        assert writer.stdout.readline() == "writing\n"
        infos = [backup(vault, tmp_path / f"b{number}") for number in range(count)]
        writer.stdin.close()
        assert int(writer.stdout.readline()) > 1
    heads = [info.manifest.head for info in infos]
    assert heads == sorted(heads) and heads[-1] > heads[0], "the writer stood still"
    for number, head in enumerate(heads):
        report = restore(tmp_path / f"b{number}", tmp_path / f"r{number}")
        assert report.head == head
        assert dumped(tmp_path / f"r{number}") == prefix(vault, head, tmp_path / f"p{number}")
    print(f"{count} backups of a {graph} vault beside its writer, rows {heads[0]} to {heads[-1]}")


def test_a_commit_during_the_copy_goes_through_and_is_not_in_it(tmp_path: Path) -> None:
    store = open_store(tmp_path / "vault", create=True, graph="memory")
    put_notes(store, "first")
    before = store.view().seq

    def commit(step: str, done: int, _: int) -> None:
        if step == "copying":
            store.writer.commit([PutPassage(after=passage(90 + done, "later"))], actor=ACTOR)

    info = backup(tmp_path / "vault", tmp_path / "copy", steps=commit)
    assert store.view().seq > before
    store.close()
    assert info.manifest.head == before


def test_a_backup_holds_journal_settings_and_manifest_and_no_token(tmp_path: Path) -> None:
    made(tmp_path / "vault")
    (tmp_path / "vault" / "tokens.json").write_text('{"read": "r", "write": "w"}')
    info = backup(tmp_path / "vault", tmp_path / "copy")
    names = {path.name for path in (tmp_path / "copy").iterdir()}
    assert names == {"journal.sqlite", "vault.json", "manifest.json"}
    assert sum(info.manifest.rows.values()) == info.manifest.head
    assert show_backup(tmp_path / "copy").problem == ""


def test_what_was_purged_is_in_no_backup(tmp_path: Path) -> None:
    store = open_store(tmp_path / "vault", create=True, graph="memory")
    put_notes(store, "xyzzy the secret word")
    store._journal.purge([2], at=ticking()(), actor=ACTOR)
    backup(tmp_path / "vault", tmp_path / "copy")
    store.close()
    assert b"xyzzy" not in (tmp_path / "copy" / JOURNAL_FILE).read_bytes()


@pytest.mark.parametrize("point", ["in_copy", "after_copy", "before_place"])
@pytest.mark.parametrize("force", [False, True])
def test_a_killed_backup_leaves_no_half(tmp_path: Path, point: str, force: bool) -> None:
    made(tmp_path / "vault")
    dest = tmp_path / "copy"
    if force:
        backup(tmp_path / "vault", dest)
    more = "force" if force else ""
    args = ("graphmem.store.backup", "backup", str(tmp_path / "vault"), str(dest), point, more)
    assert run(KILLED, *args).returncode == -signal.SIGKILL
    assert dest.exists() == force
    assert left_over(tmp_path) != []
    info = backup(tmp_path / "vault", dest, force=force)
    assert left_over(tmp_path) == []
    assert show_backup(dest).problem == "" and info.manifest.head > 0


@pytest.mark.slow
def test_backups_killed_at_random_are_whole_or_not_there(tmp_path: Path) -> None:
    store = open_store(tmp_path / "vault", create=True, graph="memory")
    put_notes(store, *(f"note {i} " + "long " * 150 for i in range(1_500)))
    store.close()
    script = (
        "import sys; from pathlib import Path; from graphmem.store.backup import backup\n"
        "print('go', flush=True); backup(Path(sys.argv[1]), Path(sys.argv[2]))"
    )
    begun = monotonic()
    backup(tmp_path / "vault", tmp_path / "first")
    took = monotonic() - begun
    whole = 0
    for number in range(40):
        dest = tmp_path / f"copy{number}"
        command = [sys.executable, "-c", script, str(tmp_path / "vault"), str(dest)]
        with subprocess.Popen(command, cwd=REPO, stdout=subprocess.PIPE, text=True) as child:
            assert child.stdout is not None and child.stdout.readline() == "go\n"
            try:
                child.wait(timeout=2 * took * number / 40)
            except subprocess.TimeoutExpired:
                child.kill()
        if dest.exists():
            whole += 1
            assert show_backup(dest).problem == ""
    print(f"killed 40 backups: {whole} had been finished, {40 - whole} left nothing, 0 half")
    assert 0 < whole < 40


def test_a_place_that_is_taken_is_refused(tmp_path: Path) -> None:
    made(tmp_path / "vault", "memory")
    other = tmp_path / "photos"
    other.mkdir()
    (other / "cat.jpg").write_text("cat")
    for force in (False, True):
        with pytest.raises(UsageError, match="no backup"):
            backup(tmp_path / "vault", other, force=force)
    with pytest.raises(UsageError, match="inside the vault"):
        backup(tmp_path / "vault", tmp_path / "vault" / "copy")
    backup(tmp_path / "vault", tmp_path / "copy")
    with pytest.raises(UsageError, match="--force"):
        backup(tmp_path / "vault", tmp_path / "copy")
    backup(tmp_path / "vault", tmp_path / "copy", force=True)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["copy", "photos", "vault"]
    assert (other / "cat.jpg").read_text() == "cat"


def test_a_full_disk_is_told_and_leaves_nothing(tmp_path: Path) -> None:
    made(tmp_path / "vault")
    script = (
        "import resource, sys; from pathlib import Path\n"
        "from graphmem.store.backup import backup\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))\n"
        "backup(Path(sys.argv[1]), Path(sys.argv[2]))"
    )
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] == resource.RLIM_INFINITY
    done = run(script, str(tmp_path / "vault"), str(tmp_path / "copy"))
    assert done.returncode == 1
    assert "VaultError" in done.stderr and "free space" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["vault"]


def test_a_backup_of_a_damaged_journal_is_refused_with_the_row(tmp_path: Path) -> None:
    made(tmp_path / "vault", "memory")
    change(tmp_path / "vault" / JOURNAL_FILE, "UPDATE journal SET actor = 'eve' WHERE seq = 7")
    with pytest.raises(JournalDamagedError, match="row 7"):
        backup(tmp_path / "vault", tmp_path / "copy")
    assert [path.name for path in tmp_path.iterdir()] == ["vault"]


DAMAGE: dict[str, tuple[Callable[[Path], object], str]] = {
    "changed": (
        lambda b: change(b / JOURNAL_FILE, "UPDATE journal SET payload = x'00' WHERE seq = 3"),
        "row 3",
    ),
    "cut": (
        lambda b: change(b / JOURNAL_FILE, "DELETE FROM journal WHERE seq > 9"),
        "ends at row 9",
    ),
    "noise": (lambda b: (b / JOURNAL_FILE).write_bytes(b"noise" * 9_999), "cannot be read"),
    "lost": (lambda b: (b / JOURNAL_FILE).unlink(), "missing"),
    "settings": (lambda b: (b / "vault.json").write_text("{"), "cannot be read"),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_backup_is_refused_and_changes_nothing(tmp_path: Path, damage: str) -> None:
    made(tmp_path / "vault", "memory")
    backup(tmp_path / "vault", tmp_path / "copy")
    harm, said = DAMAGE[damage]
    harm(tmp_path / "copy")
    assert said in show_backup(tmp_path / "copy").problem
    with pytest.raises(VaultError, match=said):
        restore(tmp_path / "copy", tmp_path / "new")
    assert not (tmp_path / "new").exists() and left_over(tmp_path) == []


def test_a_folder_that_is_no_backup_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no backup"):
        restore(tmp_path, tmp_path / "new")


@pytest.fixture
def saved(tmp_path: Path) -> Iterator[list[str]]:
    """A backup at ``copy`` and another vault at ``vault``; gives the backup's exact dump."""
    told = made(tmp_path / "first", "memory")
    backup(tmp_path / "first", tmp_path / "copy")
    made(tmp_path / "vault", "memory", seed=8)
    yield told


def test_a_vault_that_is_there_is_kept_unless_forced_aside(
    tmp_path: Path, saved: list[str]
) -> None:
    old = dumped(tmp_path / "vault")
    with pytest.raises(UsageError, match="--force"):
        restore(tmp_path / "copy", tmp_path / "vault")
    assert restore(tmp_path / "copy", tmp_path / "vault", force=True, dry_run=True).dry_run
    assert dumped(tmp_path / "vault") == old
    report = restore(tmp_path / "copy", tmp_path / "vault", force=True)
    assert dumped(tmp_path / "vault") == saved
    assert report.moved_aside is not None and dumped(Path(report.moved_aside)) == old
    store = open_store(tmp_path / "vault")
    assert report.counts == store.status().counts and report.head == store.status().seq
    store.close()


def test_a_folder_that_is_no_vault_is_never_moved(tmp_path: Path, saved: list[str]) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / "letter.txt").write_text("dear")
    with pytest.raises(UsageError, match="no vault"):
        restore(tmp_path / "copy", home, force=True)
    assert (home / "letter.txt").read_text() == "dear"


def test_an_open_vault_is_not_restored_over(tmp_path: Path, saved: list[str]) -> None:
    store = open_store(tmp_path / "vault")
    with pytest.raises(VaultLockedError):
        restore(tmp_path / "copy", tmp_path / "vault", force=True)
    assert closed(store) != saved


@pytest.mark.parametrize("point", ["after_copy", "before_place"])
def test_a_killed_restore_leaves_what_was_there_and_runs_again(
    tmp_path: Path, saved: list[str], point: str
) -> None:
    old = dumped(tmp_path / "vault")
    args = (str(tmp_path / "copy"), str(tmp_path / "vault"), point, "force")
    killed = run(KILLED, "graphmem.store.restore", "restore", *args)
    assert killed.returncode == -signal.SIGKILL
    assert dumped(tmp_path / "vault") == old
    restore(tmp_path / "copy", tmp_path / "vault", force=True)
    assert dumped(tmp_path / "vault") == saved and left_over(tmp_path) == []


def test_a_restored_vault_takes_up_writing_with_kuzu(tmp_path: Path) -> None:
    told = made(tmp_path / "vault")
    backup(tmp_path / "vault", tmp_path / "copy")
    seen: list[tuple[str, int, int]] = []
    restore(tmp_path / "copy", tmp_path / "new", steps=lambda *step: seen.append(step))
    head = read_manifest(tmp_path / "copy").head
    assert ("index", head, head) in seen and ("graph", 1, 1) in seen
    store = open_store(tmp_path / "new")
    assert list(store.dump()) == told
    store.writer.commit([PutSource(after=source(9))], actor=ACTOR)
    assert store.view().seq == head + 1
    store.close()


def test_a_copy_is_readable_from_a_place_that_cannot_be_written(tmp_path: Path) -> None:
    made(tmp_path / "vault", "memory")
    backup(tmp_path / "vault", tmp_path / "copy")
    for path in (tmp_path / "copy").iterdir():
        path.chmod(0o400)
    (tmp_path / "copy").chmod(0o500)
    try:
        assert show_backup(tmp_path / "copy").problem == ""
        restore(tmp_path / "copy", tmp_path / "new")
    finally:
        (tmp_path / "copy").chmod(0o700)
    assert os.access(tmp_path / "new" / JOURNAL_FILE, os.W_OK)
