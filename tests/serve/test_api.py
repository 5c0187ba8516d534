"""The HTTP interface: what it documents, keys of writes, and replies line by line."""

from __future__ import annotations

import json

import pytest

from graphmem.model.results import RememberResult
from graphmem.serve.wire import LINES
from tests.serve.conftest import Door

REMEMBER = "/api/v1/remember"


def note(n: int) -> bytes:
    return json.dumps({"text": f"Pump {n} moved.", "facts": [f"Pump {n}|is in|Bay {n}"]}).encode()


def test_the_document_names_every_address_and_its_result(door: Door) -> None:
    status, text = door.ask("/api/openapi.json", None, "GET", token=door.tokens.read)
    assert status == 200
    told = json.loads(text)
    names = "hello status search kg causes get graph export remember ingest sync rebuild verify"
    assert {path.rsplit("/", 1)[1] for path in told["paths"]} == {*names.split(), "health"}
    results = {"Answer", "KgResult", "CausalResult", "GetResult", "RememberResult", "VaultStatus"}
    assert results <= set(told["components"]["schemas"])


def test_the_same_idempotency_key_gives_the_first_outcome(door: Door) -> None:
    replies = [door.ask("/api/v1/remember", note(1), Idempotency_Key="once") for _ in range(2)]
    first, again = (RememberResult.model_validate_json(text) for _, text in replies)
    assert again == first.model_copy(update={"repeated": True})
    assert again.items[0].outcome == "stored"
    other = door.ask("/api/v1/remember", note(1), Idempotency_Key="twice")
    assert RememberResult.model_validate_json(other[1]).items[0].outcome == "merged"


def test_a_key_that_is_used_again_for_something_else_is_refused(door: Door) -> None:
    for path, body in ((REMEMBER, note(11)), ("/api/v1/sync", b"{}")):
        door.ask(REMEMBER, note(10), Idempotency_Key="again")
        status, text = door.ask(path, body, Idempotency_Key="again")
        assert (status, json.loads(text)["error"]["code"]) == (409, "KeyReusedError")


@pytest.mark.parametrize("key", ["x" * 129, "two words"])
def test_a_malformed_key_is_refused(door: Door, key: str) -> None:
    status, text = door.ask("/api/v1/remember", note(2), Idempotency_Key=key)
    assert (status, json.loads(text)["error"]["code"]) == (400, "UsageError")


def test_a_write_answers_line_by_line_for_who_asks(door: Door) -> None:
    status, text = door.ask("/api/v1/remember", note(3), Accept=LINES)
    lines = [json.loads(line) for line in text.splitlines()]
    assert status == 200
    assert RememberResult.model_validate(lines[-1]["result"]).items[0].outcome == "stored"
    _, text = door.ask("/api/v1/remember", b'{"text": " "}', Accept=LINES)
    assert json.loads(text.splitlines()[-1])["error"]["code"] == "InvalidInputError"


def test_an_export_is_sorted_json_lines(door: Door) -> None:
    door.ask("/api/v1/remember", note(4))
    status, text = door.ask("/api/v1/export", b'{"content": true}', token=door.tokens.read)
    lines = text.splitlines()
    assert status == 200
    assert all(json.loads(line) for line in lines) and len(lines) > 3


@pytest.mark.parametrize("path", ["relative/notes", "/a\0b", ""])
def test_an_ingest_takes_absolute_paths_only(door: Door, path: str) -> None:
    status, text = door.ask("/api/v1/ingest", json.dumps({"paths": [path]}).encode())
    assert status == 400, text


def test_wrong_arguments_are_named_without_their_value(door: Door) -> None:
    status, text = door.ask("/api/v1/search", b'{"question": "why?", "limit": "a-secret"}')
    assert status == 422
    assert "limit" in text and "a-secret" not in text
