"""Checks of the index's rows: evidence, references, doubles, loops, redirects, hidden words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping

import apsw

from graphmem.model.care import Check
from graphmem.store.index_schema import NEVER
from graphmem.store.sqlite import Db

REBUILD = "graphmem rebuild makes graph and index anew from the journal"
# For what a rebuild cannot mend, because the journal itself says it.
IN_JOURNAL = f"{REBUILD}; when it stays, the journal says so: please report it with this output"

_SOURCES = f"SELECT id FROM source WHERE gone = {NEVER}"
_PASSAGES = f"SELECT id FROM passage WHERE gone = {NEVER}"
_STATEMENTS = f"SELECT id FROM part WHERE kind = 'statement' AND gone = {NEVER}"
_ENTITIES = f"SELECT entity_id FROM name WHERE kind = 'own' AND gone = {NEVER}"
_FACTS = f"SELECT id FROM fact WHERE gone = {NEVER}"
# Table, the column that says who refers, the one that refers, what must be there.
_REFERENCES = (
    ("passage", "id", "source_id", _SOURCES),
    ("part", "id", "passage_id", _PASSAGES),
    ("part", "id", "entity_id", _ENTITIES),
    ("fact", "id", "subject_id", _ENTITIES),
    ("fact", "id", "object_id", _ENTITIES),
    ("evidence", "id", "fact_id", _FACTS),
    ("evidence", "id", "passage_id", _PASSAGES),
    ("evidence", "id", "statement_id", _STATEMENTS),
    ("link", "id", "source_id", _STATEMENTS),
    ("link", "id", "target_id", _STATEMENTS),
    ("link", "id", "passage_id", _PASSAGES),
    ("name", "item_id", "entity_id", _ENTITIES),
)
# Items of one kind that must not be there twice at once.
_SINGLE = ("source", "passage", "part", "fact", "evidence", "link")
# Passages that word search may find: current, and neither they nor their source hidden.
_SEARCHABLE = (
    f"SELECT number FROM passage p WHERE gone = {NEVER} AND NOT EXISTS (SELECT 1 FROM state s "
    f"WHERE s.target_id IN (p.id, p.source_id) AND s.gone = {NEVER} AND s.kind <> 'snoozed')"
)


def file_is_sound(db: Db, quick: bool) -> Check:
    """Whether SQLite finds its pages, trees and full-text index in order."""
    pragma = "quick_check" if quick else "integrity_check"
    try:
        said = [str(row[0]) for row in db.execute(f"PRAGMA main.{pragma}").fetchall()]
    except apsw.Error as error:
        said = [str(error)]
    wrong = [line for line in said if line != "ok"]
    return Check(
        name="index file",
        claim="pages, trees and word lists of the index are in order",
        checked=int(db.pragma("page_count")),
        failures=len(wrong),
        examples=tuple(wrong),
        advice=REBUILD,
    )


def _count(db: Db, statement: str) -> int:
    return int(db.execute(f"SELECT count(*) FROM ({statement})").fetchone()[0])


def facts_have_evidence(db: Db) -> Check:
    """Whether every fact has a sighting."""
    bare = db.execute(
        f"SELECT id FROM fact f WHERE gone = {NEVER} AND NOT EXISTS "
        f"(SELECT 1 FROM evidence v WHERE v.fact_id = f.id AND v.gone = {NEVER})"
    ).fetchall()
    return Check(
        name="evidence",
        claim="facts have evidence",
        checked=_count(db, _FACTS),
        failures=len(bare),
        examples=tuple(str(row[0]) for row in bare),
        advice=IN_JOURNAL,
    )


def references_exist(db: Db) -> Check:
    """Whether everything that is referred to is there."""
    checked, broken = 0, []
    for table, who, end, known in _REFERENCES:
        here = f"SELECT {who}, {end} FROM {table} WHERE gone = {NEVER} AND {end} IS NOT NULL"
        checked += _count(db, here)
        broken += db.execute(f"{here} AND {end} NOT IN ({known})").fetchall()
    return Check(
        name="references",
        claim="what items refer to exists",
        checked=checked,
        failures=len(broken),
        examples=tuple(f"{who} refers to {end}" for who, end in broken),
        advice=IN_JOURNAL,
    )


def nothing_is_doubled(db: Db) -> Check:
    """Whether every item is there once, and no two facts say the same."""
    doubled: list[str] = []
    for table in _SINGLE:
        rows = db.execute(
            f"SELECT id FROM {table} WHERE gone = {NEVER} GROUP BY id HAVING count(*) > 1"
        ).fetchall()
        doubled += [f"{row[0]} is there twice" for row in rows]
    doubled += _equal_facts(db)
    return Check(
        name="doubles",
        claim="no item is there twice, no two facts say the same",
        checked=sum(_count(db, f"SELECT 1 FROM {t} WHERE gone = {NEVER}") for t in _SINGLE),
        failures=len(doubled),
        examples=tuple(doubled),
        advice=IN_JOURNAL,
    )


def _equal_facts(db: Db) -> list[str]:
    rows = db.execute(
        "SELECT min(i.id), max(i.id) FROM item i JOIN fact f ON f.id = i.id "
        f"AND f.gone = {NEVER} WHERE i.kind = 'fact' AND i.json IS NOT NULL "
        "AND i.seq = (SELECT max(seq) FROM item WHERE id = i.id) "
        "GROUP BY i.json ->> 'subject_id', i.json ->> 'predicate', i.json ->> '$.object.kind', "
        "i.json ->> '$.object.entity_id', i.json ->> '$.object.value', i.json ->> 'polarity', "
        "i.json ->> 'valid_from', i.json ->> 'valid_to' HAVING count(DISTINCT i.id) > 1"
    ).fetchall()
    return [f"{one} says the same as {two}" for one, two in rows]


def nothing_loops(db: Db) -> Check:
    """Whether no fact and no link joins a thing to itself."""
    loops = db.execute(
        f"SELECT id FROM fact WHERE subject_id = object_id AND gone = {NEVER} UNION ALL "
        f"SELECT id FROM link WHERE source_id = target_id AND gone = {NEVER}"
    ).fetchall()
    links = f"SELECT id FROM link WHERE gone = {NEVER}"
    return Check(
        name="loops",
        claim="no fact or link joins a thing to itself",
        checked=_count(db, _FACTS) + _count(db, links),
        failures=len(loops),
        examples=tuple(str(row[0]) for row in loops),
        advice=IN_JOURNAL,
    )


def redirects_of(db: Db) -> list[tuple[str, str]]:
    """(loser, survivor) of every standing merge."""
    rows = db.execute(
        f"SELECT loser_id, survivor_id FROM redirect WHERE gone = {NEVER} ORDER BY loser_id"
    ).fetchall()
    return [(str(loser), str(survivor)) for loser, survivor in rows]


def survivor_of(entity: str, redirects: Mapping[str, str]) -> str | None:
    """Where a chain of merges ends; None when it never does."""
    passed = set()
    while entity in redirects:
        if entity in passed:
            return None
        passed.add(entity)
        entity = redirects[entity]
    return entity


def redirects_end(db: Db) -> Check:
    """Whether every merge leads to one entity that is there."""
    pairs = redirects_of(db)
    known = {row[0] for row in db.execute(_ENTITIES).fetchall()}
    ways, told = dict(pairs), Counter(loser for loser, _ in pairs)
    wrong = [f"{loser} is merged {n} times" for loser, n in told.items() if n > 1]
    for loser, survivor in sorted(ways.items()):
        missing = [end for end in (loser, survivor) if end not in known]
        wrong += [f"{loser} is read as {survivor}; {end} is not there" for end in missing]
        if survivor_of(loser, ways) is None:
            wrong.append(f"{loser} is read as itself by way of {survivor}")
    return Check(
        name="redirects",
        claim="merges lead to one entity that is there, in no circle",
        checked=len(pairs),
        failures=len(wrong),
        examples=tuple(wrong),
        advice=IN_JOURNAL,
    )


def hidden_words_are_gone(db: Db) -> Check:
    """Whether word search holds exactly the passages that are not hidden."""
    expected = {row[0] for row in db.execute(_SEARCHABLE).fetchall()}
    held = {row[0] for row in db.execute("SELECT id FROM lexical_docsize").fetchall()}
    hidden = _count(db, f"{_PASSAGES} AND number NOT IN ({_SEARCHABLE})")
    wrong = [f"passage number {n} is hidden or gone and can be found" for n in held - expected]
    wrong += [f"passage number {n} cannot be found by its words" for n in expected - held]
    return Check(
        name="words",
        claim="word search holds the visible passages and no other",
        checked=len(expected | held),
        failures=len(wrong),
        examples=tuple(sorted(wrong)),
        note=f"{hidden} hidden" if hidden else "",
        advice=REBUILD,
    )


INDEX_CHECKS: tuple[Callable[[Db], Check], ...] = (
    facts_have_evidence,
    references_exist,
    nothing_is_doubled,
    nothing_loops,
    redirects_end,
    hidden_words_are_gone,
)
