"""Generated notes with names, numbers, causes and repeats; the same for the same number."""

from __future__ import annotations

from pathlib import Path

DECISIONS = Path(__file__).resolve().parents[2] / "docs" / "decisions"

_MAKERS = ("Zephyr Depot", "Anvil Works", "Halden Works", "Orion Group")
_PEOPLE = ("Maren Toft", "Ivo Brandt", "Sela Munk", "Zoé Lindqvist")
_FAULTS = ("the coolant ran dry", "the fuse blew", "the bolt was loose")


def note(number: int) -> str:
    """A short note in Markdown."""
    maker = _MAKERS[number % len(_MAKERS)]
    other = _MAKERS[(number + 1) % len(_MAKERS)]
    person = _PEOPLE[number % len(_PEOPLE)]
    return (
        f"# Report {number}\n\n{maker} supplies {other}. {person} approved OPS-{1000 + number}.\n\n"
        f"Pump P-{number} failed because {_FAULTS[number % len(_FAULTS)]}.\n"
    )


def write_notes(folder: Path, count: int) -> Path:
    """``count`` notes in a folder of folders."""
    for number in range(count):
        path = folder / f"part{number % 7}" / f"note{number:04}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(note(number), encoding="utf-8")
    return folder
