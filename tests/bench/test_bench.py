"""The benchmarks run on the project's own records and on small made-up ones."""

import json
from pathlib import Path

import pytest

from tests.bench import engines, ingest, retrieval
from tests.bench.records import NoDataError, Record, find_records, hide_titles
from tests.bench.stats import estimate
from tests.bench.systems import PlainBM25

RECORD = (
    "# 7. Adopt Kestrel\n\n## Context\n\nSlow. Kestrel is fast.\n\n## Decision\n\nWe adopt it.\n"
)
OTHER = (
    "---\ntitle: 'ADR008: Drop Wagtail'\ndescription: Drop\n  Wagtail now\nstatus: accepted\n---\n"
    "## Context\n\nSee [ADR-0007: Adopt Kestrel](0007-adopt-kestrel.md) and 0007-adopt-kestrel.\n"
)


def records() -> list[Record]:
    return [
        Record("p", "docs/0007-adopt-kestrel.md", RECORD),
        Record("p", "docs/0008-drop-wagtail.md", OTHER),
    ]


def test_a_title_has_no_number_whether_a_heading_or_front_matter_states_it() -> None:
    assert [each.title for each in records()] == ["Adopt Kestrel", "Drop Wagtail"]


def test_hidden_titles_stand_in_no_heading_link_file_name_or_front_matter() -> None:
    hidden = hide_titles(records())
    assert [each.path for each in hidden] == ["docs/0007.md", "docs/0008.md"]
    text = hidden[0].text + hidden[1].text
    assert "Adopt Kestrel" not in text
    assert "kestrel.md" not in text
    assert "Wagtail" not in text
    assert "[that record](0007.md)" in text


def test_hiding_a_title_keeps_the_body_and_the_status() -> None:
    hidden = hide_titles(records())
    assert hidden[0].text.endswith(RECORD.partition("\n\n")[2])
    assert "status: accepted" in hidden[1].text


def test_a_heading_in_a_code_block_is_no_title() -> None:
    fenced = "```sh\n# install\n```\n\n# Real title\n"
    assert Record("p", "1-x.md", fenced).title == "Real title"
    assert "# install" in hide_titles([Record("p", "1-x.md", fenced)])[0].text


def test_records_are_found_in_project_folders_and_in_json_lines(tmp_path: Path) -> None:
    for each in records():
        path = tmp_path / "adr" / "first" / each.path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(each.text, encoding="utf-8")
    lines = [json.dumps({"path": each.path, "text": each.text}) for each in records()]
    (tmp_path / "adr" / "second.jsonl").write_text("\n".join(lines), encoding="utf-8")
    found = find_records(tmp_path)
    assert [(each.project, each.title) for each in found] == [
        ("first", "Adopt Kestrel"),
        ("first", "Drop Wagtail"),
        ("second", "Adopt Kestrel"),
        ("second", "Drop Wagtail"),
    ]


@pytest.mark.parametrize("line", ["{}", "not json", "[1]"])
def test_json_lines_of_another_form_are_refused_with_their_place(tmp_path: Path, line: str) -> None:
    (tmp_path / "x.jsonl").write_text(line, encoding="utf-8")
    with pytest.raises(NoDataError, match=r"x\.jsonl:1"):
        find_records(tmp_path)


def test_missing_data_is_said_and_not_replaced_when_it_was_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert retrieval.main(["--data", str(tmp_path / "none")]) == 2
    assert "is not a folder" in capsys.readouterr().err


def test_plain_bm25_prefers_rare_words_and_shorter_texts() -> None:
    texts = {"a": "the kestrel", "b": "the kestrel " + "filler " * 50, "c": "the the the"}
    assert PlainBM25(texts).rank("the kestrel")[:2] == ["a", "b"]
    assert PlainBM25(texts).rank("absent") == []


def test_an_interval_holds_the_mean_and_is_the_same_for_the_same_values() -> None:
    values = [0.0, 1.0, 1.0, 1.0, 0.0, 1.0]
    found = estimate(values)
    assert found.low <= found.mean <= found.high
    assert found.low < found.high
    assert found == estimate(values)


def test_the_retrieval_bench_prints_both_tables_and_writes_json(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out.json"
    arguments = ["--data", str(retrieval.OWN_RECORDS), "--embedder", "none", "--limit", "3"]
    assert retrieval.main([*arguments, "--json", str(out)]) == 0
    shown = capsys.readouterr().out
    assert "title indexed: 3 questions" in shown
    assert "default - plain bm25" in shown
    tables = json.loads(out.read_text())["tables"]
    best = tables["title hidden"]["systems"]["lane bm25"]["R@10"]["mean"]
    assert 0.0 < best <= 1.0
    assert tables["title indexed"]["systems"]["lane vector"]["MRR"]["mean"] == 0.0


def test_generated_files_are_the_same_for_the_same_seed(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        ingest.write_generated(tmp_path / name, 3)
    texts = [[path.read_text() for path in sorted((tmp_path / n).iterdir())] for n in ("a", "b")]
    assert texts[0] == texts[1]
    assert len(set(texts[0])) == 3


def test_the_ingest_bench_prints_its_ratios_and_writes_json(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "adr" / "p"
    folder.mkdir(parents=True)
    for each in records():
        (folder / Path(each.path).name).write_text(each.text, encoding="utf-8")
    out = tmp_path / "out.json"
    arguments = ["--data", str(tmp_path), "--embedder", "hashing", "--engine", "memory"]
    assert ingest.main([*arguments, "--repeats", "1", "--files", "5", "--json", str(out)]) == 0
    assert "ingest / (spaCy + embedder)" in capsys.readouterr().out
    found = json.loads(out.read_text())
    run = found["runs"][0]
    parts = sum(run[name] for name in ("read", "extract", "embed", "commit", "other"))
    assert parts == pytest.approx(run["total"], rel=0.01)
    assert found["again"]["ratio"] < 1.0


@pytest.mark.slow
def test_the_engine_bench_prints_speed_and_outcomes_and_writes_json(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out.json"
    sizes = ["--nodes", "100", "--edges", "300", "--kills", "1", "--damages", "1"]
    assert engines.main([*sizes, "--engines", "memory", "kuzu", "--json", str(out)]) == 0
    shown = capsys.readouterr().out
    assert "commit of 20 nodes" in shown
    found = json.loads(out.read_text())
    assert found["kuzu"]["survived"]["kill in a commit"] == {"whole": 1}
    assert sum(found["kuzu"]["survived"]["log cut off"].values()) == 1
    assert "survived" not in found["memory"]


def test_the_engine_bench_refuses_an_engine_that_is_not_there(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert engines.main(["--engines", "neptune"]) == 2
    assert "neptune" in capsys.readouterr().err
