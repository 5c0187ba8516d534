"""Helpers that all traversals share: clean seeds and repeatable cuts."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from .adjacency import Adjacency, Nodes, visible

TIE_DIGITS = 12  # scores that agree this far are ties: summing in another order moves the 16th


def clean_seeds(
    adjacency: Adjacency, seeds: Mapping[int, float]
) -> tuple[Nodes, NDArray[np.float64]]:
    """Visible seeds by handle, with positive values (all 1 when no value is positive).

    Raises ValueError for an unknown handle or a value that is not finite.
    """
    nodes = np.array(sorted(seeds), np.int64)
    values = np.array([seeds[int(node)] for node in nodes], np.float64)
    if len(nodes) and (nodes[0] < 0 or nodes[-1] >= adjacency.node_count):
        raise ValueError(f"seed outside 0..{adjacency.node_count - 1}")
    if not np.isfinite(values).all():
        raise ValueError("seed values must be finite")
    handles = nodes.astype(np.int32)
    shown = visible(adjacency, handles)
    handles, values = handles[shown], values[shown]
    positive = values > 0
    if not positive.any():
        return handles, np.ones(len(handles))
    return handles[positive], values[positive]


def strongest(
    adjacency: Adjacency, nodes: Nodes, scores: NDArray[np.float64], limit: int | None
) -> NDArray[np.intp]:
    """Positions of the `limit` highest scores, best first, ties by key; None: all.

    O(n) plus a sort of those kept and of ties with the last.
    """
    rounded = np.round(scores, TIE_DIGITS)
    index = np.arange(len(nodes))
    if limit is not None and limit < len(nodes):
        if limit <= 0:
            return index[:0]
        index = index[rounded >= np.partition(rounded, len(nodes) - limit)[len(nodes) - limit]]
    ranked = sorted(index.tolist(), key=lambda i: (-rounded[i], adjacency.key(int(nodes[i]))))
    return np.array(ranked[:limit], np.intp)
