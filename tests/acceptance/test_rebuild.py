"""Graph and index are made anew from the journal, to the last row."""

from __future__ import annotations

from pathlib import Path

from tests.acceptance.notes import write_notes
from tests.cli.conftest import Command

GRAPH, INDEX = "graph.kuzu", "index.sqlite"


LOST = ((GRAPH,), (INDEX,), (GRAPH, INDEX))


def test_what_is_deleted_is_rebuilt_to_an_equal_exact_dump(
    graphmem: Command, vault: Path, tmp_path: Path
) -> None:
    notes = write_notes(tmp_path / "notes", 6)
    assert graphmem("ingest", str(notes), "--project", "p").code == 0
    graphmem("remember", "We dropped LanceDB.", "--because", "Its index was lost twice.")
    (notes / "part0" / "note0000.md").unlink()
    assert graphmem("sync").code == 0
    before = graphmem("export").out
    status = graphmem("status", "--json").data
    assert len(before.splitlines()) > 50
    for lost in LOST:
        for path in [found for name in lost for found in vault.glob(f"{name}*")]:
            path.unlink()
        rebuilt = graphmem("rebuild", "--json")
        assert (rebuilt.code, rebuilt.data) == (0, status)
        assert graphmem("export").out == before
