"""What a target never says is waited for with whole patience a few times, and briefly after that."""

import pytest

from zenoh_conformance.judging.finding import Deviation
from zenoh_conformance.reading.kinds import OpenAck
from zenoh_conformance.talking.silences import BRIEF, IN_VAIN, Silences
from zenoh_harness.reference import Reference
from zenoh_harness.reference.memory import MemoryScene


@pytest.mark.parametrize("came", [False, True])
def test_patience_ends_after_a_few_waits_in_vain_unless_it_ever_came(came):
    silences = Silences()
    if came:
        silences.note("Push", came=True)
    waits = []
    for _ in range(IN_VAIN + 2):
        waits.append(silences.patience(2.0, "Push"))
        silences.note("Push", came=False)
    brief = 2.0 if came else 2.0 * BRIEF
    assert waits == [2.0] * IN_VAIN + [brief] * 2
    assert silences.patience(2.0, "DFinal") == 2.0


def test_a_dialogue_notes_what_it_waited_for():
    scene, silences = MemoryScene("a/b", Reference), Silences()
    for number in range(IN_VAIN + 1):
        us = scene.dialogue()
        us.silences = silences
        us.open()
        began = us.wire.now()
        with pytest.raises(Deviation):
            us.expect(OpenAck, step="a second OpenAck")
        waited = us.wire.now() - began
        assert waited == pytest.approx(us.unit if number < IN_VAIN or "OpenAck" in silences.came else us.unit * BRIEF)
    assert "OpenAck" in silences.came
    assert silences.in_vain["OpenAck"] == IN_VAIN + 1
