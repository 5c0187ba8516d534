"""Whether an open vault keeps the invariants, looked at in the data, not taken on trust.

A sound vault cannot fail one of these checks, and each can fail: the tests break each of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from time import monotonic

from graphmem.errors import JournalDamagedError, VaultError
from graphmem.model.care import Check, VerifyReport
from graphmem.store import dump
from graphmem.store.config import VaultConfig
from graphmem.store.journal import Journal
from graphmem.store.projections import Projections
from graphmem.store.reading import DAMAGE, damaged_rows, head_of, journal_of, reading
from graphmem.store.sqlite import Db, Pin
from graphmem.store.trouble import JOURNAL_FILE
from graphmem.store.verify_graph import counts_agree
from graphmem.store.verify_index import INDEX_CHECKS, file_is_sound
from graphmem.store.verify_replay import replays
from graphmem.store.verify_texts import TEXT_CHECKS
from graphmem.store.verify_vectors import vectors_are_sound
from graphmem.store.writer import StoreWriter

# Examples named per check; the number of failures is always the true one.
EXAMPLES = 5
JOURNAL_ADVICE = (
    "keep a copy of the folder; graphmem backup restore brings back the newest sound backup"
)

Tell = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Looked:
    """What was taken of a vault while no commit could come between."""

    seq: int
    head: int
    index_seq: int
    graph_seq: int
    graph_counts: Mapping[str, int]
    lines: tuple[str, ...]
    pin: Pin


@dataclass(frozen=True, slots=True, weakref_slot=True, eq=False)
class Subject:
    """The parts of an open vault that are looked at."""

    name: str
    journal: Journal
    projections: Projections
    writer: StoreWriter
    config: VaultConfig


def verify(subject: Subject, *, quick: bool = False, tell: Tell = lambda _: None) -> VerifyReport:
    """All checks at the newest sequence; ``quick`` leaves out those that read or replay every text.

    Commits wait only while the vault is dumped. O(rows), with ``quick`` a small part of that.
    """
    begun = monotonic()
    checks = [chain_holds(subject.journal)]
    if checks[0].ok:
        checks.append(_operations(subject.journal))
    looked = _look(subject, quick)
    checks.append(_sequences(looked))
    with looked.pin.reading() as db:
        for check in _checks(subject, db, looked, quick):
            tell(check.name)
            checks.append(check)
    return VerifyReport(
        path=subject.name,
        seq=looked.seq,
        quick=quick,
        checks=tuple(_short(check) for check in checks),
        seconds=round(monotonic() - begun, 3),
    )


def verify_journal(vault: Path) -> VerifyReport:
    """The checks of the journal alone, for a vault that cannot be opened."""
    head, checks = 0, []
    try:
        with reading(vault / JOURNAL_FILE) as db:
            head, journal = head_of(db)[0], journal_of(db)
            checks.append(chain_holds(journal))
            if checks[0].ok:
                checks.append(_operations(journal))
    except DAMAGE as error:
        checks.append(_unreadable(str(error)))
    return VerifyReport(path=str(vault), seq=head, checks=tuple(checks))


def _unreadable(problem: str) -> Check:
    return Check(
        name="chain",
        claim="the journal can be read",
        failures=1,
        examples=(problem,),
        advice=JOURNAL_ADVICE,
    )


def _look(subject: Subject, quick: bool) -> Looked:
    parts = subject.projections
    with subject.writer.paused():
        pin, graph = parts.published()
        pin.used_by(subject)
        return Looked(
            seq=graph.seq,
            head=subject.journal.head,
            index_seq=parts.index_seq,
            graph_seq=parts.graph.applied_seq,
            graph_counts=parts.graph.counts(),
            lines=() if quick else tuple(dump.exact(parts.readers, parts.graph)),
            pin=pin,
        )


def _checks(subject: Subject, db: Db, looked: Looked, quick: bool) -> Iterator[Check]:
    yield file_is_sound(db, quick)
    for look in INDEX_CHECKS:
        yield look(db)
    yield counts_agree(db, looked.graph_counts)
    bound = subject.config.embedder
    yield vectors_are_sound(db, bound.name if bound else "", bound.dimension if bound else 0)
    if not quick:
        for look in TEXT_CHECKS:
            yield look(db)
        yield from replays(subject.journal, looked.seq, looked.lines, db)


def chain_holds(journal: Journal) -> Check:
    """Whether every row fits the hash chain."""
    bad = damaged_rows(journal)
    return Check(
        name="chain",
        claim="journal rows fit the hash chain",
        checked=journal.head,
        failures=len(bad),
        examples=tuple(f"row {seq}" for seq in bad),
        advice=JOURNAL_ADVICE,
    )


def _operations(journal: Journal) -> Check:
    """Whether every payload is an operation this program knows."""
    checked = purged = 0
    problem = ""
    try:
        for row in journal.rows():
            checked += 1
            purged += row.operation is None
    except (JournalDamagedError, VaultError) as error:
        problem = str(error)
    return Check(
        name="operations",
        claim="journal rows are known operations",
        checked=checked + bool(problem),
        failures=int(bool(problem)),
        examples=(problem,) if problem else (),
        note=f"{purged} erased by purge" if purged else "",
        advice=JOURNAL_ADVICE,
    )


def _sequences(looked: Looked) -> Check:
    stand = {"index": looked.index_seq, "graph": looked.graph_seq, "published": looked.seq}
    behind = [
        f"{name} at row {seq}, journal at {looked.head}"
        for name, seq in stand.items()
        if seq != looked.head
    ]
    return Check(
        name="sequences",
        claim="index, graph and readers are at the journal's last row",
        checked=len(stand),
        failures=len(behind),
        examples=tuple(behind),
        advice="close the vault and open it again; if that does not help, graphmem rebuild",
    )


def _short(check: Check) -> Check:
    return check.model_copy(update={"examples": check.examples[:EXAMPLES]})
