"""The tables of index.sqlite: a disposable projection that answers every look-up but traversal.

Rows that may end carry ``seq`` (begun) and ``gone`` (ended), so that a reader pinned to a
sequence sees exactly what was published there.
"""

from __future__ import annotations

from datetime import UTC, datetime

from graphmem.store.sqlite import Db
from graphmem.text import COLUMNS, TOKENIZER_REVISION

# Raised with every change of the tables; another version is dropped and built anew.
INDEX_FORMAT = 2
# A sequence no journal reaches: "not ended".
NEVER = 2**62

_TABLES = """
CREATE TABLE IF NOT EXISTS item(
    id TEXT NOT NULL, seq INTEGER NOT NULL, kind TEXT NOT NULL, json TEXT,
    recorded_at TEXT NOT NULL,
    PRIMARY KEY(id, seq)
) STRICT, WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS item_kind ON item(kind, id);
CREATE TABLE IF NOT EXISTS source(
    id TEXT NOT NULL, project TEXT NOT NULL, uri TEXT NOT NULL, root_id TEXT,
    seq INTEGER NOT NULL, gone INTEGER NOT NULL
) STRICT;
CREATE INDEX IF NOT EXISTS source_uri ON source(project, uri);
CREATE INDEX IF NOT EXISTS source_id ON source(id);
CREATE TABLE IF NOT EXISTS passage(
    number INTEGER PRIMARY KEY, id TEXT NOT NULL, source_id TEXT NOT NULL, project TEXT NOT NULL,
    origin TEXT NOT NULL, audience TEXT NOT NULL, search_hash TEXT NOT NULL, authored_at TEXT,
    seq INTEGER NOT NULL, gone INTEGER NOT NULL
) STRICT;
CREATE INDEX IF NOT EXISTS passage_id ON passage(id);
CREATE INDEX IF NOT EXISTS passage_source ON passage(source_id);
CREATE INDEX IF NOT EXISTS passage_hash ON passage(search_hash);
CREATE INDEX IF NOT EXISTS passage_time ON passage(authored_at);
CREATE TABLE IF NOT EXISTS part(
    id TEXT NOT NULL, passage_id TEXT NOT NULL, kind TEXT NOT NULL, event_key TEXT NOT NULL,
    start_at TEXT, end_at TEXT, statement_id TEXT, entity_id TEXT, surface TEXT, type_vote TEXT,
    weight REAL, seq INTEGER NOT NULL, gone INTEGER NOT NULL
) STRICT;
CREATE INDEX IF NOT EXISTS part_id ON part(id);
CREATE INDEX IF NOT EXISTS part_passage ON part(passage_id);
CREATE INDEX IF NOT EXISTS part_event ON part(event_key) WHERE event_key <> '';
CREATE INDEX IF NOT EXISTS part_entity ON part(entity_id) WHERE entity_id IS NOT NULL;
CREATE INDEX IF NOT EXISTS part_time ON part(start_at) WHERE start_at IS NOT NULL;
CREATE TABLE IF NOT EXISTS fact(
    id TEXT NOT NULL, subject_id TEXT NOT NULL, object_id TEXT,
    seq INTEGER NOT NULL, gone INTEGER NOT NULL
) STRICT;
CREATE INDEX IF NOT EXISTS fact_id ON fact(id);
CREATE INDEX IF NOT EXISTS fact_subject ON fact(subject_id);
CREATE INDEX IF NOT EXISTS fact_object ON fact(object_id) WHERE object_id IS NOT NULL;
CREATE TABLE IF NOT EXISTS evidence(
    id TEXT NOT NULL, fact_id TEXT NOT NULL, passage_id TEXT NOT NULL, statement_id TEXT,
    seq INTEGER NOT NULL, gone INTEGER NOT NULL
) STRICT;
CREATE INDEX IF NOT EXISTS evidence_id ON evidence(id);
CREATE INDEX IF NOT EXISTS evidence_fact ON evidence(fact_id);
CREATE INDEX IF NOT EXISTS evidence_passage ON evidence(passage_id);
CREATE INDEX IF NOT EXISTS evidence_statement ON evidence(statement_id)
    WHERE statement_id IS NOT NULL;
CREATE TABLE IF NOT EXISTS link(
    id TEXT NOT NULL, kind TEXT NOT NULL, source_id TEXT NOT NULL, target_id TEXT NOT NULL,
    passage_id TEXT NOT NULL, seq INTEGER NOT NULL, gone INTEGER NOT NULL
) STRICT;
CREATE INDEX IF NOT EXISTS link_id ON link(id);
CREATE INDEX IF NOT EXISTS link_source ON link(source_id);
CREATE INDEX IF NOT EXISTS link_target ON link(target_id);
CREATE INDEX IF NOT EXISTS link_passage ON link(passage_id);
CREATE TABLE IF NOT EXISTS name(
    key TEXT NOT NULL, entity_id TEXT NOT NULL, item_id TEXT NOT NULL, kind TEXT NOT NULL,
    seq INTEGER NOT NULL, gone INTEGER NOT NULL
) STRICT;
CREATE INDEX IF NOT EXISTS name_key ON name(key);
CREATE INDEX IF NOT EXISTS name_entity ON name(entity_id);
CREATE TABLE IF NOT EXISTS name_token(
    token TEXT NOT NULL, key TEXT NOT NULL, PRIMARY KEY(token, key)
) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS redirect(
    loser_id TEXT NOT NULL, survivor_id TEXT NOT NULL, seq INTEGER NOT NULL, gone INTEGER NOT NULL
) STRICT;
CREATE INDEX IF NOT EXISTS redirect_loser ON redirect(loser_id);
CREATE INDEX IF NOT EXISTS redirect_survivor ON redirect(survivor_id);
CREATE TABLE IF NOT EXISTS state(
    target_id TEXT NOT NULL, kind TEXT NOT NULL, at TEXT NOT NULL,
    seq INTEGER NOT NULL, gone INTEGER NOT NULL
) STRICT;
CREATE INDEX IF NOT EXISTS state_target ON state(target_id);
CREATE INDEX IF NOT EXISTS state_kind ON state(kind, at);
"""
# Vectors outlive every change of the other tables.
_VECTORS = """
CREATE TABLE IF NOT EXISTS meta(key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;
CREATE TABLE IF NOT EXISTS vector(
    hash TEXT NOT NULL, embedder TEXT NOT NULL, number INTEGER NOT NULL, data BLOB NOT NULL,
    PRIMARY KEY(hash, embedder)
) STRICT;
CREATE INDEX IF NOT EXISTS vector_number ON vector(embedder, number);
"""

# The lexical table; its tokens are escaped, so ASCII splitting at blanks is exact.
LEXICAL = (
    f"CREATE VIRTUAL TABLE IF NOT EXISTS lexical USING fts5({', '.join(COLUMNS)}, "
    "content='', contentless_delete=1, tokenize='ascii')"
)
# One row a term: in how many visible passages it stands.
VOCABULARY = "CREATE VIRTUAL TABLE IF NOT EXISTS lexical_terms USING fts5vocab('lexical', 'row')"

# Everything that is built anew from the journal; vectors are not.
PROJECTED = (
    "item",
    "source",
    "passage",
    "part",
    "fact",
    "evidence",
    "link",
    "name",
    "name_token",
    "redirect",
    "state",
)


def create(db: Db) -> None:
    """Makes what is missing; an index of another version loses all but its vectors."""
    db.execute(_VECTORS)
    version = f"{INDEX_FORMAT}.{TOKENIZER_REVISION}"
    known = get_meta(db, "version")
    if known != version:
        _drop(db)
    db.execute(_TABLES)
    db.execute(LEXICAL)
    db.execute(VOCABULARY)
    if known != version:  # opening a healthy vault writes nothing
        set_meta(db, "version", version)


def _drop(db: Db) -> None:
    for table in ("lexical_terms", "lexical", *PROJECTED):
        db.execute(f"DROP TABLE IF EXISTS {table}")
    set_meta(db, "applied_seq", "0")


def clear(db: Db) -> None:
    """Empties the projection and keeps the vectors."""
    _drop(db)
    create(db)


def get_meta(db: Db, key: str) -> str | None:
    """A value of the meta table."""
    row = db.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
    return None if row is None else str(row[0])


def set_meta(db: Db, key: str, value: str) -> None:
    """Sets a value of the meta table."""
    db.execute("INSERT OR REPLACE INTO meta VALUES(?, ?)", (key, value))


def applied_seq(db: Db) -> int:
    """The last journal row whose effects are in the index."""
    return int(get_meta(db, "applied_seq") or 0)


def moment(at: datetime | None) -> str | None:
    """A time as text of one width, so that SQL orders times as the calendar does."""
    return None if at is None else at.astimezone(UTC).isoformat(timespec="microseconds")
