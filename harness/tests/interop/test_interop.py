"""Two real nodes through the tap: what goes well is green, what is altered on the way is red, what is listed is known."""

from __future__ import annotations

import json
import random
from collections import Counter
from importlib.resources import files
from itertools import count

import jsonschema
import pytest

from zenoh_conformance.judging.engine import judge
from zenoh_conformance.judging.verdict import Verdict
from zenoh_conformance.messages import KeepAlive
from zenoh_conformance.messages.sane import close, init_syn, open_syn
from zenoh_conformance.reading.codec import encode
from zenoh_conformance.reading.conversation import Conversation, Event, Happened, Side
from zenoh_harness.cli import invoke
from zenoh_harness.commands.interop import _pairs
from zenoh_harness.errors import UsageError
from zenoh_harness.files import conversations, results
from zenoh_harness.interop import talk
from zenoh_harness.interop.pair import Pair, on_side
from zenoh_harness.interop.scenario import all_scenarios, steps
from zenoh_harness.interop.talk import Missed
from zenoh_harness.links import relay
from zenoh_harness.links.locators import LINKS, Locator
from zenoh_harness.links.opening import connect
from zenoh_harness.links.tap import Tap
from zenoh_harness.links.timing import Deadline
from zenoh_harness.profiles import PROFILES
from zenoh_harness.targets.reach import parse
from zenoh_harness.targets.target import open_target

ANYWHERE = Locator.tcp("127.0.0.1", 0)
NEW, OLD = "wheel:1.10.2", "wheel:1.0.4"


def interop(tmp_path, *words):
    """The exit code, and what was recorded."""
    code = invoke(["interop", *words, "--out", str(tmp_path / "out")])
    return code, results.read(tmp_path / "out")


# --- what is run


def test_every_step_has_a_key_of_its_own_and_both_directions():
    every = steps()
    assert max(Counter((step.here, step.label) for step in every).values()) == 1
    assert {step.label for step in every if step.here is Side.INITIATOR} == {
        step.label for step in every if step.here is Side.RESPONDER
    }
    assert all(one.about for one in all_scenarios().values())


def test_steps_are_chosen_by_label_name_and_topic():
    assert {step.scenario.topic for step in steps(["liveliness"])} == {"liveliness"}
    assert len(steps(["interop/a-delete-arrives-as-one"])) == len(steps(["a-delete-arrives-as-one"])) == 2
    assert len(steps(["interop/a-sample-keeps-its-priority[priority=3]"])) == 2
    with pytest.raises(UsageError, match="no scenario matches"):
        steps(["a-delete-arives"])


def test_of_more_than_two_each_meets_each():
    assert _pairs(["a", "b"], both=False) == [("a", "b")]
    assert _pairs(["a", "b"], both=True) == [("a", "b"), ("b", "a")]
    assert len(_pairs(["a", "b", "c"], both=False)) == 6
    for wrong in (["a"], ["a", "b", "a"]):
        with pytest.raises(UsageError):
            _pairs(wrong, both=False)


def test_each_stands_in_its_place_and_what_runs_already_only_listens(tmp_path):
    assert dict(on_side(parse(NEW), Side.INITIATOR).options) == {"as": "initiator", "role": "client", "zid": "b0b"}
    assert on_side(parse("wheel?role=router&zid=5"), Side.INITIATOR).options["role"] == "router"
    assert on_side(parse("tcp/127.0.0.1:1"), Side.RESPONDER) == parse("tcp/127.0.0.1:1")
    assert invoke(["interop", NEW, "tcp/127.0.0.1:1", "--only", "liveliness", "--out", str(tmp_path / "out")]) == 2


def test_a_pair_that_cannot_be_had_leaves_no_results_of_an_earlier_one(tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "results.jsonl").write_text("of an earlier run")
    assert invoke(["interop", NEW, "tcp/127.0.0.1:1", "--out", str(tmp_path / "out")]) == 2
    assert not (tmp_path / "out" / "results.jsonl").exists()


# --- real nodes


def test_two_releases_understand_each_other(tmp_path):
    """One scenario of each kind; what the older one cannot do is unimplemented, and no pass."""
    only = ["a-delete-arrives-as-one", "a-sample-keeps-its-timestamp", "an-error-arrives-as-one",
            "a-payload-of-any-size-arrives[size=100000]", "a-token-goes-with-the-link-and-comes-back"]  # fmt: skip
    code, found = interop(tmp_path, NEW, OLD, *(word for name in only for word in ("--only", name)))
    said = [one for one in found.judgements if one.key.check.startswith("interop/")]
    assert code == 0
    assert found.complete
    assert Counter(one.verdict for one in said) == {
        Verdict.PASS: 10, Verdict.UNIMPLEMENTED: 2, Verdict.NOT_APPLICABLE: 2,
    }  # fmt: skip
    assert {one.key.role for one in said if one.verdict is Verdict.UNIMPLEMENTED} == {"initiator"}
    laws = {one.key.role: one.key.version for one in found.judgements if one.key.check.startswith("law/")}
    assert laws == {"responder": "1.10.2", "initiator": "1.0.4"}
    assert any(one.verdict is Verdict.PASS and one.key.check.startswith("law/") for one in found.judgements)
    recorded = conversations.read(tmp_path / "out" / "conversation.jsonl")
    assert sum(len(event.data) for event in recorded if event.kind is Happened.BYTES) > 200_000
    assert len(recorded.connections) >= 3  # the link was cut twice


@pytest.mark.parametrize("link", [pytest.param(one, marks=() if one == "tls" else pytest.mark.soak) for one in LINKS])
def test_what_is_recorded_over_each_link_keeps_to_the_schema(tmp_path, link):
    pair = [f"{NEW}?link={link}"] * 2
    code, found = interop(tmp_path, *pair, "--only", "a-delete-arrives-as-one")
    assert code == 0
    assert {one.key.link for one in found.judgements} == {link}
    schema = json.loads((files("zenoh_harness") / "files" / "schemas" / "results.schema.json").read_text())
    for line in (tmp_path / "out" / "results.jsonl").read_text().splitlines():
        jsonschema.validate(json.loads(line), schema)


@pytest.fixture
def alters(monkeypatch):
    """A tap that changes one payload, every time, and not its length."""
    honest = relay.Relay._send_or_keep
    monkeypatch.setattr(
        relay.Relay, "_send_or_keep", lambda self, end, data: honest(self, end, data.replace(b"\x01x", b"\x01y"))
    )


ALTERED = ["--only", "interop/a-sample-keeps-its-congestion-control[congestion=block,priority=5]"]


def test_what_is_altered_on_the_way_is_red_with_evidence(tmp_path, alters):
    code, found = interop(tmp_path, NEW, NEW, *ALTERED)
    red = [one for one in found.judgements if one.verdict is Verdict.FAIL]
    assert code == 1
    assert {(one.key.role, one.cause, one.attempts) for one in red} == {
        (side.value, "payload: 79 where 78 is required", 2) for side in Side
    }
    shown = conversations.read(tmp_path / "out" / red[0].evidence)
    assert any(event.data.endswith(b"\x01x") for event in shown)
    assert "--only" in red[0].repeat
    assert "wheel:1.10.2" in red[0].repeat


KNOWN = """
[[deviation]]
check   = "interop/a-sample-keeps-its-congestion-control"
verdict = "fail"
cause   = "payload: * where 78 is required"
reason  = "the tap of a test"
owner   = "us"
"""


def test_a_listed_deviation_of_either_side_is_known(tmp_path, alters):
    (tmp_path / "known.toml").write_text(KNOWN + 'versions = ">=1.10"\n')
    code, found = interop(tmp_path, NEW, NEW, *ALTERED, "--known", str(tmp_path / "known.toml"))
    assert code == 0
    ours = [one for one in found.judgements if one.key.check.startswith("interop/")]
    assert [one.verdict for one in ours] == [Verdict.KNOWN] * 2


def test_a_listed_deviation_that_has_gone_is_red(tmp_path):
    (tmp_path / "known.toml").write_text(KNOWN)
    code, found = interop(tmp_path, NEW, NEW, *ALTERED, "--known", str(tmp_path / "known.toml"))
    assert code == 1
    assert {one.key.check for one in found.judgements if one.verdict is Verdict.FAIL} == {"known/has-gone"}


def test_a_release_without_an_agent_is_unimplemented_and_judged_nothing_of(tmp_path):
    code, found = interop(tmp_path, NEW, "wheel:0.11.0", "--only", "a-delete-arrives-as-one")
    said = {one.verdict for one in found.judgements if one.key.check.startswith("interop/")}
    assert said == {Verdict.UNIMPLEMENTED}
    assert code in (0, 4)


def test_what_is_about_routers_is_not_applicable_to_a_client(tmp_path, capsys):
    code, found = interop(tmp_path, NEW, NEW, "--only", "declarations-outlive-a-blink")
    said = [one for one in found.judgements if one.key.check.startswith("interop/")]
    text = {(dict(one.key.parameters)["between"], one.verdict, one.cause) for one in said}
    assert code == 0
    assert text == {
        ("others", Verdict.PASS, ""),
        ("routers", Verdict.NOT_APPLICABLE, "not both nodes are routers"),
    }
    shown = capsys.readouterr().out
    assert f"{NEW} listens, {NEW} connects" in shown
    assert "\nExit 0: conforms in everything that was judged" in shown


def test_on_a_machine_that_is_too_slow_to_blink_nothing_is_judged(tmp_path, monkeypatch):
    monkeypatch.setattr(talk, "_QUICK", 0.0)
    _, found = interop(tmp_path, NEW, NEW, "--only", "declarations-outlive-a-blink[[]between=others]")
    said = [one for one in found.judgements if one.key.check.startswith("interop/")]
    assert {(one.verdict, one.cause) for one in said} == {
        (Verdict.NOT_APPLICABLE, "the link never came back fast enough to blink")
    }


def test_a_node_that_dies_is_a_crash_and_the_pair_is_made_anew(tmp_path, monkeypatch):
    talk, killed = Pair.talk, []

    def deadly(self, here):
        if not killed:
            killed.append(self.nodes[Side.INITIATOR].program)
            killed[0].kill()
            killed[0].wait(Deadline.after(5))
        return talk(self, here)

    monkeypatch.setattr(Pair, "talk", deadly)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    code, found = interop(tmp_path, OLD, OLD, "--only", "a-delete-arrives-as-one")
    said = [one for one in found.judgements if one.key.check.startswith("interop/")]
    assert (code, found.footer.embargoed) == (1, 1)
    assert [one.verdict for one in said] == [Verdict.PASS]
    [kept] = (tmp_path / "data").rglob("judgements.jsonl")
    [dead] = results.judgements(kept)
    assert dead.verdict is Verdict.FLAKY
    assert "initiator: the node ended with signal 9" in dead.cause


@pytest.mark.soak
def test_every_scenario_both_ways_between_old_and_new(tmp_path):
    assert invoke(["interop", NEW, OLD, "--both", "--out", str(tmp_path / "out")]) == 0


ONE = "low-latency"
"""The profile whose recording is explained among the short tests; the others are in the soak."""


@pytest.mark.parametrize(
    "profile", [ONE, *(pytest.param(one, marks=pytest.mark.soak) for one in PROFILES if one != ONE)]
)
def test_the_recording_of_every_profile_is_explained_and_nobody_is_at_fault(tmp_path, profile, capsys):
    pair = [f"{NEW}?profile={profile}"] * 2
    code, _ = interop(tmp_path, *pair, "--only", "a-delete-arrives-as-one", "--only", "a-reply-keeps*")
    recording = str(tmp_path / "out" / "conversation.jsonl")
    assert code == 0
    assert invoke(["explain", recording]) == 0
    assert "refused" not in capsys.readouterr().out
    assert invoke(["laws", "judge", recording, "--known", "zenoh-rust"]) == 0


# --- the tap


def test_a_link_is_cut_until_it_is_let_through_again():
    events = []
    with Pair(parse(NEW), parse(NEW), events.append) as pair:
        talk = pair.talk(Side.INITIATOR)
        ear = talk.there.declare("subscriber", talk.key)
        talk.settle()
        talk.cut()
        talk.here.put(talk.key, b"lost", congestion="drop")
        assert {event.kind for event in events[-2:]} == {Happened.RESET}
        talk.restore()
        talk.settle()
        talk.here.put(talk.key, b"after")
        with pytest.raises(Missed, match="payload"):
            talk.expect(ear, payload=b"before")


def random_conversation(chance, link):
    """A handshake with a bit turned now and then, step by step, so that nothing crosses; keep-alives; an end."""

    def say(message):
        batch = bytearray(encode(message))
        if chance.random() < 0.1:
            batch[chance.randrange(len(batch))] ^= 1 << chance.randrange(8)
        data = len(batch).to_bytes(2, "little") + batch
        cut = chance.randrange(len(data))
        for piece in (data[:cut], data[cut:]):
            link.send(piece, Deadline.after(5))

    def asked(message):
        say(message)
        answer = link.receive(Deadline.after(0.3))
        return _first(answer.data) if answer and answer.what is Happened.BYTES else None

    ack = asked(init_syn(chance.randbytes(chance.randrange(1, 17)).rstrip(b"\0") or b"\1"))
    if getattr(ack, "cookie", None) and asked(open_syn(ack, initial_sn=chance.randrange(1 << 28))):
        for _ in range(chance.randrange(4)):
            say(KeepAlive())
        say(close())
        while (event := link.receive(Deadline.after(0.3))) is not None and not event.ended:
            pass
    link.finish()
    while (event := link.receive(Deadline.after(5))) is not None and not event.ended:
        pass
    link.close()


def _first(data):
    from zenoh_conformance.reading.codec import decode_batch

    found = decode_batch(data[2:])
    return found[0].message if found and hasattr(found[0], "message") else None


def findings(conversation):
    """Law, side, link and cause: what the laws say, without times."""
    return Counter(
        (said.law.id, said.sender, found.connection, found.cause)
        for said in judge(conversation)
        for found in said.findings
    )


def conversations_through_the_tap(many):
    """What our own end of each link saw, and what the tap recorded, as conversations."""
    chance, seen, recorded = random.Random(7), Conversation(), []
    names = (f"link-{number}" for number in count(1))
    with open_target(parse("reference")).start() as node, Tap(ANYWHERE, node.locator, recorded.append) as tap:
        for name in (next(names) for _ in range(many)):

            def observe(event, name=name):
                sender = Side.INITIATOR if event.ours else Side.RESPONDER
                seen.connection(name)
                seen.events.append(Event(event.time, name, sender, event.what, event.data))

            random_conversation(chance, connect(tap.locator, Deadline.after(5), observe))
        conversation = tap.conversation
    return seen, Conversation(conversation.connections, recorded)


def test_the_tap_adds_no_finding_to_a_thousand_random_conversations():
    seen, recorded = conversations_through_the_tap(1000)
    assert len(recorded.connections) == 1000
    ours, taps = findings(seen), findings(recorded)
    assert not taps - ours
    # what we said to one who had reset the link went nowhere, and whether the tap still heard it is a matter of moments
    broken = {event.connection for event in recorded if event.kind is Happened.RESET}
    assert {link for _, _, link, _ in ours - taps} <= broken
    assert len(ours) > len(broken & {link for _, _, link, _ in ours})  # some of the others are wrong, and it shows
