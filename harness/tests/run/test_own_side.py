"""Our own side is judged too: what we break and did not mean to break is an error of ours, and red in a test."""

from __future__ import annotations

from fnmatch import filter as fnfilter
from fnmatch import fnmatchcase

import pytest
from on_the_reference import OnReference

from zenoh_conformance.cases.case import Case, all_cases
from zenoh_conformance.judging.engine import Judged, judge
from zenoh_conformance.judging.law import all_laws
from zenoh_conformance.judging.own_side import ANY, OwnFault, own_faults
from zenoh_conformance.judging.verdict import Verdict
from zenoh_conformance.messages import Init, Push, Put
from zenoh_conformance.models.modelled import judged
from zenoh_conformance.primitives import WireExpr
from zenoh_conformance.reading.conversation import Conversation, Event, Happened, Side
from zenoh_conformance.reading.kinds import InitSyn
from zenoh_conformance.talking.scene import Scene
from zenoh_harness.reference import Reference
from zenoh_harness.reference.link import Link
from zenoh_harness.reference.memory import MemoryScene
from zenoh_harness.run.attempt.attempt import Conditions, Went, attempt
from zenoh_harness.run.judge.decide import decide
from zenoh_harness.run.plan.plan import Item
from zenoh_harness.scripting.shipped import script_cases
from zenoh_harness.targets.reach import parse
from zenoh_harness.targets.target import open_target
from zenoh_harness.variants.table import in_memory

ON_OTHERS = {
    ("initiator-extensions/odd-extensions-of-open-ack-are-believed-or-refused", "law/batch-size-is-receive-limit"),
    ("initiator-extensions/a-mode-that-was-not-offered-is-not-used", "law/qos-answered-in-kind"),
    ("initiator-extensions/a-mode-that-was-not-offered-is-not-used", "law/qos-needs-both"),
    ("initiator-extensions/odd-extensions-of-init-ack-are-followed-or-refused", "law/qos-needs-both"),
    ("initiator-extensions/an-unknown-mandatory-extension-of-open-ack-is-refused", "law/lease-proposed-by-both"),
    ("initiator-extensions/an-unknown-mandatory-extension-of-open-ack-is-refused", "law/no-data-before-open"),
    ("initiator-fields/an-open-ack-that-is-cut-is-refused", "law/lease-proposed-by-both"),
    ("initiator-fields/an-open-ack-that-is-cut-is-refused", "law/no-data-before-open"),
    ("initiator-open-ack/nothing-but-open-ack-activates", "law/lease-proposed-by-both"),
    ("initiator-open-ack/nothing-but-open-ack-activates", "law/no-data-before-open"),
}
"""
What a case breaks on other nodes only: on those of small batches, that offer no lanes, that offer them for a link, or that wait for
another answer.
"""

LANES = "law/frame-carries-priority"


def a_slip(scene: Scene) -> None:
    """A publication in a lane that is not its own."""
    us = scene.session()
    us.send(us.frame(Push(key=WireExpr(suffix="k", mapping=True), body=Put(payload=b"")), priority=1))
    us.expect_live()


def slip(*breaks: str) -> Case:
    return Case(id="own/a-slip", requirement="target/habits", function=a_slip, about="A slip.", breaks=breaks)


def said(case: Case) -> tuple[list[Judged], Conversation]:
    scene = MemoryScene(case.requirement, Reference, role=case.role, profile=case.profile)
    case.run(scene, {})
    return judge(scene.conversation), scene.conversation


pytestmark = pytest.mark.long(15)


@pytest.fixture
def broken(on_the_reference: OnReference) -> dict[str, dict[str, str]]:
    """Case to the laws that our own side breaks in it, with all its values, on the reference; the first cause of each."""
    return on_the_reference.ours


def test_we_break_nothing_but_what_a_case_declares(broken: dict[str, dict[str, str]]) -> None:
    undeclared = {
        name: [
            text for law, text in laws.items() if not any(fnmatchcase(law, glob) for glob in all_cases()[name].breaks)
        ]
        for name, laws in broken.items()
    }
    assert {name: texts for name, texts in undeclared.items() if texts} == {}


def test_what_a_case_declares_it_breaks(broken: dict[str, dict[str, str]]) -> None:
    stale = {
        case.id: [
            law for law in case.breaks if not fnfilter(broken.get(case.id, {}), law) and (case.id, law) not in ON_OTHERS
        ]
        for case in in_memory()
    }
    assert {name: laws for name, laws in stale.items() if laws} == {}


def test_what_is_declared_is_a_law() -> None:
    assert all(fnfilter(all_laws(), law) for case in all_cases().values() for law in case.breaks)


def test_a_script_says_what_is_written() -> None:
    assert {case.breaks for case in script_cases()} == {ANY}


def test_a_slip_of_ours_is_told_with_its_law_unless_it_is_meant() -> None:
    every, conversation = said(slip())
    [text] = own_faults(conversation, every, Side.INITIATOR, ())
    assert text.startswith(f"we broke {LANES}, and did not mean to: frame.exts.qos")
    assert (
        [*own_faults(conversation, every, Side.INITIATOR, (LANES,))]
        == [*own_faults(conversation, every, Side.INITIATOR, ANY)]
        == []
    )


def test_what_only_should_be_we_may_leave() -> None:
    every, conversation = said(slip())
    assert any(one.law.id == "law/publications-are-stamped" and one.findings for one in every)
    assert not any("stamped" in text for text in own_faults(conversation, every, Side.INITIATOR, ()))


def test_where_the_target_broke_something_it_may_have_led_us_there() -> None:
    every, conversation = said(slip())
    assert [*own_faults(conversation, every, Side.RESPONDER, ())] == []
    [mine] = [one for one in every if one.law.id == LANES and one.findings]
    theirs = Judged(mine.law, Side.RESPONDER, 1, mine.findings)
    assert [*own_faults(conversation, [*every, theirs], Side.INITIATOR, ())] == []


def test_after_what_nobody_can_read_we_are_not_judged() -> None:
    """An OPEN that no law can read proposes no lease; a target that takes it goes on, and so do we."""
    every, conversation = said(slip())
    whole = all_laws()["law/open-is-whole"]
    [mine] = [finding for one in every if one.law.id == LANES for finding in one.findings]
    unread = Judged(whole, Side.INITIATOR, 1, [mine])
    assert [*own_faults(conversation, [*every, unread], Side.INITIATOR, (whole.id,))] == []
    assert len([*own_faults(conversation, [*every, unread], Side.INITIATOR, ())]) == 2


def test_a_slip_of_ours_is_an_error_and_no_verdict_on_the_target() -> None:
    with open_target(parse("reference")).start() as node:
        slipped = attempt(Item(slip(), {}), Conditions(node=node))
        meant = attempt(Item(slip(LANES), {}), Conditions(node=node))
    assert (slipped.went, decide(slipped.item, [slipped]).verdict) == (Went.BROKE, Verdict.ERROR)
    assert slipped.cause.startswith(f"we broke {LANES}")
    assert (meant.went, decide(meant.item, [meant]).verdict) == (Went.HELD, Verdict.PASS)


def test_a_slip_in_a_model_is_one_too() -> None:
    scene = MemoryScene("target/habits", Reference)
    a_slip(scene)
    with pytest.raises(OwnFault, match=LANES):
        judged(scene, Side.RESPONDER, frozenset())
    judged(scene, Side.RESPONDER, frozenset(), (LANES,))


def test_how_a_link_ends_that_a_case_leaves_open_is_no_slip() -> None:
    leaves = Case(
        id="own/leaves", requirement="target/habits", about="Leaves.", role=Side.INITIATOR,
        function=lambda scene: scene.dialogue().expect(InitSyn),
    )  # fmt: skip
    with open_target(parse("reference?role=client")).start() as node:
        assert attempt(Item(leaves, {}), Conditions(node=node)).held


def test_what_we_say_on_a_link_that_has_ended_is_no_slip() -> None:
    every, conversation = said(slip())
    [mine] = [finding for one in every if one.law.id == LANES for finding in one.findings]
    end = Event(mine.time, mine.connection, Side.RESPONDER, Happened.RESET)
    at = next(index for index, event in enumerate(conversation.events) if event is mine.event)
    conversation.events.insert(at, end)
    assert [*own_faults(conversation, every, Side.INITIATOR, ())] == []


DRAWN = {
    "init": "01c210c9bd2de344ed579d3006f09112",
    "open": "02bfd989be9e448a29019d9f436b54c9",
    "close": "63ea0c061a8edf4f0c68f562cc4ae557",
    "frame": "451a6b332d8787db93d0e6533ecfa6cf",
    "open-ack": "226ec16a81fc47031de33f76b4c54401",
    "join": "0743152c5145048be0e58aa40b4b3ba0",
}
"""Cookies whose bytes read as messages; of a thousand drawn ones sixty do."""


@pytest.mark.parametrize("length", [0, 1])
@pytest.mark.parametrize("drawn", DRAWN)
def test_what_a_target_drew_is_no_slip_of_ours(drawn: str, length: int) -> None:
    """Behind a length that lies stands what the target drew: it may read as anything, and nobody is judged by it."""

    class Draws(Reference):
        """Its cookie is no surprise here."""

        def make_cookie(self, link: Link, syn: Init) -> bytes:
            return bytes(length) + bytes.fromhex(DRAWN[drawn])

    case = all_cases()["establishment-cookie/a-cookie-length-that-lies-is-refused"]
    scene = MemoryScene(case.requirement, Draws, profile=case.profile)
    case.run(scene, {"length": length})

    every = judge(scene.conversation)
    assert list(own_faults(scene.conversation, every, Side.INITIATOR, case.breaks)) == []
    assert [one.law.id for one in every if one.findings and one.sender is Side.RESPONDER] == []
    meant = ("law/cookie-echo", "law/open-is-whole", "law/open-syn-answers-init-ack")
    assert list(own_faults(scene.conversation, every, Side.INITIATOR, meant)) != []
