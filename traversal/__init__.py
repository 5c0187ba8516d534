"""Graph algorithms over an adjacency protocol: pure, vectorised, repeatable.

Knows no database and no edge type by name; see `Adjacency` for what it walks over.
"""

from .adjacency import (
    NO_EDGE,
    Adjacency,
    CapsRows,
    CsrAdjacency,
    HidesNodes,
    Hop,
    empty_hop,
    expand_heaviest,
    order_hop,
)
from .beam import BeamParams, beam_search
from .causal import CausalEdge, CausalLink, CausalTree, Event, causal_closure
from .expansion import Expanded, LinkTypes, link_expansion
from .mpfp import RRF_K, MetaPath, PathScore, Pushed, PushParams, forward_push
from .pagerank import Ranked, personalised_pagerank
from .paths import Path, Reached, Step, causal_order, join, path_edges, path_nodes

__all__ = [
    "Adjacency",
    "BeamParams",
    "CapsRows",
    "CausalEdge",
    "CausalLink",
    "CausalTree",
    "CsrAdjacency",
    "Event",
    "Expanded",
    "HidesNodes",
    "Hop",
    "LinkTypes",
    "MetaPath",
    "NO_EDGE",
    "Path",
    "PathScore",
    "PushParams",
    "Pushed",
    "RRF_K",
    "Ranked",
    "Reached",
    "Step",
    "beam_search",
    "causal_closure",
    "causal_order",
    "empty_hop",
    "expand_heaviest",
    "forward_push",
    "join",
    "link_expansion",
    "order_hop",
    "path_edges",
    "path_nodes",
    "personalised_pagerank",
]
