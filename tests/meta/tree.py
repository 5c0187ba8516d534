"""The source tree as the meta tests see it: folders, files and import names."""

import runpy
from pathlib import Path
from typing import Any

REPO = Path(__file__).resolve().parents[2]
SETUP: dict[str, Any] = runpy.run_path(str(REPO / "setup.py"), run_name="layout")
ROOTS: dict[str, str] = SETUP["ROOTS"]


def discovered_packages() -> list[str]:
    """Return the packages that the build would ship."""
    found: list[str] = SETUP["discover"]()
    return found


def source_files() -> dict[Path, str]:
    """Return every shipped Python file and its import name."""
    named = {}
    for package, folder in ROOTS.items():
        for path in sorted((REPO / folder).rglob("*.py")):
            parts = path.relative_to(REPO / folder).with_suffix("").parts
            parts = parts[:-1] if parts[-1] == "__init__" else parts
            named[path] = ".".join((package, *parts))
    return named


def all_python_files() -> list[Path]:
    """Return every Python file of the repository that people write."""
    folders = (*ROOTS.values(), "tests", "scripts")
    found = [path for folder in folders for path in (REPO / folder).rglob("*.py")]
    return sorted([*found, REPO / "setup.py"])


def label(path: Path) -> str:
    """Return a path as the name of a test case."""
    return path.relative_to(REPO).as_posix()
