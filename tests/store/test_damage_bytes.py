"""Every file of a vault, cut, zeroed and flipped: healed exactly, or read-only with rows named."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.store.damaging import Made, make, of_files, opened

# Flipped bits per file and way of leaving.
FLIPS = 20

CLOSED = ("graph.kuzu", "graph.kuzu.wal", "index.sqlite", "journal.sqlite")
KILLED = (*CLOSED, "index.sqlite-wal", "journal.sqlite-wal")
CASES = [("closed", name) for name in CLOSED] + [("killed", name) for name in KILLED]


@pytest.fixture(scope="module")
def vaults(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Made]:
    folder = tmp_path_factory.mktemp("made")
    return {
        f"{how} {graph}": make(folder / f"{how} {graph}", killed=how == "killed", graph=graph)
        for how in ("closed", "killed")
        for graph in ("kuzu", "memory")
    }


def verdict(made: Made, told: dict[str, Any]) -> str:
    """What came of a damage; anything that starts with "wrong" is a failure."""
    if "error" in told:
        return f"wrong: {told['error']}"
    lost = told["lost"]
    rows = dict(told["rows"])
    if lost is None:
        if told["dump"] != made.dump:
            return "wrong: the dump is another one"
        if rows != made.rows:
            return "wrong: the journal has other rows"
        if told["differences"]:
            return f"wrong: the index has other rows: {told['differences']}"
        return "healed" if told["warnings"] else "unharmed"
    kept = {seq: text for seq, text in made.rows.items() if seq not in lost}
    if {seq: text for seq, text in rows.items() if seq not in lost} != kept:
        return "wrong: rows that are not named as damaged are missing or altered"
    if not lost or "repair-journal" not in told["message"] or "backup" not in told["message"]:
        return "wrong: the message names no rows or no choices"
    if of_files(told["dump"]) != of_files(made.dump):
        return "wrong: what the index holds is not served"
    return "read-only"


@pytest.mark.slow
@pytest.mark.parametrize(("left", "name"), CASES)
def test_no_damage_is_served_as_if_it_were_right(
    vaults: dict[str, Made], tmp_path: Path, left: str, name: str
) -> None:
    made = vaults[f"{left} {'kuzu' if name.startswith('graph') else 'memory'}"]
    found = [(verdict(made, each), each) for each in opened(made, tmp_path, name, 7, FLIPS)]
    wrong = [f"{each['what']}: {what}" for what, each in found if what.startswith("wrong")]
    counted = {kind: sum(what == kind for what, _ in found) for kind in
               ("healed", "unharmed", "read-only")}  # fmt: skip
    print(f"{name} of a {left} vault damaged {len(found)} times: {counted['healed']} healed, "
          f"{counted['unharmed']} unharmed, {counted['read-only']} read-only, "
          f"{len(wrong)} wrong")  # fmt: skip
    assert not wrong, "\n".join(wrong)
    assert counted["healed"] + counted["read-only"] or name.endswith("-wal")
