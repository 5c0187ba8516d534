"""Means with bootstrap intervals, and tables of them."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

# Resamples of a bootstrap: the 2.5 % quantile then rests on 50 of them.
RESAMPLES = 2000
# Seed of every bootstrap, so that a run can be repeated.
SEED = 7


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean over questions with its 95 % interval (percentile bootstrap, Efron 1979)."""

    mean: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.mean:.3f} [{self.low:.3f}, {self.high:.3f}]"

    def as_json(self) -> dict[str, float]:
        """The three numbers, rounded to four digits."""
        return {"mean": round(self.mean, 4), "low": round(self.low, 4), "high": round(self.high, 4)}


def estimate(values: Sequence[float], seed: int = SEED, resamples: int = RESAMPLES) -> Estimate:
    """Mean and interval; of paired differences too, when the values are differences.

    >>> estimate([1.0, 1.0, 1.0])
    Estimate(mean=1.0, low=1.0, high=1.0)
    """
    data: NDArray[np.float64] = np.asarray(values, np.float64)
    if data.size == 0:
        raise ValueError("no values to estimate from")
    picks = np.random.default_rng(seed).integers(0, data.size, (resamples, data.size))
    means = data[picks].mean(axis=1)
    low, high = np.quantile(means, (0.025, 0.975))
    return Estimate(float(data.mean()), float(low), float(high))


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Lines with aligned columns, the first to the left, the others to the right."""
    lines = [list(head), *map(list, rows)]
    widths = [max(len(line[at]) for line in lines) for at in range(len(head))]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if at == 0 else cell.rjust(width)
            for at, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )


def show_progress(label: str, done: int, total: int) -> None:
    """One line on standard error: rewritten on a terminal, at each tenth elsewhere."""
    is_terminal = sys.stderr.isatty()
    if not is_terminal and done != total and done % max(1, total // 10):
        return
    end = "\n" if done == total or not is_terminal else "\r"
    print(f"{label}: {done} of {total}", end=end, file=sys.stderr, flush=True)
