"""``graphmem.open``: the engine in this process when the vault is free, else its owner's client."""

from __future__ import annotations

import atexit
import os
import time
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Literal, get_args

from pydantic import ValidationError

from graphmem.engine import Steps, close_all, is_open_here
from graphmem.errors import UsageError, VaultLockedError
from graphmem.memory import Memory
from graphmem.serve.beside import serve_beside
from graphmem.serve.contract import MemoryLike
from graphmem.serve.remote import RemoteMemory
from graphmem.serve.runtime import SHARED_ROLE, Alone, read_holder
from graphmem.serve.start import START_TIMEOUT_S, find_owner, same_version
from graphmem.settings import Settings, read_settings, vault_path

Mode = Literal["auto", "embedded", "client"]
# How long ``auto`` waits for a process that holds the vault for itself, a command for example.
HELD_PATIENCE_S = 2.0
# Pause between two tries, in seconds.
TRY_AGAIN_S = 0.05


def _now() -> datetime:
    return datetime.now(UTC)


def open(
    path: str | Path | None = None,
    *,
    create: bool = True,
    settings: Settings | None = None,
    clock: Callable[[], datetime] = _now,
    mode: Mode = "auto",
    engine: str | None = None,
    progress: Steps | None = None,
) -> MemoryLike:
    """Opens the vault at ``path`` (default: the settings' vault), creating it when allowed.

    ``embedded`` runs the engine here and keeps the vault to itself. ``client`` uses the process
    that serves the vault and starts an owner when there is none; its clock is the owner's.
    ``auto`` embeds when the vault is free, and lets other processes use it meanwhile; otherwise it
    is a client of the process that has it. A vault that this process has open already is shared:
    each handle is closed by itself.

    ``engine`` is the graph engine of a new vault, ``kuzu`` or ``ladybug``; for one that exists it
    must be the vault's own. ``progress(what, done, total)`` is called while a damaged vault is
    healed here.

    Raises VaultLockedError when a process keeps it to itself, VaultNotFoundError without
    ``create``, VaultFormatError for a vault of another format, OwnerVersionError for an owner of
    another version, MissingExtraError for an engine that is not installed.
    """
    if mode not in get_args(Mode):
        raise UsageError(f"mode {mode!r} is not one of {', '.join(get_args(Mode))}")
    chosen = settings or read_settings()
    vault = vault_path(None if path is None else Path(path), chosen, Path.cwd())
    if engine is not None:
        chosen = _with_engine(chosen, engine, vault)
    if mode == "client":
        return _client(vault, chosen, create)
    if mode == "embedded":
        return Memory(vault, chosen, create=create, clock=clock, progress=progress)
    how = partial(Memory, vault, chosen, create=create, clock=clock, progress=progress)
    return _whichever(vault, chosen, create, how)


def _with_engine(settings: Settings, engine: str, vault: Path) -> Settings:
    """The settings for a vault with this engine; raises UsageError when it has another one."""
    try:
        chosen = Settings.model_validate({**settings.model_dump(), "engine": engine})
    except ValidationError as error:
        raise UsageError(f"there is no graph engine {engine!r}; take kuzu or ladybug") from error
    if (vault / "vault.json").is_file():
        from graphmem.store.config import read_config

        present = read_config(vault).engine
        if present != engine:
            raise UsageError(
                f"{vault} has its graph in {present}; change that with: "
                f"graphmem engine switch {engine}"
            )
    return chosen


def _client(vault: Path, settings: Settings, create: bool) -> RemoteMemory:
    remote = RemoteMemory(vault, settings, create=create)
    remote.warm()
    return remote


def _whichever(
    vault: Path, settings: Settings, create: bool, embedded: Callable[..., Memory]
) -> MemoryLike:
    """Asks a running owner first: opening an engine only to find the vault held takes longer."""
    begun, alone = time.monotonic(), Alone(vault)
    while True:
        found = None if is_open_here(vault) or not _served(vault) else find_owner(vault)
        if found is not None:
            same_version(found, vault)
            return _client(vault, settings, create)
        try:
            memory = embedded(role=SHARED_ROLE)
        except VaultLockedError as error:
            waited = time.monotonic() - begun
            too_long = waited > START_TIMEOUT_S or alone.seconds() > HELD_PATIENCE_S
            if error.pid == os.getpid() or too_long:
                raise
        else:
            atexit.unregister(close_all)
            atexit.register(close_all)  # what a program forgets to close is closed at its end
            serve_beside(memory, vault)
            return memory
        time.sleep(TRY_AGAIN_S)


def _served(vault: Path) -> bool:
    holder = read_holder(vault)
    return holder is not None and holder.serves
