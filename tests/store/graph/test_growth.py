"""What a process keeps of the statements it ran: measured in processes of their own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from graphmem.store.graph.connections import STATEMENTS_PER_CONNECTION

COMMITS = 150
# Commits before the first measurement: what is loaded once is loaded by then.
WARM = 30
# Share of the growth that may be left when connections are renewed (measured 0.05).
LEFT = 0.3

_CHILD = """
import sys
from pathlib import Path
import psutil
from graphmem.store.graph import connections
from graphmem.store.graph.base import EdgeRow, GraphChanges
from graphmem.store.graph.cypher_engine import CypherGraph
from graphmem.store.graph.engines import engine_named

folder, name, connections.STATEMENTS_PER_CONNECTION, commits, warm = (
    sys.argv[1], sys.argv[2], *map(int, sys.argv[3:])
)
graph = CypherGraph(Path(folder) / "graph", engine_named(name))
for seq in range(1, commits + 1):
    nodes = {f"s{seq}": {"id": f"s{seq}", "seq": seq}, f"t{seq}": {"id": f"t{seq}", "seq": seq}}
    graph.apply(GraphChanges(nodes={"Statement": nodes}), seq)
    graph.facts_about([f"e{seq}"], seq)
    if seq == warm:
        before = psutil.Process().memory_info().rss
print(psutil.Process().memory_info().rss - before)
"""


def growth(folder: Path, statements: int) -> int:
    """Bytes by which a process grew over the commits."""
    folder.mkdir()
    words = [str(folder), "kuzu", str(statements), str(COMMITS), str(WARM)]
    done = subprocess.run(
        [sys.executable, "-c", _CHILD, *words], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return int(done.stdout)


@pytest.mark.slow
def test_renewed_connections_do_not_keep_what_they_ran(tmp_path: Path) -> None:
    renewed = growth(tmp_path / "renewed", STATEMENTS_PER_CONNECTION)
    kept = growth(tmp_path / "kept", 1_000_000)
    assert renewed < LEFT * kept, f"{renewed} of {kept} bytes"
