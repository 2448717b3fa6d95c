"""The same node two ways: what the wheel is judged to be, the container is judged to be."""

import time

import pytest

from zenoh_conformance.cases.case import all_cases
from zenoh_conformance.judging.verdict import Verdict
from zenoh_harness.cli import invoke
from zenoh_harness.files import results
from zenoh_harness.run.report.compare import ChangeKind, changes, told

pytestmark = pytest.mark.needs("docker")

OF_THE_MACHINE = {Verdict.SLOW, Verdict.FLAKY}
"""Verdicts that speak of how busy the machine was."""


def judged(reach, out, capsys, *only):
    """A few parameters of each check."""
    began = time.monotonic()
    code = invoke(["run", reach, "--depth", "quick", *only, "--out", str(out)])
    said = capsys.readouterr().out
    assert code in (0, 1), said
    with capsys.disabled():
        print(f" [{reach}: {time.monotonic() - began:.0f} s]", end=" ")
    return results.read(out)


SHARED_MEMORY = "push-values/a-value-in-shared-memory-is-refused"
"""The wheel is built with shared memory, the router's program is not."""


def verdicts(change):
    return {side.verdict for side in (change.before, change.after) if side}


def wants_an_application(change):
    """A container has no agent: what only an application brings about is not judged there, nor met by a law."""
    unjudged = {Verdict.NOT_APPLICABLE, Verdict.NOT_OBSERVED, Verdict.UNIMPLEMENTED}
    check = change.key.check
    asks = check in all_cases() and any(need.startswith("agent") for need in all_cases()[check].needs)
    return (asks or check.startswith(("application/", "law/", "written/", "read/"))) and bool(
        verdicts(change) & unjudged
    )


@pytest.mark.soak
def test_the_wheel_and_the_container_get_the_same_verdicts(zenohd_image, tmp_path, capsys):
    assert len(same(zenohd_image, tmp_path, capsys)) > 500


def test_the_wheel_and_the_container_get_the_same_verdicts_in_some(zenohd_image, tmp_path, capsys):
    """The twin of the test above: a handshake, a route and a session."""
    some = (
        word
        for glob in ("establishment-cookie/*", "routing-plain/*", "session-fragments/*")
        for word in ("--only", glob)
    )
    assert len(same(zenohd_image, tmp_path, capsys, *some)) > 20


def same(image, folder, capsys, *only):
    """What is judged of the container, as of the wheel; but `zenohd` has its admin space, and so shows a law more of its own accord."""
    version = image.partition(":")[2]
    wheel = judged(f"wheel:{version}", folder / "wheel", capsys, *only)
    container = judged(f"docker:{image}", folder / "container", capsys, *only)

    parted = [
        (one.key.check, one.key.parameters, told(one.before), told(one.after))
        for one in changes(wheel, container)
        if one.way is not ChangeKind.FRESH
        and not verdicts(one) & OF_THE_MACHINE
        and not wants_an_application(one)
        and one.key.check != SHARED_MEMORY
    ]

    assert parted == []
    assert container.header.digest
    return container.judgements
