"""The engines that keep the graph in files: one dialect of Cypher, each with a module and traps.

A process can load one of them only: both register the same C++ types, and a process that has
loaded both ends in a segmentation fault.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from graphmem.errors import MissingExtraError, UsageError, VaultError

# A vault made with this engine keeps no graph file; the graph is made anew at each open.
MEMORY = "memory"


@dataclass(frozen=True, slots=True)
class Engine:
    """How one engine is imported and opened, and what its file is called.

    ``options`` go to its ``Database`` beside those every engine gets.
    """

    name: str
    module_name: str
    file: str
    install: str
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def installed(self) -> bool:
        """Whether the module can be imported; does not import it."""
        return importlib.util.find_spec(self.module_name) is not None

    def require(self) -> None:
        """Raises for an engine that cannot be loaded here; does not load it.

        MissingExtraError says how to install it, VaultError that this process has another one.
        """
        for other in ENGINES.values():
            if other.name != self.name and other.module_name in sys.modules:
                raise VaultError(
                    f"this process has loaded {other.name}, and {self.name} cannot run beside it; "
                    f"open the vault in another process, or with mode='client'"
                )
        if not self.installed:
            raise MissingExtraError(
                f"the graph engine {self.name} is not installed; {self.install}"
            )

    def module(self) -> Any:
        """The engine's module; raises as ``require`` does."""
        self.require()
        return importlib.import_module(self.module_name)


KUZU = Engine("kuzu", "kuzu", "graph.kuzu", "run: pip install kuzu==0.11.3")
# Its log carries checksums. By default a torn last record, which every kill may leave, is an
# error; without, the log is read up to it, and the journal gives the rest by ``applied_seq``.
LADYBUG = Engine(
    "ladybug",
    "ladybug",
    "graph.lbug",
    "run: pip install 'graphmem[ladybug]', or leave it with: graphmem engine switch kuzu",
    MappingProxyType({"throw_on_wal_replay_failure": False}),
)
ENGINES: Mapping[str, Engine] = MappingProxyType({each.name: each for each in (KUZU, LADYBUG)})


def engine_named(name: str) -> Engine:
    """The engine of a name; raises UsageError for an unknown one."""
    if name not in ENGINES:
        known = ", ".join(ENGINES)
        raise UsageError(f"there is no graph engine {name!r}; known are {known}")
    return ENGINES[name]
