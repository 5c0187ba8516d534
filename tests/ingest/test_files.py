"""Files: what is refused and why, decoding, the walk over a root."""

import os
from pathlib import Path

import pytest

from graphmem.errors import ReadError
from graphmem.ingest import read_file
from graphmem.ingest.files import MAX_FILE_BYTES, uri_of, walk
from graphmem.vocabulary import SourceKind


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"a\0b", "binary"),
        (b"x" * (MAX_FILE_BYTES + 1), "at most"),
        (b"\x81\x8d caf\xff", "no known encoding"),
        (b"\xef\xbb\xbfcaf\xe9", "no known encoding"),
    ],
    ids=["nul", "large", "undecodable", "broken utf-8 with mark"],
)
def test_unreadable_files_say_why(tmp_path: Path, data: bytes, reason: str) -> None:
    path = tmp_path / "note.txt"
    path.write_bytes(data)
    with pytest.raises(ReadError, match=reason) as caught:
        read_file(path, tmp_path, "p")
    assert caught.value.path == str(path)


def test_a_missing_file_and_a_folder_are_read_errors(tmp_path: Path) -> None:
    for path in (tmp_path / "gone.md", tmp_path):
        with pytest.raises(ReadError):
            read_file(path, tmp_path, "p")


def test_a_link_out_of_the_root_is_refused(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    (tmp_path / "secret.md").write_text("secret")
    (root / "link.md").symlink_to(tmp_path / "secret.md")
    with pytest.raises(ReadError, match="outside"):
        read_file(root / "link.md", root, "p")


def test_a_pipe_is_refused_without_waiting(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.md")
    with pytest.raises(ReadError, match="regular"):
        read_file(tmp_path / "pipe.md", tmp_path, "p")


def test_windows_1252_is_read_with_a_warning(tmp_path: Path) -> None:
    path = tmp_path / "note.txt"
    path.write_bytes("Zoé checked the pump.".encode("cp1252"))
    document = read_file(path, tmp_path, "p")
    assert document.sections[0].text == "Zoé checked the pump."
    assert [warning.path for warning in document.warnings] == [str(path)]


def test_plain_text_takes_its_date_line_and_never_the_file_time(tmp_path: Path) -> None:
    path = tmp_path / "log.txt"
    path.write_text("Pump log\n3 March 2026\n\nServiced.\n")
    document = read_file(path, tmp_path, "p")
    assert document.kind is SourceKind.TEXT
    assert document.authored_at is not None
    assert document.authored_at.date().isoformat() == "2026-03-03"
    path.write_text("Pump log on 2026-03-03 was kept.\n")
    undated = read_file(path, tmp_path, "p")
    assert undated.authored_at is None
    assert undated.file_modified_at is not None


def test_the_walk_leaves_out_what_is_no_note(tmp_path: Path) -> None:
    for name in (
        "a.md",
        "sub/b.txt",
        "sub/code.py",
        ".git/x.md",
        "node_modules/x.md",
        ".venv/x.md",
        ".hidden.md",
        "vault/x.md",
        "vault/vault.json",
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x")
    names = [path.relative_to(tmp_path).as_posix() for path in walk(tmp_path).files]
    assert names == ["a.md", "sub/b.txt"]
    only = walk(tmp_path, "**/*.py", ())
    assert [path.name for path in only.files] == ["code.py"]
    assert [path.name for path in walk(tmp_path, ignore=("sub/*",)).files] == ["a.md"]


def test_a_missing_root_is_a_problem_and_no_complete_walk(tmp_path: Path) -> None:
    assert walk(tmp_path / "gone").problems


def test_names_that_are_no_utf8_get_a_sound_uri(tmp_path: Path) -> None:
    path = Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9.md"))
    uri = uri_of(path, tmp_path)
    assert uri.encode("utf-8").decode() == uri
