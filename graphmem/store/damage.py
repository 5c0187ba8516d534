"""What was found damaged in a vault, in words and as data; finds and mends nothing itself."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import count, groupby

# Ranges of sequences named in a message; the command repair-journal prints every row.
NAMED_RANGES = 12


@dataclass(frozen=True, slots=True)
class DamagedRow:
    """A row of the journal that is missing or not as it was written; ``op`` when that is known.

    ``lost`` is False when its content could be read all the same.
    """

    seq: int
    op: str | None
    reason: str
    lost: bool = True


@dataclass(frozen=True, slots=True)
class JournalDamage:
    """All damaged rows of a journal; without lost rows it can be mended without a loss."""

    rows: tuple[DamagedRow, ...]
    structure: str = ""

    @property
    def lost(self) -> tuple[DamagedRow, ...]:
        """The rows whose content is gone."""
        return tuple(row for row in self.rows if row.lost)

    @property
    def seqs(self) -> tuple[int, ...]:
        """The sequences of the lost rows."""
        return tuple(row.seq for row in self.lost)

    def tell(self) -> str:
        """What is lost and what the choices are, in one line."""
        number = len(self.lost)
        rows = "row" if number == 1 else "rows"
        return (
            f"the journal is damaged: {rows} {ranges(self.seqs)} cannot be read; everything else "
            "is kept and can be read, nothing can be written. Choose: graphmem backup restore, or "
            "graphmem repair-journal, which shows what is lost and with --accept-loss goes on "
            "without it"
        )


def ranges(seqs: Iterable[int]) -> str:
    """Sequences as text.

    >>> ranges([3, 4, 5, 9])
    '3-5, 9'
    """
    steps = count()
    groups = [list(part) for _, part in groupby(sorted(seqs), key=lambda seq: seq - next(steps))]
    named = [str(g[0]) if len(g) == 1 else f"{g[0]}-{g[-1]}" for g in groups[:NAMED_RANGES]]
    return ", ".join(named) + (" and more" if len(groups) > NAMED_RANGES else "")
