"""Pairs of which one node has no application that anybody can reach: said so, and what is on the link is judged."""

import sys
from pathlib import Path

import pytest

from zenoh_conformance.judging.verdict import Verdict
from zenoh_harness.cli import invoke
from zenoh_harness.files import results

COMES = f"exec:{sys.executable} {Path(__file__).parents[1] / 'habitual_node.py'} exits {{host}} {{port}}?name=comes"
PASSES_NOTHING = "variant:passes-nothing-on?role=peer&as=responder"
FAULTY = "faulty:sets-reserved-role-bits?as=initiator"


def interop(tmp_path, capsys, *targets):
    code = invoke(["interop", *targets, "--only", "a-delete-arrives-as-one", "--out", str(tmp_path / "out")])
    return code, results.read(tmp_path / "out").judgements, capsys.readouterr().err


@pytest.mark.parametrize(
    ("targets", "why"),
    [
        ((PASSES_NOTHING, "wheel"), "the responder has no application of its own, and passes nothing on"),
        (("wheel", COMES), "the initiator has no application of its own, and none can reach it"),
    ],
    ids=["listens", "connects"],
)
def test_what_both_say_on_the_link_is_judged(tmp_path, capsys, targets, why):
    code, judgements, told = interop(tmp_path, capsys, *targets)
    assert code == 0
    assert why in " ".join(told.split())
    scenarios = [one for one in judgements if one.key.check.startswith("interop/")]
    assert {one.verdict for one in scenarios} == {Verdict.UNIMPLEMENTED}
    assert all(one.cause.startswith(why) for one in scenarios)
    laws = {(one.key.role, one.key.check) for one in judgements if one.verdict is Verdict.PASS}
    assert {role for role, _ in laws} == {"responder", "initiator"}
    assert len(laws) > 30


def test_a_fault_on_the_link_is_red(tmp_path, capsys):
    code, judgements, _ = interop(tmp_path, capsys, "wheel", FAULTY)
    assert code == 1
    assert {one.key.check for one in judgements if one.verdict is Verdict.FAIL} == {"law/init-packed-reserved"}
