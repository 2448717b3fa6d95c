"""What is recorded of a pair: which side is charged, by which causes, where the first finding stands, what is kept back."""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from packaging.specifiers import SpecifierSet

from zenoh_conformance.judging.engine import Judged
from zenoh_conformance.judging.finding import LOST_ON_THE_WAY, Finding
from zenoh_conformance.judging.law import all_laws
from zenoh_conformance.judging.verdict import Verdict
from zenoh_conformance.reading.conversation import Conversation, Side
from zenoh_harness.commands.interop import _finish
from zenoh_harness.console import Shell
from zenoh_harness.errors import CannotGoOn
from zenoh_harness.files.known import Known, ListedDeviation
from zenoh_harness.files.results import Footer, Header, ResultsWriter
from zenoh_harness.interop.judging import PairedTarget, PairRecords, StepOutcome, repeated
from zenoh_harness.interop.run import InteropRun
from zenoh_harness.interop.scenario import ScenarioInstance, all_scenarios
from zenoh_harness.interop.summary import _kind
from zenoh_harness.interop.talk import Missed, Talk, Unfit
from zenoh_harness.run.attempt.options import Options
from zenoh_harness.run.report.summary import deviations
from zenoh_harness.run.runner import Ran

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


def test_a_law_whose_findings_are_of_dropped_datagrams_is_not_observed(tmp_path):
    judgement = records(tmp_path).law(Judged(LAW, Side.RESPONDER, 2), lost=True)
    assert (judgement.verdict.value, judgement.cause) == ("not-observed", LOST_ON_THE_WAY)


NEAR, FAR = Side.RESPONDER, Side.INITIATOR
STEP = ScenarioInstance(next(iter(all_scenarios().values())), NEAR, ())


@pytest.mark.parametrize(
    ("near", "far", "due"),
    [(True, False, "known"), (False, True, "known"), (True, True, "known"), (False, False, "fail")],
)
def test_a_step_is_excused_where_either_of_the_two_lists_it_for_its_version(tmp_path, near, far, due):
    def listed(version):
        return ListedDeviation(
            check=STEP.scenario.id,
            versions=SpecifierSet(version),
            verdict=Verdict.FAIL,
            cause="lost",
            reason="so it is",
        )

    made = records(tmp_path, listed("==1" if far else "==2"))
    made.parties[NEAR].known.deviations = [listed("==2" if near else "==1")]
    assert made.step(STEP, StepOutcome(verdict=Verdict.FAIL, cause="lost")).verdict.value == due


def came(verdict, cause="so", **more):
    return StepOutcome(verdict=Verdict(verdict), cause=cause, **more)


@pytest.mark.parametrize(
    ("first", "again", "due", "shown", "kept_back"),
    [
        ("fail", "fail", "fail", "first", False),
        ("fail", "not-applicable", "fail", "first", False),
        ("fail", "pass", "flaky", "1 of 2 attempts: first", False),
        ("fail", "unimplemented", "flaky", "1 of 2 attempts: first", False),
        ("fail", "crash", "flaky", "1 of 2 attempts: again", True),
        ("fail", "hang", "flaky", "1 of 2 attempts: again", True),
        ("crash", "pass", "flaky", "1 of 2 attempts: first", True),
        ("crash", "crash", "crash", "first", True),
        ("crash", "hang", "flaky", "1 of 2 attempts: first", True),
        ("hang", "pass", "flaky", "1 of 2 attempts: first", True),
        ("hang", "crash", "flaky", "1 of 2 attempts: again", True),
    ],
)
def test_what_does_not_repeat_is_flaky_and_a_death_stays_under_embargo(tmp_path, first, again, due, shown, kept_back):
    """Where a release died once, its bytes are not published, whatever the second attempt says."""
    judgement = records(tmp_path, guarded=(NEAR, FAR)).step(STEP, repeated(came(first, "first"), came(again, "again")))
    assert (judgement.verdict.value, judgement.cause, judgement.attempts) == (due, shown, 2)
    assert judgement.embargo is kept_back
    written = (tmp_path / "results.jsonl").read_text()
    assert (judgement.cause in written) is not kept_back


class Scripted(InteropRun):
    """Does one step as it is told, and makes no pair."""

    def __init__(self, went, rest="", dead=(), drops=0):
        self.options, self.anew = Options(out=Path()), 0
        self._lossy, self.drops = set(), [0, drops]
        self.went, self.rests, self.died = went, rest, dict.fromkeys(dead, "the node ended")
        voices = {side: SimpleNamespace(stalled=went == "hang" and side is NEAR) for side in Side}
        self._pair = SimpleNamespace(dead=lambda: self.died, voices=voices)

    def _lost_so_far(self):
        return self.drops.pop(0)

    def _went(self, step):
        return Verdict(self.went), "" if self.went == "pass" else "so"

    def _rest(self):
        return self.rests

    def _judge_events(self, label, cause=""):
        return Conversation()

    def _fresh(self):
        self.anew += 1


@pytest.mark.parametrize(
    ("told", "due", "cause", "blamed", "anew"),
    [
        (("pass",), "pass", "", (NEAR, FAR), 0),
        (("fail",), "fail", "so", (NEAR, FAR), 0),
        (("pass", "no rest"), "hang", "afterwards: no rest", (NEAR, FAR), 1),
        (("fail", "no rest"), "fail", "so", (NEAR, FAR), 1),
        (("hang",), "hang", "so", (NEAR,), 1),
        (("pass", "", (FAR,)), "crash", "initiator: the node ended", (FAR,), 1),
        (
            ("fail", "no rest", (NEAR, FAR)),
            "crash",
            "responder: the node ended; initiator: the node ended",
            (NEAR, FAR),
            1,
        ),
        (("unimplemented",), "unimplemented", "so", (NEAR, FAR), 0),
        (("pass", "", (), 1), "pass", "", (NEAR, FAR), 0),
        (("fail", "", (), 1), "not-observed", LOST_ON_THE_WAY, (NEAR, FAR), 0),
        (("pass", "no rest", (), 1), "not-observed", LOST_ON_THE_WAY, (NEAR, FAR), 1),
        (("hang", "", (), 1), "hang", "so", (NEAR,), 1),
    ],
)
def test_what_one_attempt_comes_to(told, due, cause, blamed, anew):
    """A pair that does not come to rest hangs, even after a step that passed; one that died or stalls is made anew."""
    run = Scripted(*told)
    outcome = run._attempt(STEP)
    assert (outcome.verdict.value, outcome.cause, set(outcome.blamed)) == (due, cause, set(blamed))
    assert run.anew == anew


@pytest.mark.parametrize(
    ("codes", "due"), [((0,), 0), ((0, 1), 1), ((None,), 3), ((0, None), 3), ((None, 1), 3), ((4,), 4), ((4, 0), 4)]
)
def test_a_pair_that_cannot_be_had_is_no_pair_that_conforms(tmp_path, capsys, codes, due):
    """Of several pairs 3 before 1 before 4; None is one that could not be had."""
    ran = {}
    for number, code in enumerate(codes):
        header = Header(reach="x", name="pair", version="", role="responder", kind="interop")
        footer = Footer(judged=0, verdicts={}, exit=code or 0)
        done = Ran(header=header, judgements=(), footer=footer, out=tmp_path)
        ran["a", str(number)] = CannotGoOn("gone") if code is None else done
    assert _finish(Shell(), ["a", *map(str, range(len(codes)))], ran) == due


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
    outcome = StepOutcome(verdict=Verdict.CRASH, cause="signal 6 (SIGABRT)", blamed=blamed)
    assert records(tmp_path, guarded=guarded).step(STEP, outcome).embargo is due


@pytest.mark.parametrize(("told", "raised"), [({}, Unfit), ({"encoding": "b"}, Missed)])
def test_what_an_agent_does_not_tell_is_not_judged(told, raised):
    ear = SimpleNamespace(next=lambda: {"event": "sample", **told})
    with pytest.raises(raised):
        Talk(None, None, None, None).expect(ear, encoding="a")


def test_what_is_lost_in_each_value_is_told_once(tmp_path):
    red = records(tmp_path).law(Judged(LAW, Side.INITIATOR, 3, (FIRST,)), during="a step")
    each = [
        replace(
            red, cause=f"encoding: a where {name} is required", key=replace(red.key, parameters=(("encoding", name),))
        )
        for name in ("text/css", "text/csv")
    ]
    assert [block.count for block in deviations(each, _kind)] == [2]
    assert len(deviations(each)) == 2
