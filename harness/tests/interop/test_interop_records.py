"""What is recorded of a pair: which side is charged, by which causes, where the first finding stands, what is kept back."""

from dataclasses import replace

import pytest

from zenoh_conformance.judging.engine import Judged
from zenoh_conformance.judging.finding import Finding
from zenoh_conformance.judging.law import all_laws
from zenoh_conformance.judging.verdict import Verdict
from zenoh_conformance.reading.conversation import Side
from zenoh_harness.files.known import Known, ListedDeviation
from zenoh_harness.files.results import Header, ResultsWriter
from zenoh_harness.interop.judging import PairedTarget, PairRecords, StepOutcome
from zenoh_harness.interop.scenario import ScenarioInstance, all_scenarios
from zenoh_harness.run.options import Options

LAW = all_laws()["law/cookie-echo"]
FIRST = Finding(
    requirement=LAW.requirement, sender=Side.INITIATOR, connection="a", time=1.5, path="open.cookie", got="another"
)
SECOND = replace(FIRST, connection="b", time=2.5, got="none")


def records(folder, *listed, guarded=()):
    """Records of a pair of which the initiator has known deviations."""
    responder = PairedTarget(
        reach="wheel:2", name="near", version="2", known=Known(), guarded=Side.RESPONDER in guarded
    )
    initiator = PairedTarget(
        reach="wheel:1", name="far", version="1", known=Known(listed), guarded=Side.INITIATOR in guarded
    )
    header = Header(reach="x", name="pair", version="", role="responder", kind="interop")
    writer = ResultsWriter(folder / "results.jsonl", header)
    parties = {Side.RESPONDER: responder, Side.INITIATOR: initiator}
    return PairRecords(parties, "default", writer, Options(out=folder, data_folder=folder / "data"))


def test_a_law_charges_its_side_with_the_first_finding_and_names_all_causes(tmp_path):
    judgement = records(tmp_path).law(Judged(LAW, Side.INITIATOR, 3, (FIRST, SECOND)), during="a step")
    assert (judgement.key.target, judgement.key.version, judgement.key.role) == ("far", "1", "initiator")
    assert (judgement.verdict.value, judgement.cause) == ("fail", FIRST.cause)
    assert judgement.details == {
        "causes": [FIRST.cause, SECOND.cause], "connection": "a", "time": 1.5, "during": "a step",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("causes", "due"),
    [([FIRST], "fail"), ([SECOND], "fail"), ([FIRST, SECOND], "known"), ([], "fail")],
    ids=["first", "second", "both", "none"],
)
def test_a_law_of_a_pair_is_excused_where_each_cause_is_listed(tmp_path, causes, due):
    listed = [ListedDeviation(check=LAW.id, verdict=Verdict.FAIL, cause=one.cause, reason="so it is") for one in causes]
    judgement = records(tmp_path, *listed).law(Judged(LAW, Side.INITIATOR, 3, (FIRST, SECOND)))
    assert judgement.verdict.value == due


@pytest.mark.parametrize(("subjects", "due"), [(0, "not-observed"), (2, "pass")])
def test_a_law_without_a_finding_passes_where_it_met_something(tmp_path, subjects, due):
    judgement = records(tmp_path).law(Judged(LAW, Side.RESPONDER, subjects))
    assert (judgement.verdict.value, judgement.evidence, judgement.repeat) == (due, None, "")


NEAR, FAR = Side.RESPONDER, Side.INITIATOR


@pytest.mark.parametrize(
    ("guarded", "blamed", "due"),
    [
        ((), (NEAR, FAR), False),
        ((NEAR,), (NEAR, FAR), True),
        ((FAR,), (NEAR, FAR), True),
        ((NEAR,), (NEAR,), True),
        ((NEAR,), (FAR,), False),
        ((NEAR, FAR), (FAR,), True),
    ],
)
def test_a_death_is_kept_back_where_one_that_may_have_died_is_guarded(tmp_path, guarded, blamed, due):
    step = ScenarioInstance(next(iter(all_scenarios().values())), NEAR, ())
    outcome = StepOutcome(verdict=Verdict.CRASH, cause="signal 6 (SIGABRT)", blamed=blamed)
    assert records(tmp_path, guarded=guarded).step(step, outcome).embargo is due
