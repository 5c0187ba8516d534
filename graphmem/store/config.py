"""vault.json: what a vault is made of; written beside itself and renamed."""

from __future__ import annotations

import os
from pathlib import Path

from pydantic import ValidationError

from graphmem.embed import EmbedderIdentity
from graphmem.errors import VaultFormatError
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
    file = folder / VAULT_FILE
    try:
        config = VaultConfig.model_validate_json(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise told(f"{file} cannot be read", error) from error
    except (ValueError, ValidationError) as error:
        raise VaultFormatError(f"{file} cannot be read: {error}") from error
    if config.format != VAULT_FORMAT:
        raise VaultFormatError(
            f"{folder} has vault format {config.format}, this graphmem reads {VAULT_FORMAT}"
        )
    if config.engine not in (MEMORY, *ENGINES):
        raise VaultFormatError(
            f"{file} names the graph engine {config.engine!r}, which this graphmem does not know; "
            "upgrade graphmem, or set it to kuzu: the graph is built anew"
        )
    return config


def write_config(folder: Path, config: VaultConfig) -> None:
    """Writes the configuration; a crash or a full disk leaves the old one or the new one."""
    fresh = folder / f"{VAULT_FILE}.new"
    try:
        fresh.write_text(config.model_dump_json(indent=2) + "\n", encoding="utf-8")
        os.replace(fresh, folder / VAULT_FILE)
    except OSError as error:
        fresh.unlink(missing_ok=True)
        raise told(f"{folder / VAULT_FILE} cannot be written", error) from error
