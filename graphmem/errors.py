"""The exception tree; every error names the input and says what to do next.

GraphmemError
├── UsageError            wrong arguments of a caller            (CLI exit code 2)
│   ├── InvalidInputError a value that cannot be stored
│   └── KeyReusedError    an idempotency key that was used for another call
├── VaultError            the vault cannot serve this            (CLI exit code 3)
│   ├── VaultNotFoundError
│   ├── VaultLockedError  another process holds it; carries .pid
│   ├── VaultBusyError    too many writes wait; carries .retry_after_s
│   ├── OwnerError        the owner process is gone or stopping
│   │   └── OwnerVersionError  it is of another version; carries .theirs and .ours
│   ├── VaultFormatError  made by another version of the format
│   ├── JournalDamagedError   carries .seq of the first bad row
│   ├── VaultReadOnlyError    the journal lost rows; carries .seqs
│   └── ProjectionDamagedError
├── ConflictError         an operation's `before` is not what is stored
├── EmbedderError         model missing, damaged or of another kind
│   └── EmbedderMismatchError
├── ReadError             one source that could not be read; carries .path
└── MissingExtraError     an optional part is not installed
"""

from __future__ import annotations


class GraphmemError(Exception):
    """Base of all errors raised by graphmem."""


class UsageError(GraphmemError):
    """Arguments that make no sense; nothing was changed."""


class InvalidInputError(UsageError):
    """A value that cannot be stored; nothing was changed."""


class KeyReusedError(UsageError):
    """An idempotency key stands for one call; it was used for another one."""


class VaultError(GraphmemError):
    """The vault cannot serve the request."""


class VaultNotFoundError(VaultError):
    """There is no vault at the path."""


class VaultLockedError(VaultError):
    """Another process holds the vault; ``pid`` is the holder's when it is known."""

    def __init__(self, message: str, *, pid: int | None = None) -> None:
        super().__init__(message)
        self.pid = pid


class VaultBusyError(VaultError):
    """Too many writes wait; nothing was stored, try again after ``retry_after_s`` seconds."""

    def __init__(self, message: str, *, retry_after_s: float = 1.0) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s


class OwnerError(VaultError):
    """The vault's owner process cannot be reached, or is ``stopping``."""

    def __init__(self, message: str, *, stopping: bool = False) -> None:
        super().__init__(message)
        self.stopping = stopping


class OwnerVersionError(OwnerError):
    """The owner of ``vault`` is of version ``theirs``, this program of ``ours``.

    ``vault`` is None when stopping the owner is not the way out.
    """

    def __init__(
        self, message: str, *, theirs: str = "", ours: str = "", vault: str | None = None
    ) -> None:
        super().__init__(message)
        self.theirs, self.ours, self.vault = theirs, ours, vault


class VaultFormatError(VaultError):
    """The vault was made by a version of the format this program does not read."""


class JournalDamagedError(VaultError):
    """A journal row does not fit the hash chain; ``seq`` is the first such row."""

    def __init__(self, message: str, *, seq: int) -> None:
        super().__init__(message)
        self.seq = seq


class VaultReadOnlyError(VaultError):
    """The journal is damaged, so nothing is written; ``seqs`` are the damaged rows."""

    def __init__(self, message: str, *, seqs: tuple[int, ...] = ()) -> None:
        super().__init__(message)
        self.seqs = seqs


class ProjectionDamagedError(VaultError):
    """The graph or the index cannot be opened; a rebuild from the journal mends it."""


class ConflictError(GraphmemError):
    """An operation expected another state than the stored one; nothing was written."""


class EmbedderError(GraphmemError):
    """The embedding model is missing, damaged or failed."""


class EmbedderMismatchError(EmbedderError):
    """The vault's vectors were made by another embedder."""


class ReadError(GraphmemError):
    """One source that could not be read; the rest of the batch goes on."""

    def __init__(self, message: str, *, path: str) -> None:
        super().__init__(message)
        self.path = path


class MissingExtraError(GraphmemError):
    """An optional part of graphmem is not installed; the message names the extra."""
