"""The public surface of graphmem.traversal, and paths put together."""

import types

import pytest

import graphmem.traversal as traversal
from graphmem.traversal import Step, join, path_edges, path_nodes


def test_all_is_sorted_and_exact() -> None:
    public = {
        name
        for name, value in vars(traversal).items()
        if not name.startswith("_") and not isinstance(value, types.ModuleType)
    }
    assert set(traversal.__all__) == public
    assert traversal.__all__ == sorted(traversal.__all__)


def test_paths_join_where_they_meet() -> None:
    first, second = (Step(0, 1, "p", 4),), (Step(1, 2, "q", -1),)
    whole = join(first, second)
    assert (path_nodes(whole), path_edges(whole)) == ((0, 1, 2), (4, -1))
    assert join((), second) == second
    assert join(first, ()) == first
    assert path_nodes(()) == ()
    with pytest.raises(ValueError, match="ends at 2, next starts at 0"):
        join(second, first)
