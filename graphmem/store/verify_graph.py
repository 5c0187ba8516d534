"""Whether graph and index hold equally many of everything."""

from __future__ import annotations

from collections.abc import Mapping

from graphmem.model.care import Check
from graphmem.store.graph.schema import label_of
from graphmem.store.index_schema import NEVER
from graphmem.store.sqlite import Db
from graphmem.store.verify_index import REBUILD
from graphmem.vocabulary import LinkKind

_HERE = f"gone = {NEVER}"
# Table of the graph → rows of the index that it must have one row for.
_EQUAL = {
    "Source": f"source WHERE {_HERE}",
    "Passage": f"passage WHERE {_HERE}",
    "Statement": f"part WHERE kind = 'statement' AND {_HERE}",
    "Entity": f"name WHERE kind = 'own' AND {_HERE}",
    "Alias": f"name WHERE {_HERE}",
    "Fact": f"fact WHERE {_HERE}",
    "MENTIONS": f"part WHERE kind = 'mention' AND {_HERE}",
    "NAMES": f"name WHERE {_HERE}",
    "SAME_AS": f"redirect WHERE {_HERE}",
    "SUBJECT": f"fact WHERE {_HERE}",
    "OBJECT": f"fact WHERE object_id IS NOT NULL AND {_HERE}",
    "EVIDENCE": f"evidence WHERE {_HERE}",
}


def counts_agree(db: Db, graph: Mapping[str, int]) -> Check:
    """Whether each table of the graph has as many rows as the index; edges without ends lack."""
    expected = {
        table: int(db.execute(f"SELECT count(*) FROM {rows}").fetchone()[0])
        for table, rows in _EQUAL.items()
    }
    expected["CONTAINS"] = expected["Passage"] + expected["Statement"]
    expected |= _links(db)
    wrong = [
        f"{table}: graph {graph.get(table, 0)}, index {number}"
        for table, number in sorted(expected.items())
        if graph.get(table, 0) != number
    ]
    return Check(
        name="counts",
        claim="graph and index hold equally many rows per table",
        checked=len(expected),
        failures=len(wrong),
        examples=tuple(wrong),
        advice=REBUILD,
    )


def _links(db: Db) -> dict[str, int]:
    labels = dict.fromkeys((label_of(kind) for kind in LinkKind), 0)
    labels.pop("NEXT", None)
    rows = db.execute(f"SELECT kind, count(*) FROM link WHERE {_HERE} GROUP BY kind").fetchall()
    for kind, number in rows:
        labels[label_of(LinkKind(kind))] += number
    return labels
