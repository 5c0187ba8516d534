"""The commands end to end: what they print, and their exit codes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import networkx as nx
import pytest

from tests.cli.conftest import Command

NOTE = "The seal cracked because the coolant ran dry.\n"


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "a.md").write_text(NOTE, encoding="utf-8")
    (folder / "b.md").write_text("Zephyr Depot supplies Anvil Works.\n", encoding="utf-8")
    return folder


def test_init_ingest_and_status_count_what_is_stored(graphmem: Command, notes: Path) -> None:
    assert graphmem("init").code == 0
    report = graphmem("ingest", str(notes), "--json")
    assert (report.code, report.data["changed"]) == (0, 2)
    status = graphmem("status", "--json").data
    assert status["counts"]["source"] == 2
    assert status["graph_seq"] == status["index_seq"] == status["seq"] > 0


def test_a_second_ingest_changes_nothing(graphmem: Command, notes: Path) -> None:
    graphmem("ingest", str(notes))
    before = graphmem("status", "--json").data["seq"]
    report = graphmem("ingest", str(notes), "--json").data
    assert (report["changed"], report["unchanged"]) == (0, 2)
    assert graphmem("status", "--json").data["seq"] == before


def test_ask_quotes_the_reason_and_its_place(graphmem: Command, notes: Path) -> None:
    graphmem("ingest", str(notes))
    answer = graphmem("ask", "why did the seal crack?")
    assert answer.code == 0
    assert "coolant ran dry" in answer.out
    assert "a.md:1" in answer.out


def test_causes_follows_the_link_in_both_directions(graphmem: Command, notes: Path) -> None:
    graphmem("ingest", str(notes))
    back = graphmem("causes", "the seal cracked", "--json").data
    assert "coolant ran dry" in back["edges"][0]["cause"]
    forward = graphmem("causes", "the coolant ran dry", "--direction", "forward", "--json").data
    assert "seal cracked" in forward["edges"][0]["effect"]


def test_kg_shows_directed_facts_with_evidence(graphmem: Command, notes: Path) -> None:
    graphmem("ingest", str(notes))
    entity = graphmem("kg", "Zephyr Depot", "--json").data["entities"][0]
    fact = entity["facts"][0]
    assert (fact["subject"], fact["object"]) == ("Zephyr Depot", "Anvil Works")
    assert fact["evidence"][0]["quote"] in "Zephyr Depot supplies Anvil Works."


def test_every_printed_id_can_be_opened(graphmem: Command, notes: Path) -> None:
    graphmem("ingest", str(notes))
    hit = graphmem("ask", "why did the seal crack?", "--json").data["hits"][0]
    entity = graphmem("kg", "Anvil Works", "--json").data["entities"][0]
    edge = graphmem("causes", "the seal cracked", "--json").data["edges"][0]
    ids = [
        hit["passage_id"],
        hit["span"]["source_id"],
        entity["id"],
        entity["facts"][0]["id"],
        entity["facts"][0]["evidence"][0]["id"],
        edge["cause_id"],
        edge["witnesses"][0]["link_id"],
    ]
    opened = graphmem("get", *ids, "--json")
    assert opened.code == 0
    assert [item["id"] for item in opened.data["items"]] == ids


def test_get_of_an_unknown_id_exits_with_one(graphmem: Command) -> None:
    graphmem("init")
    result = graphmem("get", "psg:00000000000000000000", "--json")
    assert (result.code, result.data["missing"]) == (1, ["psg:00000000000000000000"])


def test_remember_stores_fact_and_cause(graphmem: Command) -> None:
    result = graphmem(
        "remember",
        "We dropped LanceDB.",
        "--fact",
        "Orion|uses|Basalt",
        "--because",
        "Its index was lost twice.",
        "--json",
    )
    assert result.code == 0
    assert {item["outcome"] for item in result.data["items"]} <= {"stored", "merged"}
    assert graphmem("kg", "Orion", "--json").data["entities"][0]["facts"][0]["object"] == "Basalt"
    assert "lost twice" in graphmem("causes", "we dropped LanceDB").out


def test_a_refused_fact_is_named_and_exits_with_one(graphmem: Command) -> None:
    result = graphmem("remember", "A note.", "--fact", "Orion|uses|Orion", "--json")
    assert result.code == 1
    refused = [item for item in result.data["items"] if item["outcome"] == "refused"]
    assert refused[0]["reason"] == "self_loop"


def test_one_bad_file_is_named_and_the_rest_is_stored(graphmem: Command, notes: Path) -> None:
    (notes / "bad.md").write_bytes(b"\x00\x01\x02 not text \x00")
    result = graphmem("ingest", str(notes), "--json")
    assert (result.code, result.data["changed"]) == (1, 2)
    assert result.data["problems"][0]["path"].endswith("bad.md")


def test_sync_marks_absent_files_and_brings_them_back(graphmem: Command, notes: Path) -> None:
    graphmem("ingest", str(notes))
    (notes / "a.md").unlink()
    assert graphmem("sync", "--json").data["absent"] == 1
    assert "no support" in graphmem("ask", "why did the seal crack?").out
    (notes / "a.md").write_text(NOTE, encoding="utf-8")
    assert graphmem("sync", "--json").data["returned"] == 1
    assert "coolant" in graphmem("ask", "why did the seal crack?").out


def test_rebuild_gives_an_equal_exact_dump(graphmem: Command, notes: Path, vault: Path) -> None:
    graphmem("ingest", str(notes))
    before = graphmem("export").out
    for name in ("graph.kuzu", "index.sqlite"):
        for path in vault.glob(f"{name}*"):
            path.unlink()
        assert graphmem("rebuild").code == 0
        assert graphmem("export").out == before
    assert len(before.splitlines()) > 10


def test_graphml_export_is_read_back_with_equal_counts(graphmem: Command, tmp_path: Path) -> None:
    graphmem(
        "remember", "Kiln 🔥 cracked because\x0b the load was wet.", "--fact", "Kiln 🔥|is in|Bay 3"
    )
    target = tmp_path / "memory.graphml"
    assert graphmem("export", "--format", "graphml", "-o", str(target)).code == 0
    graph = nx.read_graphml(target)
    assert graph.number_of_nodes() >= 4
    assert any("Kiln 🔥" in data["text"] for _, data in graph.nodes(data=True))


def test_output_survives_a_legacy_code_page(graphmem: Command) -> None:
    env = {"PYTHONIOENCODING": "cp1252"}
    graphmem("remember", "Kiln 🔥 stands in Bay 3.", env=env)
    shown = graphmem("ask", "where does the kiln stand?", env=env)
    assert shown.code == 0
    assert graphmem("ask", "where does the kiln stand?", "--json", env=env).data["supported"]


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("ask",), 2),
        (("nonsense",), 2),
        (("kg", "Orion", "--as-of", "yesterday-ish"), 2),
        (("causes", "x", "--direction", "sideways"), 2),
        (("ingest", "/does/not/exist"), 1),
    ],
)
def test_wrong_use_says_what_to_do(
    graphmem: Command, arguments: tuple[str, ...], code: int
) -> None:
    graphmem("init")
    result = graphmem(*arguments)
    assert result.code == code
    assert "Traceback" not in result.err


def test_a_missing_vault_is_a_vault_problem(graphmem: Command, vault: Path) -> None:
    result = graphmem("ask", "why?")
    assert result.code == 3
    assert str(vault) in result.err
    assert not vault.exists()


def test_a_held_vault_names_the_holder(graphmem: Command, vault: Path) -> None:
    graphmem("init")
    script = (
        "import sys, graphmem; m = graphmem.open(sys.argv[1], mode='embedded'); "
        "print('held', flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script, str(vault)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as holder:
        assert holder.stdout is not None and holder.stdin is not None
        assert holder.stdout.readline() == "held\n"
        result = graphmem("status")
        holder.stdin.close()
    assert result.code == 3
    assert str(holder.pid) in result.err
    assert len(result.err.strip().splitlines()) == 1
    assert graphmem("status").code == 0


@pytest.mark.parametrize(
    "question", ["north-yard", "don't", "a/b ratio", '"unbalanced', "(", "   ", "*", "' OR 1=1 --"]
)
def test_no_question_breaks_the_search(graphmem: Command, question: str) -> None:
    graphmem("init")
    assert graphmem("ask", question).code == 0
