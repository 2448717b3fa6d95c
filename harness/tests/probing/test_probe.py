"""The probe: what it sees of zenoh-rust, in which profile, and of a node that does little."""

import json
import shlex
import signal
import subprocess
import sys
from importlib.resources import files
from pathlib import Path

import psutil
import pytest
from jsonschema import Draft202012Validator

from zenoh_conformance.reading.conversation import Side
from zenoh_harness.cli import invoke
from zenoh_harness.files import probes, results
from zenoh_harness.files.faults import FileFault
from zenoh_harness.links.timing import Deadline
from zenoh_harness.probing.probe import ProbeFacts, missing_claims, probe, probe_twice
from zenoh_harness.targets.catalogue import Catalogue

NODE = Path(__file__).parents[1] / "misbehaving_node.py"
WHEEL = "wheel:1.10.2"


def seen(reach, profile="default", **options):
    with Catalogue.load().open(reach).start(profile) as node:
        return probe(node, **options)


def test_facts_of_the_router():
    facts = seen(WHEEL)
    assert facts.capabilities == {"qos", "patch", "routing", "timestamping", "agent"}
    assert facts.seen["protocol version"] == 9
    assert facts.seen["versions"] == {"8": "Close(INVALID)", "9": "accepted", "10": "Close(INVALID)"}
    assert (facts.seen["lease ms"], facts.seen["zid"], facts.seen["role"]) == (10_000, "7a726566", "router")
    assert facts.seen["key of bytes passes"] >= 8192
    assert facts.seen["payload of bytes passes in one batch"] >= 32768
    assert facts.seen["payload of bytes passes in fragments"] == 1_000_000
    assert facts.seen["handshakes per second"] > 10
    assert facts.seen["queries per second"] > 10


@pytest.mark.parametrize(
    ("profile", "capability"),
    [
        ("low-latency", "low-latency"),
        ("compression", "compression"),
        ("two-links", "multilink"),
        ("user-password", "auth"),
        ("resolution-8", "resolution-8"),
        ("resolution-16", "resolution-16"),
        ("small-batch", "small-batch"),
        ("short-lease", "short-lease"),
        ("one-session", "one-session"),
    ],
)
def test_each_profile_shows_its_capability_and_the_default_does_not(profile, capability, default_facts):
    assert capability in seen(WHEEL, profile, rates=False).capabilities
    assert capability not in default_facts.capabilities


@pytest.fixture(scope="module")
def default_facts():
    return seen(WHEEL, rates=False)


def test_qos_off_has_no_qos(default_facts):
    assert "qos" in default_facts.capabilities
    assert "qos" not in seen(WHEEL, "qos-off", rates=False).capabilities


@pytest.mark.parametrize("role", ["client", "peer"])
def test_what_a_node_proposes(role):
    facts = seen(f"{WHEEL}?role={role}")
    assert facts.seen["role"] == role
    assert {"qos", "patch"} <= facts.capabilities
    assert facts.seen["queries"] == "finished"


@pytest.mark.parametrize(
    ("profile", "capability"),
    [
        ("low-latency", "low-latency"),
        ("compression", "compression"),
        ("user-password", "auth"),
        ("two-links", "multilink"),
    ],
)
def test_what_a_node_proposes_in_a_profile(profile, capability):
    assert capability in seen(f"{WHEEL}?role=client", profile).capabilities


def test_a_claim_that_is_not_seen_is_missing():
    facts = ProbeFacts("default", {}, {"qos"})
    claims = ["qos", "patch", "low-latency", "agent"]
    assert missing_claims(claims, Side.RESPONDER, {"default": facts}) == ["patch"]
    assert missing_claims(claims, Side.RESPONDER, {"default": facts, "low-latency": facts}) == ["low-latency", "patch"]


def test_two_looks_are_told_as_one():
    first = ProbeFacts("default", {"role": "router", "lease ms": 10}, {"qos"})
    second = ProbeFacts("default", {"role": "peer", "batch size": 9}, {"patch"})
    both = probe_twice(first, {"qos", "patch"}, lambda: second)
    assert both == ProbeFacts("default", {"role": "router", "lease ms": 10, "batch size": 9}, {"qos", "patch"})
    assert probe_twice(first, {"qos"}, lambda: 1 / 0) is first


def test_the_document_is_what_the_schema_says_and_is_read_back(tmp_path, capsys):
    out = tmp_path / "probe.json"
    arguments = ["probe", WHEEL, "--profile", "default", "--no-rates", "--format", "json", "--out", str(out)]
    assert invoke(arguments) == 0
    document = json.loads(capsys.readouterr().out)
    schema = json.loads((files("zenoh_harness") / "files" / "schemas" / "probe.schema.json").read_text())
    Draft202012Validator(schema).validate(document)
    assert probes.read(out).to_json() == document


@pytest.mark.parametrize("text", ["", "[]", '{"probe": 2}', '{"probe": 1}'])
def test_what_is_no_probe_result(tmp_path, text):
    (tmp_path / "p.json").write_text(text)
    with pytest.raises(FileFault):
        probes.read(tmp_path / "p.json")


def test_a_claim_too_much_is_exit_1(tmp_path, monkeypatch, capsys):
    text = f'[targets.boaster]\nreach = "{WHEEL}"\nclaims = ["low-latency"]\nprofiles = {{ low-latency = "{WHEEL}" }}\n'
    (tmp_path / "zconform.toml").write_text(text)
    monkeypatch.chdir(tmp_path)
    assert invoke(["probe", "boaster", "--no-rates", "--profile", "default", "--profile", "low-latency"]) == 1
    assert "claimed but not seen: low-latency" in capsys.readouterr().out


def test_what_is_claimed_and_never_shows_is_a_fail(tmp_path, monkeypatch):
    """A router without lanes whose file says that it has them: no look sees any."""
    (tmp_path / "zconform.toml").write_text('[targets.boaster]\nreach = "variant:no-lanes"\nclaims = ["qos"]\n')
    monkeypatch.chdir(tmp_path)
    check = "congestion/what-may-be-dropped-comes-in-order"
    assert invoke(["run", "boaster", "--only", check, "--depth", "quick", "--out", "out", "-q"]) == 1
    told = {
        (one.verdict.value, one.cause) for one in results.read(tmp_path / "out").judgements if one.key.check == check
    }
    assert told == {("fail", "the target's own file claims qos, and two looks did not see it do so")}


def test_a_pinned_profile_is_the_one_that_is_probed(capsys):
    assert invoke(["probe", f"{WHEEL}?profile=qos-off", "--no-rates", "--format", "json"]) == 0
    assert list(json.loads(capsys.readouterr().out)["profiles"]) == ["qos-off"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_probe_leaves_nothing(number):
    command = [sys.executable, "-m", "zenoh_harness.cli", "probe", WHEEL]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True) as popen:
        us = psutil.Process(popen.pid)
        deadline = Deadline.after(20)
        while len(below := us.children(recursive=True)) < 2:
            assert not deadline.passed
            assert popen.poll() is None
        popen.send_signal(number)
        _, text = popen.communicate()
    assert popen.returncode == 3
    assert b"interrupted" in text
    assert not psutil.wait_procs(below, 10)[1]


def test_a_node_that_only_shakes_hands():
    command = shlex.join([sys.executable, str(NODE), "works-never"])
    facts = seen(f"exec:{command} {{port}}", rates=False)
    assert facts.seen["protocol version"] == 9
    assert "low-latency" not in facts.capabilities
