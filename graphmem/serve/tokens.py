"""The two bearer tokens of a vault: one may read, the other may also write."""

from __future__ import annotations

import hmac
import json
import logging
import os
import secrets
import tempfile
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from graphmem.errors import VaultError, VaultNotFoundError

LOG = logging.getLogger("graphmem.owner")
TOKEN_FILE = "tokens.json"
# Random bytes of a token: nobody guesses 256 bits.
TOKEN_BYTES = 32


class Role(StrEnum):
    """What the bearer of a token may do."""

    READ = "read"
    WRITE = "write"


@dataclass(frozen=True, slots=True)
class Tokens:
    """The tokens of one vault; kept out of every repr."""

    read: str = field(repr=False)
    write: str = field(repr=False)

    def role_of(self, given: str) -> Role | None:
        """What a token allows, None for an unknown one; takes the same time for every token."""
        data = given.encode("utf-8", "replace")
        reads = hmac.compare_digest(data, self.read.encode())
        writes = hmac.compare_digest(data, self.write.encode())
        if writes:
            return Role.WRITE
        return Role.READ if reads else None

    def hidden(self, text: str) -> str:
        """The text with every token in it replaced, for logs."""
        for token in (self.read, self.write):
            text = text.replace(token, "[token]")
        return text


def load_tokens(vault: Path) -> Tokens:
    """The vault's tokens, made on first use in a file that only its owner can read.

    Raises VaultNotFoundError when the folder is missing, VaultError when the file is not usable.
    """
    file = vault / TOKEN_FILE
    if not file.exists():
        _create(vault, file)
    try:
        if os.name == "posix" and file.stat().st_mode & 0o077:
            file.chmod(0o600)
            LOG.warning("others could read %s; delete it to have new tokens made", file)
        told = json.loads(file.read_text(encoding="utf-8"))
        tokens = Tokens(read=str(told["read"]), write=str(told["write"]))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise VaultError(f"{file} cannot be read ({type(error).__name__}); delete it") from None
    if min(len(tokens.read), len(tokens.write)) < TOKEN_BYTES or tokens.read == tokens.write:
        raise VaultError(f"{file} does not hold two different tokens; delete it")
    return tokens


def _create(vault: Path, file: Path) -> None:
    """Writes new tokens; when two processes do it at once, both go on with the first ones."""
    told = {role.value: secrets.token_urlsafe(TOKEN_BYTES) for role in Role}
    try:
        handle, name = tempfile.mkstemp(dir=vault, prefix=".tokens.")  # made with mode 0600
    except FileNotFoundError:
        raise VaultNotFoundError(
            f"there is no vault at {vault}; make one with graphmem init"
        ) from None
    except OSError as error:
        raise VaultError(f"cannot write to {vault}: {error.strerror}") from error
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as out:
            json.dump(told, out)
        os.link(name, file)
    except FileExistsError:
        pass
    except OSError as error:
        raise VaultError(f"cannot write {file}: {error.strerror}") from error
    finally:
        Path(name).unlink(missing_ok=True)
