"""What looking after a vault returns: backups, checks, findings and migrations."""

from __future__ import annotations

from enum import StrEnum

from pydantic import ConfigDict, computed_field

from graphmem.model.base import Model, UtcDatetime
from graphmem.model.results import Result

# Raised when a backup of the old form can no longer be restored.
BACKUP_FORMAT = 1


class BackupManifest(Model):
    """What a backup holds; ``head_hash`` is the hash of its last journal row, "" when empty.

    ``rows`` counts journal rows by operation.
    """

    format: int = BACKUP_FORMAT
    created: UtcDatetime
    graphmem: str
    vault_format: int
    engine: str
    head: int
    head_hash: str
    rows: dict[str, int] = {}


class BackupInfo(Result):
    """A backup on disk. ``problem`` says why it cannot be restored; "" when it can."""

    path: str
    bytes: int
    manifest: BackupManifest
    problem: str = ""


class RestoreReport(Result):
    """What a restore did, or with ``dry_run`` would do.

    ``moved_aside`` is where the vault that was there is now. ``vectors_pending`` counts texts
    whose vectors are computed by the next ``sync``.
    """

    backup: str
    vault: str
    head: int
    dry_run: bool = False
    moved_aside: str | None = None
    counts: dict[str, int] = {}
    vectors_pending: int = 0


class Check(Model):
    """One invariant: how many things were looked at and how many broke it, with examples.

    ``note`` is something worth knowing that is no failure.
    """

    # What is computed may come back over the wire.
    model_config = ConfigDict(extra="ignore")

    name: str
    claim: str
    checked: int = 0
    failures: int = 0
    examples: tuple[str, ...] = ()
    note: str = ""
    advice: str = ""

    @computed_field  # type: ignore[prop-decorator]
    @property
    def ok(self) -> bool:
        """Whether nothing broke it."""
        return self.failures == 0


class VerifyReport(Result):
    """Every invariant that can be checked on the data, at sequence ``seq``."""

    # What is computed may come back over the wire.
    model_config = ConfigDict(extra="ignore")

    path: str
    seq: int
    quick: bool = False
    checks: tuple[Check, ...] = ()
    seconds: float = 0.0

    @computed_field  # type: ignore[prop-decorator]
    @property
    def ok(self) -> bool:
        """Whether all hold."""
        return all(check.ok for check in self.checks)


class Level(StrEnum):
    """How a finding of ``doctor`` stands."""

    OK = "ok"
    WARN = "warn"
    FAIL = "fail"


class Finding(Model):
    """One thing ``doctor`` looked at; ``advice`` says what to do about it."""

    name: str
    level: Level
    text: str
    advice: str = ""


class DoctorReport(Result):
    """The state of the environment, of a vault's folder and of whoever holds it."""

    # What is computed may come back over the wire.
    model_config = ConfigDict(extra="ignore")

    path: str
    findings: tuple[Finding, ...] = ()

    @computed_field  # type: ignore[prop-decorator]
    @property
    def level(self) -> Level:
        """The worst of the findings."""
        levels = {finding.level for finding in self.findings}
        worst = (level for level in (Level.FAIL, Level.WARN) if level in levels)
        return next(worst, Level.OK)


class MigrationReport(Result):
    """What a migration did, or with ``dry_run`` would do."""

    path: str
    before: int
    after: int
    steps: tuple[str, ...] = ()
    backup: str | None = None
    dry_run: bool = False
