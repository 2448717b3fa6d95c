"""A run over several profiles: one instance each, and one that cannot be had costs the others nothing."""

import shlex
import sys

import pytest
from run_fakes import World

from zenoh_conformance.reading.conversation import Side
from zenoh_harness.cli import invoke
from zenoh_harness.errors import CannotConnect, TargetError
from zenoh_harness.files import results
from zenoh_harness.run.plan.plan import Selection, plan_for
from zenoh_harness.targets.adapters import command
from zenoh_harness.targets.adapters.command import open_target
from zenoh_harness.targets.reach import parse


def test_each_profile_is_one_instance(tmp_path):
    world = World(tmp_path, profiles=("default", "short-lease"))
    for name in ("a", "b"):
        world.case(name)
        world.case(f"{name}-lease", profile="short-lease")
    world.case("elsewhere", profile="compression")
    ran = world.run()
    assert [node.profile.name for node in world.target.nodes] == ["default", "short-lease"]
    text = {one.key.check: (one.key.profile, one.verdict.value) for one in ran.judgements}
    assert text["fake/a-lease"] == ("short-lease", "pass")
    assert text["fake/elsewhere"] == ("compression", "not-applicable")


@pytest.mark.parametrize(
    ("pinned", "due"),
    [
        (None, {"default": ["fake/a"], "compression": ["fake/c"], "short-lease": ["fake/b"]}),
        ("short-lease", {"short-lease": ["fake/a", "fake/b"]}),
        ("compression", {"compression": ["fake/a", "fake/c"]}),
    ],
)
def test_a_pinned_profile_is_the_only_one_and_takes_in_the_cases_of_the_default(tmp_path, pinned, due):
    world = World(tmp_path)
    cases = [world.case("a"), world.case("b", profile="short-lease"), world.case("c", profile="compression")]
    plan = plan_for(cases, Side.RESPONDER, ("default", "short-lease", "compression"), Selection(), pinned=pinned)
    assert {profile: [item.label for item in items] for profile, items in plan.profiles.items()} == due
    assert plan.left_out == ()


def test_who_asks_for_a_password_is_not_judged_by_what_shows_none(capsys, tmp_path):
    target, out = "reference?profile=user-password", tmp_path / "out"
    chosen = [
        "--only",
        "establishment-sane/a-sane-proposal-is-answered",
        "--only",
        "establishment-limits/the-right-password-is-let-in",
    ]

    assert invoke(["run", target, "--depth", "quick", "--out", str(out), *chosen]) == 0
    text = {one.key.check: one.verdict.value for one in results.read(out).judgements}
    assert text["establishment-sane/a-sane-proposal-is-answered"] == "not-applicable"
    assert text["establishment-limits/the-right-password-is-let-in"] == "pass"


def test_a_profile_that_cannot_be_started_is_an_error_and_the_others_are_judged(tmp_path):
    world = World(tmp_path, profiles=("default", "short-lease"), starts_left=1)
    world.case("a")
    world.case("b", profile="short-lease")
    ran = world.run()
    assert [(one.key.check, one.verdict.value) for one in ran.judgements] == [
        ("fake/a", "pass"), ("target/stays-up", "pass"), ("target/stays-up", "error"),
    ]  # fmt: skip
    assert ran.footer.pending == ("responder short-lease fake/b",)


def test_a_first_profile_that_cannot_be_had_costs_the_others_nothing_and_is_said_in_a_line(tmp_path):
    world, told = World(tmp_path, profiles=("default", "short-lease", "compression"), without=("default",)), []
    world.case("a")
    world.case("b", profile="short-lease")
    world.case("c", profile="compression")
    ran = world.run(found=told.append)
    assert [(one.key.profile, one.key.check, one.verdict.value) for one in ran.judgements] == [
        ("default", "target/stays-up", "error"),
        ("compression", "fake/c", "pass"), ("compression", "target/stays-up", "pass"),
        ("short-lease", "fake/b", "pass"), ("short-lease", "target/stays-up", "pass"),
    ]  # fmt: skip
    assert ran.footer.pending == ("responder default fake/a",)
    assert told == ["wheel:1.0.0: profile default cannot be had, and is left out: it does not start any more"]


def test_where_no_profile_can_be_had_the_first_reason_ends_the_run(tmp_path):
    world = World(tmp_path, profiles=("default", "short-lease"), starts_left=0)
    world.case("a")
    world.case("b", profile="short-lease")
    ran = world.run()
    assert (ran.judgements, ran.stopped.what, ran.exit) == ((), "it does not start any more", 3)


@pytest.mark.parametrize("profiles", [("default",), ("default", "short-lease")])
def test_a_profile_is_left_out_only_where_there_is_another(tmp_path, profiles):
    """Of a target with one profile the end of the run tells the reason."""
    world, messages = World(tmp_path, profiles=profiles, starts_left=0), []
    for profile in profiles:
        world.case(profile, profile=profile)
    ran = world.run(found=messages.append)
    assert ran.exit == 3
    assert sum("is left out" in message for message in messages) == (len(profiles) if len(profiles) > 1 else 0)


def test_a_target_that_answers_nothing_is_waited_for_once(tmp_path, monkeypatch):
    world, starts = World(tmp_path, profiles=("default", "short-lease", "compression")), []
    for profile in ("default", "short-lease", "compression"):
        world.case(profile, profile=profile)

    def start(profile):
        starts.append(profile)
        silence = CannotConnect("it does not answer", step="handshake")
        silence.silent = True
        raise silence

    monkeypatch.setattr(world.target, "start", start)
    ran = world.run()
    assert (starts, ran.stopped.what, ran.exit) == (["default"], "it does not answer", 3)


MUTE = "import socket, sys, time; s = socket.create_server(('127.0.0.1', int(sys.argv[1]))); time.sleep(60)"
NOWHERE = "import time; time.sleep(60)"


@pytest.mark.parametrize(
    ("program", "options"),
    [(MUTE, ""), (NOWHERE, ""), (NOWHERE, "?role=client")],
    ids=["accepts-and-is-mute", "never-listens", "never-connects"],
)
def test_a_program_that_answers_nothing_until_our_patience_ends_is_silent(program, options, monkeypatch):
    monkeypatch.setattr(command, "READY", 0.4)
    target = open_target(parse(f"exec:{shlex.join([sys.executable, '-c', program])} {{port}}{options}"))
    with pytest.raises(TargetError) as raised:
        target.start()
    assert raised.value.silent


def test_a_program_that_ends_is_not_silent(monkeypatch):
    monkeypatch.setattr(command, "READY", 20.0)
    target = open_target(parse(f"exec:{shlex.join([sys.executable, '-c', 'pass'])} {{port}}"))
    with pytest.raises(TargetError) as raised:
        target.start()
    assert not raised.value.silent
