"""A full disk, a read-only folder, missing rights: said clearly, nothing lost, and it goes on."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from graphmem.errors import VaultError
from graphmem.model.scope import EVERYTHING
from graphmem.store import VaultStore, open_store
from tests.store.conftest import ticking
from tests.store.kill.batches import ACTOR, Batches, key_of, make
from tests.store.kill.campaign import ENGINES

REPO = Path(__file__).parents[2]
# Batches before the disk fills up, and after it has room again.
BEFORE, AFTER = 15, 10
SIZE = 96 * 1024 * 1024
# Bytes left when the disk is called full: none, some for journal or index, some for the graph too.
ROOMS = (0, 65_536, 3_000_000, 6_000_000)
NOBODY = 65_534
_MS_RDONLY, _MS_REMOUNT, _MNT_DETACH = 1, 32, 2


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


@contextmanager
def small_disk(folder: Path) -> Iterator[Path]:
    """A tmpfs of 96 MiB; skips the test where none can be mounted."""
    folder.mkdir()
    if sys.platform != "linux":
        pytest.skip("a small file system can only be mounted on Linux")
    options = f"size={SIZE}".encode()
    if _libc().mount(b"tmpfs", bytes(folder), b"tmpfs", 0, options):
        pytest.skip(f"no tmpfs can be mounted here: {os.strerror(ctypes.get_errno())}")
    try:
        yield folder
    finally:
        _libc().umount2(bytes(folder), _MNT_DETACH)


@contextmanager
def read_only(disk: Path) -> Iterator[None]:
    """The mounted disk refuses writes meanwhile; nothing may have a file open for writing."""
    flags = _MS_REMOUNT | _MS_RDONLY
    assert _libc().mount(None, bytes(disk), None, flags, None) == 0
    try:
        yield
    finally:
        assert _libc().mount(None, bytes(disk), None, _MS_REMOUNT, None) == 0


def fill(disk: Path, room: int) -> None:
    """Leaves so many bytes free."""
    stat = os.statvfs(disk)
    free = stat.f_bavail * stat.f_frsize
    with (disk / "ballast").open("ab") as file:
        file.write(b"x" * max(0, free - room))


def tell(store: VaultStore, batches: Batches, first: int, last: int) -> None:
    for number in range(first, last + 1):
        store.writer.commit(batches.told[number - 1], actor=ACTOR, key=key_of(number))


def assert_replay(store: VaultStore) -> None:
    status = store.status()
    assert status.seq == status.graph_seq == status.index_seq == store.view().seq
    grown = list(store.dump())
    store.rebuild()
    assert list(store.dump()) == grown


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.mark.slow
@pytest.mark.parametrize("reopen", [False, True], ids=["goes on", "opened again"])
@pytest.mark.parametrize("room", ROOMS)
def test_a_full_disk_is_said_loses_nothing_and_writing_goes_on(
    tmp_path: Path, engine: str, room: int, reopen: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    batches = make(room, 300, removing=bool(room % 3))
    with small_disk(tmp_path / "disk") as disk:
        vault = disk / "vault"
        store = open_store(vault, create=True, graph=engine)
        tell(store, batches, 1, BEFORE)
        seen = store.view()
        fill(disk, room)
        done, error = _until_full(store, batches)
        assert "free space" in error
        assert store.status().seq >= batches.first_seq(done + 1) - 1
        assert list(store.view().counts(EVERYTHING)) == list(seen.counts(EVERYTHING))
        stages = _stages(store)
        if reopen:
            store.close()
        (disk / "ballast").unlink()
        if reopen:
            store = open_store(vault)
        tell(store, batches, done + 1, done + AFTER)
        assert store.status().seq == batches.first_seq(done + AFTER + 1) - 1
        assert not store.status().warnings
        assert_replay(store)
        store.close()
        assert_replay_and_close(vault)
    with capsys.disabled():
        print(f"\ntmpfs full with {room} bytes left: {done} batches acknowledged, 0 lost; {stages}")


def _until_full(store: VaultStore, batches: Batches) -> tuple[int, str]:
    """Tells batches until one is refused; the last one acknowledged, and what was said."""
    for number in range(BEFORE + 1, len(batches.told) + 1):
        try:
            tell(store, batches, number, number)
        except VaultError as error:
            for _ in range(2):
                with pytest.raises(VaultError, match="free space"):
                    tell(store, batches, number, number)
            return number - 1, str(error)
    raise AssertionError("the disk never filled up")


def _stages(store: VaultStore) -> str:
    status = store.status()
    if status.index_seq < status.seq:
        return "the index was full"
    return "the graph was full" if status.graph_seq < status.seq else "the journal was full"


def assert_replay_and_close(vault: Path) -> None:
    store = open_store(vault)
    assert_replay(store)
    store.close()


@pytest.mark.slow
@pytest.mark.parametrize("point", ["after_journal", "after_index", "in_graph", "before_publish"])
def test_a_disk_that_fills_up_within_a_commit_loses_nothing(
    tmp_path: Path, engine: str, point: str
) -> None:
    batches = make(7, 60, removing=point != "in_graph")
    with small_disk(tmp_path / "disk") as disk:
        armed = []

        def fault(name: str) -> None:
            if name == point and armed:
                armed.clear()
                fill(disk, 0)

        store = open_store(disk / "vault", create=True, graph=engine, fault=fault)
        tell(store, batches, 1, BEFORE)
        armed.append(True)
        tell(store, batches, BEFORE + 1, BEFORE + 1)  # acknowledged: the journal has it
        with pytest.raises(VaultError, match="free space"):
            tell(store, batches, BEFORE + 2, BEFORE + 12)
        (disk / "ballast").unlink()
        tell(store, batches, BEFORE + 1, BEFORE + AFTER)
        assert store.status().seq == batches.first_seq(BEFORE + AFTER + 1) - 1
        assert_replay(store)
        store.close()
        assert_replay_and_close(disk / "vault")


@pytest.mark.slow
def test_a_full_disk_lets_no_half_vault_stand(tmp_path: Path, engine: str) -> None:
    with small_disk(tmp_path / "disk") as disk:
        for room in (0, 4_096, 40_960, 131_072):
            (disk / "ballast").unlink(missing_ok=True)
            fill(disk, room)
            with pytest.raises(VaultError, match="free space"):
                open_store(disk / f"vault{room}", create=True, graph=engine)
            (disk / "ballast").unlink()
            open_store(disk / f"vault{room}", create=True, graph=engine).close()


@pytest.mark.slow
def test_a_fold_without_room_keeps_the_log(
    tmp_path: Path, engine: str, caplog: pytest.LogCaptureFixture
) -> None:
    batches = make(3, 40, removing=False)
    with small_disk(tmp_path / "disk") as disk:
        store = open_store(disk / "vault", create=True, graph=engine, max_log_bytes=1)
        tell(store, batches, 1, BEFORE)
        fill(disk, 8_192)
        store.close()
        assert "log stays as long as it is" in caplog.text
        (disk / "ballast").unlink()
        assert not list((disk / "vault").glob("*.new"))
        store = open_store(disk / "vault")
        tell(store, batches, BEFORE + 1, BEFORE + AFTER)
        assert_replay(store)
        store.close()


@pytest.mark.slow
def test_a_read_only_disk_is_said_and_changes_nothing(tmp_path: Path, engine: str) -> None:
    batches = make(4, 40)
    with small_disk(tmp_path / "disk") as disk:
        vault = disk / "vault"
        store = open_store(vault, create=True, graph=engine)
        tell(store, batches, 1, BEFORE)
        store.close()
        before = contents(vault)
        with read_only(disk):
            with pytest.raises(VaultError, match=r"disk/vault.*check the rights"):
                open_store(vault)
            with pytest.raises(VaultError, match=r"disk/other.*check the rights"):
                open_store(disk / "other", create=True)
            assert contents(vault) == before
        store = open_store(vault)
        tell(store, batches, BEFORE + 1, BEFORE + AFTER)
        assert_replay(store)
        store.close()


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


OPEN = """
import os, sys
from pathlib import Path
import kuzu  # the other user may not be allowed to read the installation
import graphmem.store.graph.cypher_engine
from graphmem.errors import GraphmemError
from graphmem.model.operations import PutSource
from graphmem.store import open_store
from tests.store.graph.world import source
os.setgroups([])
os.setgid(int(sys.argv[2]))
os.setuid(int(sys.argv[2]))
try:
    store = open_store(Path(sys.argv[1]))
    store.writer.commit([PutSource(after=source(95))], actor="nobody")
    store.close()
    print("written")
except GraphmemError as error:
    print(type(error).__name__, error)
"""

RIGHTS: dict[str, Callable[[Path], object]] = {
    "folder not enterable": lambda vault: vault.chmod(0o600),
    "folder not writable": lambda vault: vault.chmod(0o555),
    "journal unreadable": lambda vault: (vault / "journal.sqlite").chmod(0),
    "journal not writable": lambda vault: (vault / "journal.sqlite").chmod(0o444),
    "index unreadable": lambda vault: (vault / "index.sqlite").chmod(0),
    "graph unreadable": lambda vault: (vault / "graph.kuzu").chmod(0),
    "configuration unreadable": lambda vault: (vault / "vault.json").chmod(0),
    "lock not writable": lambda vault: (vault / "lock").chmod(0o444),
}


@pytest.fixture
def shared() -> Iterator[Path]:
    """A vault of another user in a folder that everybody can enter."""
    if os.name != "posix" or os.geteuid() != 0:
        pytest.skip("only root can become another user, and root itself has every right")
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        vault = Path(folder) / "vault"
        store = open_store(vault, create=True)
        tell(store, make(5, 20, removing=False), 1, BEFORE)
        store.close()
        for path in (vault, *vault.iterdir()):
            os.chown(path, NOBODY, NOBODY)
        yield vault


@pytest.mark.slow
@pytest.mark.parametrize("case", RIGHTS)
def test_missing_rights_are_said_and_nothing_is_changed(shared: Path, case: str) -> None:
    told = contents(shared)
    mark = (shared / "clean").read_bytes()
    RIGHTS[case](shared)
    said = _as_nobody(shared)
    assert said.startswith("VaultError ") and "check the rights" in said, said
    assert str(shared) in said
    kept = ("journal.sqlite", "index.sqlite", "graph.kuzu", "vault.json")
    now = contents(shared)
    assert [name for name in kept if now[name] != told[name]] == []
    shared.chmod(0o755)
    for path in shared.iterdir():
        path.chmod(0o644)
    (shared / "clean").write_bytes(mark)  # the other user may not run a probe here
    assert _as_nobody(shared) == "written"


def _as_nobody(vault: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-c", OPEN, str(vault), str(NOBODY)],
        cwd=REPO,
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "PYTHONPATH": str(REPO)},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_files_that_may_not_grow_are_said_and_writing_goes_on(tmp_path: Path, engine: str) -> None:
    resource = pytest.importorskip("resource")
    batches = make(8, 60)
    store = open_store(tmp_path / "vault", create=True, graph=engine)
    tell(store, batches, 1, BEFORE)
    most = max(path.stat().st_size for path in (tmp_path / "vault").iterdir())
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, before[1]))
    try:
        with pytest.raises(VaultError, match=r"free space|not shown yet"):
            tell(store, batches, BEFORE + 1, BEFORE + AFTER)
        assert store.view().counts(EVERYTHING)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    tell(store, batches, BEFORE + 1, BEFORE + AFTER)
    assert_replay(store)
    store.close()


def test_the_memory_engine_goes_on_after_its_index_failed_twice(tmp_path: Path) -> None:
    failures = [OSError(28, "No space left on device")] * 2

    def fault(point: str) -> None:
        if point == "before_publish" and failures and armed:
            raise failures.pop()

    armed: list[bool] = []
    batches = make(6, 30)
    store = open_store(
        tmp_path / "vault", create=True, graph="memory", fault=fault, clock=ticking()
    )
    tell(store, batches, 1, 5)
    armed.append(True)
    tell(store, batches, 6, 12)
    assert_replay(store)
    store.close()
