"""Maps the three source folders onto one import package; all metadata is in pyproject.toml.

Packages are discovered, so that a new folder cannot be forgotten in a list.
"""

from pathlib import Path

from setuptools import find_packages, setup

HERE = Path(__file__).resolve().parent
ROOTS = {
    "graphmem": "graphmem",
    "graphmem.extractors": "extractors",
    "graphmem.traversal": "traversal",
}


def discover() -> list[str]:
    """Return the import name of every package below the source folders, sorted."""
    found = set(ROOTS)
    for package, folder in ROOTS.items():
        found.update(f"{package}.{name}" for name in find_packages(str(HERE / folder)))
    return sorted(found)


if __name__ == "__main__":
    setup(packages=discover(), package_dir=dict(ROOTS))
