"""Journal rows into index.sqlite; called inside the index's transaction, writes nothing else."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from graphmem.model.base import Model, digest
from graphmem.model.items import (
    DeclaredName,
    Entity,
    EntityObject,
    Evidence,
    Fact,
    Link,
    Passage,
    PassageBundle,
    SameAs,
    Source,
    State,
)
from graphmem.model.operations import (
    AddEvidence,
    Annotate,
    Cursor,
    Decide,
    DeclarePredicate,
    DeclareRoot,
    MoveMention,
    Name,
    Operation,
    PutEntity,
    PutFact,
    PutLink,
    PutPassage,
    PutSource,
    RedirectEntity,
    SetState,
)
from graphmem.store.index_schema import NEVER, moment, set_meta
from graphmem.store.journal import JournalRow
from graphmem.store.sqlite import Db
from graphmem.text import fold, tokenize


def search_text(passage: Passage, title: str) -> str:
    """What every lane and every baseline searches of a passage: title, headings, speaker, text."""
    head = " > ".join(part for part in (title, *passage.heading_path, passage.speaker) if part)
    return f"{head}\n{passage.text}" if head else passage.text


def search_hash(text: str) -> str:
    """The key of a text's vector."""
    return digest(text)


def name_tokens(key: str) -> set[str]:
    """The folded words of a name key, by which near names are suggested."""
    tokens = tokenize(key)
    return {fold(token) for token in (*tokens.whole, *tokens.split)}


def text_key(operation: Operation) -> str | None:
    """The key of an operation that sets a text; None for the other kinds."""
    match operation:
        case Cursor():
            return f"cursor:{operation.name}"
        case Annotate():
            return f"annotation:{operation.target_id}#{operation.label}"
        case DeclarePredicate():
            return f"predicate:{operation.predicate}"
        case Decide():
            return f"decision:{operation.proposal_id}"
        case _:
            return None


class IndexApplier:
    """Applies rows to an open index; one object per transaction."""

    def __init__(self, db: Db) -> None:
        self._db = db
        self._touched: set[str] = set()
        # What the batch itself says of passages and titles, so that it is not read back.
        self._fresh: dict[str, Passage] = {}
        self._titles: dict[str, str] = {}

    def apply(self, rows: Sequence[JournalRow]) -> None:
        """Takes in whole batches in order and moves ``applied_seq`` to the last row."""
        for row in rows:
            if row.operation is not None:
                self._take(row.seq, row.at, row.operation)
        self._refresh_lexical(sorted(self._touched))
        for held in (self._touched, self._fresh, self._titles):
            held.clear()
        if rows:
            set_meta(self._db, "applied_seq", str(rows[-1].seq))

    def _take(self, seq: int, at: str, operation: Operation) -> None:
        match operation:
            case PutSource():
                self._put("source", operation.before, operation.after, seq, at)
                self._source(operation.after, operation.before, seq)
            case PutPassage():
                self._bundle(operation.after, operation.before, seq, at)
            case PutEntity():
                self._put("entity", operation.before, operation.after, seq, at)
                self._entity(operation.after, operation.before, seq)
            case PutFact():
                self._put("fact", operation.before, operation.after, seq, at)
                self._fact(operation.after, operation.before, seq)
            case AddEvidence():
                self._put("evidence", operation.before, operation.after, seq, at)
                self._evidence(operation.after, operation.before, seq)
            case PutLink():
                self._put("link", operation.before, operation.after, seq, at)
                self._link(operation.after, operation.before, seq)
            case Name():
                self._put("name", operation.before, operation.after, seq, at)
                self._declared(operation.after, operation.before, seq)
            case RedirectEntity():
                self._redirect(operation.after, operation.before, seq)
            case MoveMention():
                self._move(operation, seq, at)
            case SetState():
                self._state(operation.after, seq)
            case DeclareRoot():
                self._put("root", operation.before, operation.after, seq, at)
            case _:
                self._other(operation, seq, at)

    def _fact(self, after: Fact | None, before: Fact | None, seq: int) -> None:
        if before is not None:
            self._end("fact", "id", before.id, seq)
        if after is not None:
            end = after.object.entity_id if isinstance(after.object, EntityObject) else None
            row = (after.id, after.subject_id, end, seq, NEVER)
            self._db.execute("INSERT INTO fact VALUES(?,?,?,?,?)", row)

    def _evidence(self, after: Evidence | None, before: Evidence | None, seq: int) -> None:
        if before is not None:
            self._end("evidence", "id", before.id, seq)
        if after is not None:
            row = (after.id, after.fact_id, after.passage_id, after.statement_id, seq, NEVER)
            self._db.execute("INSERT INTO evidence VALUES(?,?,?,?,?,?)", row)

    def _link(self, after: Link | None, before: Link | None, seq: int) -> None:
        if before is not None:
            self._end("link", "id", before.id, seq)
        if after is not None:
            ends = (after.source_id, after.target_id, after.passage_id)
            row = (after.id, after.kind.value, *ends, seq, NEVER)
            self._db.execute("INSERT INTO link VALUES(?,?,?,?,?,?,?)", row)

    def _other(self, operation: Operation, seq: int, at: str) -> None:
        """Cursors, labels, predicates and decisions are kept as items under a key of their own."""
        key = text_key(operation)
        if key is not None:
            after = getattr(operation, "after", None)
            value = None if after is None else json.dumps(after)
            self._item(key, seq, operation.op, value, at)

    def _item(self, ident: str, seq: int, kind: str, value: str | None, at: str) -> None:
        self._db.execute(
            "INSERT OR REPLACE INTO item VALUES(?,?,?,?,?)", (ident, seq, kind, value, at)
        )

    def _put(self, kind: str, before: Any, after: Any, seq: int, at: str) -> None:
        if before is not None and (after is None or after.id != before.id):
            self._item(before.id, seq, kind, None, at)
        if after is not None:
            self._item(after.id, seq, kind, _json(after), at)

    def _end(self, table: str, column: str, value: str, seq: int) -> None:
        self._db.execute(
            f"UPDATE {table} SET gone = ? WHERE {column} = ? AND gone = ?", (seq, value, NEVER)
        )

    def _source(self, after: Source | None, before: Source | None, seq: int) -> None:
        for old in {s.id for s in (before, after) if s is not None}:
            self._end("source", "id", old, seq)
        if after is not None:
            row = (after.id, after.project, after.uri, after.root_id, seq, NEVER)
            self._db.execute("INSERT INTO source VALUES(?,?,?,?,?,?)", row)
            self._db.execute(
                "UPDATE passage SET project = ? WHERE source_id = ? AND project <> ?",
                (after.project, after.id, after.project),
            )
            if before is None or before.title != after.title:
                self._touch_source(after.id)

    def _touch_source(self, source_id: str) -> None:
        rows = self._db.execute(
            "SELECT id FROM passage WHERE source_id = ? AND gone = ?", (source_id, NEVER)
        )
        self._touched.update(row[0] for row in rows)

    def _bundle(
        self, after: PassageBundle | None, before: PassageBundle | None, seq: int, at: str
    ) -> None:
        if before is not None:
            self._end("passage", "id", before.passage.id, seq)
            self._end("part", "passage_id", before.passage.id, seq)
            self._touched.add(before.passage.id)
            if after is None or after.passage.id != before.passage.id:
                self._item(before.passage.id, seq, "passage", None, at)
        if after is not None:
            self._item(after.passage.id, seq, "passage", _json(after), at)
            self._passage(after.passage, seq)
            self._parts(after, seq)
            self._touched.add(after.passage.id)
            self._fresh[after.passage.id] = after.passage

    def _passage(self, passage: Passage, seq: int) -> None:
        project = self._db.execute(
            "SELECT project FROM source WHERE id = ? ORDER BY seq DESC LIMIT 1",
            (passage.source_id,),
        ).fetchone()
        row = (
            passage.id,
            passage.source_id,
            "" if project is None else project[0],
            passage.origin.value,
            passage.audience.value,
            "",
            moment(passage.authored_at),
            seq,
            NEVER,
        )
        self._db.execute(
            "INSERT INTO passage(id, source_id, project, origin, audience, search_hash, "
            "authored_at, seq, gone) VALUES(?,?,?,?,?,?,?,?,?)",
            row,
        )

    def _parts(self, bundle: PassageBundle, seq: int) -> None:
        passage_id = bundle.passage.id
        rows: list[tuple[Any, ...]] = []
        for statement in bundle.statements:
            time = statement.time
            start = None if time is None else moment(time.start)
            end = None if time is None else moment(time.end)
            key = statement.event_key
            rows.append((statement.id, passage_id, "statement", key, start, end, *_NONE, seq))
        for mention in bundle.mentions:
            vote = None if mention.type_vote is None else mention.type_vote.value
            rest = (mention.statement_id, mention.entity_id, mention.surface, vote)
            rows.append(
                (mention.id, passage_id, "mention", "", None, None, *rest, mention.vote_weight, seq)
            )
        self._db.executemany(f"INSERT INTO part VALUES({'?,' * 12}{NEVER})", rows)

    def _entity(self, after: Entity | None, before: Entity | None, seq: int) -> None:
        if before is not None:
            self._end("name", "item_id", before.id, seq)
        if after is not None:
            self._name(after.name_key, after.id, after.id, "own", seq)

    def _declared(self, after: DeclaredName | None, before: DeclaredName | None, seq: int) -> None:
        if before is not None:
            self._end("name", "item_id", before.id, seq)
        if after is not None:
            self._name(after.key, after.entity_id, after.id, after.kind.value, seq)

    def _name(self, key: str, entity_id: str, item_id: str, kind: str, seq: int) -> None:
        row = (key, entity_id, item_id, kind, seq, NEVER)
        self._db.execute("INSERT INTO name VALUES(?,?,?,?,?,?)", row)
        self._db.executemany(
            "INSERT OR IGNORE INTO name_token VALUES(?,?)",
            [(token, key) for token in sorted(name_tokens(key))],
        )

    def _redirect(self, after: SameAs | None, before: SameAs | None, seq: int) -> None:
        if before is not None:
            self._end("redirect", "loser_id", before.loser_id, seq)
        if after is not None:
            self._end("redirect", "loser_id", after.loser_id, seq)
            row = (after.loser_id, after.survivor_id, seq, NEVER)
            self._db.execute("INSERT INTO redirect VALUES(?,?,?,?)", row)

    def _move(self, move: MoveMention, seq: int, at: str) -> None:
        row = self._db.execute(
            "SELECT json FROM item WHERE id = ? ORDER BY seq DESC LIMIT 1", (move.passage_id,)
        ).fetchone()
        if row is None or row[0] is None:
            return
        bundle = PassageBundle.model_validate_json(row[0])
        mentions = tuple(
            m.model_copy(update={"entity_id": move.after}) if m.id == move.mention_id else m
            for m in bundle.mentions
        )
        moved = bundle.model_copy(update={"mentions": mentions})
        self._item(move.passage_id, seq, "passage", _json(moved), at)
        self._end("part", "id", move.mention_id, seq)
        kept = moved.model_copy(
            update={
                "statements": (),
                "mentions": tuple(m for m in mentions if m.id == move.mention_id),
            }
        )
        self._parts(kept, seq)

    def _state(self, state: State, seq: int) -> None:
        self._db.execute(
            "UPDATE state SET gone = ? WHERE target_id = ? AND kind = ? AND gone = ?",
            (seq, state.target_id, state.kind.value, NEVER),
        )
        if state.at is not None:
            row = (state.target_id, state.kind.value, moment(state.at), seq, NEVER)
            self._db.execute("INSERT INTO state VALUES(?,?,?,?,?)", row)
        self._touched.add(state.target_id)
        self._touch_source(state.target_id)

    def _refresh_lexical(self, passage_ids: Iterable[str]) -> None:
        """Brings the lexical rows of passages in line: visible ones in, all others out."""
        for passage_id in passage_ids:
            rows = self._db.execute(
                "SELECT number, source_id, gone FROM passage WHERE id = ?", (passage_id,)
            ).fetchall()
            for number, source_id, gone in rows:
                self._db.execute("DELETE FROM lexical WHERE rowid = ?", (number,))
                if gone == NEVER:
                    self._index(number, passage_id, source_id)

    def _index(self, number: int, passage_id: str, source_id: str) -> None:
        text = search_text(self.passage(passage_id), self.title(source_id))
        self._db.execute(
            "UPDATE passage SET search_hash = ? WHERE number = ?", (search_hash(text), number)
        )
        states = self._db.execute(
            "SELECT 1 FROM state WHERE target_id IN (?, ?) AND gone = ? "
            "AND kind <> 'snoozed' LIMIT 1",
            (passage_id, source_id, NEVER),
        ).fetchone()
        if states is None:
            columns = tokenize(text).columns()
            self._db.execute(
                "INSERT INTO lexical(rowid, whole, split, stem) VALUES(?,?,?,?)",
                (number, *columns),
            )

    def passage(self, passage_id: str) -> Passage:
        """The newest version of a passage."""
        if passage_id in self._fresh:
            return self._fresh[passage_id]
        row = self._db.execute(
            "SELECT json FROM item WHERE id = ? ORDER BY seq DESC LIMIT 1", (passage_id,)
        ).fetchone()
        return PassageBundle.model_validate_json(row[0]).passage

    def title(self, source_id: str) -> str:
        """The newest title of a source."""
        if source_id not in self._titles:
            row = self._db.execute(
                "SELECT json ->> 'title' FROM item WHERE id = ? ORDER BY seq DESC LIMIT 1",
                (source_id,),
            ).fetchone()
            self._titles[source_id] = "" if row is None or row[0] is None else str(row[0])
        return self._titles[source_id]


_NONE = (None,) * 5


def _json(model: Model) -> str:
    return model.model_dump_json()
