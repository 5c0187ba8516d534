"""Cypher text derived from the schema. Data travels in parameters; only schema names stand here.

Batches are ``UNWIND $rows``, scalars named by ``WITH``, and one ``MATCH`` per end: two patterns in
one ``MATCH`` after ``UNWIND`` are a cross product in Kuzu (200 rows took 10 s against 20 ms).
A column of nothing but None arrives as STRING, so every other type is cast.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from graphmem.store.graph.schema import COLUMN_TYPES, NODE_TABLES, REL_TABLES, NodeTable, RelTable


def create_tables() -> Iterator[str]:
    """The DDL of all tables, nodes first."""
    for table in NODE_TABLES.values():
        yield f"CREATE NODE TABLE {table.name} ({_declared(table)}, PRIMARY KEY (`id`))"
    for relation in REL_TABLES.values():
        ends = ", ".join(f"FROM {one} TO {two}" for one, two in relation.ends)
        yield f"CREATE REL TABLE {relation.name} ({ends}, {_declared(relation)})"


def _declared(table: NodeTable | RelTable) -> str:
    return ", ".join(f"`{column.name}` {column.type}" for column in table.columns)


def _typed(table: str, names: Sequence[str]) -> list[str]:
    """Each column of a parameter row ``r`` (fields c0, c1, …) as its own type."""
    types = COLUMN_TYPES[table]
    return [
        f"r.c{i}" if types[name] == "STRING" else f"CAST(r.c{i} AS {types[name]})"
        for i, name in enumerate(names)
    ]


def put_nodes(table: str, names: Sequence[str], *, create: bool) -> str:
    """Sets the columns of nodes by ``id`` (field ``id``); ``create`` makes those that are missing.

    Rows of ``$rows`` have ``id`` and c0, c1, … in the order of ``names``.
    """
    sets = ", ".join(
        f"n.`{name}` = {value}"
        for name, value in zip(names, _typed(table, names), strict=True)
    )  # fmt: skip
    if create:
        return f"UNWIND $rows AS r MERGE (n:{table} {{id: r.id}}) SET {sets}"
    named, _ = _scalars(table, names)
    sets = ", ".join(f"n.`{name}` = v{i}" for i, name in enumerate(names))
    return f"UNWIND $rows AS r WITH r.id AS x, {named} MATCH (n:{table} {{id: x}}) SET {sets}"


def _scalars(table: str, names: Sequence[str]) -> tuple[str, str]:
    """``value AS v0, …`` and ``v0, …``."""
    typed = _typed(table, names)
    named = ", ".join(f"{value} AS v{i}" for i, value in enumerate(typed))
    return named, ", ".join(f"v{i}" for i in range(len(names)))


def create_edges(label: str, source: str, target: str) -> str:
    """Creates relations; rows have ``a``, ``b`` and c0, c1, … in the label's column order."""
    names = [column.name for column in REL_TABLES[label].columns]
    named, scalars = _scalars(label, names)
    columns = ", ".join(f"`{name}`: v{i}" for i, name in enumerate(names))
    return (
        f"UNWIND $rows AS r WITH r.a AS x, r.b AS y, {named} "
        f"MATCH (a:{source} {{id: x}}) WITH a, y, {scalars} "
        f"MATCH (b:{target} {{id: y}}) CREATE (a)-[:{label} {{{columns}}}]->(b)"
    )


def delete_edges(label: str, source: str) -> str:
    """Deletes relations by source (``a``) and key (``k``), whatever their target."""
    return (
        f"UNWIND $rows AS r WITH r.a AS x, r.k AS k "
        f"MATCH (a:{source} {{id: x}})-[e:{label}]->() WHERE e.`key` = k DELETE e"
    )


def delete_nodes(table: str) -> Iterator[str]:
    """Statements that delete nodes by ``id``: all their relations kind by kind, then the nodes.

    ``DETACH DELETE`` would do it in one, but replaying Kuzu 0.11.3's log of it takes relations of
    other nodes along when both ends of one were deleted.
    """
    start = f"UNWIND $rows AS r WITH r.id AS x MATCH (n:{table} {{id: x}})"
    for label in REL_TABLES.values():
        for source, target in label.ends:
            if source == table:
                yield f"{start}-[e:{label.name}]->(:{target}) DELETE e"
            if target == table:
                yield f"{start}<-[e:{label.name}]-(:{source}) DELETE e"
    yield f"{start} DELETE n"


def all_nodes(table: str, names: Sequence[str]) -> str:
    """The named columns of every node as v0, v1, …."""
    returned = ", ".join(f"n.`{name}` AS v{i}" for i, name in enumerate(names))
    return f"MATCH (n:{table}) RETURN {returned}"


def all_edges(label: str, source: str, target: str, names: Sequence[str]) -> str:
    """Both ends (``a``, ``b``) and the named columns of every relation of a pair of tables."""
    returned = "".join(f", e.`{name}` AS v{i}" for i, name in enumerate(names))
    return f"MATCH (a:{source})-[e:{label}]->(b:{target}) RETURN a.id AS a, b.id AS b{returned}"


def count_nodes(table: str) -> str:
    """The number of nodes, by reading their keys."""
    return f"MATCH (n:{table}) RETURN count(n.id)"


def count_edges(label: str) -> str:
    """The number of relations of a label, by reading their keys."""
    return f"MATCH ()-[e:{label}]->() RETURN count(e.`key`)"


def facts_at(label: str) -> str:
    """Facts with an entity of ``$ids`` at one end."""
    return (
        "UNWIND $ids AS x WITH x "
        f"MATCH (e:Entity {{id: x}})<-[:{label}]-(f:Fact) WHERE f.seq <= $seq RETURN f.id"
    )


def evidence_of(target: str) -> str:
    """Fact and key of the evidence of ``$ids`` that stands in one kind of node."""
    return (
        "UNWIND $ids AS x WITH x "
        f"MATCH (f:Fact {{id: x}})-[e:EVIDENCE]->(:{target}) WHERE e.seq <= $seq "
        "RETURN f.id, e.`key`"
    )


def links_at(label: str, *, outgoing: bool) -> str:
    """Keys of relations among statements that leave, or reach, one of ``$ids``."""
    arrow = f"-[e:{label}]->" if outgoing else f"<-[e:{label}]-"
    return (
        "UNWIND $ids AS x WITH x "
        f"MATCH (s:Statement {{id: x}}){arrow}(:Statement) WHERE e.seq <= $seq RETURN e.`key`"
    )
