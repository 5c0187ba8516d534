"""The intent of a question follows from its cue words, and only from those that count."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphmem.retrieve.intent import classify
from graphmem.vocabulary import Direction, Intent

WHY_BACK = [
    "Why did we decide to drop LanceDB?",
    "why was the pump replaced",
    "So why does the import hang?",
    "Why don't we install torch?",
    "Why not use a server?",
    "How come the index is stale?",
    "What led to the outage of the billing service?",
    "What led us to build our own tokenizer?",
    "What caused the seal to crack?",
    "What made us leave the old host?",
    "What motivated the switch to FTS5?",
    "What prompted the rewrite?",
    "What drove the move to Bay 5?",
    "What triggered the alarm last night?",
    "What was the reason for the freeze?",
    "Give me the reasons behind the freeze",
    "What is the purpose of the lock file?",
    "What is the rationale for pinning the version?",
    "Because of what did the batch fail?",
    "For what reason was the ticket closed?",
    "What's behind the slow start?",
    "What is the root cause of the data loss?",
    "What explains the drop in recall?",
    "Do you know why Arm 6 stopped?",
    "I know when it broke, but why did it break?",
    "What convinced the team to keep MPFP?",
    "Which incident led to the second review?",
    "What was our main motivation to rewrite the parser?",
]
WHY_FORWARD = [
    "What did the outage lead to?",
    "What did dropping the index cause?",
    "What happened because of the flood?",
    "What happened as a result of the merge?",
    "What broke because of the upgrade?",
    "What are the consequences of one owner per vault?",
    "What was the impact of the new tokenizer?",
    "What effect did the new weights have?",
    "What is the effect of folding accents?",
    "What followed from the decision to embed Kuzu?",
    "What came of the pilot?",
    "What resulted from the second trial?",
    "How did the new firmware affect the arm?",
    "Where did the reorganisation lead?",
]
WHEN = [
    "When did we switch to FTS5?",
    "when was record 0007 accepted",
    "Since when do we pin Kuzu?",
    "Until when was Bay 3 in use?",
    "What date was the audit?",
    "In which year did Lena join?",
    "How long ago was the last backup?",
    "What time did the pump stop?",
    "Do you remember when we moved the kiln?",
    "Show the timeline of the migration",
    "In what order were the records written?",
    "Not why but when was the lock added?",
    "Never mind why, when did it fail?",
]
ENTITY = [
    "Who approved the pump?",
    "Whose laptop runs the vault?",
    "Which tool does Vireo group use?",
    "What tools does Vireo group use?",
    "What does graphmem use?",
    "What does the store depend on?",
    "Tell me about Kuzu",
    "What do we know about Lena Ortiz?",
    "Which person owns ticket OPS-2077?",
    "What database holds the journal?",
    "Where does Lena Ortiz work?",
    "Which engine was rejected?",
    "Do you know who wrote the parser?",
    "Describe Halden Works",
]
WHAT = [
    "What is a passage?",
    "What did we decide on sorting?",
    "How do I descale a kettle",
    "What do we do when the lock is held?",
    "Summarise the record on embeddings",
    "What does \"why not\" mean in the glossary?",
    "Explain the note titled 'when the lock breaks'",
    "The seal sometimes leaks",
    "What whenever-rule is in force?",
    "",
]  # fmt: skip


def cases() -> list[object]:
    table = [
        (WHY_BACK, Intent.WHY, Direction.BACK),
        (WHY_FORWARD, Intent.WHY, Direction.FORWARD),
        (WHEN, Intent.WHEN, None),
        (ENTITY, Intent.ENTITY, None),
        (WHAT, Intent.WHAT, None),
    ]
    return [
        pytest.param(text, intent, way, id=text or "empty")
        for texts, intent, way in table
        for text in texts
    ]


@pytest.mark.parametrize(("question", "intent", "direction"), cases())
def test_question_gets_its_intent(
    question: str, intent: Intent, direction: Direction | None
) -> None:
    guess = classify(question)
    assert (guess.intent, guess.direction) == (intent, direction)


def test_causes_and_effects_look_both_ways() -> None:
    assert classify("List causes and effects of the outage").direction is Direction.BOTH


def test_a_cue_is_named_and_a_guess_without_one_is_less_sure() -> None:
    assert classify("Why is it slow?").cues == ("why",)
    assert classify("Is it slow?").confidence < classify("Why is it slow?").confidence


@given(st.text(max_size=200))
def test_no_text_raises(text: str) -> None:
    guess = classify(text)
    assert 0 <= guess.confidence <= 1
    assert (guess.direction is not None) == (guess.intent is Intent.WHY)
