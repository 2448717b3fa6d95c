"""Habits: what follows from them, and that they are seen on nodes that have them."""

import shlex
import sys
from dataclasses import replace
from math import inf
from pathlib import Path
from types import SimpleNamespace

import pytest

from zenoh_conformance.judging.verdict import Exit, Verdict
from zenoh_conformance.reading.conversation import Side
from zenoh_conformance.talking.fences import BY_QUERY, Fence, Fencing
from zenoh_harness import cli
from zenoh_harness.errors import OtherVersion
from zenoh_harness.files import results
from zenoh_harness.probing.habits import capacity
from zenoh_harness.probing.habits.capacity import Capacity
from zenoh_harness.probing.habits.study import study, study_profile
from zenoh_harness.run.attempt.options import Options
from zenoh_harness.run.node import facts, health, lifecycle
from zenoh_harness.run.node.lifecycle import Lifecycle
from zenoh_harness.run.plan.plan import Selection
from zenoh_harness.run.runner import parts_of, run_target
from zenoh_harness.targets.habits import CONNECT, STALL, UNIT, UNKNOWN, Return, SessionEnd, TargetHabits, habits_of
from zenoh_harness.targets.reach import parse
from zenoh_harness.targets.target import open_target

NODE = Path(__file__).parents[1] / "habitual_node.py"
INITIATOR = "?as=initiator&role=client"


def habitual(how, options=INITIATOR):
    return f"exec:{shlex.join([sys.executable, str(NODE), how])} {{host}} {{port}}{options}"


def back(**after):
    return {SessionEnd[name]: Return(after=seconds, waited=3) for name, seconds in after.items()}


@pytest.mark.parametrize(
    ("returns", "start", "again", "linger", "way"),
    [
        ({}, 0.1, True, inf, SessionEnd.FIN),
        (back(CLOSE=0.01, FIN=0.01, RST=0.02), 0.1, True, inf, SessionEnd.FIN),
        (back(CLOSE=0.01, FIN=2.8, RST=2.8), 0.1, False, inf, SessionEnd.CLOSE),
        (back(CLOSE=0.01, FIN=2.8, RST=2.8), 0.1, True, 0.03, SessionEnd.CLOSE),
        (back(CLOSE=0.9, FIN=0.9, RST=0.2), 2.0, True, inf, SessionEnd.RST),
        (back(CLOSE=None, FIN=None), 0.1, True, 0.0, SessionEnd.FIN),
        (back(CLOSE=None, FIN=None), 0.1, False, inf, SessionEnd.FIN),
    ],
)  # fmt: skip
def test_how_our_sessions_end_and_when_it_is_started_again(returns, start, again, linger, way):
    habits = TargetHabits(returns=returns, start=start, again=again)
    assert (habits.linger, habits.way) == (pytest.approx(linger), way)


@pytest.mark.parametrize(
    ("habits", "unit", "patience", "stall"),
    [
        (UNKNOWN, UNIT, CONNECT, STALL),
        (TargetHabits(answer=0.05), UNIT, CONNECT, STALL),
        (TargetHabits(answer=1.5), 15, CONNECT, 15),
        (TargetHabits(returns=back(FIN=2.8)), UNIT, 8.4, STALL),
        (TargetHabits(returns=back(FIN=10.0, RST=None)), UNIT, 30, 30),
        (TargetHabits(start=10.0), UNIT, 30, STALL),
    ],
)
def test_patience_follows_from_the_slowest_that_was_seen(habits, unit, patience, stall, monkeypatch):
    monkeypatch.setenv("ZCONFORM_TIME_SCALE", "1")
    assert (habits.unit, habits.patience, habits.stall) == pytest.approx((unit, patience, stall))


@pytest.mark.parametrize(
    ("half_open", "sessions", "few", "crowded"),
    [
        (None, None, False, False),
        (1, None, True, False),
        (5, 40, True, False),
        (None, 4, True, True),
        (60, 60, False, False),
    ],
)
def test_places_follow_from_what_it_serves_at_once(half_open, sessions, few, crowded):
    habits = TargetHabits(half_open=half_open, sessions=sessions)
    assert (habits.few, habits.crowded) == (few, crowded)


def test_only_what_is_not_as_with_everybody_is_told():
    assert TargetHabits(answer=0.01, start=1.0, returns=back(CLOSE=0.1, FIN=0.2)).lines() == []
    odd = TargetHabits(
        answer=1, fencing=Fencing(how=Fence.QUIET, quiet=2), half_open=1, sessions=4, again=True, start=0.1,
        returns={SessionEnd.FIN: Return(after=None, waited=3), SessionEnd.REFUSED: Return(after=0.2, ended="exit code 255")},
    )  # fmt: skip
    assert odd.lines() == [
        "answers a handshake within 1.0 s",
        "is fenced by a quiet time of 2 s",
        "answers 1 handshake at a time",
        "holds 4 sessions at once",
        "after FIN of the session: not within 3 s",
        "after CLOSE for its InitSyn: its program ends (exit code 255), started again after 200 ms",
        "is started again where that is quicker than waiting",
    ]


def test_nobody_has_habits_that_nobody_studied():
    assert habits_of(object()) is UNKNOWN


@pytest.fixture
def studied(request):
    with open_target(parse(request.param)).start() as node:
        yield study(node)


@pytest.mark.parametrize("studied", [habitual("exits")], indirect=True)
def test_one_whose_program_ends_is_started_again(studied):
    assert studied.returns[SessionEnd.REFUSED].ended == studied.returns[SessionEnd.DROPPED].ended == "exit code 255"
    assert studied.returns[SessionEnd.CLOSE].after < 0.5 < studied.returns[SessionEnd.FIN].after
    assert studied.way is SessionEnd.CLOSE
    assert studied.fencing.how is Fence.QUERY


@pytest.mark.parametrize("studied", [habitual("never")], indirect=True)
def test_one_that_never_comes_back_is_started_again(studied):
    assert {one.after for one in studied.returns.values()} == {None}
    assert studied.linger == 0


@pytest.mark.parametrize(
    ("studied", "how", "leaves"),
    [
        (habitual("mute"), Fence.END, False),
        (habitual("lingers"), Fence.QUIET, False),
        (habitual("leaves"), Fence.NOTHING, True),
        (habitual("hurries"), Fence.NOTHING, True),
    ],
    indirect=["studied"],
)
def test_a_fence_is_what_it_can_do(studied, how, leaves):
    assert (studied.fencing.how, studied.leaves) == (how, leaves)


@pytest.mark.parametrize("studied", [habitual("one", "")], indirect=True)
def test_one_handshake_at_a_time(studied):
    assert studied.few
    assert studied.answer >= 0.1
    assert not studied.narrow  # who comes meanwhile waits, and is not turned away


@pytest.mark.parametrize("studied", ["variant:frees-its-place-late?role=router"], indirect=True)
def test_one_that_turns_away_who_comes_meanwhile(studied):
    assert (studied.half_open, studied.turns_away, studied.narrow) == (1, True, True)


IMPATIENT = ("variant:waits-100-ms-as-listener?as=responder", "variant:waits-100-ms-as-initiator?role=client")


@pytest.mark.parametrize(
    ("studied", "states"),
    list(zip(IMPATIENT, (["the link's opening", "InitAck"], ["InitSyn", "OpenSyn"]), strict=True)),
    indirect=["studied"],
)
def test_one_that_gives_a_handshake_up_soon(studied, states):
    assert list(studied.waits) in (states[:1], states)  # on a busy machine the second one may be out of reach
    assert all(0.09 < waited < 1.0 for waited in studied.waits.values())
    assert (studied.impatient, studied.few, studied.narrow) == (True, True, False)
    assert studied.stale_after == min(studied.waits.values()) / 2
    assert "ms for a message of the handshake" in studied.lines()[0]
    assert studied.answer
    assert "many-links" not in studied.lacks


@pytest.mark.parametrize(("half_open", "turns_away", "narrow"), [(1, True, True), (1, False, False), (60, True, False)])
def test_a_link_waits_for_its_place_only_where_it_would_be_turned_away(half_open, turns_away, narrow):
    habits = TargetHabits(half_open=half_open, turns_away=turns_away)
    assert habits.narrow is narrow
    assert any("turns away" in line for line in habits.lines()) is turns_away


@pytest.mark.parametrize("studied", [habitual("brief", "")], indirect=True)
def test_one_that_listens_for_one_link_is_started_for_each(studied):
    assert (studied.brief, studied.sessions, studied.half_open) == (True, 1, 1)
    assert "routing" in studied.lacks


def test_a_listener_that_ends_after_each_link_is_judged(tmp_path):
    sane, odd = "establishment-sane/a-sane-handshake-is-accepted", "establishment-init/an-unknown-version-is-closed"
    only = ("--only", sane, "--only", f"{odd}[version=8]")
    code, verdicts = judged(habitual("brief", ""), tmp_path, *only)
    assert (verdicts[sane], verdicts[odd]) == (Verdict.PASS, Verdict.FAIL)
    assert verdicts["target/stays-up"] is Verdict.PASS
    assert code == 1


@pytest.mark.parametrize("studied", [habitual("garbled", "")], indirect=True)
def test_another_sane_proposal_is_made_where_the_answer_to_the_usual_one_cannot_be_read(studied):
    assert [type(offer).__name__ for offer in studied.offers] == ["QoS", "Patch"]


KNOWN = TargetHabits(
    answer=0.001, returns=back(CLOSE=0.1, FIN=3.0), half_open=7, lacks=frozenset({"routing", "several-links"})
)


@pytest.mark.parametrize("role", ["peer", "client"])
def test_in_a_further_profile_only_that_is_asked_which_may_differ_there(role):
    reach = f"variant:finishes-no-queries?role={role}"
    with open_target(parse(reach)).start() as node:
        seen = study_profile(node, KNOWN)
    assert seen.fencing.how is Fence.INTEREST
    assert (seen.returns, seen.half_open) == (KNOWN.returns, KNOWN.half_open)
    assert seen.lacks == KNOWN.lacks | {"finals"}
    assert seen.answer >= KNOWN.answer


def test_whom_a_glance_does_not_reach_is_as_before():
    with open_target(parse(habitual("version"))).start() as node:
        assert study_profile(node, KNOWN) == KNOWN


def test_each_profile_has_its_own_fence(tmp_path, monkeypatch):
    """The study is made once; of a profile that is fenced otherwise that is said, and each verdict names the fence."""
    asked, told = [], []
    quiet = Fencing(how=Fence.QUIET, quiet=0.05)

    def seen(kind, fencing):
        def look(node, *known):
            asked.append((node.profile.name, kind))
            return replace(known[0] if known else UNKNOWN, fencing=fencing)

        return look

    monkeypatch.setattr(lifecycle, "study", seen("study", BY_QUERY))
    monkeypatch.setattr(lifecycle, "study_profile", seen("glance", quiet))
    wanted = ("establishment-limits/low-latency-states-its-lease", "establishment-sane/a-sane-handshake-is-accepted")
    options = Options(out=tmp_path / "r", selection=Selection(wanted), found=told.append)
    [part] = parts_of(parse("reference?role=router&as=responder"), options)
    judgements = run_target(part.reach, options, [part]).judgements
    fences = {one.key.profile: one.details.get("fence") for one in judgements if one.key.check in wanted}
    assert asked == [("default", "study"), ("low-latency", "glance")]
    assert fences == {"default": None, "low-latency": str(quiet)}
    assert told == [f"{part.reach}: in profile low-latency: is fenced by {quiet}"]


@pytest.mark.parametrize("reach", ["reference", "reference?role=client", "wheel:1.10.2", "wheel:1.10.2?role=client"])
def test_nothing_is_odd_about_a_usual_node(reach):
    with open_target(parse(reach)).start() as node:
        habits = study(node)
        assert health.check(node).well
    assert habits.lines() == []
    assert not habits.few
    assert habits.linger == inf
    assert habits.expected(1000, 8) < 60


def test_a_node_of_another_version_is_that_and_no_more(tmp_path, capsys):
    reach = habitual("version")
    kept = Lifecycle(open_target(parse(reach)), "default")
    try:
        with pytest.raises(OtherVersion, match="speaks protocol version 8 and not 9"):
            kept.begin()
    finally:
        kept.stop()
    assert cli.invoke(["run", reach, "--out", str(tmp_path / "r")]) == Exit.NOTHING_JUDGED
    told = capsys.readouterr()
    assert (told.out, len(told.err.splitlines())) == ("", 1)


SANE = (
    "--only",
    "initiator-open-ack/a-refusal-of-open-is-taken",
    "--only",
    "initiator-open-ack/a-sane-handshake-makes-a-session",
)
REFUSED = ("--only", "initiator-init-ack/a-refusal-is-taken[reason=2,session=true]", *SANE[2:])


def judged(reach, tmp_path, *only):
    code = cli.invoke(["run", reach, *only, "--out", str(tmp_path / "r"), "-q"])
    return code, {one.key.check: one.verdict for one in results.read(tmp_path / "r").judgements}


@pytest.mark.parametrize("how", ["exits", "never", "mute", "lingers"])
def test_a_habit_is_no_fault(how, tmp_path):
    code, verdicts = judged(habitual(how), tmp_path, *SANE)
    assert (code, set(verdicts.values())) == (0, {Verdict.PASS})


def test_who_ends_once_its_work_is_done_has_not_crashed(tmp_path):
    """It may do so in a case, and while we look whether it lives."""
    code, verdicts = judged(habitual("hurries"), tmp_path, *SANE)
    assert (code, verdicts["target/stays-up"]) == (0, Verdict.PASS)
    assert set(verdicts.values()) <= {Verdict.PASS, Verdict.NOT_OBSERVED, Verdict.NOT_APPLICABLE}


@pytest.mark.parametrize(
    ("how", "verdict", "says"),
    [
        ("segv", Verdict.CRASH, "after CLOSE for its InitSyn: signal 11 (SIGSEGV)"),
        ("panics", Verdict.PANIC, "in sane sessions: thread 'main' panicked at src/lib.rs:1:2:"),
    ],
)
def test_a_death_of_a_plain_refusal_is_told_and_the_rest_is_judged(how, verdict, says, tmp_path):
    code = cli.invoke(["run", habitual(how), *REFUSED, "--out", str(tmp_path / "r"), "-q"])
    found = {one.key.check: one for one in results.read(tmp_path / "r").judgements}
    assert (code, found["target/stays-up"].verdict, found["target/stays-up"].cause) == (1, verdict, says)
    assert found["initiator-init-ack/a-refusal-is-taken"].verdict is verdict
    assert found["initiator-open-ack/a-sane-handshake-makes-a-session"].verdict is Verdict.PASS


def test_a_malformed_first_answer_is_a_fail_with_its_byte(tmp_path):
    only = "establishment-sane/a-sane-proposal-is-answered"
    code = cli.invoke(["run", habitual("garbled", ""), "--only", only, "--out", str(tmp_path / "r"), "-q"])
    [fail] = [one for one in results.read(tmp_path / "r").judgements if one.key.check == only]
    assert (code, fail.verdict) == (1, Verdict.FAIL)
    assert "the bytes end where another extension is expected" in fail.cause


def test_a_responder_that_half_open_handshakes_break_is_not_taken_for_a_small_one():
    """It forwarded a value between two sessions before: that it does not afterwards is a fault and no habit."""
    with open_target(parse("faulty:breaks-with-two-half-open-handshakes")).start("default") as node:
        habits = study(node)

    assert (habits.half_open, habits.sessions, habits.lacks) == (None, None, frozenset())


def test_a_responder_of_one_session_is_a_small_one():
    with open_target(parse("variant:takes-one-link-at-a-time")).start("default") as node:
        habits = study(node)

    assert habits.sessions == 1
    assert {"routing", "several-sessions"} <= habits.lacks


def test_room_that_the_file_claims_and_that_is_not_there_is_at_fault():
    target = open_target(parse("variant:takes-one-link-at-a-time"))
    with target.start("default") as node:
        node.habits = study(node)
        assert facts.ability(target, node, None).broken == frozenset()
        target.claims = frozenset({"several-sessions", "qos"})
        assert facts.ability(target, node, None).broken == {"several-sessions"}


@pytest.mark.parametrize(
    ("claims", "lacks", "forwards", "broken"),
    [
        ({"routing"}, {"routing"}, False, {"routing"}),
        ({"routing"}, {"routing"}, True, set()),
        ({"finals", "interests"}, {"finals", "routing"}, False, {"finals"}),
        (set(), {"finals", "routing"}, False, set()),
        ({"routing", "several-sessions"}, {"several-sessions", "routing"}, False, {"routing"}),
    ],
)
def test_what_the_file_claims_and_two_looks_missed_is_at_fault(monkeypatch, claims, lacks, forwards, broken):
    node = SimpleNamespace(
        habits=TargetHabits(lacks=frozenset(lacks)), side=Side.RESPONDER, profile=SimpleNamespace(sessions=None)
    )
    monkeypatch.setattr(facts, "measure_capacity", lambda *_: (None, None, None))
    monkeypatch.setattr(facts, "forwards_value", lambda *_: forwards)

    assert facts.claimed_in_vain(SimpleNamespace(claims=frozenset(claims)), node) == broken


def test_a_way_that_was_not_measured_is_no_error():
    """The node came back after our refusals alone: nothing is known of the end of a session."""
    habits = TargetHabits(returns=back(REFUSED=0.02), start=0.1, again=True)

    assert habits.way is SessionEnd.FIN
    assert 0 < habits.expected(10, 1) < 60


ALL, FIVE, ONE = (Capacity(None, None), Capacity(5, 2, True), Capacity(1, 1, True))


@pytest.mark.parametrize(
    ("measured", "believed"),
    [
        ([ALL], ALL),
        ([ONE, ALL], ALL),
        ([ONE, ONE], ONE),
        ([ONE, FIVE, ONE], FIVE),
        ([FIVE, Capacity(6, 1), ONE], Capacity(6, 2)),
        ([Capacity(None, 3), Capacity(3, None)], ALL),
        ([ONE, capacity.NOTHING_SHOWN], ONE),  # it died of the first measurement
        ([capacity.NOTHING_SHOWN, capacity.NOTHING_SHOWN], ALL),
    ],
)
def test_a_limit_is_believed_when_it_shows_again(monkeypatch, measured, believed):
    """A machine that is busy for a moment makes a large node look like a small one."""
    left = list(measured)
    monkeypatch.setattr(capacity, "_capacity", lambda *_: left.pop(0))
    assert capacity.measure_capacity(None, 0.001, ()) == believed
    assert not left


@pytest.mark.parametrize(
    ("served", "scattered"),
    [
        (range(48), False),
        (range(10), False),
        (range(38, 48), False),
        ([*range(9), 11], False),
        (range(0, 48, 2), True),
        ([0, 2, 3, 7, 9, 12, 13, 20, 22, 23, 30], True),
        ([3, 30], False),
        ([], False),
    ],
    ids=["all", "the first", "the last", "nearly the first", "every other", "some", "two", "none"],
)
def test_links_that_fail_among_those_that_are_served_are_no_limit(served, scattered):
    """A node that misreads half of the numbers that it draws was taken for one that holds 22 sessions."""
    assert capacity.is_scattered([*served]) is scattered
