"""The layout holds: small files, documented modules, no forgotten package, a light import."""

import ast
import json
import re
import subprocess
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

from tests.meta.tree import (
    REPO,
    ROOTS,
    all_python_files,
    discovered_packages,
    label,
    source_files,
)

MAX_FILE_LINES = 500
# Each costs 50 ms to 1 s at start, and hooks and the MCP client must start in a blink.
HEAVY = ("spacy", "kuzu", "ladybug", "onnxruntime", "apsw", "fastmcp")
PYPROJECT = tomllib.loads((REPO / "pyproject.toml").read_text(encoding="utf-8"))
SOURCES = source_files()


def imported_names(path: Path) -> set[str]:
    """Return the absolute modules that a file imports, wherever the statement stands."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names.add(node.module)
    return names


def distribution_name(requirement: str) -> str:
    """Return the normalised name at the head of a requirement."""
    name = re.split(r"[\s\[<>=!~;]", requirement, maxsplit=1)[0]
    return re.sub(r"[-_.]+", "-", name).lower()


def declared_distributions() -> set[str]:
    project = PYPROJECT["project"]
    extras = project["optional-dependencies"]
    wanted = [*project["dependencies"], *extras["ladybug"], *extras["llama"], *extras["notebook"]]
    return {distribution_name(requirement) for requirement in wanted}


@pytest.mark.parametrize("path", all_python_files(), ids=label)
def test_a_file_is_short_enough_to_read(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) <= MAX_FILE_LINES


@pytest.mark.parametrize("path", all_python_files(), ids=label)
def test_a_module_with_code_says_what_it_is_for(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert not text.strip() or ast.get_docstring(ast.parse(text))


@pytest.mark.parametrize("package", ROOTS)
def test_every_folder_with_code_is_a_package_that_ships(package: str) -> None:
    root = REPO / ROOTS[package]
    folders = {path.parent.relative_to(root) for path in root.rglob("*.py")}
    names = {".".join((package, *folder.parts)) for folder in folders}
    assert names <= set(discovered_packages())


@pytest.mark.parametrize("path", SOURCES, ids=label)
def test_a_module_imports_only_declared_distributions(path: Path) -> None:
    known = packages_distributions()
    outside = {name.split(".")[0] for name in imported_names(path)}
    outside -= {*sys.stdlib_module_names, "graphmem"}
    # A distribution may keep its modules in another of its own (fastmcp in fastmcp-slim).
    owners = {
        name: {distribution_name(owner) for owner in [name, *known.get(name, [])]}
        for name in outside
    }
    declared = declared_distributions()
    undeclared = {name for name, candidates in owners.items() if not candidates & declared}
    assert not undeclared, f"declare in pyproject.toml: {sorted(undeclared)}"


@pytest.mark.parametrize("package", ROOTS)
def test_importing_a_package_loads_no_heavy_engine(package: str, tmp_path: Path) -> None:
    program = f"import json, sys, {package}; print(json.dumps(sorted(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert not set(HEAVY) & set(json.loads(done.stdout))


def test_the_version_is_a_literal_that_the_build_can_read() -> None:
    tree = ast.parse((REPO / "graphmem" / "__init__.py").read_text(encoding="utf-8"))
    values = [
        node.value
        for node in tree.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__version__"
    ]
    assert [type(ast.literal_eval(value)) for value in values] == [str]


def test_the_import_contracts_are_configured() -> None:
    contracts = PYPROJECT["tool"]["importlinter"]["contracts"]
    assert {contract["id"] for contract in contracts} == {
        "extractors-know-the-model-only",
        "layers",
        "only-store-touches-databases",
        "traversal-is-pure",
    }
