"""The extractor as a whole: odd text, offsets, determinism, independence of batches, speed."""

from __future__ import annotations

import subprocess
import sys
import time

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from graphmem import extractors
from graphmem.model.extraction import Extraction, PassageInput
from graphmem.vocabulary import PassageRole
from tests.extractors.reading import Reader

PROSE = (
    "We chose Kuzu over LanceDB because Kuzu runs in the process. Work order WO-2031-114 was "
    "approved by Maren Toft in March 2026. The server lost its disk. As a result, the index was "
    "rebuilt from the journal, which led to a short outage. She restarted Node 200 and opened "
    "OPS-2077. The queries `11` and `C++` found nothing, so a tokenizer of our own was written. "
)
FRAGMENTS = [
    "Kuzu", "LanceDB", "Node 200", "`a b`", "``", "`x", "[[", "]]", "[[ ]]", "[[Tank 2]]",
    "because", "which caused", "so that", "caused", "was caused by", "prevents", "from", "\ud800",
    "\udfff", "😀", "水泵", "第三倉庫", "A" * 3000, "- ", "\n", "\n\n", "> ", "# ", "```", "|",
    "**", "_", "(", ")", "that is why", "this", "it", "he", "we", "over", "instead of",
    "2031-13-45", "from 2031-05-01 to 2031-04-01", "v1.2.3", "\x00", "\u2028", "\r\n", "é", "İ",
    "is", "not", "in order to", "[fact]", "[/]", "!", "?", ".", ",", ";", "said that", "if", "to",
    "allowed us to drop", "as a result of", "due to", "\u200b", "<b>", "<!--", "[a](b)", " ",
]  # fmt: skip

texts = st.one_of(
    st.text(alphabet=st.characters(exclude_categories=()), max_size=120),
    st.lists(st.sampled_from(FRAGMENTS), max_size=25).map(" ".join),
    st.lists(st.sampled_from(FRAGMENTS), max_size=25).map("".join),
)


def assert_valid(passage: PassageInput, made: Extraction, count: int) -> None:
    text = passage.text
    for statement in made.statements:
        assert 0 <= statement.start < statement.end <= len(text)
        assert 0 <= statement.confidence <= 1
    end = 0
    for mention in made.mentions:
        assert text[mention.start : mention.end] == mention.surface
        assert end <= mention.start < mention.end
        assert mention.surface == mention.surface.strip()
        end = mention.end
    for triple in made.triples:
        assert 0 <= triple.start < triple.end <= len(text)
        assert triple.statement is not None
        assert triple.statement < len(made.statements)
        assert triple.subject != triple.object
    for cause in made.causes:
        assert 0 <= cause.start < cause.end <= len(text)
        assert cause.cause != cause.effect
        assert 0 <= cause.cause.passage < count


@settings(
    max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None
)
@given(
    st.lists(st.tuples(texts, st.sampled_from(PassageRole)), min_size=1, max_size=4),
    st.lists(st.tuples(st.integers(0, 120), st.integers(0, 30)), max_size=2),
)
@example([("", PassageRole.BODY), (" \n", PassageRole.DECISION)], [])
@example([("x" * 20_000, PassageRole.BODY)], [(0, 30)])
def test_odd_text_never_raises_and_spans_are_exact(
    reader: Reader, parts: list[tuple[str, PassageRole]], masks: list[tuple[int, int]]
) -> None:
    masked = tuple((start, start + size) for start, size in masks)
    passages = [
        PassageInput("s", text, role, project_name="P", masked=masked) for text, role in parts
    ]
    made = reader.extractor.extract(passages)
    assert len(made) == len(passages)
    for passage, each in zip(passages, made, strict=True):
        assert_valid(passage, each, len(passages))
        for cause in each.causes:
            for ref in (cause.cause, cause.effect):
                assert 0 <= ref.statement < len(made[ref.passage].statements)


@pytest.mark.parametrize(
    "text",
    [
        "北京仓库的水泵坏了",
        "第三倉庫でポンプが故障した",
        "P-17水泵已更换",
        "",
        "   ",
        "\ud800\udfff",
        "😀" * 50,
    ],
)
def test_text_in_other_scripts_is_read_without_triples(reader: Reader, text: str) -> None:
    made = reader.read(text)
    assert_valid(PassageInput("s", text), made, 1)
    assert made.triples == ()


def sources() -> list[PassageInput]:
    sentences = [piece.strip() + "." for piece in PROSE.split(". ") if piece.strip()]
    return [
        PassageInput(f"s{index}", " ".join(sentences[index:] + sentences[:index]))
        for index in range(len(sentences))
    ]


def comparable(made: Extraction) -> tuple[object, ...]:
    """All that does not hold positions within the call."""
    causes = [(c.kind, c.cause.statement, c.effect.statement, c.start, c.end) for c in made.causes]
    return made.statements, made.mentions, made.triples, causes


def test_a_passage_gives_the_same_alone_and_in_a_batch(reader: Reader) -> None:
    passages = sources()
    together = reader.extractor.extract(passages)
    for passage, made in zip(passages, together, strict=True):
        assert comparable(reader.extractor.extract([passage])[0]) == comparable(made)


def test_the_same_text_twice_gives_the_same(reader: Reader) -> None:
    assert reader.read(PROSE * 2) == reader.read(PROSE * 2)


def test_an_edit_in_one_sentence_leaves_the_others_as_they_were(reader: Reader) -> None:
    before = reader.triples("Ivo left early. Kuzu replaced LanceDB.")
    assert before == reader.triples("Ivo left late and angry. Kuzu replaced LanceDB.")


def test_sources_may_be_mixed_in_one_call(reader: Reader) -> None:
    passages = [
        PassageInput("a", "The disk filled up."),
        PassageInput("b", "Ivo Brandt is here."),
        PassageInput("a", "As a result, writes failed."),
    ]
    found = reader.extractor.extract(passages)[2].causes
    assert [(c.cause.passage, c.effect.passage) for c in found] == [(0, 2)]


def test_the_public_surface_is_sorted_and_exact() -> None:
    assert list(extractors.__all__) == sorted(extractors.__all__)
    assert all(hasattr(extractors, name) for name in extractors.__all__)


def test_importing_the_package_does_not_import_spacy() -> None:
    code = "import sys, graphmem.extractors as e; e.SpacyExtractor(); print('spacy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_name_and_revision_stand_on_derived_items(reader: Reader) -> None:
    assert (reader.extractor.name, reader.extractor.revision) == ("spacy-rules", 1)


@pytest.mark.slow
def test_reading_costs_little_more_than_parsing(reader: Reader) -> None:
    """Process time, best of three; measured 0.94 to 1.12, the bound leaves room for noise."""
    passages = [PassageInput(f"s{i}", PROSE) for i in range(60)]
    nlp = reader.extractor.nlp

    def best(work: object) -> float:
        times = []
        for _ in range(3):
            started = time.process_time()
            work()  # type: ignore[operator]
            times.append(time.process_time() - started)
        return min(times)

    parsing = best(lambda: list(nlp.pipe(passage.text for passage in passages)))
    reading = best(lambda: reader.extractor.extract(passages))
    assert reading <= 1.5 * parsing
