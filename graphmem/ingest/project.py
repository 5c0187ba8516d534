"""Which project a path belongs to: its git remote, else its repository or root folder."""

from __future__ import annotations

import re
from configparser import ConfigParser
from configparser import Error as ConfigError
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Final

from graphmem.errors import InvalidInputError

# Longest project id: the bound of a declared name's value.
MAX_PROJECT_CHARS: Final = 500
# Folder names that name no project; the folder above is shown with them.
GENERIC_NAMES: Final = frozenset(
    "adr adrs decisions doc docs documentation meetings notes records src vault wiki".split()
)

_URL: Final = re.compile(
    r"[a-z][a-z0-9+.-]*://(?:[^@/]*@)?(?P<host>[^/:]+)(?::\d+)?/+(?P<path>.+)", re.I
)
_SCP: Final = re.compile(r"(?:[^@/:]+@)?(?P<host>[^/:]{2,}):(?!//)/*(?P<path>.+)")
_SECTION: Final = re.compile(r'remote "(?P<name>.*)"')


@dataclass(frozen=True, slots=True)
class Project:
    """A project's id and the folder that uris are relative to."""

    id: str
    base: Path

    @property
    def name(self) -> str:
        """What "we" means in the project's records."""
        return display_name(self.id)


def find_project(path: Path, explicit: str | None = None) -> Project:
    """The project of a file or folder (absolute path); ``explicit`` names it instead.

    Raises InvalidInputError for an explicit id that is blank or too long.
    """
    start = path if path.is_dir() else path.parent
    top = next((folder for folder in (start, *start.parents) if (folder / ".git").exists()), None)
    base = top or start
    if explicit is not None:
        return Project(checked_project(explicit), base)
    remote = _remote(top) if top else None
    return Project(remote or base.as_posix(), base)


def checked_project(project: str) -> str:
    """The project id without surrounding space; raises InvalidInputError when it cannot be one."""
    project = project.strip()
    if not project or len(project) > MAX_PROJECT_CHARS or "\0" in project:
        raise InvalidInputError(f"a project needs a name of 1 to {MAX_PROJECT_CHARS} characters")
    return project


def display_name(project: str) -> str:
    """The last part of a project id, with the one before it where the last says nothing.

    >>> display_name("github.com/acme/relay"), display_name("/home/ann/relay/docs")
    ('relay', 'relay/docs')
    """
    parts = [part for part in PurePosixPath(project).parts if part not in {"/", "\\"}]
    if not parts:
        return project
    generic = parts[-1].casefold() in GENERIC_NAMES and len(parts) > 1
    return "/".join(parts[-2:]) if generic else parts[-1]


def normalise_remote(url: str) -> str:
    """A git remote without scheme, user, port and ``.git``, its host in lower case.

    >>> normalise_remote("git@GitHub.com:acme/relay.git")
    'github.com/acme/relay'
    >>> normalise_remote("https://token@github.com:443/acme/relay/")
    'github.com/acme/relay'
    """
    url = url.strip()
    found = _URL.fullmatch(url) or _SCP.fullmatch(url)
    path = (found["path"] if found else url.removeprefix("file://")).rstrip("/")
    path = path.removesuffix(".git").rstrip("/")
    return f"{found['host'].lower()}/{path.lstrip('/')}" if found else path


def _remote(top: Path) -> str | None:
    """The normalised ``origin`` remote, else the first by name; read from git's own files."""
    config = _git_config(top / ".git")
    if config is None:
        return None
    parser = ConfigParser(strict=False, interpolation=None, allow_no_value=True)
    try:
        parser.read_string(re.sub(r"(?m)^[ \t]+", "", config))
    except ConfigError:
        return None
    urls: dict[str, str] = {}
    for section in parser.sections():
        found = _SECTION.fullmatch(section)
        url = parser.get(section, "url", fallback=None)
        if found and url:
            urls[found["name"]] = url
    chosen = urls.get("origin") or next((urls[name] for name in sorted(urls)), None)
    return normalise_remote(chosen) or None if chosen else None


def _git_config(git: Path) -> str | None:
    """The text of a repository's config; a ``.git`` file (worktree) points elsewhere."""
    try:
        if git.is_file():
            target = git.read_text("utf-8").removeprefix("gitdir:").strip()
            git = (git.parent / target).resolve()
            common = git / "commondir"
            if common.is_file():
                git = (git / common.read_text("utf-8").strip()).resolve()
        return (git / "config").read_text("utf-8", "replace")
    except (OSError, ValueError):
        return None
