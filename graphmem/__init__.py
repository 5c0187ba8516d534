"""graphmem: a knowledge-graph-first memory engine for AI agents."""

__version__ = "0.1.0"
