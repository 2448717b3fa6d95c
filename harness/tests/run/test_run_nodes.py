"""Deaths, charges, repetitions, profiles: what the run makes of a target that behaves as told."""

import threading

import pytest
from run_fakes import World

from zenoh_conformance.cases.case import grid
from zenoh_conformance.judging.law import all_laws
from zenoh_conformance.judging.verdict import Exit, Verdict
from zenoh_conformance.reading.conversation import Conversation, Side
from zenoh_harness.errors import CannotGoOn
from zenoh_harness.files import results
from zenoh_harness.files.known import Known, ListedDeviation
from zenoh_harness.programs.processes import ProcessEnd
from zenoh_harness.run.node.health import Health
from zenoh_harness.run.node.lifecycle import Lifecycle
from zenoh_harness.run.runner import run_target
from zenoh_harness.targets.target import Grade, Vitals


@pytest.fixture
def world(tmp_path):
    return World(tmp_path)


def test_what_holds_passes_and_is_run_once(world):
    world.case("good")
    assert world.verdicts() == {("fake/good",): "pass", ("target/stays-up",): "pass"}
    assert world.ran[("good",)] == 1
    assert all(node.stopped for node in world.target.nodes)


def test_a_deviation_is_repeated_and_stays_a_failure(world):
    world.case("bad", lambda times, world: "no cookie")
    ran = world.run()
    bad = ran.judgements[0]
    assert (bad.verdict, bad.cause, bad.attempts) == (Verdict.FAIL, "no cookie", 2)
    assert ran.exit is Exit.NOT_CONFORMING
    assert bad.repeat == "zconform run wheel:1.0.0 --only fake/bad"
    assert (world.out / bad.evidence).exists()


def test_a_repetition_never_turns_red_into_green(world):
    world.case("sometimes", lambda times, world: None if times else "late")
    ran = world.run()
    assert ran.judgements[0].verdict is Verdict.FLAKY
    assert ran.judgements[0].cause == "1 of 2 attempts: late"
    assert ran.exit is Exit.NOT_CONFORMING


@pytest.mark.parametrize("state", [Verdict.CRASH, Verdict.HANG, Verdict.ZOMBIE])
def test_only_the_case_that_kills_again_is_charged(world, state):
    for name in ("a", "b", "d", "e"):
        world.case(name)
    world.case("c", world.kills(state))
    ran = world.verdicts()
    assert ran == {
        ("fake/a",): "pass", ("fake/b",): "pass", ("fake/c",): state.value, ("fake/d",): "pass", ("fake/e",): "pass",
        ("target/stays-up",): "pass",
    }  # fmt: skip


def test_a_death_that_no_case_repeats_charges_none(world):
    for name in ("a", "b", "c"):
        world.case(name)
    world.case("struck", lambda times, world: None if times else world.kills()(times, world))
    ran = world.run()
    assert {one.verdict for one in ran.judgements[:-1]} == {Verdict.PASS}
    stays_up = ran.judgements[-1]
    assert (stays_up.key.check, stays_up.verdict, stays_up.cause) == ("target/stays-up", Verdict.CRASH, "seen crash")
    assert ran.exit is Exit.NOT_CONFORMING
    assert (world.out / stays_up.evidence).exists()


def test_what_a_dying_target_does_to_others_is_not_charged_to_them(world):
    alive = threading.Event()

    def disturbed(times, world):
        if times == 0:
            alive.wait(5)
            return "link reset"
        return None

    def killer(times, world):
        world.kills()(times, world)
        alive.set()

    world.case("disturbed", disturbed)
    world.case("killer", killer)
    assert world.verdicts() == {("fake/disturbed",): "pass", ("fake/killer",): "crash", ("target/stays-up",): "pass"}


def test_a_target_that_cannot_be_had_again_is_exit_3_with_the_rest_named(tmp_path):
    world = World(tmp_path, starts_left=1)
    world.case("killer", world.kills())
    for number in range(40):
        world.case(f"x{number:02}")
    ran = world.run()
    assert ran.exit is Exit.CANNOT_GO_ON
    assert "it does not start any more" in str(ran.stopped)
    read = results.read(world.out)
    assert read.footer is not None
    assert "responder default fake/x39" in read.footer.pending
    assert [one.verdict for one in read.judgements if one.key.check == "target/stays-up"] == [Verdict.CRASH]


def test_a_target_that_is_not_ours_is_not_started_again(tmp_path):
    world = World(tmp_path, restartable=False)
    world.case("killer", world.kills())
    ran = world.run()
    assert ran.exit is Exit.CANNOT_GO_ON
    assert "not ours to start again" in str(ran.stopped)


def test_one_that_is_a_zombie_from_the_start_is_told_and_still_judged(world):
    original = world.target.start

    def start(profile="default"):
        node = original(profile)
        node.state = Verdict.ZOMBIE
        return node

    world.target.start = start
    world.case("good")
    assert world.verdicts() == {("fake/good",): "pass", ("target/stays-up",): "zombie"}


def test_a_fault_of_ours_is_an_error_and_not_a_failure(world):
    world.case("broken", lambda times, world: 1 / 0)
    ran = world.run()
    assert ran.judgements[0].verdict is Verdict.ERROR
    assert "ZeroDivisionError" in ran.judgements[0].cause
    assert ran.exit is Exit.CANNOT_GO_ON


def test_slow_once_is_the_machine_and_slow_always_is_the_target(world):
    looks = []

    def act(times, world):
        world.target.now.state = Verdict.SLOW

    world.case("slows", act)
    ran = world.run()
    assert (ran.judgements[-1].verdict, ran.exit) == (Verdict.SLOW, Exit.CONFORMING)
    assert world.run(strict=True).exit is Exit.NOT_CONFORMING
    part = world.part()
    original = part._examine

    def once(node, budget):
        looks.append(original(node, budget))
        if looks[-1].verdict is Verdict.SLOW:
            node.state = Verdict.PASS
        return looks[-1]

    part._examine = once
    assert {one.verdict for one in run_target(world.target.reach, part.options, [part]).judgements} == {Verdict.PASS}


def test_what_the_target_does_not_do_is_not_applicable(world):
    world.case("with", needs=("routing", "qos"))
    world.case("without", needs=("multilink",))
    ran = world.run()
    text = {one.key.check: (one.verdict.value, one.cause) for one in ran.judgements}
    assert text["fake/with"] == ("pass", "")
    assert text["fake/without"] == ("not-applicable", "the target does not do multilink")


def test_what_the_target_claims_and_was_not_seen_to_do_is_a_failure(world):
    world.target.shows = set()
    world.case("with", needs=("qos",))
    ran = world.run()
    assert (ran.judgements[0].verdict, ran.judgements[0].attempts) == (Verdict.FAIL, 0)
    assert ran.judgements[0].cause == "the target's own file claims qos, and two looks did not see it do so"


def test_what_was_judged_before_and_is_not_now_is_red(world, tmp_path):
    world.case("good")
    judged = tmp_path / "x.judged"
    judged.write_text("responder default session-establishment/cookie-must-match\nresponder default push/gone\n")
    ran = world.run(judged=judged)
    assert ran.exit is Exit.NOT_CONFORMING
    assert [(one.key.check, one.key.requirement) for one in ran.judgements if one.verdict is Verdict.FAIL] == [
        ("judged/no-longer", "push/gone")
    ]
    assert world.run(judged=judged, only=["fake/good"]).exit is Exit.CONFORMING


def test_in_a_quick_run_a_few_of_many_parameters_are_drawn(world):
    world.case("many", parameters=grid(value=range(100)))
    ran = world.run(depth="quick")
    assert [dict(one.key.parameters).get("value") for one in ran.judgements[:-1]] == ["0", "33", "66", "99"]


@pytest.mark.parametrize(("depth", "values"), [("quick", ["1"]), ("full", ["1"]), ("nightly", ["1", "10000"])])
def test_what_costs_much_is_for_the_night(world, depth, values):
    world.case("many", parameters=grid(value=(1,)), nightly=grid(value=(10_000,)))
    ran = world.run(depth=depth)
    assert [dict(one.key.parameters).get("value") for one in ran.judgements[:-1]] == values


def test_those_that_must_be_alone_are(world):
    running, most = set(), []

    def act(name):
        def body(times, world):
            running.add(name)
            most.append((name, frozenset(running)))
            running.discard(name)

        return body

    for name in "abc":
        world.case(name, act(name), alone=True)
    world.verdicts()
    assert all(seen == {name} for name, seen in most)


def test_those_that_wait_run_beside_the_others(world):
    passed = threading.Event()
    world.case("waits", lambda times, world: None if passed.wait(5) else "nobody else ran meanwhile", timed=True)
    world.case("other", lambda times, world: passed.set())
    assert world.verdicts()["fake/waits",] == "pass"


def test_one_that_waited_on_a_target_that_was_lost_is_done_again(world):
    lost = threading.Event()

    def waits(times, world):
        return None if times else (lost.wait(5) and "link reset")

    def killer(times, world):
        world.kills()(times, world)
        lost.set()

    world.case("waits", waits, timed=True)
    world.case("killer", killer)
    assert world.verdicts() == {("fake/killer",): "crash", ("fake/waits",): "pass", ("target/stays-up",): "pass"}


def test_each_parameter_set_is_one_judgement_and_can_be_selected(world):
    world.case("bits", parameters=grid(bit=range(3), ack=(True, False)))
    assert len(world.verdicts()) == 7
    assert set(world.verdicts(only=["fake/bits[bit=1,ack=true]"])) == {("fake/bits", "1", "true"), ("target/stays-up",)}
    assert len(world.verdicts(only=["fake/b*"])) == 7
    assert len(world.verdicts(only=["session-establishment/*"])) == 7


def test_when_a_law_is_asked_for_all_cases_speak_and_none_is_recorded(world):
    world.case("speaks")
    law = all_laws()["law/cookie-echo"]
    ran = world.run(only=["law/cookie-echo"], laws=[law])
    assert world.ran[("speaks",)] == 1
    assert [one.key.check for one in ran.judgements] == ["law/cookie-echo", "target/stays-up"]
    assert ran.judgements[0].verdict is Verdict.NOT_OBSERVED
    assert ran.footer.pending == ()


def test_a_case_that_is_asked_for_beside_a_law_is_recorded(world):
    world.case("speaks")
    world.case("other")
    ran = world.run(only=["law/cookie-echo", "fake/speaks"], laws=[all_laws()["law/cookie-echo"]])
    assert [one.key.check for one in ran.judgements] == ["fake/speaks", "law/cookie-echo", "target/stays-up"]
    assert world.ran[("other",)] == 0


def test_more_than_a_group_in_order(world):
    for number in range(70):
        world.case(f"x{number:02}")
    ran = world.run()
    assert [one.key.check for one in ran.judgements[:70]] == [f"fake/x{number:02}" for number in range(70)]


def test_in_another_order_the_same_is_said(world):
    for number in range(20):
        world.case(f"case-{number:02}", lambda _times, _world, odd=number % 7 == 0: "odd" if odd else None)

    def said(**options):
        return [(one.key.check, one.verdict) for one in world.run(jobs=1, **options).judgements]

    plain, one, two, again = said(), said(shuffle=1), said(shuffle=2), said(shuffle=1)

    assert sorted(plain, key=str) == sorted(one, key=str) == sorted(two, key=str)
    assert one == again
    assert len({tuple(plain), tuple(one), tuple(two)}) == 3


def test_same_input_same_bytes_but_for_the_date(world, monkeypatch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "86400")
    for number in range(40):
        world.case(f"x{number:02}", (lambda times, world: "always") if number % 7 == 0 else (lambda times, world: None))
    world.run()
    first = (world.out / "results.jsonl").read_bytes()
    world.run(jobs=7)
    assert (world.out / "results.jsonl").read_bytes() == first
    assert results.read(world.out).header.date == "1970-01-02T00:00:00Z"


def test_interrupted_it_keeps_what_it_has_and_names_the_rest(world):
    for number in range(40):
        world.case(f"x{number:02}")
    part = world.part()
    original, looks = part._examine, []

    def interrupted(node, budget):
        looks.append(node)
        if len(looks) == 3:
            raise KeyboardInterrupt
        return original(node, budget)

    part._examine = interrupted
    ran = run_target(world.target.reach, part.options, [part])
    assert ran.exit is Exit.CANNOT_GO_ON
    assert ran.footer.why == "interrupted"
    assert len(ran.judgements) == 32
    assert "responder default fake/x39" in ran.footer.pending
    assert all(node.stopped for node in world.target.nodes)


def test_an_initiator_that_left_in_peace_is_fetched_again(tmp_path):
    world = World(tmp_path, side=Side.INITIATOR)
    from zenoh_harness.programs.processes import ProcessEnd
    from zenoh_harness.targets.target import Vitals

    def leaves(times, world):
        world.target.now.state = Verdict.CRASH
        world.target.now.vitals = lambda: Vitals(running=False, ended=ProcessEnd(0, 0))

    world.case("leaves", leaves)
    world.case("next")
    assert world.verdicts() == {("fake/leaves",): "pass", ("fake/next",): "pass", ("target/stays-up",): "pass"}
    assert len(world.target.nodes) == 2


def coming(tmp_path, cases=16, **target):
    """A target that comes to us, with as many cases that hold."""
    world = World(tmp_path, side=Side.INITIATOR, **target)
    for number in range(cases):
        world.case(f"x{number:02}")
    return world


def test_of_an_initiator_there_are_several_each_with_one_case_at_a_time(tmp_path):
    world, met = coming(tmp_path), threading.Barrier(4)
    busy = set()

    def meets(times, world):
        assert world.here.node not in busy
        busy.add(world.here.node)
        met.wait(5)
        busy.discard(world.here.node)

    for number in range(4):
        world.case(f"meets{number}", meets)
    ran = world.run(jobs=4)
    assert {one.verdict for one in ran.judgements} == {Verdict.PASS}
    assert len(world.target.nodes) == 4
    assert all(node.stopped for node in world.target.nodes)


def test_no_initiator_is_started_that_would_have_little_to_do(tmp_path):
    world = coming(tmp_path, cases=5)
    world.run(jobs=4)
    assert len(world.target.nodes) == 2


@pytest.mark.parametrize("state", [Verdict.CRASH, Verdict.HANG, Verdict.ZOMBIE])
def test_of_several_initiators_the_one_that_dies_charges_its_case_and_the_others_are_not_asked_again(tmp_path, state):
    world = coming(tmp_path, cases=15)
    world.case("killer", world.kills(state))
    ran = world.run(jobs=4)
    assert {one.key.check: one.verdict for one in ran.judgements if one.verdict is not Verdict.PASS} == {
        "fake/killer": state
    }
    again = {name for (name,), times in world.ran.items() if times > 1}
    assert again == {"killer", "x03", "x07", "x11"}, "every fourth, as they are dealt out"
    assert all(node.stopped for node in world.target.nodes)


def test_of_several_initiators_one_has_what_must_be_alone_while_the_others_go_on(tmp_path):
    world, gone_on, instances = coming(tmp_path), threading.Event(), {}

    def act(name, does):
        def body(times, world):
            instances[name] = world.here.node
            does()

        return body

    world.case("apart", act("apart", lambda: gone_on.wait(5)), alone=True)
    world.case("goes-on", act("goes-on", gone_on.set))
    ran = world.run(jobs=4)
    assert {one.verdict for one in ran.judgements} == {Verdict.PASS}
    assert gone_on.is_set()
    assert instances["apart"] is world.target.nodes[0] is not instances["goes-on"]
    assert [one.key.check for one in ran.judgements[-2:]] == ["fake/apart", "target/stays-up"]


def test_of_several_initiators_a_death_that_no_case_repeats_charges_none(tmp_path):
    world = coming(tmp_path)
    world.case("struck", lambda times, world: None if times else world.kills()(times, world))
    ran = world.run(jobs=4)
    assert {one.verdict for one in ran.judgements[:-1]} == {Verdict.PASS}
    assert (ran.judgements[-1].key.check, ran.judgements[-1].verdict) == ("target/stays-up", Verdict.CRASH)


def test_several_initiators_say_what_one_says(tmp_path, monkeypatch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "86400")
    world = coming(tmp_path)
    world.case("bad", lambda times, world: "no cookie")
    text = []
    for jobs in (1, 2, 4):
        world.run(jobs=jobs)
        text.append((world.out / "results.jsonl").read_bytes())
    assert text[0] == text[1] == text[2]


def test_initiators_that_cannot_be_had_again_end_the_run_and_nothing_stays_up(tmp_path):
    world = coming(tmp_path, starts_left=3)
    ran = world.run(jobs=4)
    assert ran.exit is Exit.CANNOT_GO_ON
    assert "it does not start any more" in str(ran.stopped)
    assert all(node.stopped for node in world.target.nodes)


def test_what_is_over_is_not_started_again(tmp_path):
    world = coming(tmp_path)
    lifecycle = Lifecycle(world.target, "default")
    assert lifecycle.node is lifecycle.node
    lifecycle.stop()
    with pytest.raises(CannotGoOn, match="not wanted any more"):
        lifecycle.node  # noqa: B018  it is asked for
    assert len(world.target.nodes) == 1


def test_who_ends_in_order_while_we_look_again_whether_it_is_slow_has_not_crashed(tmp_path):
    world = coming(tmp_path)
    gone = Vitals(running=False, ended=ProcessEnd(0, 0))
    looks = [(Verdict.SLOW, Vitals(running=True)), (Verdict.CRASH, gone), (Verdict.PASS, Vitals(running=True))]

    def examine(node, budget=None):
        verdict, vitals = looks.pop(0)
        return Health(
            grade=Grade.FUNCTIONAL, verdict=verdict, cause="", latency=0.0, vitals=vitals, conversation=Conversation()
        )

    assert Lifecycle(world.target, "default", examine).unhealthy() is None
    assert looks == []
    assert len(world.target.nodes) == 2


def test_a_crash_of_a_current_release_is_only_counted(tmp_path):
    world = World(tmp_path, current=True)
    world.case("good")
    world.case("secret-killer", world.kills(), parameters=grid(value=("3735928559",)))
    ran = world.run(data_folder=tmp_path / "data")
    assert ran.exit is Exit.NOT_CONFORMING
    assert ran.footer.embargoed == 1
    for path in world.out.rglob("*"):
        assert "secret" not in path.name
        assert not path.is_file() or b"3735928559" not in path.read_bytes()
        assert not path.is_file() or b"secret" not in path.read_bytes()
    kept = list((tmp_path / "data").rglob("judgements.jsonl"))
    assert "3735928559" in kept[0].read_text()

    again = world.run(data_folder=tmp_path / "data")
    assert (again.exit, again.footer.embargoed) == (Exit.CONFORMING, 1)
    assert b"secret" not in (world.out / "results.jsonl").read_bytes()
    assert world.run(data_folder=tmp_path / "data", with_embargoed=True).exit is Exit.NOT_CONFORMING


def test_what_the_list_knows_is_public_and_not_kept_back(tmp_path):
    world = World(tmp_path, current=True)
    world.case("killer", world.kills())
    listed = ListedDeviation(
        check="fake/killer", verdict=Verdict.CRASH, cause="seen crash", reason="so it is", public="https://x"
    )
    ran = world.run(data_folder=tmp_path / "data", known=Known([listed]))
    assert (ran.exit, ran.footer.embargoed, ran.judgements[0].verdict) == (Exit.CONFORMING, 0, Verdict.KNOWN)


def test_what_is_listed_without_an_address_is_not_public(tmp_path):
    world = World(tmp_path, current=True)
    world.case("killer", world.kills())
    listed = ListedDeviation(check="fake/killer", verdict=Verdict.CRASH, cause="seen crash", reason="so it is")
    ran = world.run(data_folder=tmp_path / "data", known=Known([listed]))
    assert (ran.exit, ran.footer.embargoed) == (Exit.CONFORMING, 1)


def test_a_death_that_nothing_repeats_takes_its_group_with_it(tmp_path):
    """What was said when it died names what it died of."""
    world = World(tmp_path, current=True)
    world.case("once", lambda times, world: times == 0 and world.kills()(times, world))
    ran = world.run(data_folder=tmp_path / "data")
    assert ran.footer.embargoed == 1
    assert not list(world.out.glob("evidence/*"))
    assert b"during" not in (world.out / "results.jsonl").read_bytes()
