"""The wheel holds what the source folders hold, and installs outside the checkout."""

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path, PurePosixPath

import pytest

from tests.meta.tree import REPO, ROOTS

pytestmark = pytest.mark.slow

BUILD_FILES = ("pyproject.toml", "setup.py", "LICENSE", "README.md")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build from a copy of the sources to which a package and a data file were added."""
    copy = tmp_path_factory.mktemp("checkout")
    for folder in ROOTS.values():
        shutil.copytree(REPO / folder, copy / folder, ignore=shutil.ignore_patterns("__pycache__"))
    for name in BUILD_FILES:
        if (REPO / name).exists():
            shutil.copy(REPO / name, copy / name)
    added = copy / "extractors" / "added"
    added.mkdir()
    (added / "__init__.py").write_text('"""A package that nobody listed."""\n')
    (added / "words.tsv").write_text("a\tb\n")
    out = tmp_path_factory.mktemp("dist")
    options = ["--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir", str(out)]
    subprocess.run([sys.executable, "-m", "pip", "wheel", *options, str(copy)], check=True)
    return next(out.glob("*.whl"))


def shipped(wheel: Path) -> set[str]:
    return set(zipfile.ZipFile(wheel).namelist())


@pytest.mark.parametrize("package", ROOTS)
def test_the_wheel_holds_every_file_of_a_source_folder(wheel: Path, package: str) -> None:
    root = REPO / ROOTS[package]
    files = [path for path in root.rglob("*") if path.is_file() and path.suffix != ".pyc"]
    prefix = PurePosixPath(*package.split("."))
    expected = {str(prefix / path.relative_to(root).as_posix()) for path in files}
    assert expected <= shipped(wheel)


def test_a_package_that_nobody_listed_ships_with_its_data(wheel: Path) -> None:
    added = {"graphmem/extractors/added/__init__.py", "graphmem/extractors/added/words.tsv"}
    assert added <= shipped(wheel)


def test_the_wheel_carries_no_tests_and_no_second_copy(wheel: Path) -> None:
    tops = {PurePosixPath(name).parts[0] for name in shipped(wheel)}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"graphmem"}
