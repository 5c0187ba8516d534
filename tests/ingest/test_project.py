"""Projects: remotes in one form, odd ids, names."""

from pathlib import Path

import pytest

from graphmem.errors import InvalidInputError
from graphmem.ingest import display_name, find_project, normalise_remote


@pytest.mark.parametrize(
    "url",
    [
        "git@github.com:acme/relay.git",
        "https://github.com/acme/relay",
        "https://ann:secret@GitHub.com/acme/relay.git/",
        "ssh://git@github.com:22/acme/relay.git",
        "git://github.com/acme/relay.git",
    ],
)
def test_all_forms_of_a_remote_are_one_project(url: str) -> None:
    assert normalise_remote(url) == "github.com/acme/relay"


def test_a_local_remote_keeps_its_path() -> None:
    assert normalise_remote("/srv/git/relay.git") == "/srv/git/relay"


def make_repository(folder: Path, url: str) -> None:
    (folder / ".git").mkdir(parents=True)
    remotes = f'[remote "upstream"]\n\turl = x:y\n[remote "origin"]\n\turl = {url}\n'
    remotes = f'[remote "upstream"]\n\turl = x:y\n[remote "origin"]\n\turl = {url}\n'
    (folder / ".git" / "config").write_text("[core]\n\tbare = false\n" + remotes)


def test_a_folder_in_a_repository_belongs_to_its_remote(tmp_path: Path) -> None:
    make_repository(tmp_path / "relay", "git@github.com:acme/relay.git")
    (tmp_path / "relay" / "docs").mkdir()
    found = find_project(tmp_path / "relay" / "docs")
    assert (found.id, found.name) == ("github.com/acme/relay", "relay")
    assert found.base == tmp_path / "relay"


def test_a_worktree_belongs_to_its_repository(tmp_path: Path) -> None:
    make_repository(tmp_path / "relay", "git@github.com:acme/relay.git")
    state = tmp_path / "relay" / ".git" / "worktrees" / "side"
    state.mkdir(parents=True)
    (state / "commondir").write_text("../..\n")
    (tmp_path / "side").mkdir()
    (tmp_path / "side" / ".git").write_text(f"gitdir: {state}\n")
    assert find_project(tmp_path / "side").id == "github.com/acme/relay"


def test_without_a_repository_the_folder_is_the_project(tmp_path: Path) -> None:
    found = find_project(tmp_path)
    assert found.id == tmp_path.as_posix()


@pytest.mark.parametrize(
    "project", ["north-yard", "6f1c1a4e-7d0b-4d0c-9a53-3c2f9a1de001", "O'Dell's relay", "a/b ratio"]
)
def test_an_explicit_project_is_taken_as_written(tmp_path: Path, project: str) -> None:
    assert find_project(tmp_path, project).id == project


@pytest.mark.parametrize("project", ["", "  ", "x" * 501, "a\0b"])
def test_an_impossible_project_is_refused(tmp_path: Path, project: str) -> None:
    with pytest.raises(InvalidInputError):
        find_project(tmp_path, project)


@pytest.mark.parametrize(
    ("project", "name"),
    [
        ("github.com/acme/relay", "relay"),
        ("/home/ann/docs", "ann/docs"),
        ("north-yard", "north-yard"),
    ],
)
def test_the_name_is_the_last_part_that_says_something(project: str, name: str) -> None:
    assert display_name(project) == name
