"""Every command has a help text with an example and stands in the documentation."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.main import get_command

from graphmem.cli.app import app

DOCS = Path(__file__).parents[2] / "docs" / "cli.md"
COMMANDS = get_command(app).commands  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_every_command_is_documented_with_all_options(name: str) -> None:
    text = DOCS.read_text(encoding="utf-8")
    section = text.split(f"\n## graphmem {name}\n", 1)
    assert len(section) == 2, f"docs/cli.md has no section 'graphmem {name}'"
    body = section[1].split("\n## ", 1)[0]
    for parameter in COMMANDS[name].params:
        for option in parameter.opts:
            if option.startswith("--") and option not in ("--vault", "--json"):
                assert option in body, f"{name} {option} is not documented"


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_every_command_has_help_with_an_example(name: str) -> None:
    command = COMMANDS[name]
    assert f"Example: {'claude' if name == 'mcp' else 'graphmem ' + name}" in (command.help or "")
    assert all(getattr(p, "help", "") for p in command.params), "a parameter has no help"


def test_every_command_of_a_group_is_documented_and_has_an_example() -> None:
    text = DOCS.read_text(encoding="utf-8")
    for group, command in COMMANDS.items():
        for name, part in getattr(command, "commands", {}).items():
            assert f"    graphmem {group} {name}" in text, f"{group} {name} is not documented"
            assert f"Example: graphmem {group} {name}" in (part.help or "")
            assert all(getattr(p, "help", "") for p in part.params), "a parameter has no help"


def test_the_documentation_names_no_command_that_is_gone() -> None:
    text = DOCS.read_text(encoding="utf-8")
    named = {
        line.removeprefix("## graphmem ")
        for line in text.splitlines()
        if line.startswith("## graphmem ")
    }
    assert named == set(COMMANDS)
