"""Publicly reported faults of tool calls and replies, end to end: arguments as clients really send
them (BR-29) and replies of a bounded size (BR-37), over MCP, HTTP, the command and Python."""

from __future__ import annotations

import asyncio
import http.client
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from fastmcp import Client
from fastmcp.client.transports import StdioTransport, StreamableHttpTransport

import graphmem
from graphmem.model.inputs import FactInput
from graphmem.model.results import KgResult
from graphmem.retrieve.kg import MAX_LIMIT, MAX_REPLY_CHARS
from graphmem.serve.bounds import CHARS_PER_TOKEN, MAX_REPLY_TOKENS
from graphmem.serve.mcp import WRITING_TOOLS
from graphmem.serve.runtime import read_holder
from graphmem.serve.tokens import load_tokens
from graphmem.settings import Settings
from tests.serve.conftest import end_owners

# Facts of the one entity, and how many calls of `remember` state them.
FACTS, CALLS = 4_000, 20
HUB = "Zephyr Depot"
# No reply of a tool is longer, in bytes; HTTP and Python may give a page of 200 facts.
MAX_TOOL_BYTES = MAX_REPLY_TOKENS * CHARS_PER_TOKEN * 2
MAX_PAGE_BYTES = 2 * MAX_REPLY_CHARS


@dataclass(frozen=True)
class Served:
    """A running owner of a vault with one large entity."""

    vault: Path
    port: int
    token: str

    def post(self, address: str, **body: object) -> tuple[int, str]:
        """The status and text of a reply over HTTP."""
        line = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
        line.request("POST", f"/api/v1/{address}", json.dumps(body), headers)
        reply = line.getresponse()
        try:
            return reply.status, reply.read().decode()
        finally:
            line.close()

    def client(self, way: str) -> Client[Any]:
        """A client of the tools over standard input and output, or over HTTP."""
        if way == "stdio":
            environment = {**os.environ, "GRAPHMEM_EMBEDDER": "none"}
            arguments = ["-m", "graphmem", "mcp", "--vault", str(self.vault)]
            return Client(StdioTransport(sys.executable, arguments, env=environment))
        address = f"http://127.0.0.1:{self.port}/mcp"
        headers = {"Authorization": f"Bearer {self.token}"}
        return Client(StreamableHttpTransport(address, headers=headers))


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    vault = tmp_path_factory.mktemp("replies") / "vault"
    settings = Settings(embedder="none", idle_exit="300s")
    with graphmem.open(vault, mode="embedded", settings=settings) as memory:
        for call in range(CALLS):
            numbers = range(call * FACTS // CALLS, (call + 1) * FACTS // CALLS)
            facts = [FactInput(HUB, "supplies", f"Site {number}") for number in numbers]
            memory.remember(f"{HUB} list {call}.", facts=facts)
    with graphmem.open(vault, mode="client", settings=settings):
        holder = read_holder(vault)
        assert holder is not None and holder.port is not None
        yield Served(vault, holder.port, load_tokens(vault).write)
    end_owners(vault)


Ask = Callable[..., tuple[dict[str, Any] | None, str]]


@pytest.fixture(scope="module", params=["stdio", "http"])
def ask(request: pytest.FixtureRequest, served: Served) -> Iterator[Ask]:
    """Calls a tool with raw arguments: the structured result, or None and the refusal's text."""
    loop = asyncio.new_event_loop()
    client = served.client(request.param)
    loop.run_until_complete(client.__aenter__())

    def call(tool: str, **arguments: Any) -> tuple[dict[str, Any] | None, str]:
        result = loop.run_until_complete(client.call_tool(tool, arguments, raise_on_error=False))
        text = "".join(getattr(each, "text", "") for each in result.content)
        return (None if result.is_error else dict(result.structured_content or {})), text

    yield call
    loop.run_until_complete(client.__aexit__(None, None, None))
    loop.run_until_complete(client.close())
    loop.run_until_complete(client.transport.close())
    loop.close()


# BR-29: arguments as clients really send them


@pytest.mark.parametrize("limit", ["5", 5, " 5 ", None, 5.0])
def test_br29_a_number_may_be_text_or_null(ask: Ask, limit: object) -> None:
    result, text = ask("intent_search", question="What does Zephyr Depot supply?", limit=limit)
    assert result is not None, text
    if limit is not None:
        assert len(result["hits"]) <= 5


@pytest.mark.parametrize(
    "because",
    ['["It leaked.", "It was old."]', ["It leaked.", "It was old."]],
)
def test_br29_a_list_may_be_text(ask: Ask, because: object) -> None:
    result, text = ask("remember", text="We replaced the seal of pump 7.", because=because)
    assert result is not None, text
    assert [item["text"] for item in result["items"]] == ["It leaked.", "It was old."]


@pytest.mark.parametrize("because", ["It leaked.", None, "", "[]", []])
def test_br29_one_value_is_a_list_of_one_and_nothing_an_empty_one(
    ask: Ask, because: object
) -> None:
    result, text = ask("remember", text="We replaced the seal of pump 8.", because=because)
    assert result is not None, text
    assert len(result["items"]) == (1 if because == "It leaked." else 0)


@pytest.mark.parametrize("nested", [True, False])
def test_br29_objects_may_be_text(ask: Ask, nested: bool) -> None:
    fact: object = {"subject": "Orion", "predicate": "uses", "object": "Basalt"}
    told: object = json.dumps([fact]) if nested else [json.dumps(fact)]
    result, text = ask("remember", text="Orion uses Basalt.", facts=told)
    assert result is not None, text
    assert result["items"][0]["text"] == "Orion|uses|Basalt"


def test_br29_an_extra_key_and_a_null_are_ignored(ask: Ask) -> None:
    result, text = ask("kg_query", name="Zephyr Depot", as_of=None, tags=["a"], mood={"b": 1})
    assert result is not None, text


@pytest.mark.parametrize(
    ("tool", "arguments", "field"),
    [
        ("intent_search", {"question": "x", "limit": "many"}, "limit"),
        ("intent_search", {}, "question"),
        ("intent_search", {"question": None}, "question"),
        ("kg_query", {"name": ["a"]}, "name"),
        ("get", {"ids": {"a": 1}}, "ids"),
        ("remember", {"text": "One.", "facts": [{"subject": "A"}]}, "facts.0.predicate"),
        ("find_causal_links", {"start": "x", "direction": "up"}, "direction"),
    ],
)
def test_br29_a_refusal_names_the_field_and_shows_a_valid_call(
    ask: Ask, tool: str, arguments: dict[str, Any], field: str
) -> None:
    result, text = ask(tool, **arguments)
    assert result is None
    assert field in text and f"A valid call of {tool}: {{" in text
    assert "Traceback" not in text and "pydantic" not in text.lower()
    example = json.loads(text.partition(f"A valid call of {tool}: ")[2])
    again, text = ask(tool, **example)
    assert again is not None, text


def test_br29_http_stays_strict_and_says_which_field(served: Served) -> None:
    for body in ({"question": "x", "limit": None}, {"question": "x", "tags": []}, {}):
        status, text = served.post("search", **body)
        assert status == 422
        assert json.loads(text)["error"]["code"] == "UsageError"
        assert any(field in text for field in ("limit", "tags", "question"))


def test_br29_only_tools_that_say_so_write(served: Served) -> None:
    async def writing() -> set[str]:
        async with served.client("http") as client:
            tools = await client.list_tools()
            hints = {tool.name: tool.annotations for tool in tools}
            return {name for name, hint in hints.items() if not (hint and hint.read_only_hint)}

    assert asyncio.run(writing()) == WRITING_TOOLS


# BR-37: one entity with 4,000 facts


def test_br37_a_tool_gives_a_capped_page_with_the_true_total(ask: Ask) -> None:
    result, text = ask("kg_query", name=HUB)
    assert result is not None, text
    shown = result["entities"][0]
    assert 0 < len(shown["facts"]) <= 50
    assert shown["total_facts"] == FACTS and result["truncated"] and result["cursor"]
    assert len(json.dumps(result).encode()) <= MAX_TOOL_BYTES


@pytest.mark.parametrize("limit", [1_000_000, "1000000", 10**30])
def test_br37_a_tool_takes_a_large_limit_as_the_largest(ask: Ask, limit: object) -> None:
    result, text = ask("kg_query", name=HUB, limit=limit)
    assert result is not None, text
    assert 0 < len(result["entities"][0]["facts"]) <= MAX_LIMIT
    assert len(json.dumps(result).encode()) <= MAX_TOOL_BYTES


@pytest.mark.parametrize("limit", [0, -5, "-5"])
@pytest.mark.parametrize(
    ("tool", "argument", "field"),
    [
        ("kg_query", "name", "limit"),
        ("intent_search", "question", "limit"),
        ("find_causal_links", "start", "depth"),
    ],
)
def test_br37_a_tool_refuses_no_and_negative_limits(
    ask: Ask, tool: str, argument: str, field: str, limit: object
) -> None:
    result, text = ask(tool, **{argument: HUB, field: limit})
    assert result is None
    assert field in text and "greater than or equal to 1" in text


def test_br37_pages_of_a_tool_give_each_fact_once(ask: Ask) -> None:
    seen: list[str] = []
    cursor, pages = "", 0
    while len(seen) < 400:
        result, text = ask("kg_query", name=HUB, limit=200, cursor=cursor)
        assert result is not None, text
        seen += [fact["id"] for fact in result["entities"][0]["facts"]]
        cursor, pages = result["cursor"], pages + 1
    assert len(seen) == len(set(seen)) and pages > 1


def test_br37_bounds_stand_in_the_schemas(served: Served) -> None:
    async def tools() -> dict[str, Any]:
        async with served.client("http") as client:
            return {tool.name: tool.input_schema for tool in await client.list_tools()}

    for name, schema in asyncio.run(tools()).items():
        for field, part in schema["properties"].items():
            if part.get("type") == "integer":
                assert part["minimum"] >= 1 and part["maximum"] >= 1, f"{name}.{field}"
    with graphmem.open(served.vault, mode="client"):
        pass


def test_br37_every_tool_keeps_to_a_fixed_size(ask: Ask) -> None:
    calls: list[tuple[str, dict[str, Any]]] = [
        ("intent_search", {"question": f"What does {HUB} supply?", "limit": 10**6,
                           "max_tokens": 10**9}),
        ("find_causal_links", {"start": HUB, "depth": 10**6, "direction": "both"}),
        ("kg_query", {"name": HUB, "limit": 10**6, "include_history": True}),
    ]  # fmt: skip
    result, _ = ask("kg_query", name=HUB)
    assert result is not None
    calls.append(("get", {"ids": [result["entities"][0]["id"]] * 50}))
    for tool, arguments in calls:
        result, text = ask(tool, **arguments)
        assert result is not None, text
        assert len(json.dumps(result).encode()) <= MAX_TOOL_BYTES, tool


def test_br37_http_python_and_the_command_page_alike(served: Served) -> None:
    status, text = served.post("kg", name=HUB, limit=1_000_000)
    assert status == 200 and len(text.encode()) <= MAX_PAGE_BYTES
    over_http = KgResult.model_validate_json(text)
    with graphmem.open(served.vault, mode="client") as memory:
        in_python = memory.kg_query(HUB, limit=10**9)
        after = memory.kg_query(HUB, cursor=in_python.cursor)
    command = [sys.executable, "-m", "graphmem", "kg", HUB, "--limit", "1000000", "--json"]
    command += ["--vault", str(served.vault)]
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    assert over_http == in_python == KgResult.model_validate_json(run.stdout)
    first, second = in_python.entities[0], after.entities[0]
    assert first.total_facts == second.total_facts == FACTS
    assert not {fact.id for fact in first.facts} & {fact.id for fact in second.facts}


@pytest.mark.parametrize("limit", [0, -5])
def test_br37_http_and_the_command_refuse_no_and_negative_limits(
    served: Served, limit: int
) -> None:
    for name, field in (("kg", "name"), ("search", "question")):
        status, text = served.post(name, **{field: HUB, "limit": limit})
        assert status == 422 and "limit" in text
    for command in ("kg", "ask"):
        told = [sys.executable, "-m", "graphmem", command, HUB, f"--limit={limit}"]
        run = subprocess.run(
            [*told, "--vault", str(served.vault)], capture_output=True, text=True, check=False
        )
        assert run.returncode == 2 and "limit" in run.stderr
