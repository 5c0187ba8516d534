"""Requests made up from the document of a running owner: none is a server error.

No route ends the owner, so none is left out. The owner is one that other machines may call, so that
made-up paths of ``ingest`` read nothing: only folders that are roots are read then.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, seed, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

import graphmem
from graphmem.serve.tokens import load_tokens
from graphmem.settings import Settings
from tests.serve.conftest import Door, end_owners, owner_of

pytestmark = pytest.mark.slow

# Cases per operation and way of making them; the whole run takes about a minute.
CASES = 40
SEED = 20_310_601
CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]
EXAMPLES = settings(
    max_examples=CASES,
    database=None,
    deadline=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)


@dataclass
class Sent:
    """How many cases were sent per operation, and what they got."""

    cases: Counter[str] = field(default_factory=Counter)
    statuses: Counter[int] = field(default_factory=Counter)

    def __str__(self) -> str:
        told = ", ".join(f"{code}: {count}" for code, count in sorted(self.statuses.items()))
        return f"{len(self.cases)} operations, {self.cases.total()} cases; by status: {told}"


@pytest.fixture(scope="module")
def remote(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Door]:
    """An owner with some content that reads no other folders for callers over TCP."""
    vault = tmp_path_factory.mktemp("remote") / "vault"
    notes = tmp_path_factory.mktemp("notes")
    (notes / "a.md").write_text("The seal cracked because the coolant ran dry.\n")
    with graphmem.open(vault, mode="embedded", settings=Settings(embedder="none")) as memory:
        memory.ingest(notes)
        memory.remember("Orion runs on Basalt.", facts=["Orion|runs on|Basalt"])
    command = [sys.executable, "-m", "graphmem", "serve", "--allow-remote", "--vault", str(vault)]
    environment = {**os.environ, "GRAPHMEM_EMBEDDER": "none"}
    subprocess.run([*command, "--idle-exit", "60s"], check=True, env=environment)
    yield Door(vault, owner_of(vault).port or 0, load_tokens(vault))
    end_owners(vault)


def operations(door: Door) -> Iterator[Any]:
    status, text = door.ask("/api/openapi.json", None, "GET")
    assert status == 200
    schema = schemathesis.openapi.from_dict(json.loads(text))
    schema.config.update(base_url=f"http://127.0.0.1:{door.port}")
    for found in schema.get_all_operations():
        yield found.ok()


def run(operation: Any, mode: schemathesis.GenerationMode, check: Any) -> None:
    @seed(SEED)
    @EXAMPLES
    @given(case=operation.as_strategy(generation_mode=mode))
    def one(case: Any) -> None:
        check(case)

    one()


@pytest.mark.timeout(580)
@pytest.mark.parametrize("mode", list(schemathesis.GenerationMode), ids=lambda mode: mode.value)
def test_no_request_is_a_server_error_or_an_undocumented_reply(
    remote: Door, mode: schemathesis.GenerationMode
) -> None:
    sent, headers = Sent(), {"Authorization": f"Bearer {remote.tokens.write}"}

    for operation in operations(remote):

        def check(case: Any, label: str = operation.label) -> None:
            reply = case.call(headers=headers, timeout=60)
            sent.cases[label] += 1
            sent.statuses[reply.status_code] += 1
            case.validate_response(reply, checks=CHECKS)

        try:
            run(operation, mode, check)
        except Exception as error:
            if "Unsatisfiable" not in type(error).__name__:  # nothing wrong can be made of it
                raise
    print(f"\nschemathesis, {mode.value}: {sent}")
    assert len(sent.cases) >= 10 and sent.cases.total() > 10 * len(sent.cases)
    assert not any(code >= 500 for code in sent.statuses)


@pytest.mark.timeout(580)
def test_without_a_token_every_operation_is_refused(remote: Door) -> None:
    sent = Sent()
    for operation in operations(remote):
        if operation.path == "/health":
            continue

        def check(case: Any, label: str = operation.label) -> None:
            reply = case.call(headers={"Authorization": "Bearer nobody"}, timeout=60)
            sent.cases[label] += 1
            sent.statuses[reply.status_code] += 1
            case.validate_response(reply, checks=CHECKS)

        run(operation, schemathesis.GenerationMode.POSITIVE, check)
    print(f"\nschemathesis without a token: {sent}")
    assert set(sent.statuses) <= {401, 400}
