"""Files to documents: what may be read, how it is decoded, and the walk over a root."""

from __future__ import annotations

import codecs
import fnmatch
import hashlib
import os
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, tzinfo
from pathlib import Path
from typing import Final

from graphmem.errors import ReadError
from graphmem.ingest.document import ReadDocument
from graphmem.ingest.markdown import read_markdown
from graphmem.ingest.text import read_text
from graphmem.model.results import Problem

# Larger files are data or logs, not notes; a 1.2 MB note still fits.
MAX_FILE_BYTES: Final = 8 * 1024 * 1024
# How much of a file is looked at to tell text from binary.
SNIFF_BYTES: Final = 8 * 1024
MARKDOWN_SUFFIXES: Final = frozenset({".md", ".markdown", ".mdown", ".mkd", ".mdx"})
TEXT_SUFFIXES: Final = MARKDOWN_SUFFIXES | {".txt", ".text", ".rst", ".adoc", ".asciidoc", ".org"}
# Folders that hold no notes of the user; hidden folders are left out by their name.
SKIPPED_FOLDERS: Final = frozenset(
    {"node_modules", "__pycache__", "venv", "site-packages", "bower_components"}
)
# The pattern that means "all text files below the root".
ANY_FILE: Final = "**/*"

_BOMS: Final = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


@dataclass(frozen=True, slots=True)
class RawFile:
    """A file's bytes with its identity."""

    path: Path
    uri: str
    data: bytes
    content_hash: str
    modified: datetime


@dataclass(frozen=True, slots=True)
class Walk:
    """The files of a root, sorted, and what could not be listed; complete without problems."""

    files: tuple[Path, ...]
    problems: tuple[Problem, ...]


def read_file(
    path: Path, root: Path, project: str, *, base: Path | None = None, zone: tzinfo = UTC
) -> ReadDocument:
    """The document in a file below ``root``; its uri is relative to ``base`` (default ``root``).

    Raises ReadError for what is binary, too large, undecodable, not readable, or outside.
    """
    return parse_file(load_file(path, root, base or root), project, zone)


def load_file(path: Path, root: Path, base: Path) -> RawFile:
    """The bytes of a regular file below the root; raises ReadError."""
    try:
        real = path.resolve(strict=True)
        if not real.is_relative_to(root) and not real.is_relative_to(root.resolve()):
            raise ReadError(f"leads outside its root {root}", path=str(path))
        found = real.stat()
        if not stat.S_ISREG(found.st_mode):
            raise ReadError("is not a regular file", path=str(path))
        if found.st_size > MAX_FILE_BYTES:
            raise ReadError(
                f"has {found.st_size} bytes; at most {MAX_FILE_BYTES} are read", path=str(path)
            )
        data = real.read_bytes()
    except (OSError, ValueError, RuntimeError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise ReadError(f"cannot be read: {reason}", path=str(path)) from error
    content_hash = hashlib.blake2b(data, digest_size=16).hexdigest()
    modified = datetime.fromtimestamp(found.st_mtime, UTC)
    return RawFile(path, uri_of(path, base), data, content_hash, modified)


def uri_of(path: Path, base: Path) -> str:
    """The path below the base with forward slashes; bytes that are no UTF-8 stand escaped."""
    name = path.as_posix().removeprefix(base.as_posix().rstrip("/") + "/")
    return os.fsencode(name).decode("utf-8", "backslashreplace")


def parse_file(raw: RawFile, project: str, zone: tzinfo = UTC) -> ReadDocument:
    """The document in a file's bytes; raises ReadError when they are no text."""
    text, warning = decode(raw.data, str(raw.path))
    is_markdown = raw.path.suffix.lower() in MARKDOWN_SUFFIXES
    reader = read_markdown if is_markdown else read_text
    document = reader(
        text,
        raw.uri,
        project,
        content_hash=raw.content_hash,
        modified=raw.modified,
        zone=zone,
    )
    return replace(document, warnings=(warning, *document.warnings)) if warning else document


def decode(data: bytes, path: str) -> tuple[str, Problem | None]:
    """The text of a file, without byte-order mark and with ``\\n`` line ends, and a warning when
    it was not UTF-8. Raises ReadError for binary data."""
    encoding = next((name for bom, name in _BOMS if data.startswith(bom)), None)
    if encoding is None and b"\0" in data[:SNIFF_BYTES]:
        raise ReadError("is binary: it holds NUL bytes", path=path)
    warning = None
    try:
        text = data.decode(encoding or "utf-8")
    except UnicodeDecodeError as error:
        text = _as_cp1252(data, path, error) if encoding is None else _refuse(path, error)
        warning = Problem(path=path, reason="not UTF-8; read as Windows-1252", fatal=False)
    return text.replace("\r\n", "\n").replace("\r", "\n"), warning


def _as_cp1252(data: bytes, path: str, error: UnicodeDecodeError) -> str:
    try:
        return data.decode("cp1252")
    except UnicodeDecodeError:
        return _refuse(path, error)


def _refuse(path: str, error: UnicodeDecodeError) -> str:
    raise ReadError(
        f"is in no known encoding: byte {error.start} does not fit; save it as UTF-8", path=path
    ) from error


def walk(root: Path, pattern: str = ANY_FILE, ignore: Sequence[str] = ()) -> Walk:
    """The readable files of a root (or the root itself when it is a file), sorted by path.

    Hidden, dependency and vault folders are left out; symlinked folders are not followed. The
    default pattern takes text files by suffix, any other pattern takes what it matches.
    """
    if root.is_file():
        return Walk((root,), ())
    problems: list[Problem] = []

    def failed(error: OSError) -> None:
        reason = f"cannot be listed: {error.strerror or error}"
        problems.append(Problem(path=str(error.filename or root), reason=reason))

    if not root.is_dir():
        problems.append(Problem(path=str(root), reason="is not there"))
        return Walk((), tuple(problems))
    files: list[Path] = []
    for folder, folders, names in os.walk(root, onerror=failed, followlinks=False):
        folders[:] = sorted(name for name in folders if not _skipped(Path(folder) / name))
        files += _matching(root, Path(folder), names, pattern, ignore)
    return Walk(tuple(sorted(files)), tuple(problems))


def _skipped(folder: Path) -> bool:
    name = folder.name
    return name.startswith(".") or name in SKIPPED_FOLDERS or (folder / "vault.json").is_file()


def _matching(
    root: Path, folder: Path, names: list[str], pattern: str, ignore: Sequence[str]
) -> Iterator[Path]:
    for name in names:
        path = folder / name
        if name.startswith(".") or any(matches(path, root, each) for each in ignore):
            continue
        if (
            path.suffix.lower() in TEXT_SUFFIXES
            if pattern == ANY_FILE
            else matches(path, root, pattern)
        ):
            yield path


def matches(path: Path, root: Path, pattern: str) -> bool:
    """Whether a path fits a glob, by its name or its path below the root; ``**/`` may be empty."""
    below = path.relative_to(root).as_posix()
    names = {pattern, pattern.replace("**/", "")}
    return any(
        fnmatch.fnmatchcase(below, each)
        or ("/" not in each and fnmatch.fnmatchcase(path.name, each))
        for each in names
    )
