"""Decision records for the benchmarks: finding them, and the same text without titles."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

# The name of the set, and of its folder in the data folder.
SET = "adr"
# A project is left out when it has fewer records: too few to be confused with each other.
LEAST_RECORDS = 2
# What stands where a title was removed from a link.
STAND_IN = "that record"

_FRONT = re.compile(r"\A---\n(.*?)\n---\n", re.DOTALL)
_FRONT_TITLE = re.compile(r"^title:[ \t]*['\"]?(.+?)['\"]?[ \t]*$", re.MULTILINE)
_TELLING_KEY = re.compile(
    r"^(?:title|description|sidebar_label|id|slug):.*\n?(?:[ \t]+.*\n?)*", re.MULTILINE
)
_H1 = re.compile(r"^#[ \t]+(.+?)[ \t#]*$", re.MULTILINE)
_CODE = re.compile(r"^(```|~~~).*?^\1[ \t]*$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\[([^\[\]\n]+)\](?=\(|\[|:)")
_NUMBER = re.compile(r"^(?:adr[-_ ]?)?(\d{1,5})(?=[-_. ]|$)", re.IGNORECASE)
_LABEL = re.compile(
    r"^(?:(?:ADR|RFC|decision|record)[-_ #]*\d+|\d+(?:\.\d+)*|architecture decision record)"
    r"[.:)\s–—-]+",
    re.IGNORECASE,
)
_NO_WORD = re.compile(r"[\W_]+")


class NoDataError(Exception):
    """There are no records where they were looked for; the message says where and in what form."""


@dataclass(frozen=True, slots=True)
class Record:
    """One Markdown file of a project; ``path`` is relative to the project."""

    project: str
    path: str
    text: str

    @property
    def title(self) -> str:
        """The title without its number: the first heading, else the front matter's, else the name.

        >>> Record("p", "0007-x.md", "# 7. Use X\\n").title
        'Use X'
        """
        front = _FRONT.match(self.text)
        body = self.text[front.end() if front else 0 :]
        heading = _H1.search(_CODE.sub("", body))
        stated = _FRONT_TITLE.search(front[1]) if front else None
        found = heading or stated
        named = _NUMBER.sub("", PurePosixPath(self.path).stem).replace("-", " ").strip()
        title = found[1] if found else named
        return _LABEL.sub("", re.sub(r"[`*]", "", title)).strip() or named


def find_records(folder: Path) -> list[Record]:
    """The records under ``folder/adr`` or ``folder``: a folder per project, or JSON lines.

    Known forms: ``adr/<project>/**/*.md``, ``adr/*.md`` (one project) and ``*.jsonl`` with the
    fields ``path`` and ``text`` and perhaps ``project``. Raises NoDataError when there are none.
    """
    if not folder.is_dir():
        raise NoDataError(f"no benchmark data: {folder} is not a folder")
    base = folder / SET if (folder / SET).is_dir() else folder
    found = [*_from_folders(base), *_from_lines(base)]
    unique = {(each.project, each.path): each for each in found}
    records = [unique[key] for key in sorted(unique)]
    sizes: dict[str, int] = {}
    for each in records:
        sizes[each.project] = sizes.get(each.project, 0) + 1
    kept = [each for each in records if sizes[each.project] >= LEAST_RECORDS]
    if not kept:
        raise NoDataError(
            f"no decision records in {base}: expected <project>/**/*.md, *.md, or *.jsonl with "
            f"'path' and 'text' (at least {LEAST_RECORDS} records a project)"
        )
    return kept


def _from_folders(base: Path) -> Iterator[Record]:
    for path in sorted(base.rglob("*.md")):
        parts = path.relative_to(base).parts
        if any(part.startswith(".") for part in parts) or path.name.lower() == "readme.md":
            continue
        project, inner = (parts[0], parts[1:]) if len(parts) > 1 else (base.name, parts)
        yield Record(project, "/".join(inner), path.read_text("utf-8", errors="replace"))


def _from_lines(base: Path) -> Iterator[Record]:
    for file in sorted(base.rglob("*.jsonl")):
        for number, line in enumerate(file.read_text("utf-8").splitlines(), 1):
            if not line.strip():
                continue
            try:
                row = json.loads(line)
                path, text = str(row["path"]).lstrip("/"), str(row["text"])
            except (ValueError, KeyError, TypeError) as error:
                raise NoDataError(f"{file}:{number}: no 'path' and 'text': {error}") from error
            project = str(row.get("project") or row.get("repo") or file.stem)
            if path.endswith(".md") and ".." not in PurePosixPath(path).parts:
                yield Record(project.replace("/", "--"), path, text)


def write_records(records: Sequence[Record], folder: Path) -> dict[str, Path]:
    """Writes each project's records; gives the folder of each project."""
    roots: dict[str, Path] = {}
    for each in records:
        root = roots.setdefault(each.project, folder / each.project)
        path = root / each.path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(each.text, encoding="utf-8")
    return roots


def hide_titles(records: Sequence[Record]) -> list[Record]:
    """The same records in the same order, without their titles.

    Gone are the first heading, what front matter says of it, file names (also where other records
    mention them) and link texts that repeat a title; numbers stay, for they are references.
    """
    names = _neutral_names(records)
    hidden = []
    for each in records:
        near = [other for other in records if other.project == each.project]
        text = _without_own_title(each.text)
        for other in near:
            stem, name = PurePosixPath(other.path).stem, PurePosixPath(names[id(other)])
            if len(stem) > len(name.stem):
                text = text.replace(stem, name.stem)
        titles = {_plain(other.title) for other in near}
        text = _LINK.sub(lambda found, t=titles: _link(found, t), text)  # type: ignore[misc]
        path = PurePosixPath(each.path).with_name(PurePosixPath(names[id(each)]).name)
        hidden.append(Record(each.project, str(path), text))
    return hidden


def _without_own_title(text: str) -> str:
    front = _FRONT.match(text)
    if front:
        kept = _TELLING_KEY.sub("", front[1] + "\n")
        text = f"---\n{kept}---\n{text[front.end() :]}" if kept.strip() else text[front.end() :]
    start = len(front[0]) if (front := _FRONT.match(text)) else 0
    blank = _CODE.sub(lambda found: " " * len(found[0]), text[start:])
    heading = _H1.search(blank)
    if heading is None:
        return text
    return text[: start + heading.start()] + text[start + heading.end() :]


def _neutral_names(records: Sequence[Record]) -> dict[int, str]:
    taken: set[tuple[str, str]] = set()
    names: dict[int, str] = {}
    for position, each in enumerate(records, 1):
        path = PurePosixPath(each.path)
        found = _NUMBER.match(path.name)
        stem = found[1] if found else f"{9000 + position}"
        folder, copy = f"{each.project}/{path.parent}", 1
        name = stem
        while (folder, name) in taken:
            copy += 1
            name = f"{stem}-{copy}"
        taken.add((folder, name))
        names[id(each)] = f"{name}.md"
    return names


def _link(found: re.Match[str], titles: set[str]) -> str:
    words = _plain(_LABEL.sub("", found[1]))
    return f"[{STAND_IN}]" if words and words in titles else found[0]


def _plain(text: str) -> str:
    return _NO_WORD.sub(" ", text).strip().casefold()
