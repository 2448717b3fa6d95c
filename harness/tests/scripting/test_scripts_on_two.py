"""What every case says to a responder, as a script, said to the reference and to zenoh-rust: both answer alike."""

import pytest

from zenoh_conformance.cases.case import all_cases
from zenoh_conformance.reading.conversation import Side
from zenoh_harness.files import scripts
from zenoh_harness.reference.memory import MemoryScene
from zenoh_harness.run.attempt.attempt import Conditions, attempt
from zenoh_harness.run.plan.plan import Item
from zenoh_harness.scripting.binder import case_of
from zenoh_harness.scripting.free import differences
from zenoh_harness.scripting.recorder import record
from zenoh_harness.targets import target
from zenoh_harness.targets.reach import parse

pytestmark = pytest.mark.long

PART = {
    "establishment-batches/keep-alives-behind-a-proposal-are-answered-or-closed": "one answers, the other closes",
    "establishment-cookie/a-longer-cookie-is-refused": "known: zenoh-rust takes it",
    "establishment-fields/without-size-batches-are-large": "the reference takes batches of 65535 bytes, zenoh-rust of 49152",
    "establishment-init/an-unknown-version-is-closed": "known: zenoh-rust says INVALID",
    "establishment-init/an-unknown-version-is-unsupported": "known: zenoh-rust says INVALID",
    "establishment-init/the-smaller-batch-size-counts": "zenoh-rust adds a timestamp, so that it cuts elsewhere",
    "establishment-open/an-initial-number-past-the-edge-is-refused": "known: zenoh-rust takes it",
    "establishment-states/a-handshake-message-opens-nothing-in-a-session": "zenoh-rust ends a session without CLOSE",
    "establishment-states/a-node-comes-back-after-every-end": "zenoh-rust answers a CLOSE with one of its own",
    "establishment-states/close-ends-the-link-in-every-state": "zenoh-rust answers a CLOSE with one of its own",
}
"""Where the two part, and why that is so."""


def comparable(case):
    """Whether it is done in memory and soon over: what waits or needs an application is another matter."""
    return (
        case.role is Side.RESPONDER and case.profile == "default" and not case.timed and not set(case.needs) - {"qos"}
    )


CASES = [case for case in all_cases().values() if comparable(case)]


@pytest.fixture(scope="module")
def nodes():
    ours, theirs = (target.open_target(parse(reach)) for reach in ("reference?role=router", "wheel:1.10.2"))
    with ours.start() as one, theirs.start() as other:
        yield one, other


def script_of(case):
    scene = MemoryScene(case.requirement)
    case.run(scene, case.parameters[0])
    return case_of(scripts.parse(scripts.text(record(scene.conversation))), f"scripts/{case.id.replace('/', '-')}")


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_the_reference_and_zenoh_rust_answer_alike(case, nodes):
    item = Item(script_of(case), {})
    one, other = (attempt(item, Conditions(node=node)).conversation for node in nodes)
    assert bool(differences(one, other)) == (case.id in PART), differences(one, other)
