"""Where a vault is. Standard library only: hooks ask it on every prompt."""

from __future__ import annotations

import os
import sys
from pathlib import Path

# Folder name of a project's own vault.
LOCAL_VAULT = ".graphmem"


def data_folder() -> Path:
    """The platform's folder for a user's application data."""
    home = Path.home()
    if sys.platform == "darwin":
        return home / "Library" / "Application Support" / "graphmem"
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", home / "AppData" / "Local")) / "graphmem"
    return Path(os.environ.get("XDG_DATA_HOME", home / ".local" / "share")) / "graphmem"


def locate(explicit: Path | None, start: Path) -> Path:
    """The explicit vault, the nearest ``.graphmem`` folder above ``start``, or the user's vault."""
    if explicit is not None:
        return explicit
    for folder in (start, *start.parents):
        if (folder / LOCAL_VAULT / "vault.json").is_file():
            return folder / LOCAL_VAULT
    return data_folder() / "vault"
