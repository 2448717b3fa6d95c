"""The same node two ways: what the wheel is judged to be, the container is judged to be."""

import pytest

from zenoh_conformance.verdict import Verdict
from zenoh_harness.cli import invoke
from zenoh_harness.files import results

pytestmark = pytest.mark.needs("docker")

CHECKS = "establishment-cookie/*"
JUDGED = {Verdict.PASS, Verdict.WARN, Verdict.FAIL, Verdict.KNOWN, Verdict.CRASH, Verdict.ZOMBIE, Verdict.HANG}
"""Verdicts that speak of the node; `slow` and `flaky` speak of the machine, and the laws of what they happened to meet."""


def judged(reach, out):
    """(role, profile, requirement, check, parameters) to verdict and cause, of what was judged by a case."""
    assert invoke(["run", reach, "--only", CHECKS, "--depth", "quick", "--out", str(out), "-q"]) in (0, 1)
    told = {}
    for one in results.read(out / "results.jsonl").judgements:
        key = one.key
        if one.verdict in JUDGED and not key.check.startswith("law/"):
            told[key.role, key.profile, key.requirement, key.check, key.parameters] = (one.verdict, one.cause)
    return told


def test_the_wheel_and_the_container_get_the_same_verdicts(zenohd_image, tmp_path):
    version = zenohd_image.partition(":")[2]
    wheel = judged(f"wheel:{version}", tmp_path / "wheel")
    container = judged(f"docker:{zenohd_image}", tmp_path / "container")
    assert wheel.keys() == container.keys()
    assert len(wheel) > 3
    assert {key: (wheel[key], container[key]) for key in wheel if wheel[key] != container[key]} == {}
