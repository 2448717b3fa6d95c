"""What is recorded of staying up (deaths that no case repeats, an illness from the start, slowness, or a pass), and of laws."""

from dataclasses import replace

import pytest
from run_fakes import FakeTarget
from run_registers import register

from zenoh_conformance.cases.case import Case
from zenoh_conformance.judging.engine import Judged
from zenoh_conformance.judging.finding import Finding
from zenoh_conformance.judging.law import all_laws
from zenoh_conformance.judging.verdict import Verdict
from zenoh_conformance.reading.conversation import Conversation, Side
from zenoh_harness.files.known import Known, ListedDeviation
from zenoh_harness.run.attempt.attempt import AttemptOutcome, Went
from zenoh_harness.run.group import Death
from zenoh_harness.run.judge.law_results import LawResults
from zenoh_harness.run.node.lifecycle import Unhealthy
from zenoh_harness.run.plan.plan import Item
from zenoh_harness.run.records import Records

CRASH, HANG = Unhealthy(Verdict.CRASH, "signal 9"), Unhealthy(Verdict.HANG, "it accepts no link")
ILL, SLOW = Unhealthy(Verdict.ZOMBIE, "from the start: silence"), Unhealthy(Verdict.SLOW, "works, past its budget")


@pytest.mark.parametrize(
    ("deaths", "unhealthy", "slow", "due"),
    [
        ([CRASH, HANG], None, None, CRASH),
        ([HANG, CRASH], None, None, HANG),
        ([HANG], ILL, SLOW, HANG),
        ([], ILL, SLOW, ILL),
        ([], None, SLOW, SLOW),
        ([], None, None, Unhealthy(Verdict.PASS, "")),
    ],
    ids=["crash-first", "hang-first", "death-of-an-ill-one", "ill", "slow", "well"],
)
def test_a_death_outranks_an_illness_and_that_outranks_slowness(tmp_path, deaths, unhealthy, slow, due):
    made = register(tmp_path)
    records = Records(FakeTarget(), "default", made, Known(), 0)
    records.stays_up([Death(each, ()) for each in deaths], unhealthy, slow)
    [judgement] = made.judgements
    assert (judgement.verdict, judgement.cause) == (due.verdict, due.cause)
    assert judgement.details.get("deaths", 0) == len(deaths)


LAW = all_laws()["law/cookie-echo"]
ONE, OTHER = (Finding(requirement=LAW.requirement, sender=Side.RESPONDER, why=why) for why in ("one", "other"))
LISTED = ListedDeviation(check=LAW.id, verdict=Verdict.FAIL, cause="one", reason="so it is")


def heard(*attempts):
    """What the laws say after attempts on cases, each (name, subjects, findings)."""
    law_results = LawResults()
    for name, subjects, findings in attempts:
        case = Case(id=f"fake/{name}", requirement=LAW.requirement, function=print, about=name)
        said = (Judged(LAW, Side.RESPONDER, subjects, tuple(findings)),)
        conversation = Conversation(about={"case": name})
        law_results.add(AttemptOutcome(item=Item(case, {}), went=Went.HELD, laws=said, conversation=conversation))
    return law_results


def recorded(folder, law_results, wanted=(LAW,), listed=()):
    made = register(folder, *listed)
    Records(FakeTarget(), "default", made, Known(listed), 0).laws([LAW], wanted, law_results)
    return made.judgements


@pytest.mark.parametrize(
    ("attempts", "asked", "not_asked"),
    [
        ([], "not-observed", None),
        ([("a", 0, [])], "not-observed", None),
        ([("a", 0, []), ("b", 2, [])], "pass", None),
        ([("a", 2, [ONE]), ("b", 2, [])], "fail", "fail"),
        ([("a", 2, []), ("b", 0, [ONE])], "fail", "fail"),
    ],
    ids=["nothing ran", "nothing met", "met", "found, then none", "found without a subject"],
)
@pytest.mark.parametrize("wanted", [(LAW,), ()], ids=["asked", "not asked"])
def test_a_law_that_found_something_is_recorded_whoever_asked(tmp_path, attempts, asked, not_asked, wanted):
    made = [one.verdict.value for one in recorded(tmp_path, heard(*attempts), wanted)]
    due = asked if wanted else not_asked
    assert made == ([] if due is None else [due])


@pytest.mark.parametrize(
    ("listed", "verdict", "cause"),
    [((), "fail", "one"), ((LISTED,), "fail", "other"), ((LISTED, replace(LISTED, cause="*")), "known", "one")],
    ids=["none", "the first", "both"],
)
def test_of_several_causes_of_a_law_one_that_nothing_lists_is_told(tmp_path, listed, verdict, cause):
    [judgement] = recorded(tmp_path, heard(("a", 1, [ONE]), ("b", 2, [OTHER, ONE])), listed=listed)
    assert (judgement.verdict.value, judgement.cause) == (verdict, cause)
    assert (judgement.details["causes"], judgement.details["subjects"]) == ({"one": 2, "other": 1}, 3)


@pytest.mark.parametrize("names", [("a", "b"), ("b", "a")])
def test_the_evidence_of_a_law_does_not_depend_on_the_order_in_which_cases_ended(tmp_path, names):
    [judgement] = recorded(tmp_path, heard(*((name, 1, [ONE]) for name in names)))
    assert judgement.details["during"] == "fake/a"
