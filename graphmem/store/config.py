"""vault.json: what a vault is made of; written beside itself and renamed."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from graphmem.embed import EmbedderIdentity
from graphmem.errors import VaultFormatError, VaultNotFoundError
from graphmem.model.base import Model
from graphmem.store.graph.engines import ENGINES, MEMORY
from graphmem.store.trouble import told

VAULT_FILE = "vault.json"
# Raised when a vault of the old form can no longer be read without a migration.
VAULT_FORMAT = 1


class VaultConfig(Model):
    """Format, graph engine and the embedder the vectors are bound to."""

    format: int = VAULT_FORMAT
    engine: str = "kuzu"
    embedder: EmbedderIdentity | None = None


def read_config(folder: Path) -> VaultConfig:
    """The vault's configuration; raises VaultFormatError for one this program cannot read."""
    check_format(folder, read_format(folder))
    try:
        config = VaultConfig.model_validate(raw_config(folder))
    except ValidationError as error:
        raise VaultFormatError(f"{folder / VAULT_FILE} cannot be read: {error}") from error
    if config.engine not in (MEMORY, *ENGINES):
        raise VaultFormatError(
            f"{folder / VAULT_FILE} names the graph engine {config.engine!r}, which this graphmem "
            "does not know; upgrade graphmem, or set it to kuzu: the graph is built anew"
        )
    return config


def raw_config(folder: Path) -> dict[str, Any]:
    """The configuration as plain data, whatever its format.

    Raises VaultNotFoundError when there is none, VaultFormatError when it is not readable.
    """
    file = folder / VAULT_FILE
    if not file.is_file():
        raise VaultNotFoundError(f"there is no vault at {folder}; make one with graphmem init")
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise told(f"{file} cannot be read", error) from error
    except ValueError as error:
        raise VaultFormatError(f"{file} cannot be read: {error}") from error
    if not isinstance(found, dict):
        raise VaultFormatError(f"{file} cannot be read: it holds no settings")
    return found


def read_format(folder: Path) -> int:
    """The format a vault says it has; raises as ``raw_config``."""
    found = raw_config(folder).get("format", VAULT_FORMAT)
    if not isinstance(found, int):
        raise VaultFormatError(f"{folder / VAULT_FILE} cannot be read: its format is {found!r}")
    return found


def check_format(folder: Path, found: int, known: int = VAULT_FORMAT) -> None:
    """Raises VaultFormatError that says what to do about a vault of another format."""
    if found == known:
        return
    todo = "upgrade graphmem" if found > known else "run graphmem migrate"
    raise VaultFormatError(
        f"{folder} has vault format {found}, this graphmem reads {known}; {todo}"
    )


def write_config(folder: Path, config: VaultConfig) -> None:
    """Writes the configuration; a crash leaves the old one or the new one."""
    write_raw_config(folder, config.model_dump(mode="json"))


def write_raw_config(folder: Path, config: Mapping[str, Any]) -> None:
    """Writes plain data as the configuration, on disk when it returns."""
    fresh = folder / f"{VAULT_FILE}.new"
    try:
        with fresh.open("w", encoding="utf-8") as file:
            file.write(json.dumps(config, indent=2, ensure_ascii=False) + "\n")
            file.flush()
            os.fsync(file.fileno())
        os.replace(fresh, folder / VAULT_FILE)
    except OSError as error:
        fresh.unlink(missing_ok=True)
        raise told(f"{folder / VAULT_FILE} cannot be written", error) from error
