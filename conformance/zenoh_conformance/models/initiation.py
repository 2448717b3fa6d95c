"""The handshake as a Hypothesis state machine over the session table, toward an initiator: we answer.

Each run is a few links on which the target comes to us. We lead it to a drawn state, and there say what is due, or something
else; what it does is compared with the table. At the end every law judges the whole conversation.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule

from zenoh_conformance import sane
from zenoh_conformance.codec import segments
from zenoh_conformance.conversation import Side
from zenoh_conformance.dialogue import Dialogue
from zenoh_conformance.finding import Departed
from zenoh_conformance.kinds import InitSyn, OpenSyn
from zenoh_conformance.messages import Init
from zenoh_conformance.scene import Scene
from zenoh_conformance.session import Seen, State

from .strokes import STEPS, TRAFFIC, Modelled, broken, judged, odd, ordered

REQUIREMENT = "session-establishment/open-syn-answers-init-ack"
ROLE = Side.INITIATOR
EARLY = (State.INIT_SENT, State.OPEN_SENT)

WRONG: dict[State, tuple[Callable[[Dialogue, Init, int], Any], ...]] = {
    State.INIT_SENT: (
        lambda us, syn, value: segments(us.init_ack(syn, exts=())).join()[: 1 + value % 30],
        lambda us, syn, value: odd(us.init_ack(syn), value, mandatory=True),
        lambda us, syn, value: broken(us.init_ack(syn, exts=())),
        lambda us, syn, value: us.init_ack(syn, resolution=raised(syn, value)),
        lambda us, syn, value: segments(us.init_ack(syn)).replace("init.zid", bytes(len(us.zid))),
    ),
    State.OPEN_SENT: (
        lambda us, syn, value: segments(us.open_ack(initial_sn=0x0FFF_FFFF)).join()[: 1 + value % 5],
        lambda us, syn, value: odd(us.open_ack(), value, mandatory=True),
        lambda us, syn, value: broken(us.open_ack()),
    ),
}
"""Answers that must be refused."""


def raised(syn: Init, value: int) -> int:
    """A resolution above the proposal in one field."""
    proposed = sane.DEFAULT_RESOLUTION if syn.resolution is None else syn.resolution
    return proposed + (1 if value % 2 or proposed >> 2 & 3 == 3 else 4) if proposed & 3 < 3 else proposed | 0x0F


cookies = st.builds(
    lambda size, byte: bytes([byte]) * size, st.sampled_from([1, 16, 64, 65, 128, 255, 1000]), st.integers(0, 255)
)
"""Of lengths on both sides of what one might think a cookie can have."""


class Initiation(RuleBasedStateMachine):
    """Subclass it with a `stage`; see `machine`."""

    stage: ClassVar[Callable[[], Scene]]
    known: ClassVar[frozenset[str]] = frozenset()

    def __init__(self) -> None:
        super().__init__()
        self.scene = type(self).stage()
        self.count = 0

    @rule(lowered=st.integers(0, 15), batch=st.sampled_from([65535, 8192, 512]), sn=st.sampled_from([0, 1, 0x7F]),
          cookie=cookies)  # fmt: skip
    def answer(self, lowered: int, batch: int, sn: int, cookie: bytes) -> None:
        """We answer as we may, and the session works."""
        us, syn = self.led(State.INIT_SENT)
        proposed = sane.DEFAULT_RESOLUTION if syn.resolution is None else syn.resolution
        resolution = min(proposed & 3, lowered & 3) | min(proposed & 12, lowered & 12)
        back = us.ask(
            us.init_ack(syn, resolution=resolution, batch_size=batch, cookie=cookie), expect=OpenSyn, step="init-sent"
        )
        us.require(back.cookie == cookie, expected="the cookie issued", got="another cookie", step="open.cookie")
        us.initial_sn = sn
        us.send(us.open_ack())
        try:
            us.expect_live()
        except Departed:
            if us.closed is None:  # it may leave by CLOSE: it settles on one of several links
                raise
        us.wire.shut()

    @rule(state=st.sampled_from(EARLY), what=st.sampled_from(ordered(STEPS)))
    def answer_out_of_turn(self, state: State, what: Seen) -> None:
        """A step that is no answer is refused."""
        if what not in {State.INIT_SENT: (Seen.INIT_ACK,), State.OPEN_SENT: (Seen.OPEN_ACK,)}[state]:
            us, _ = self.led(state)
            us.send(STEPS[what](Modelled(us)))
            us.expect_refusal(f"{state.value}: {what.value}", never=OpenSyn)
            us.wire.shut()

    @rule(what=st.sampled_from(ordered(TRAFFIC)))
    def answer_too_early(self, what: Seen) -> None:
        """What belongs to a session is no InitAck."""
        us, _ = self.led(State.INIT_SENT)
        us.send(TRAFFIC[what](Modelled(us)))
        seen = us.next(us.unit / 4)
        followed = seen is not None and OpenSyn.matches(seen.message)
        us.require(not followed, expected="no OpenSyn", got="OpenSyn", step=f"init-sent: {what.value}")
        us.wire.shut()

    @rule(state=st.sampled_from(EARLY), how=st.integers(0, 4), value=st.integers(0, 255))
    def answer_wrongly(self, state: State, how: int, value: int) -> None:
        """The answer that is due, wrong, is refused."""
        us, syn = self.led(state)
        wrong = WRONG[state]
        us.send(wrong[how % len(wrong)](us, syn, value))
        us.expect_refusal(f"{state.value}: unacceptable", never=OpenSyn)
        us.wire.shut()

    @rule(state=st.sampled_from(EARLY), reason=st.integers(0, 8), session=st.booleans())
    def refuse(self, state: State, reason: int, session: bool) -> None:
        """CLOSE is taken."""
        us, _ = self.led(state)
        us.send(sane.close(reason, session=session))
        us.expect_end(step="after Close")
        us.wire.shut()

    def led(self, state: State) -> tuple[Dialogue, Init]:
        """A link on which the target waits for the answer of that state, and its proposal."""
        self.count += 1
        us = self.scene.dialogue(f"link{self.count}")
        syn: Init = us.expect(InitSyn, step="not reached: init")
        if state is State.OPEN_SENT:
            us.ask(us.init_ack(syn), expect=OpenSyn, step="not reached: open")
        return us, syn

    def teardown(self) -> None:
        """Let the laws judge."""
        judged(self.scene, Side.INITIATOR, self.known)


def machine(stage: Callable[[], Scene], known: frozenset[str] = frozenset()) -> type[Initiation]:
    """The machine for a stage: every run of it begins with a new scene."""
    return type("InitiationOnStage", (Initiation,), {"stage": staticmethod(stage), "known": known})
