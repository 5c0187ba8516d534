"""Starting and stopping a vault's owner process by hand."""

from __future__ import annotations

from pathlib import Path

from graphmem.errors import OwnerError, UsageError
from graphmem.serve.owner import Options, exposure
from graphmem.serve.runtime import OWNER_ROLE, read_holder
from graphmem.serve.start import (
    START_TIMEOUT_S,
    end_owner,
    ensure_owner,
    find_owner,
    same_version,
)


def start(options: Options, idle_exit: str) -> str:
    """Starts an owner with these options; says where it serves, or that one already does."""
    exposure(options)
    found = find_owner(options.vault)
    if found is not None:
        same_version(found, options.vault)
        return f"already served: {_address(options.vault)}"
    arguments = ["--host", options.host, "--port", str(options.port), "--idle-exit", idle_exit]
    arguments += ["--allow-remote"] if options.allow_remote else []
    ensure_owner(
        options.vault,
        options.settings,
        create=True,
        arguments=arguments,
        timeout_s=START_TIMEOUT_S,
    )
    return f"serving: {_address(options.vault)}"


def _address(vault: Path) -> str:
    holder = read_holder(vault)
    if holder is None:
        raise OwnerError("the owner process is gone; try again")
    host = f"[{holder.host}]" if ":" in holder.host else holder.host
    return f"http://{host}:{holder.port} (process {holder.pid})"


def stop(vault: Path) -> str:
    """Asks the owner to finish its writes and leave, and waits for that; says what happened.

    Raises UsageError when none serves this vault, OwnerError when it does not leave.
    """
    found = find_owner(vault)
    if found is None:
        raise UsageError(f"no owner process serves {vault}")
    hello = found[1]
    if hello.role != OWNER_ROLE:
        raise UsageError(
            f"process {hello.pid} is no owner but a program with {vault} open; close it there"
        )
    end_owner(vault, hello.pid)
    return f"process {hello.pid} has left"
