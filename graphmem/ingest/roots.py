"""Roots of ``sync``: which files a run reads, and which root and project each belongs to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from graphmem.ingest.files import ANY_FILE, walk
from graphmem.ingest.project import Project, find_project
from graphmem.model.base import digest
from graphmem.model.items import Root
from graphmem.model.operations import DeclareRoot
from graphmem.model.results import Problem
from graphmem.vocabulary import Origin

# Stands before the hash in the id of a root.
ROOT_PREFIX = "root"


@dataclass(frozen=True, slots=True)
class Job:
    """One file to read with the root that owns it."""

    path: Path
    root: Root
    project: Project


@dataclass(frozen=True, slots=True)
class Scan:
    """The files of a run, the roots that were walked to the end, and what went wrong."""

    jobs: tuple[Job, ...]
    complete: frozenset[str]
    problems: tuple[Problem, ...]


def absolute(path: Path) -> Path:
    """The path without links and ``..``, also when nothing is there."""
    return path.expanduser().resolve()


def declare(
    paths: Sequence[Path],
    known: Sequence[Root],
    *,
    project: str | None,
    pattern: str | None,
    origin: Origin,
) -> tuple[list[DeclareRoot], list[tuple[Path, Root]], list[Problem]]:
    """The roots for the paths: a path inside a known root belongs to it, any other is a new one.

    Gives the operations, the (path, root) pairs to scan, and the paths that are not there.
    """
    roots = {root.id: root for root in known}
    operations: list[DeclareRoot] = []
    scans: list[tuple[Path, Root]] = []
    problems: list[Problem] = []
    for given in paths:
        path = absolute(given)
        if not path.exists():
            problems.append(Problem(path=str(given), reason="is not there"))
            continue
        if in_vault(path):
            problems.append(Problem(path=str(given), reason="is a vault of graphmem, not notes"))
            continue
        root = _root_for(path, list(roots.values()), project, pattern, origin)
        old = roots.get(root.id)
        if root != old:
            operations.append(DeclareRoot(after=root, before=old))
            roots[root.id] = root
        scans.append((path, root))
    return operations, scans, problems


def in_vault(path: Path) -> bool:
    """Whether the path is or lies in a vault's folder: it holds what was read, and secrets."""
    return any((folder / "vault.json").is_file() for folder in (path, *path.parents))


def _root_for(
    path: Path, known: Sequence[Root], project: str | None, pattern: str | None, origin: Origin
) -> Root:
    ident = f"{ROOT_PREFIX}:{digest(path.as_posix())}"
    own = next((root for root in known if root.id == ident), None)
    above = owner(path, known)
    asked = project is None and pattern is None
    if own is None and above is not None and asked and above.origin is origin:
        return above
    stated = None if project is None else find_project(path, project).id
    inherited = own or above
    return Root(
        id=ident,
        path=path.as_posix(),
        pattern=pattern or (own.pattern if own else ANY_FILE),
        ignore=inherited.ignore if inherited else (),
        project=stated or (inherited.project if inherited else find_project(path).id),
        origin=origin,
    )


def owner(path: Path, roots: Sequence[Root]) -> Root | None:
    """The deepest root that holds the path."""
    holding = [root for root in roots if path == Path(root.path) or Path(root.path) in path.parents]
    return max(holding, key=lambda root: len(root.path), default=None)


def scan(
    scans: Sequence[tuple[Path, Root]],
    roots: Sequence[Root],
    single: frozenset[str] = frozenset(),
) -> Scan:
    """Walks the paths; each file is listed once, under the deepest root that holds it.

    ``single`` are the ids of roots that are one file: when only the file is gone the scan is
    complete, while a folder that is gone may be a disk that is not mounted.
    """
    jobs: dict[Path, Job] = {}
    complete: set[str] = set()
    problems: list[Problem] = []
    projects: dict[str, Project] = {}
    own_files = {each.path for each in roots}
    for path, root in scans:
        holders: dict[Path, Root] = {}
        if root.id in single and not path.exists() and path.parent.is_dir():
            complete.add(root.id)
            continue
        walked = walk(path, root.pattern, root.ignore)
        problems += walked.problems
        if path.as_posix() == root.path and not walked.problems:
            complete.add(root.id)
        for file in walked.files:
            place = file if file.as_posix() in own_files else file.parent
            if place not in holders:
                holders[place] = owner(place, roots) or root
            holder = holders[place]
            if holder.id not in projects:
                projects[holder.id] = project_of(holder)
            jobs.setdefault(file, Job(file, holder, projects[holder.id]))
    return Scan(tuple(jobs.values()), frozenset(complete), tuple(problems))


def project_of(root: Root) -> Project:
    """The project of a root, with the folder that its uris are relative to."""
    return Project(root.project, find_project(Path(root.path)).base)
