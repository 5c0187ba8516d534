"""graphmem: a knowledge-graph-first memory engine for AI agents.

``graphmem.open(path)`` gives a ``Memory``; importing this package loads no engine and no model.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from graphmem.aio import AsyncMemory, open_async
    from graphmem.errors import GraphmemError, UsageError, VaultError, VaultLockedError
    from graphmem.memory import Memory
    from graphmem.model.results import (
        Answer,
        CausalResult,
        GetResult,
        IngestReport,
        KgResult,
        RememberResult,
        VaultStatus,
    )
    from graphmem.model.scope import Scope
    from graphmem.serve.contract import MemoryLike
    from graphmem.serve.opening import open

__version__ = "0.1.0"

__all__ = [
    "Answer",
    "AsyncMemory",
    "CausalResult",
    "GetResult",
    "GraphmemError",
    "IngestReport",
    "KgResult",
    "Memory",
    "MemoryLike",
    "RememberResult",
    "Scope",
    "UsageError",
    "VaultError",
    "VaultLockedError",
    "VaultStatus",
    "__version__",
    "open",
    "open_async",
]

_HOMES = {
    "Memory": "graphmem.memory",
    "MemoryLike": "graphmem.serve.contract",
    "AsyncMemory": "graphmem.aio",
    "open_async": "graphmem.aio",
    "open": "graphmem.serve.opening",
    "Scope": "graphmem.model.scope",
    "GraphmemError": "graphmem.errors",
    "UsageError": "graphmem.errors",
    "VaultError": "graphmem.errors",
    "VaultLockedError": "graphmem.errors",
}


def __getattr__(name: str) -> Any:
    """Loads a public name on first use."""
    if name not in __all__:
        raise AttributeError(f"module 'graphmem' has no attribute {name!r}")
    import importlib

    home = importlib.import_module(_HOMES.get(name, "graphmem.model.results"))
    value = getattr(home, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
