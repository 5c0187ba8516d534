"""``graphmem doctor``: looks at everything around a vault, also one that cannot be opened.

It never writes and never opens the vault; a look that fails is a finding like any other.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from pydantic import ValidationError

from graphmem.care import environment, files, folder, holder
from graphmem.care.findings import Look, collected, fail, ok
from graphmem.locate import LOCAL_VAULT
from graphmem.model.care import DoctorReport, Finding
from graphmem.settings import Settings, read_settings, vault_path
from graphmem.store.inspect import lock_kept


def diagnose(explicit: Path | None, start: Path, *, models: bool = True) -> DoctorReport:
    """All findings about the vault that would be used from ``start``; loads the models by default.

    Raises nothing a user could cause: what cannot be looked at is a finding.
    """
    found: list[Finding] = []
    settings = Settings.model_construct()
    try:
        settings = read_settings()
    except ValidationError as error:
        told = "; ".join(f"{each['loc'][0]}: {each['msg']}" for each in error.errors())
        found.append(fail("settings", told, "correct the GRAPHMEM_… variables"))
    vault = Path(os.path.abspath(vault_path(explicit, settings, start)))
    for name, look in _around(vault, settings, _chosen_by(explicit, settings, vault), models):
        found += collected(name, look)
    if (vault / "vault.json").is_file() or (vault / "journal.sqlite").is_file():
        with lock_kept(vault) as free:
            for name, look in _inside(vault, free):
                found += collected(name, look)
    return DoctorReport(path=str(vault), findings=tuple(found))


def _chosen_by(explicit: Path | None, settings: Settings, vault: Path) -> str:
    if explicit is not None:
        return "named by --vault"
    if settings.vault is not None:
        return "named by GRAPHMEM_VAULT"
    return f"the nearest {LOCAL_VAULT}" if vault.name == LOCAL_VAULT else "the user's default vault"


def _around(vault: Path, settings: Settings, how: str, models: bool) -> Iterator[tuple[str, Look]]:
    yield "program", environment.program
    yield "packages", environment.packages
    if models:
        yield "language", environment.language
        yield "embedder", partial(environment.embedder, settings)
    yield "path", partial(_path, how)
    yield "vault", partial(folder.there, vault)
    yield "rights", partial(folder.rights, vault)
    yield "disk", partial(folder.space, vault)
    yield "place", partial(folder.place, vault)


def _path(how: str) -> Iterator[Finding]:
    yield ok("path", how)


def _inside(vault: Path, free: bool) -> Iterator[tuple[str, Look]]:
    yield "lock", partial(holder.lock, vault, free)
    yield "format", partial(files.formats, vault)
    yield "journal", partial(files.journal, vault, free)
    yield "index", partial(files.projections, vault, free)
    yield "last stop", partial(files.clean, vault, free)
    yield "damaged", partial(folder.damaged_files, vault)
    yield "last error", partial(holder.last_error, vault)
