"""Closed English word lists that the rules read; data only."""

from __future__ import annotations

from typing import Final


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


MONTHS: Final = (
    "january february march april may june july august september october november december"
).split()

WEEKDAYS: Final = _words("monday tuesday wednesday thursday friday saturday sunday")

CALENDAR: Final = (
    frozenset(MONTHS) | WEEKDAYS | _words("jan feb mar apr jun jul aug sep sept oct nov dec")
)

# Words that may start with a capital but never start a name with a number behind it.
NOT_A_NAME: Final = CALENDAR | _words(
    "a about above across after all also although an and any around as at because before below "
    "between both but by during each either even every first for from had has have he her here "
    "his how however i if in into is it its just last later least less like many may maybe might "
    "more most much my neither never next no none nor not now of off on once one only onto or our "
    "over per she should since so some still such than that the their them then there these they "
    "this those though through thus till to today tomorrow too two under until up upon us use was "
    "we were what when where whether which while who whose why will with within without would yes "
    "yesterday yet you your return drop add keep take run read write wait set allow cut limit try "
    "give get make call send show see reduce remove raise open close retry print fetch load store "
    "fix ignore split replace bump update unset prevent build rename move merge revert improve "
    "adopt choose handle refactor clean document upgrade downgrade install use using "
    "gb mb kb tb ghz mhz version step figure table section chapter test delete insert noted "
    "thanks done ok okay hello hi please sorry sure let note nothing "
    "something everything exactly nearly almost roughly under over increase decrease support check"
)

# Common words that the tagger takes for names at the start of a sentence.
COMMON_OPENERS: Final = _words(
    "ids metadata ingest queries tests docs builds logs errors users clients servers files code "
    "data rows nodes edges names types tokens searches results writes reads updates deletes fix"
)

ABBREVIATIONS: Final = _words(
    "e.g i.e eg ie vs etc mr mrs ms dr prof st no fig cf approx inc ltd co corp jr sr al rev resp"
)

FIRST_PLURAL: Final = _words("we us")
FIRST_PERSON: Final = _words("we us i me")
PERSON_PRONOUNS: Final = _words("he she him")
VAGUE: Final = _words(
    "he she him her it they them this that these those which who what you one something anything "
    "everything nothing someone anyone everyone there another other others some any all both each "
    "none many most few such same thing things lot lots way reason case"
)
OUR_TEAM: Final = _words("our")
TEAM_NOUNS: Final = _words("team project")

# Nouns that name the class of the name before them: "the Kuzu database" is Kuzu.
CLASS_NOUNS: Final = _words(
    "app application cli company compiler crate database engine extension firm framework gem "
    "language library module package pipeline platform plugin project protocol repo "
    "repository runtime server service tool toolkit team"
)

# Verbs whose complement is somebody's words or thought, not the text's own claim.
REPORTING: Final = _words(
    "say claim report tell announce argue state write suggest mention allege assert warn complain "
    "promise advise"
)
DOUBTING: Final = _words(
    "think believe guess suspect assume expect hope doubt wonder fear imagine worry feel suppose"
)
KNOWING: Final = _words(
    "find measure see learn know show notice note realize realise discover mean confirm observe "
    "prove conclude demonstrate ensure"
)
PLANNING: Final = _words(
    "plan intend want aim hope propose wish expect try consider prepare like need attempt promise "
    "go"
)
DECIDING: Final = _words("decide choose agree opt elect resolve settle")
SEEMING: Final = _words("seem appear tend")
STARTING: Final = _words("start begin continue keep go")
NEGATING: Final = _words("fail refuse decline")
ENDING: Final = _words("stop cease quit use")

HEDGES: Final = _words(
    "almost nearly may might could perhaps maybe probably possibly likely presumably supposedly"
)
NEGATIONS: Final = _words("not n't never no nobody nothing none neither nor hardly")

# Verbs of choice: what they take is adopted or rejected.
CHOOSING: Final = _words("choose pick select adopt embrace")
DECISION_VERBS: Final = CHOOSING | _words(
    "decide agree reject drop abandon switch migrate standardize standardise settle opt approve"
)
PREFERRING: Final = _words("prefer like favor favour love dislike hate avoid")
REJECTING: Final = _words("reject drop abandon")
TAKING: Final = CHOOSING | PREFERRING | REJECTING | _words("use keep take embed favour favor")
MOVING: Final = _words("migrate move switch port deploy relocate transfer")
MILESTONES: Final = _words(
    "release ship launch finish complete reach merge deploy publish deliver tag graduate"
)
PROBLEMS: Final = _words(
    "fail crash break leak corrupt hang lose error freeze deadlock abort stall throttle overflow "
    "panic regress crack miss reject clog burst degrade"
)
PROBLEM_NOUNS: Final = _words(
    "crash failure bug leak outage error problem issue corruption deadlock regression timeout "
    "incident defect fault"
)

STATUS_WORDS: Final = _words(
    "signed unsigned archived deprecated accepted open closed done stable broken down offline "
    "online unavailable available blocked active inactive retired obsolete released experimental "
    "abandoned unmaintained superseded proposed pending draft ready frozen discontinued disabled "
    "enabled decommissioned cancelled canceled merged suspended final"
)

# Prepositions that may join a verb and a name into one predicate.
JOINING_PREPS: Final = _words("to from on in at with for into onto through via behind under of")

# Predicates that last: "in 2024" bounds them. All others are events with a lasting result, for
# which "in 2024" is when it began to hold.
STATES: Final = _words(
    "runs_on depends_on integrates_with uses prefers avoids owned_by works_at located_in part_of "
    "is_a has_version supports stores maintains work_on live_in lead manage host serve"
)

REPLACING_SWAPPED: Final = _words("replace swap substitute")
