"""The graph engine on files that this process tests.

A process can load one engine only, so ``test_ladybug.py`` runs the suites again in a child with
the variable set.
"""

from __future__ import annotations

import os

ENGINE_VARIABLE = "GRAPHMEM_TEST_ENGINE"
FILE_ENGINE = os.environ.get(ENGINE_VARIABLE, "kuzu")
