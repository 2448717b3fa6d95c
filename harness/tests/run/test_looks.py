"""How long the player of vectors looks at a node that is silent at many of them, and what it says when its time is over."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace

import pytest

from zenoh_conformance.judging.verdict import Verdict
from zenoh_conformance.messages import Declare, Frame
from zenoh_harness.reference import Reference
from zenoh_harness.reference.memory import MemoryScene
from zenoh_harness.run.attempt.scenes import Overtime
from zenoh_harness.run.vectors.answers import VectorAnswer
from zenoh_harness.run.vectors.carriers import carriers_at
from zenoh_harness.run.vectors.codec_run import golden
from zenoh_harness.run.vectors.effects import SILENCE
from zenoh_harness.run.vectors.looks import Looks
from zenoh_harness.run.vectors.play import Player

BEGIN = ("d-token/", "d-keyexpr/", "d-subscriber/", "del/")
SOME = [one for one in golden() if one.core and one.id.startswith(BEGIN)]
WRONG = VectorAnswer(Verdict.FAIL, f"refused: {SILENCE}")
RIGHT = VectorAnswer(Verdict.PASS)


class TakesTheFrame(Reference):
    """Passes over what stands behind a DECLARE in its FRAME."""

    def on_session(self, link, message):
        if isinstance(message, Frame):
            kinds = [type(one) for one in message.messages]
            message = replace(
                message, messages=message.messages[: kinds.index(Declare) + 1 if Declare in kinds else None]
            )
        super().on_session(link, message)


class Played:
    """The player, with the seconds that its scenes took by the simulated clock."""

    def __init__(self, node, most=float("inf")):
        self.seconds, self.most, self.node = 0.0, most, node
        self.player = Player(self.scene, routes=True, rows=carriers_at("full"), few=2)

    @contextmanager
    def scene(self, number):
        if self.seconds > self.most:
            raise Overtime
        scene = MemoryScene("", self.node, seed=number)
        try:
            yield scene
        finally:
            self.seconds += scene.world.now

    def red(self):
        answers = self.player.play(SOME, golden())
        return {one.id: answer.cause for one, answer in answers if answer.verdict.is_wrong}


def test_a_node_that_is_silent_at_many_vectors_is_looked_at_in_time():
    """Over a socket each of thirteen took ten seconds, and the run ended before one of them was reported."""
    played = Played(TakesTheFrame)
    red = played.red()
    assert len(red) > 4 and set(red.values()) == {"refused: silence (only in one FRAME with others)"}
    assert played.seconds < 4 * len(red)


def test_what_is_red_in_a_carrier_when_the_time_is_over_is_reported():
    whole, part = Played(TakesTheFrame), Played(TakesTheFrame, most=8)
    assert 0 < len(part.red()) < len(whole.red())


@pytest.mark.parametrize("silent", [False, True])
@pytest.mark.parametrize("again", [WRONG, RIGHT])
def test_a_first_look_is_brief_after_a_silence_that_was_confirmed(silent, again):
    looks, brief = Looks(silent=silent), []

    def play():
        brief.append(looks.brief)
        return [WRONG if len(brief) == 1 else again]

    answer = looks.confirm(looks.at_first(play)[0], play)
    assert brief == [silent, False]
    assert answer.verdict is (again.verdict if silent or again is WRONG else Verdict.NOT_OBSERVED)
    assert looks.silent == (silent or again is WRONG)


def test_no_brief_look_loses_a_fence():
    looks = Looks(silent=True)

    def play():
        looks.note_missing(None, "ResponseFinal")
        return [WRONG]

    looks.at_first(play)
    assert looks.awaited == ""
    looks.again(lambda: [RIGHT])
    assert looks.lost == []
