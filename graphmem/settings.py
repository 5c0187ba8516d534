"""Settings: one frozen object, read from the environment in one function and passed in."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import Field
from pydantic_settings import BaseSettings, SettingsConfigDict

from graphmem.locate import locate


class Settings(BaseSettings):
    """What a user may set through ``GRAPHMEM_*`` variables.

    ``vault``: folder of the vault; unset means the user's default vault.
    ``embedder``: ``minilm`` (default), ``none``; ``hashing`` is for tests only.
    ``engine``: the graph engine of a new vault.
    ``max_log_bytes``: a graph's log beyond this is folded into its file; replaying 6.6 MB takes
    0.2 s and reads of the file are 1.4 times slower with a log (measured).
    ``idle_exit``: how long an owner process that was started on demand stays without a request.
    """

    model_config = SettingsConfigDict(
        env_prefix="GRAPHMEM_", env_ignore_empty=True, frozen=True, extra="ignore"
    )

    vault: Path | None = None
    embedder: str = "minilm"
    engine: Literal["kuzu", "ladybug", "memory"] = "kuzu"
    max_log_bytes: int = Field(default=64 * 1024 * 1024, ge=4096)
    max_tokens: int = Field(default=2000, ge=100, le=100_000)
    idle_exit: str = "30m"


def read_settings() -> Settings:
    """The settings of this process's environment; raises pydantic.ValidationError on bad values."""
    return Settings()


def vault_path(explicit: Path | None, settings: Settings, start: Path) -> Path:
    """Which vault to use: the explicit one, the environment's, the nearest ``.graphmem`` folder
    above ``start``, else the user's default vault."""
    return locate(explicit or settings.vault, start)
