"""Writes the list of tools that ``graphmem mcp`` ships: ``python -m graphmem.serve.tools_file``."""

from __future__ import annotations

import asyncio
import json
from typing import Any, NoReturn

from fastmcp import Client

from graphmem.serve.mcp import INSTRUCTIONS, build
from graphmem.serve.stdio import TOOLS_FILE


def listed() -> dict[str, Any]:
    """The instructions and the tools as the owner's server lists them."""
    return {"instructions": INSTRUCTIONS, "tools": asyncio.run(_tools())}


async def _tools() -> list[dict[str, Any]]:
    async with Client(build(_no_vault)) as client:
        tools = await client.list_tools()
    return [tool.model_dump(mode="json", by_alias=True, exclude_none=True) for tool in tools]


def _no_vault() -> NoReturn:
    raise AssertionError("listing tools opens no vault")


def main() -> None:
    """Writes the file."""
    text = json.dumps(listed(), indent=1, sort_keys=True)
    TOOLS_FILE.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
