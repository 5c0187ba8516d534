"""Small graphs, random graphs and counting graphs for the traversal tests."""

from collections.abc import Mapping, Sequence
from typing import TypeAlias

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from graphmem.traversal import Adjacency, CsrAdjacency, Hop, expand_heaviest, order_hop

Edge: TypeAlias = tuple[str, str, float]
Edges: TypeAlias = Mapping[str, Sequence[Edge]]
Numbered: TypeAlias = dict[str, list[tuple[int, int, float, int]]]


def handles(*nodes: int) -> NDArray[np.int32]:
    """An array of node handles."""
    return np.array(nodes, np.int32)


def graph(keys: Sequence[str], edges: Edges, hidden: str = "") -> CsrAdjacency:
    """A graph of named edges; the handle of an edge is its position among all edges given."""
    place = {key: i for i, key in enumerate(keys)}
    numbered: Numbered = {}
    number = 0
    for name, group in edges.items():
        numbered[name] = []
        for source, target, weight in group:
            numbered[name].append((place[source], place[target], weight, number))
            number += 1
    return from_numbered(keys, numbered, np.array([key not in hidden for key in keys]))


def from_numbered(
    keys: Sequence[str], edges: Numbered, visible: NDArray[np.bool_] | None = None
) -> CsrAdjacency:
    """A graph of (source, target, weight, edge) tuples."""
    columns = {name: columns_of(group) for name, group in edges.items()}
    return CsrAdjacency.from_edges(keys, columns, visible)


def columns_of(
    group: Sequence[tuple[int, int, float, int]],
) -> tuple[list[int], list[int], list[float], list[int]]:
    """The rows of one edge type as four aligned lists."""
    return (
        [row[0] for row in group],
        [row[1] for row in group],
        [row[2] for row in group],
        [row[3] for row in group],
    )


class PlainAdjacency:
    """The bare protocol over another graph: cannot cap rows, hides nothing, sorts for itself."""

    def __init__(self, inner: CsrAdjacency) -> None:
        self._inner = inner

    @property
    def node_count(self) -> int:
        return self._inner.node_count

    @property
    def edge_types(self) -> tuple[str, ...]:
        return self._inner.edge_types

    def key(self, node: int) -> str:
        return self._inner.key(node)

    def expand(self, nodes: NDArray[np.int32], edge_type: str) -> Hop:
        hop = self._inner.expand(nodes, edge_type)
        return order_hop(hop.take(np.arange(len(hop))[::-1]), self.key)


class CountingAdjacency(PlainAdjacency):
    """Counts which (node, type) are read and how many edges come back."""

    def __init__(self, inner: CsrAdjacency) -> None:
        super().__init__(inner)
        self.reads: list[tuple[int, str]] = []
        self.edges_read = 0

    def _count(self, nodes: NDArray[np.int32], edge_type: str, hop: Hop) -> Hop:
        self.reads.extend((node, edge_type) for node in nodes.tolist())
        self.edges_read += len(hop)
        return hop

    def expand(self, nodes: NDArray[np.int32], edge_type: str) -> Hop:
        return self._count(nodes, edge_type, self._inner.expand(nodes, edge_type))

    def expand_heaviest(self, nodes: NDArray[np.int32], edge_type: str, limit: int) -> Hop:
        hop = expand_heaviest(self._inner, nodes, edge_type, limit)
        return self._count(nodes, edge_type, hop)


def hub(mentions: int) -> CsrAdjacency:
    """Node 0 mentions entity 1, which `mentions` further nodes mention too."""
    keys = ["seed", "entity", *(f"n{i:05}" for i in range(mentions))]
    others = np.arange(2, mentions + 2)
    ones = np.ones(mentions, np.float32)
    back = (np.ones(mentions, np.int64), others, ones, others)
    return CsrAdjacency.from_edges(keys, {"mentions": ([0], [1], [1.0], [0]), "mentioned_in": back})


TYPES = ("p", "q", "r")
MAX_NODES = 9
WEIGHTS = st.sampled_from([0.05, 0.1, 0.25, 0.5, 0.75, 1.0])


@st.composite
def random_edges(draw: st.DrawFn) -> Numbered:
    """Edges of up to three types among MAX_NODES nodes: cycles, loops and parallels included."""
    node = st.integers(0, MAX_NODES - 1)
    edge = st.tuples(st.sampled_from(TYPES), node, node, WEIGHTS)
    edges: Numbered = {name: [] for name in TYPES}
    for number, (name, source, target, weight) in enumerate(draw(st.lists(edge, max_size=30))):
        edges[name].append((source, target, weight, number))
    return edges


KEYS = [f"k{(i * 7) % MAX_NODES}" for i in range(MAX_NODES)]
SEEDS = st.dictionaries(
    st.integers(0, MAX_NODES - 1), st.floats(0.01, 10.0), min_size=1, max_size=4
)


def without(edges: Numbered, hidden: set[int]) -> Numbered:
    """The edges that touch no hidden node."""
    return {
        name: [row for row in group if not {row[0], row[1]} & hidden]
        for name, group in edges.items()
    }


def names(adjacency: Adjacency, nodes: Sequence[int]) -> str:
    """The keys of `nodes`, joined."""
    return "".join(adjacency.key(node) for node in nodes)
