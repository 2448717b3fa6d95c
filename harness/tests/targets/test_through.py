"""Nodes behind a changing tap: the real router with one fault each, and the right requirement that notices it."""

import pytest
from through_scripts import convicted, silent

from zenoh_conformance.judging.verdict import Judgement, Key, Verdict
from zenoh_conformance.reading.conversation import Happened, Side
from zenoh_harness import cli
from zenoh_harness.errors import UsageError
from zenoh_harness.files import results
from zenoh_harness.links.opening import connect
from zenoh_harness.links.timing import Deadline
from zenoh_harness.programs import processes
from zenoh_harness.run.store.embargo import guarded, under_embargo
from zenoh_harness.targets.reach import add_options, parse
from zenoh_harness.targets.target import open_target

WHEEL = "wheel:1.10.2"
KEY = Key(
    target="zenoh-rust through drop:close", version="1.10.2", role="responder", profile="default", link="tcp",
    requirement="close/close-ends-the-link", check="a/b", parameters=(),
)  # fmt: skip

FAULTS = [
    (
        "set:init.version=8",
        "establishment-sane/a-sane-proposal-is-answered",
        "session-establishment/init-version-current",
    ),
    (
        "double:init",
        "establishment-sane/a-sane-proposal-is-answered",
        "session-establishment/handshake-messages-in-order",
    ),
    ("drop:close", "establishment-init/an-unknown-version-is-closed", "session-establishment/refused-version-closes"),
    ("set:open.initial_sn=7", "establishment-sane/a-session-does-work", "session-establishment/initial-sn-own-start"),
    ("drop:response_final", "establishment-sane/a-session-does-work", "reply/final-always-comes"),
]
MORE = [
    ("set:init.batch_size=0xffff", "establishment-fields/without-size-batches-are-large",
     "session-establishment/batch-size-default"),
    ("drop:init.exts.qos", "establishment-sane/every-role-is-accepted", "session-establishment/qos-needs-both"),
    ("set:init.packed=0x34", "establishment-sane/a-sane-proposal-is-answered", "session-establishment/init-packed-reserved"),
    ("set:init.resolution=0xfa", "establishment-sane/a-sane-proposal-is-answered", "session-establishment/resolution-reserved-zero"),
    ("set:init.resolution=10", "establishment-init/no-resolution-is-raised", "session-establishment/resolution-not-raised"),
    ("set:init.packed=0x31", "settled-terms/it-shows-the-role-that-it-has", "session-establishment/init-whatami"),
    ("set:init.cookie=0x00", "establishment-sane/a-sane-handshake-is-accepted", "session-establishment/open-ack-answers-open-syn"),
    ("double:open", "establishment-sane/a-sane-handshake-is-accepted", "session-establishment/handshake-messages-in-order"),
    ("set:close.reason=0", "establishment-init/an-unknown-version-is-unsupported",
     "session-establishment/unknown-version-is-unsupported"),
    ("set:close.reason=0", "close/malformed-is-invalid", "close/malformed-is-invalid"),
    ("set:close.reason=1", "establishment-init/its-own-zid-is-refused", "close/own-zid-is-connection-to-self"),
    ("set:close.reason=5", "establishment-init/an-unknown-version-is-closed", "close/expired-lease-is-expired"),
    ("drop:keep_alive", "settled-terms/a-stated-lease-is-kept", "keep-alive/something-every-quarter-lease"),
    ("delay:3:keep_alive", "settled-terms/a-stated-lease-is-kept", "keep-alive/something-every-quarter-lease"),
    ("double:frame@1", "settled-terms/numbers-wrap-where-it-was-settled", "batching/sn-within-resolution"),
    ("reorder:frame@1-2", "establishment-sane/a-session-does-work", "reply/final-always-comes"),
]  # fmt: skip


HARMLESS = {Verdict.PASS, Verdict.KNOWN, Verdict.NOT_OBSERVED, Verdict.NOT_APPLICABLE}


def run(folder, target, only):
    code = cli.invoke(["run", target, "--only", only, "--depth", "quick", "--budget", "none", "--out", str(folder)])
    assert not processes.running()
    return code, results.read(folder)


@pytest.mark.parametrize(
    ("rule", "only", "requirement"), [*FAULTS, *(pytest.param(*fault, marks=pytest.mark.soak) for fault in MORE)]
)
def test_a_fault_made_of_the_real_router_is_noticed(tmp_path, rule, only, requirement):
    code, found = run(tmp_path / "r", f"{WHEEL}?through={rule}", only)
    assert code == 1
    assert found.header.name == f"zenoh-rust through {rule}"
    assert requirement in {one.key.requirement for one in found.judgements if one.verdict is Verdict.FAIL}


def test_one_that_never_answers_open_syn_is_judged(tmp_path):
    """It says InitAck: whatever speaks Zenoh is judged, and what is ill from the start is said once."""
    only = "establishment-sane/a-*"
    code, found = run(tmp_path / "r", f"{WHEEL}?role=router&as=responder&through=drop:open", only)
    assert code == 1
    red = {
        one.key.check
        for one in found.judgements
        if one.verdict is Verdict.FAIL and not one.key.check.startswith("law/")
    }
    assert red == {"establishment-sane/a-sane-handshake-is-accepted"}
    [health] = [one for one in found.judgements if one.key.check == "target/stays-up"]
    assert health.verdict is Verdict.NOT_OBSERVED
    assert "a-sane-handshake-is-accepted judges that" in health.cause


def test_one_without_final_answers_is_red_for_that_alone(tmp_path):
    """Fenced by an interest; its health is not looked for by a query either."""
    target = f"{WHEEL}?role=router&as=responder&through=drop:response_final"
    code, found = run(tmp_path / "r", target, "routing-plain/*")
    assert code == 1
    red = {one.key.requirement for one in found.judgements if one.verdict not in HARMLESS}
    assert red == {"reply/final-always-comes"}


def test_a_script_of_such_a_fault_convicts_it_and_not_the_router_itself(tmp_path):
    said = convicted(tmp_path, WHEEL, FAULTS[:1])
    assert said
    assert set(said.values()) == {(1, 0)}


@pytest.mark.soak
def test_of_all_such_scripts_nineteen_in_twenty_convict_and_none_accuses_the_router_itself(tmp_path):
    said = convicted(tmp_path, WHEEL, [*FAULTS, *MORE])
    assert len(silent(said)) <= len(said) / 20


@pytest.mark.parametrize("rule", ["double:oam", "throttle:20000", "delay:0.05:open"])
def test_what_changes_nothing_that_matters_is_no_fault(tmp_path, rule):
    code, _ = run(
        tmp_path / "r", f"reference?role=router&as=responder&through={rule}", "establishment-sane/a-session-does-work"
    )
    assert code == 0


def test_one_that_comes_to_us_is_changed_too(tmp_path):
    target = "reference?role=client&through=set:init.version=8"
    code, found = run(tmp_path / "r", target, "initiator-init-ack/a-refusal-is-taken")
    assert code == 1
    assert "session-establishment/init-version-current" in {
        one.key.requirement for one in found.judgements if one.verdict is Verdict.FAIL
    }


@pytest.mark.parametrize(
    ("role", "rule", "only", "broken"),
    [
        (
            "router&as=responder",
            "set:open.initial_sn=7",
            "establishment-sane/a-session-does-work",
            "initial-sn-own-start",
        ),
        ("client", "set:init.version=8", "initiator-init-ack/a-refusal-is-taken", "init-version-current"),
    ],
)
def test_a_node_is_changed_over_tls(tmp_path, role, rule, only, broken):
    code, found = run(tmp_path / "r", f"reference?link=tls&role={role}&through={rule}", only)
    assert code == 1
    assert f"session-establishment/{broken}" in {
        one.key.requirement for one in found.judgements if one.verdict is Verdict.FAIL
    }


def test_a_node_behind_a_tap_is_ended_with_it():
    with open_target(parse("reference?role=router&through=drop:close")).start() as node:
        with connect(node.locator, Deadline.after(5)) as link:
            link.finish()
            ended = link.receive(Deadline.after(5))
            assert ended is not None
            assert ended.what in (Happened.EOF, Happened.RESET)
        assert node.side is Side.RESPONDER
        where = node.locator
    with pytest.raises(Exception, match="cannot open a link"):
        connect(where, Deadline.after(1))


def test_a_rule_that_cannot_be_read_is_a_usage_error():
    with pytest.raises(UsageError, match="dorp"):
        parse(f"{WHEEL}?through=dorp:frame")
    with pytest.raises(UsageError, match="through"):
        parse("stdio:./codec?through=drop:frame")
    assert add_options(parse(WHEEL), "through=drop:push@25%").options["through"] == "drop:push@25%"
    assert parse(str(parse(f"{WHEEL}?through=set:close.reason@2=0"))).options["through"] == "set:close.reason@2=0"


@pytest.mark.parametrize(("verdict", "kept"), [("crash", True), ("panic", True), ("hang", False), ("zombie", False)])
def test_silence_that_a_tap_may_have_made_is_no_secret(verdict, kept):
    died = Judgement(key=KEY, level="MUST", verdict=Verdict(verdict), cause="it dies")
    assert guarded(open_target(parse(f"{WHEEL}?through=drop:close")))
    assert under_embargo(died, guarded=True, public=False, changed=True) is kept
