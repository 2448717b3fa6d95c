"""What a busy machine keeps from being judged is counted, and judged alone when the machine is calm."""

from dataclasses import replace

import pytest

from zenoh_conformance.judging.finding import CALM
from zenoh_conformance.judging.verdict import Exit, Judgement, Key, Verdict
from zenoh_harness import cli
from zenoh_harness.files import judged, results
from zenoh_harness.run import overload, repetitions
from zenoh_harness.run.attempt import scenes
from zenoh_harness.run.overload import prevented_judgements, scheduling_delay, wait_until_calm

LATE = f"not reached: in time: one on which all takes 5.0 times as long where {CALM} is required"
LEASE = "establishment-limits/a-silent-session-expires"
SANE = "establishment-sane/a-sane-handshake-is-accepted"


def judgement(
    verdict=Verdict.NOT_OBSERVED, cause="", check=LEASE, requirement="session-establishment/lease-expiry-ends-session"
):
    key = Key(
        target="t", version="1", role="responder", profile="default", link="tcp", requirement=requirement, check=check
    )
    return Judgement(key=key, level="MUST", verdict=verdict, cause=cause)


def test_what_rests_on_a_check_that_met_a_busy_machine_counts_with_it():
    late, rests = judgement(cause=LATE), judgement(cause=f"rests on {LEASE}, which did not pass", check="close/one")
    other = judgement(cause="rests on close/another, which did not pass", check="close/two")
    assert prevented_judgements([rests, other, late, judgement(Verdict.PASS)]) == [late, rests]
    assert prevented_judgements([other, judgement(Verdict.FAIL, LATE)]) == []


@pytest.mark.parametrize(("strain", "delay"), [(5.0, 0.0), (1.0, 0.5)])
def test_a_calm_machine_is_waited_for_and_not_for_ever(monkeypatch, strain, delay):
    looks = [(strain, delay)] * 3
    monkeypatch.setattr(overload, "BETWEEN", 0.0)
    monkeypatch.setattr(overload, "strain", lambda: looks[0][0])
    monkeypatch.setattr(overload, "scheduling_delay", lambda: looks[0][1])
    assert not wait_until_calm(0.0)
    monkeypatch.setattr(overload, "strain", lambda: looks.pop(0)[0] if looks else 1.0)
    monkeypatch.setattr(overload, "scheduling_delay", lambda: looks.pop(0)[1] if looks else 0.0)
    assert wait_until_calm(60.0)
    assert not looks


def test_a_wait_is_never_early():
    assert scheduling_delay() > -overload.PAUSE


def test_the_share_of_what_was_judged_before():
    before = judged.judged_lines([judgement(Verdict.PASS, requirement=name) for name in ("a/b", "a/c", "a/d", "a/e")])
    seen = [
        judgement(Verdict.PASS, requirement="a/b"),
        judgement(cause=LATE, requirement="a/c"),
        judgement(requirement="a/d"),
    ]
    assert judged.share_judged(before, seen) == 0.75  # what the target does not show any more is another matter
    assert judged.share_judged(before, [*seen, judgement(Verdict.PASS, requirement="a/c")]) == 1.0
    assert judged.share_judged(frozenset(), seen) == 1.0


@pytest.fixture
def busy(monkeypatch):
    """A machine that is busy until it is waited for."""
    load = [5.0]
    monkeypatch.setattr(scenes, "strain", lambda: load[0])
    monkeypatch.setattr(repetitions, "wait_until_calm", lambda: not load.__setitem__(0, 1.0))
    return load


RUN = ("reference?role=router&as=responder", "--only", f"{LEASE}[[]seconds=false]", "--only", SANE)


def verdicts(folder):
    return {one.key.check: one.verdict for one in results.read(folder).judgements}


def test_it_is_counted_next_to_the_exit_line_and_judged_when_it_is_calm(tmp_path, capsys, busy):
    out = tmp_path / "r"
    assert cli.invoke(["run", *RUN, "--out", str(out)]) == Exit.CONFORMING
    *_, counted, last = capsys.readouterr().out.splitlines()
    assert counted == "1 check met a busy machine and was not judged: --calm judges such checks alone when it is calm"
    assert last.startswith("Exit 0")
    assert verdicts(out)[LEASE] is Verdict.NOT_OBSERVED
    assert cli.invoke(["run", *RUN, "--out", str(out), "--calm"]) == Exit.CONFORMING
    assert "busy machine" not in capsys.readouterr().out
    assert verdicts(out) == {LEASE: Verdict.PASS, SANE: Verdict.PASS, "target/stays-up": Verdict.PASS}
    assert not (out / "again").exists()


def test_the_gate_is_not_green_on_a_machine_that_judged_little(tmp_path, capsys, busy):
    known, out = tmp_path / "t.known.toml", str(tmp_path / "r")
    known.write_text("")
    lines = [
        judgement(Verdict.PASS),
        judgement(Verdict.PASS, requirement="session-establishment/init-ack-answers-init-syn"),
    ]
    judged.write(tmp_path / "t.judged", judged.judged_lines(lines))
    gate = ["gate", *RUN, "--known", str(known), "--out", out]
    assert cli.invoke([*gate, "--at-least", "40"]) == Exit.CONFORMING
    assert cli.invoke(gate) == Exit.NOTHING_JUDGED
    *_, counted, last = capsys.readouterr().out.splitlines()
    assert counted == (
        "1 check met a busy machine and was not judged, 50% of what was judged before is left: "
        "--calm judges such checks alone when it is calm"
    )
    assert last == "Exit 4: too little was judged"
    assert cli.invoke([*gate, "--calm"]) == Exit.CONFORMING


def test_calm_is_for_one_whole_run(capsys):
    assert cli.invoke(["run", *RUN, "--calm", "--repeat", "2"]) == Exit.USAGE
    assert "--calm is for one whole run" in capsys.readouterr().err


def test_a_machine_that_stays_busy_leaves_the_results_as_they_are(monkeypatch, tmp_path):
    monkeypatch.setattr(repetitions, "wait_until_calm", lambda: False)
    told = []

    class First:
        judgements, stopped = (judgement(cause=LATE),), None

    assert repetitions.alone_when_calm(None, None, First, told.append) is First
    assert len(told) == 2
    First.judgements = (replace(judgement(), cause="met nothing"),)
    assert repetitions.alone_when_calm(None, None, First, told.append) is First
    assert len(told) == 2
