"""Live campaigns: each oracle and each mutator finds what is planted, and nothing on the reference."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path
from random import Random
from types import SimpleNamespace

import pytest

from zenoh_conformance.judging.verdict import Verdict
from zenoh_conformance.messages import Close
from zenoh_conformance.primitives import WhatAmI
from zenoh_conformance.reading.codec import Segments, encode
from zenoh_conformance.reading.conversation import Side
from zenoh_conformance.wire import Segment
from zenoh_fuzz.campaign.effect import mann_whitney, superiority
from zenoh_fuzz.campaign.record import store_finding
from zenoh_fuzz.live import seeds, small, triage
from zenoh_fuzz.live.acts import Act, Input, is_lawful, runs_of, trace_batch
from zenoh_fuzz.live.campaign import LiveOrder, LiveWorker, begin, oddities
from zenoh_fuzz.live.input_scripts import Numbers, input_of, script_of
from zenoh_fuzz.live.mutate import EDITS_OF_INPUTS, SANE, mutate
from zenoh_fuzz.live.planted import EFFECTS, FAULTY, ZOMBIES, is_across, kind_of_act, trigger_of
from zenoh_fuzz.live.sessions import OurSessions
from zenoh_fuzz.live.triage import (
    Minimiser,
    disclosure,
    header_of,
    is_public,
    row_of,
    script_of_finding,
    signature_of,
)
from zenoh_fuzz.live.trial import Symptom, Trial
from zenoh_fuzz.mutators.edits import DoesNotFitError
from zenoh_harness.commands.replay import load, perform
from zenoh_harness.errors import CannotConnect
from zenoh_harness.files import scripts
from zenoh_harness.files.campaigns import read_ledger
from zenoh_harness.links.timing import SCALE_VARIABLE
from zenoh_harness.targets.lookup import open_checked

HERE = "python:zenoh_fuzz.live.planted"
CONNECTS = f"exec:{sys.executable} -m zenoh_fuzz.live.planted {{}} {{{{locator}}}}?as=initiator"
"""The target string of a planted node that connects to us."""


def words() -> dict[str, Act]:
    """Return the correct messages of small spaces by their kind."""
    found: dict[str, Act] = {}
    for segments in small.words():
        act = Act(segments=segments)
        found.setdefault(kind_of_act(act), act)
    return found


def trigger_acts(number: int) -> Input:
    """Return the messages that make a planted node go wrong, the last one on another link where the node wants it so."""
    acts = tuple(words()[kind] for kind in trigger_of(number))
    return (*acts[:-1], replace(acts[-1], link="b" if is_across(number) else "a"))


@pytest.fixture
def trial() -> Iterator[Trial]:
    """A trial on the reference."""
    made = Trial(open_checked(f"{HERE}:sane_0"))
    yield made
    made.stop()


@pytest.mark.parametrize(
    "name",
    [
        FAULTY[0],
        *(
            pytest.param(name, marks=[pytest.mark.soak] if at >= len(EFFECTS) - 1 else [])
            for at, name in enumerate(ZOMBIES)
            if not name.startswith("count")
        ),
    ],
)
def test_what_a_planted_node_stops_doing_is_seen(name: str) -> None:
    """Each effect shows within the batch in which its trigger comes, and not before."""
    made = trigger_acts(int(name.partition("_")[2]))
    key = (words()["Put"],)  # a push to the key that one of the nodes drops
    planted = Trial(open_checked(f"{HERE}:{name}"))
    try:
        assert planted.run([*((act,) for act in made[1:]), key]).symptom is None
        found = planted.run([key, made]).symptom
    finally:
        planted.stop()

    assert found is not None
    assert found.verdict in (Verdict.ZOMBIE, Verdict.HANG, Verdict.FAIL)


def test_numbers_inside_a_spliced_part_are_not_lawful() -> None:
    """A FRAME in one segment brings its own sequence number, which is not the next one."""
    act = words()["Put"]
    spliced = Segment("spliced", b"\x25\xdf\x01" + bytes.fromhex("3d00016101026869"))

    assert is_lawful((act,))
    assert not is_lawful((replace(act, segments=Segments([*act.segments, spliced])),))
    assert not is_lawful((replace(act, segments=act.segments.swap("frame.sn", "frame.messages[0].push.key.scope")),))


def test_a_new_session_counts_its_ids_anew(trial: Trial) -> None:
    """The end of a query of a session that ended does not answer the fence of the next one, whose ids are the same."""
    sessions = OurSessions(trial.node)
    sessions.session("a")
    try:
        assert sessions.fence("a")
        sessions.let_go("a")
        sessions.session("a")
        assert not sessions.finals
    finally:
        sessions.leave()


def test_nothing_is_routed_for_bystanders_of_a_client() -> None:
    """A node that is no router is not expected to pass on what one bystander says to another."""
    client = Trial(open_checked("variant:a-client"))
    try:
        assert client.run([(words()["Put"],)]).symptom is None
    finally:
        client.stop()


def test_lawful_inputs_are_cut_where_the_link_changes() -> None:
    """Two links are fenced in turn, so that their order is the same each time; odd messages need not be answered."""
    act, odd = words()["Put"], Act(segments=trace_batch(b"\x1f\xff"))
    on_b = replace(act, link="b")

    assert runs_of((act, act, on_b, act)) == ((act, act), (on_b,), (act,))
    assert runs_of((act, on_b, odd)) == ((act, on_b, odd),)


def test_an_odd_first_input_makes_its_session_odd(trial: Trial) -> None:
    """A session that is opened for an odd input is remembered as odd, until another one takes its place."""
    sessions = OurSessions(trial.node)
    best_effort = Act(segments=Segments([Segment("frame.header", b"\x05"), Segment("frame.sn", b"\x00")]))
    try:
        assert not is_lawful((best_effort,))
        assert trial._perform(sessions, (best_effort,), brief=False) is None
        assert sessions.odd == {"a"}
        sessions.let_go("a")
        sessions.session("a")
        assert not sessions.odd
    finally:
        sessions.leave()


def test_the_final_of_an_input_answers_no_fence(trial: Trial) -> None:
    """A session that drops whatever follows is silent, though the query of an input with a small id was finished before."""
    sessions = OurSessions(trial.node)
    leap = Segment("raw", b"\x66\x75\x7a")  # a FRAGMENT far ahead: all later numbers are old
    try:
        sessions.perform((words()["Request"], Act(segments=Segments([leap]))))
        assert not sessions.fence("a")
    finally:
        sessions.leave()


def test_acts_in_a_row_leave_in_one_write(trial: Trial, monkeypatch: pytest.MonkeyPatch) -> None:
    """What one link sends in a row costs one call, and the target gets the same batches."""
    sessions, act = OurSessions(trial.node), words()["Put"]
    written: list[bytes] = []
    us = {link: sessions.session(link) for link in "ab"}
    try:
        for each in us.values():
            monkeypatch.setattr(each.wire, "send", written.append)
        sessions.perform((act, replace(act, times=2), replace(act, link="b"), act))
    finally:
        monkeypatch.undo()
        sessions.leave()

    sizes = [len(one) // len(written[1]) for one in written]
    assert sizes == [3, 1, 1]


def test_nothing_is_found_on_the_reference(trial: Trial) -> None:
    """Odd and correct inputs of all kinds show no symptom."""
    random, pool = Random(7), list(seeds.base_seeds())
    correct = [made for made in pool if is_lawful(made)]
    odd = [mutate(random.choice(pool), random, pool)[0] for _ in range(40)]
    sane_ones = [mutate(random.choice(correct), random, correct, sane=True)[0] for _ in range(40)]

    assert trial.run([*(make() for _, make in islice(small.in_turns(7), 40)), *odd]).symptom is None
    assert trial.run(sane_ones).symptom is None


def test_small_spaces_hold_every_state_and_every_pair() -> None:
    """Each space stands in each state, and two messages follow each other in three ways."""
    names = {name for state in small.STATES for name in small.spaces(state)}

    assert names == {"pairs", *(f"{name} {state}" for name in small.VALUES for state in small.STATES)}
    assert len(list(small.pairs())) == 3 * len(small.alphabet()) ** 2
    assert len({tuple(make() for _, make in islice(small.in_turns(3), 50)) for _ in range(2)}) == 1


def test_each_text_is_deep_before_it_is_less_deep() -> None:
    """Of the depths, each field of each message first gets as many chunks as overflow a stack."""
    rows = small.spaces("live")["depths live"]
    fields = {row.group for row in rows}
    first = [make() for make in islice(small._deal(rows, Random(1)), len(fields))]
    sizes = [max(one.data.count(b"a/") for act in made for one in act.segments) for made in first]

    assert set(sizes) == {small.DEPTHS[0] - 1}
    assert "frame.messages.declare.d_subscriber.key.suffix.bytes" in fields


def test_two_oddities_of_one_field_differ() -> None:
    """A key that is not ASCII says nothing about one that is deep, nor a length that is near about one that is far."""
    path = "frame.messages[0].declare.d_subscriber.key.suffix.bytes"
    keys = ["é", "ü", "/".join("a" * 4096)]
    made = [
        (replace(act := words()["DSubscriber"], segments=act.segments.replace(path, key.encode())),) for key in keys
    ]

    assert oddities(made[0]) == oddities(made[1]) != oddities(made[2])
    assert {path for path, *_ in oddities(made[2])} == {path}


@pytest.mark.parametrize(
    ("first", "second", "p", "superior"),
    [([1, 2, 3], [4, 5, 6], 0.1, 1.0), ([1, 2], [1, 2], 1.0, 0.5), ([7, 8], [1, math.inf], 1.0, 0.5)],
)
def test_engines_are_compared_by_ranks(first: list[float], second: list[float], p: float, superior: float) -> None:
    """The exact test and the effect size of small samples, with ties and with trials that found nothing."""
    assert mann_whitney(first, second) == pytest.approx(p)
    assert superiority(first, second) == superior


def test_small_spaces_reach_bodies_that_other_pages_define() -> None:
    """The body of an OAM and of an extension get every odd body, their lengths right."""
    paths = {one.path for one in small.bodies()}

    assert "frame.messages[0].network_oam.body.bytes" in paths
    assert any(".exts." in path for path in paths)


@pytest.mark.parametrize("name", EDITS_OF_INPUTS)
def test_each_edit_changes_an_input(name: str) -> None:
    """Within some seeds each edit fits, changes something, and does the same for the same seed."""
    pool = list(seeds.base_seeds())
    whole = next(made for made in pool if len(made) > 10)

    def edited(seed: int) -> Input:
        try:
            return EDITS_OF_INPUTS[name](whole, Random(seed), pool)
        except (LookupError, ValueError, DoesNotFitError):
            return whole

    seed = next(seed for seed in range(200) if edited(seed) != whole)
    assert edited(seed) == edited(seed)


def test_sane_edits_leave_messages_as_they_are() -> None:
    """What only changes order stays lawful."""
    random, pool = Random(1), [made for made in seeds.base_seeds() if is_lawful(made)]

    assert all(is_lawful(mutate(random.choice(pool), random, pool, sane=True)[0]) for _ in range(100))
    assert set(SANE) < set(EDITS_OF_INPUTS)


@pytest.mark.parametrize(
    "made",
    [(Act(segments=trace_batch(encode(Close(session=True, reason=0)))),), (Act(segments=trace_batch(b"\x1f\xff")),)],
)
def test_what_may_end_a_session_is_not_lawful(made: Input) -> None:
    """A CLOSE, or bytes that cannot be read, may be answered by silence."""
    assert not is_lawful(made)


def sent(made: Iterable[Input]) -> list[tuple[str, str | float]]:
    """Return what inputs send and wait, in order, with the sequence numbers of a fresh session and without fences."""
    numbers, rows = Numbers(), list[tuple[str, str | float]]()
    for act in (act for one in made for act in one):
        name = f"{act.link} {act.stage}"
        times = [act.batch(numbers.on(name)).hex() for _ in range(act.times)]
        rows += [("wait", act.seconds)] if act.seconds else [(name, data) for data in times]
    return rows


def test_inputs_are_scripts() -> None:
    """An input, written as a script and read again, sends the same bytes; mutated ones, too."""
    random, pool = Random(5), list(seeds.base_seeds())
    for _ in range(150):
        made, names = mutate(random.choice(pool), random, pool)
        script = scripts.parse(scripts.text(script_of([made], {"about": "a test"})))
        assert sent(input_of(script)) == sent([made]), names


def test_evidence_becomes_seeds(tmp_path: Path) -> None:
    """A shipped script, and a folder of scripts, are seeds; other files are passed over."""
    (tmp_path / "other.txt").write_text("no script")
    kept = seeds.keep(tmp_path, next(seeds.base_seeds()))
    assert kept.exists()
    assert len(list(seeds.seeds_from(tmp_path))) == 1
    assert len(list(seeds.shipped_seeds())) > 3


@pytest.mark.parametrize(("name", "most"), [("all_9", 30), ("key_0", triage.MOST)], ids=["all_9", "key_0"])
def test_a_symptom_is_confirmed_and_minimised(name: str, most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of many inputs the three messages stay, in their order, and the script shows the finding again.

    A node that drops the pushes to one key seems to be well to a try that has no key. Each try of a node that drops all waits
    for silence: they end before the parts of messages are left out, as they are of the other node.
    """
    monkeypatch.setattr(triage, "MOST", most)
    made = trigger_acts(int(name[-1]))
    trial = Trial(open_checked(f"{HERE}:{name}"))
    others = [(words()["Put"],), (words()["DSubscriber"], words()["Request"])]
    try:
        symptom = trial.run([*others, (*made, words()["Put"])]).symptom
        assert symptom is not None
        minimiser = Minimiser(trial, symptom)
        confirmed = minimiser.confirm([*others, (*made, words()["Put"])], sure=False)
        smallest = minimiser.smallest(confirmed)
        row = row_of(trial, symptom, smallest, confirmed=True)
    finally:
        trial.stop()

    assert sum(len(one) for one in smallest) == len(made)
    assert not row.embargo
    assert signature_of(symptom) in row.signature
    assert "To reproduce" in disclosure(row)
    assert input_of(scripts.parse(bytes.fromhex(row.input).decode()))


@pytest.mark.parametrize(
    ("name", "target"),
    [("key_0", f"{HERE}:{{}}"), ("all_0", f"{HERE}:{{}}"), ("session_1", CONNECTS)],
    ids=("steps", "health", "connects"),
)
def test_the_script_of_a_finding_convicts(
    name: str, target: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`zconform replay` is red on the node at fault, whether steps or the target's health show it, and green on the reference.

    A node that connects is seen and convicted like one that listens. The faulty node never answers, so half the patience shows it.
    """
    monkeypatch.setenv(SCALE_VARIABLE, "0.5")
    role = WhatAmI.ROUTER if target == CONNECTS else WhatAmI.CLIENT
    nodes = [Trial(open_checked(target.format(each)), role) for each in (name, "sane_0")]
    made = [(words()["Put"],), trigger_acts(int(name.partition("_")[2]))]
    try:
        symptom = nodes[0].run(made).symptom
        assert symptom is not None
        path = tmp_path / "finding.script"
        path.write_text(scripts.text(script_of_finding(nodes[0], symptom, made)))
        verdicts = [perform(load(str(path)), node.target).verdict for node in nodes]
    finally:
        for node in nodes:
            node.stop()

    assert verdicts[0].is_red()
    assert verdicts[1] is Verdict.PASS


@pytest.mark.parametrize(
    ("version", "about", "public"),
    [
        ("1.0.4", "panic at /root/zenoh/src/net/routing/hat/router/mod.rs:636", True),
        ("1.2.0", "panic at /root/zenoh/src/net/routing/hat/router/mod.rs:636", False),
        ("1.0.4", "panic at /root/zenoh/src/net/routing/hat/router/other.rs:636", False),
        ("1.0.4", "a declaration is not dealt with: silence", False),
    ],
)
def test_a_panic_is_public_by_its_site(version: str, about: str, public: bool) -> None:
    """A zombie that a public panic leaves behind is public, in those versions, and no other zombie is."""
    identity = SimpleNamespace(name="zenoh-rust", version=version, kind="wheel")
    why = "zombie: a declaration is not dealt with: silence, after signs of panic in its output"
    symptom = Symptom(rule="stays-in-service", about=about, verdict=Verdict.ZOMBIE, why=why)

    assert is_public(SimpleNamespace(identity=identity, role="router"), symptom) is public


def test_an_abort_is_public_by_its_cause() -> None:
    """An abort that a list gives an address for is public; another signal is not."""
    target = SimpleNamespace(identity=SimpleNamespace(name="zenoh-rust", version="1.9.0", kind="wheel"), role="router")
    whys = ("crash: signal 6 (SIGABRT): memory allocation of 17 bytes failed", "crash: signal 11 (SIGSEGV)")
    aborts = [Symptom(rule="stays-up", about=why, verdict=Verdict.CRASH, why=why) for why in whys]

    assert [is_public(target, abort) for abort in aborts] == [True, False]


def test_the_header_names_the_side_of_the_target() -> None:
    """The script of an initiator's finding is for an initiator."""
    symptom = Symptom(rule="stays-up", about="signal 11", verdict=Verdict.CRASH, why="crash: signal 11")

    assert [header_of(symptom, side)["target"] for side in Side] == [side.value for side in Side]


def test_one_panic_is_one_finding() -> None:
    """Whatever follows from a panic, its site is the identity of the finding."""
    about = "panic at src/a.rs:7"
    kinds = [("stays-up", Verdict.CRASH), ("stays-in-service", Verdict.ZOMBIE), ("never-panics", Verdict.PANIC)]
    found = [Symptom(rule=rule, about=about, verdict=verdict, why="") for rule, verdict in kinds]

    assert len({signature_of(one) for one in found}) == 1


def test_triggers_differ() -> None:
    """The generated triggers are different, and three or four messages long; every effect has a zombie."""
    triggers = [trigger_of(number) for number in range(10)]

    assert len(set(triggers)) == len(triggers)
    assert all(len(set(one)) == len(one) in (3, 4) for one in triggers)
    assert {name.partition("_")[0] for name in (*FAULTY, *ZOMBIES)} == set(EFFECTS)


def test_the_time_of_a_target_that_ended_still_counts(monkeypatch):
    """What a campaign may use is used up by all its targets, not by the last one alone."""
    node = SimpleNamespace(stop=lambda: None)
    trial = Trial(SimpleNamespace(start=lambda: node))
    spent = iter((2.0, 3.0, 0.5))
    monkeypatch.setattr("zenoh_fuzz.live.trial.cpu_of", lambda _: next(spent))

    trial._node = node
    assert trial.cpu_seconds() == 2.0
    trial.stop()
    trial._node = node

    assert trial.cpu_seconds() == 3.5


@pytest.mark.parametrize(("late", "missing"), [(0, ""), (1, "no new session")])
def test_a_session_that_comes_at_the_second_try_is_no_finding(late: int, missing: str) -> None:
    """A link is tried again before it is said that it gets no session; a target that connects is waited for elsewhere."""

    def session(_link: str) -> None:
        if late:
            raise CannotConnect("late", step="link")

    ours = SimpleNamespace(connects=False, session=session)
    trial = Trial(SimpleNamespace())

    assert trial._without_session(ours, ["a"]) == missing
    assert trial._without_session(SimpleNamespace(connects=True), ["a"]) == ""


def test_what_a_kill_left_over_is_taken_up(tmp_path: Path) -> None:
    """A resumed worker lists a finding that was stored and not listed, and minimises one that was confirmed and not minimised."""
    trial = Trial(open_checked(f"{HERE}:sane_0"))
    abouts = (("confirmed", True), ("seen once", False))
    rows = []
    for about, confirmed in abouts:
        symptom = Symptom(rule="nothing-is-lost", about=about, verdict=Verdict.FAIL, why=about)
        rows.append(row_of(trial, symptom, [trigger_acts(0)], confirmed=confirmed))
    order = LiveOrder(target=f"{HERE}:sane_0", folder=tmp_path, seconds=60, cpu=True, resume=True)
    folder = begin(order, {"planted": ""})
    for row in rows:
        store_finding(folder, row)
    worker = LiveWorker(order)
    worker._take_up()

    assert set(read_ledger(folder)) == {row.id for row in rows} == worker._known
    assert [(symptom.about, sent(made)) for symptom, made in worker._pending] == [
        ("confirmed", sent([trigger_acts(0)]))
    ]
