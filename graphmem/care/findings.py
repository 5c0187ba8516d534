"""Short ways to say what was found."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from graphmem.model.care import Finding, Level

Look = Callable[[], Iterator[Finding]]


def ok(name: str, text: str) -> Finding:
    """All is well."""
    return Finding(name=name, level=Level.OK, text=text)


def warn(name: str, text: str, advice: str) -> Finding:
    """It works, but something should be done."""
    return Finding(name=name, level=Level.WARN, text=text, advice=advice)


def fail(name: str, text: str, advice: str) -> Finding:
    """It does not work."""
    return Finding(name=name, level=Level.FAIL, text=text, advice=advice)


def collected(name: str, look: Look) -> list[Finding]:
    """What a look found; one that breaks off is a finding itself, and the others go on."""
    found: list[Finding] = []
    try:
        found.extend(look())
    except Exception as error:
        told = f"could not be looked at: {type(error).__name__}: {error}"
        found.append(fail(name, told, "please report this with the output of graphmem doctor"))
    return found


def size(number: int) -> str:
    """Bytes for people.

    >>> size(2_500_000), size(900)
    ('2.5 MB', '900 bytes')
    """
    return f"{number} bytes" if number < 1_000 else f"{number / 1e6:.1f} MB"
