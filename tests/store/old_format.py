"""A make-believe older vault format and the step from it, for tests of migrations.

Format 0 wrote a prefix before every actor, and ``vault.json`` named the engine "backend".
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import apsw

from graphmem.store.journal import GENESIS, chain_hash
from graphmem.store.migrate import Migration
from graphmem.store.sqlite import Db
from graphmem.store.trouble import JOURNAL_FILE

# What format 0 wrote before the name of an actor; the chain covers it, so the step re-chains.
OLD_ACTOR = "writer:"


def _triggers(db: Db) -> list[tuple[str, str]]:
    found = db.execute("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'").fetchall()
    return [(str(name), str(sql)) for name, sql in found]


def _with_actors(db: Db, old: str, new: str) -> None:
    """Renames every actor and writes the chain anew."""
    triggers = _triggers(db)
    for name, _ in triggers:
        db.execute(f"DROP TRIGGER {name}")
    previous = GENESIS
    rows = db.execute("SELECT seq, at, batch, actor, key, op, inner FROM journal ORDER BY seq")
    for seq, at, batch, actor, key, op, inner in rows.fetchall():
        renamed = new + actor.removeprefix(old)
        previous = chain_hash(previous, inner, seq, at, batch, renamed, key, op)
        change = "UPDATE journal SET actor = ?, hash = ? WHERE seq = ?"
        db.execute(change, (renamed, previous, seq))
    for _, sql in triggers:
        db.execute(sql)


def _new_config(config: dict[str, Any]) -> dict[str, Any]:
    return {"engine": config["backend"], "embedder": config["embedder"]}


STEP = Migration(
    before=0,
    title="actors lose their prefix, the backend is called engine",
    journal=lambda db: _with_actors(db, OLD_ACTOR, ""),
    config=_new_config,
)
STEPS = {0: STEP}


def make_old(vault: Path) -> None:
    """Turns a closed vault of format 1 into one of format 0."""
    db = apsw.Connection(str(vault / JOURNAL_FILE))
    _with_actors(db, "", OLD_ACTOR)
    db.close()
    file = vault / "vault.json"
    config = json.loads(file.read_text())
    old = {"format": 0, "backend": config["engine"], "embedder": config["embedder"]}
    file.write_text(json.dumps(old))


def actors(vault: Path) -> set[str]:
    """Who the journal says has written."""
    db = apsw.Connection(str(vault / JOURNAL_FILE))
    try:
        return {str(row[0]) for row in db.execute("SELECT DISTINCT actor FROM journal")}
    finally:
        db.close()
