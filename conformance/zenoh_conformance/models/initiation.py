"""The handshake as a Hypothesis state machine over the session table, toward an initiator: we answer.

Each run is a few links on which the target comes to us. We lead it to a drawn state, and there say what is due, or something
else; what it does is compared with the table. At the end every law judges the whole conversation.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import count
from typing import Any, ClassVar

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule

from zenoh_conformance.cases.establishing import (
    believed_or_refused,
    followed_or_refused,
    in_the_end,
    never_opens,
    refuses_itself,
)
from zenoh_conformance.judging.finding import Deviation
from zenoh_conformance.messages import Init, Open, sane
from zenoh_conformance.primitives import ZenohID
from zenoh_conformance.reading.codec import segments
from zenoh_conformance.reading.conversation import Side
from zenoh_conformance.reading.kinds import InitSyn, OpenSyn
from zenoh_conformance.tables.session import SessionInput, State
from zenoh_conformance.talking import Dialogue, Scene, Sendable
from zenoh_conformance.wire import Exts

from . import blame
from .blame import TO_SELF, guilty
from .modelled import OUT_OF_TURN, Known, Modelled, judged
from .strokes import LEASES, STEPS, TRAFFIC, broken, cut, large, odd, ordered, packed, twice

REQUIREMENT = "session-establishment/open-syn-answers-init-ack"
ALSO = (
    "session-establishment/session-live-after-open-ack", "session-establishment/cookie-echo",
    "session-establishment/raised-resolution-refused", "session-establishment/init-zid-length",
    "session-establishment/init-whatami", "session-establishment/lease-unit", "close/close-ends-the-link",
    "close/own-zid-is-connection-to-self", "primitives/unknown-optional-skipped",
)  # fmt: skip
"""Requirements whose breach it finds as well; each was shown to it once."""
ROLE = Side.INITIATOR
CONTROL = "initiator-init-ack/a-sane-answer-is-followed"
BREAKS = (*OUT_OF_TURN, "law/qos-needs-both", "law/low-latency-needs-both", "law/compression-needs-both")
"""Laws that our own side breaks in it on purpose: an odd answer settles on what was not offered."""
EARLY = (State.INIT_SENT, State.OPEN_SENT)
REFUSED: Mapping[State, Callable[[Dialogue, str], object]] = {
    State.INIT_SENT: lambda us, stage: us.expect_refusal(stage, never=OpenSyn), State.OPEN_SENT: never_opens,
}  # fmt: skip
"""What shows that an answer was not taken for the one that is due; an initiator may wait for another one."""
SHORT: Mapping[str, Any] = {"lease_in_seconds": False, "lease": 1500}
"""A lease that a session outlives only with KEEP_ALIVE."""

Answer = Callable[[Dialogue, Init, int], Sendable]
SE = "session-establishment"

WRONG: Mapping[State, tuple[tuple[str, Answer], ...]] = {
    State.INIT_SENT: (
        ("primitives/truncated-is-refused", lambda us, syn, value: cut(us.init_ack(syn, exts=()), value)),
        ("primitives/unknown-mandatory-rejected", lambda us, syn, value: odd(us.init_ack(syn), value, mandatory=True)),
        ("primitives/truncated-is-refused", lambda us, syn, value: broken(us.init_ack(syn, exts=()))),
        (f"{SE}/raised-resolution-refused", lambda us, syn, value: us.init_ack(syn, resolution=raised(syn, value))),
        (
            f"{SE}/init-zid",
            lambda us, syn, value: segments(us.init_ack(syn)).replace("init.zid", bytes(len(us.zid))),
        ),
        ("primitives/whatami-3-refused", lambda us, syn, value: packed(us.init_ack(syn), 3)),
    ),
    State.OPEN_SENT: (
        (
            "primitives/truncated-is-refused",
            lambda us, syn, value: segments(us.open_ack(initial_sn=0x0FFF_FFFF)).join()[: 1 + value % 5],
        ),
        ("primitives/unknown-mandatory-rejected", lambda us, syn, value: odd(us.open_ack(), value, mandatory=True)),
        ("primitives/truncated-is-refused", lambda us, syn, value: broken(us.open_ack())),
    ),
}
"""Answers that must be refused, and the requirement that each is about."""

ODD: Mapping[State, tuple[tuple[str, Answer], ...]] = {
    State.INIT_SENT: (
        ("", lambda us, syn, value: twice(us.init_ack(syn))),
        ("", lambda us, syn, value: packed(us.init_ack(syn), 4 << value % 2)),
        ("", lambda us, syn, value: us.init_ack(syn, version=(sane.VERSION + 1 + value) % 256)),
        ("", lambda us, syn, value: us.init_ack(syn, resolution=proposed(syn) | 0x10 << value % 4)),
        ("", lambda us, syn, value: us.init_ack(syn, resolution=None, batch_size=None)),
        ("", lambda us, syn, value: us.init_ack(syn, whatami=sane.CLIENT)),
        (f"{SE}/frame-transport-by-default", lambda us, syn, value: us.init_ack(syn, exts=not_offered(syn))),
        ("", lambda us, syn, value: large(us.init_ack(syn), 9_000)),
    ),
    State.OPEN_SENT: (
        ("", lambda us, syn, value: twice(us.open_ack())),
        ("", lambda us, syn, value: segments(us.open_ack()).join() + b"\x04\x5a\x5a\x5a\x5a"),
        ("", lambda us, syn, value: us.open_ack(lease_in_seconds=bool(value % 2), lease=2 ** (30 + value % 19))),
    ),
}
"""Answers of which no page says what an initiator makes of them: it goes on or gives up, and does not hang. With what they are about,
where that is more than the step."""


def proposed(syn: Init) -> int:
    """The resolution that it proposes."""
    return sane.DEFAULT_RESOLUTION if syn.resolution is None else syn.resolution


def not_offered(syn: Init) -> Exts[Any]:
    """A mode that it did not offer, where there is one."""
    names = {type(ext).__name__ for ext in syn.exts}
    return sane.offers(*[name for name in ("LowLatency", "Compression", "QoS") if name not in names][:1])


def raised(syn: Init, value: int) -> int:
    """A resolution above the proposal in one field."""
    low = proposed(syn)
    return low + (1 if value % 2 or low >> 2 & 3 == 3 else 4) if low & 3 < 3 else low | 0x0F


@dataclass(frozen=True, slots=True)
class Answered:
    """How a legal handshake is answered."""

    lowered: int = 0x0F
    """The resolution is the smaller of this and the proposal, field by field."""
    cookie: bytes = b"\x5a" * 16
    batch_size: int = sane.DEFAULT_BATCH
    whatami: int = sane.ROUTER
    sn: int = 0
    lease: Mapping[str, Any] = field(default_factory=dict)
    zid: int = 8
    pieces: int = 0
    """Bytes of a piece; 0 for whole messages."""
    more: int | None = None
    """What an extension that is to be skipped holds."""

    def parts(self) -> list[tuple[str, Answered]]:
        """What is special in it: what each is about, and an answer that has it alone."""
        here = [(name, getattr(self, name)) for name in ABOUT]
        return [(ABOUT[name], Answered(**{name: value})) for name, value in here if value != getattr(Answered(), name)]


ABOUT: Mapping[str, str] = {
    "zid": f"{SE}/init-zid-length", "whatami": f"{SE}/init-whatami", "lowered": f"{SE}/lowered-resolution-is-used",
    "batch_size": f"{SE}/batch-size-effective-minimum", "cookie": f"{SE}/cookie-is-opaque",
    "sn": f"{SE}/initial-sn-in-range", "lease": f"{SE}/lease-unit", "more": blame.SKIPPED, "pieces": blame.LIVES,
}  # fmt: skip
"""What each field of an answer is about."""

cookies = st.builds(
    lambda size, byte: bytes([byte]) * size, st.sampled_from([1, 16, 64, 65, 128, 255, 1000]), st.integers(0, 255)
)
"""Of lengths on both sides of what one might think a cookie can have."""

answers = st.builds(
    Answered,
    lowered=st.integers(0, 15),
    cookie=cookies,
    batch_size=st.sampled_from([65535, 49152, 8192, 512, 128]),
    whatami=st.sampled_from([sane.ROUTER, sane.PEER]),
    sn=st.sampled_from([0, 1, 0x7F]),
    lease=st.sampled_from([{}, SHORT, *LEASES]),
    zid=st.sampled_from([8, 4, 15, 16]),
    pieces=st.sampled_from([0, 0, 1, 7]),
    more=st.sampled_from([None, 1, 2, 3]),
)
"""What a sane answer may vary."""


class Initiation(RuleBasedStateMachine):
    """Subclass it with a `stage`; see `machine`."""

    stage: ClassVar[Callable[[], Scene]]
    known: ClassVar[Known] = frozenset()

    def __init__(self) -> None:
        super().__init__()
        self.scene = type(self).stage()
        self.count = 0

    @rule(how=answers)
    def answer(self, how: Answered) -> None:
        """We answer as we may, and the session works."""
        try:
            us = self.works(how)
        except Deviation as found:
            raise self.blamed(found, how) from None
        with us.about(f"{SE}/batch-size-effective-minimum"):
            right = us.largest <= how.batch_size
            us.require(right, expected=f"at most {how.batch_size} bytes", got="a larger batch", step="batch")
        us.hang_up()

    def works(self, how: Answered) -> Dialogue:
        """A session that works, answered so. Raises Deviation."""
        return in_the_end(partial(self.link, how.zid), self.lives, partial(self.answered, how=how))

    def lives(self, us: Dialogue) -> None:
        """The session does work."""
        with us.about(blame.LIVES):
            us.expect_live()

    def blamed(self, found: Deviation, how: Answered) -> Deviation:
        """The fault of a session that was answered in a special way: what of it alone is enough to bring it about."""
        if found.finding.requirement not in (blame.FOLLOWED, blame.LIVES):
            return found
        requirement = guilty(how.parts(), Answered(), self.comes_through)
        return Deviation(replace(found.finding, requirement=requirement)) if requirement else found

    def comes_through(self, how: Answered) -> bool:
        """Whether a session that is answered so works."""
        try:
            self.works(how).hang_up()
        except Deviation:
            return False
        return True

    def answered(self, us: Dialogue, how: Answered) -> None:
        """Say all that a session takes, on a new link."""
        syn = us.expect(InitSyn, step="not reached: init")
        with us.about(blame.FOLLOWED):
            lowest = min(proposed(syn) & 3, how.lowered & 3) | min(proposed(syn) & 12, how.lowered & 12)
            ack = us.init_ack(syn, resolution=lowest, cookie=how.cookie, batch_size=how.batch_size, whatami=how.whatami)
            self.say(us, ack, how)
            back = us.expect(OpenSyn, step="init-sent")
        with us.about(f"{SE}/cookie-echo"):
            same = back.cookie == how.cookie
            us.require(same, expected="the cookie issued", got="another cookie", step="open.cookie")
        us.initial_sn, us.largest = how.sn, 0
        self.say(us, us.open_ack(**how.lease), how)

    @rule(state=st.sampled_from(EARLY), how=st.integers(0, 7), value=st.integers(0, 255))
    def answer_oddly(self, state: State, how: int, value: int) -> None:
        """The answer that is due, with something that may be taken or not."""
        us, syn = self.led(state)
        about, odd_one = ODD[state][how % len(ODD[state])]
        us.requirement = about or (blame.FOLLOWED if state is State.INIT_SENT else blame.LIVES)
        message = odd_one(us, syn, value)
        if state is State.OPEN_SENT:
            believed_or_refused(us, message)
        elif followed_or_refused(us, message) is not None:
            us.requirement = about or blame.LIVES
            believed_or_refused(us, us.open_ack())
        us.hang_up()

    @precondition(
        lambda self: TO_SELF not in self.known
    )  # a target that is known to take it would be waited for each time
    @rule()
    def be_the_target(self) -> None:
        """Who answers with the initiator's own ZenohID is told that he is the initiator."""
        us, syn = self.led(State.INIT_SENT)
        us.send(replace(us.init_ack(syn), zid=ZenohID(syn.zid.raw)))
        with us.about(TO_SELF):
            refuses_itself(us, step="init-sent: itself")
        us.hang_up()

    @rule(state=st.sampled_from(EARLY), what=st.sampled_from(ordered(STEPS)))
    def answer_out_of_turn(self, state: State, what: SessionInput) -> None:
        """A step that is no answer is refused."""
        if what not in {State.INIT_SENT: (SessionInput.INIT_ACK,), State.OPEN_SENT: (SessionInput.OPEN_ACK,)}[state]:
            us, _ = self.led(state)
            us.requirement = blame.IN_ORDER
            us.send(STEPS[what](Modelled(us)))
            REFUSED[state](us, f"{state.value}: {what.value}")
            us.hang_up()

    @rule(what=st.sampled_from(ordered(TRAFFIC)))
    def answer_too_early(self, what: SessionInput) -> None:
        """What belongs to a session is no InitAck."""
        us, _ = self.led(State.INIT_SENT)
        us.requirement = blame.IN_ORDER
        us.send(TRAFFIC[what](Modelled(us)))
        seen = us.next(us.unit / 4)
        followed = seen is not None and OpenSyn.matches(seen.message)
        us.require(not followed, expected="no OpenSyn", got="OpenSyn", step=f"init-sent: {what.value}")
        us.hang_up()

    @rule(state=st.sampled_from(EARLY), how=st.integers(0, 5), value=st.integers(0, 255))
    def answer_wrongly(self, state: State, how: int, value: int) -> None:
        """The answer that is due, wrong, is refused."""
        us, syn = self.led(state)
        us.requirement, wrong = WRONG[state][how % len(WRONG[state])]
        message = wrong(us, syn, value)
        if message != us.init_ack(syn):  # above the largest resolution there is none
            us.send(message)
            REFUSED[state](us, f"{state.value}: unacceptable")
        us.hang_up()

    @rule(state=st.sampled_from(EARLY), reason=st.integers(0, 8), session=st.booleans())
    def refuse(self, state: State, reason: int, session: bool) -> None:
        """CLOSE is taken."""
        us, _ = self.led(state)
        us.requirement = blame.CLOSED
        us.send(sane.close(reason, session=session))
        if not us.shows_no_end:
            us.expect_end(step="after Close")
        us.hang_up()

    def say(self, us: Dialogue, message: Init | Open, how: Answered) -> None:
        """An answer, whole or in pieces, perhaps with an extension that is to be skipped."""
        said = message if how.more is None else odd(message, how.more, mandatory=False)
        us.send_cut(said, count(how.pieces, how.pieces) if how.pieces else ())

    def link(self, zid: int = 8) -> Dialogue:
        """A new link on which we have said nothing; `zid`: the length of our ZenohID."""
        self.count += 1
        return self.scene.dialogue(f"link{self.count}", zid=(self.scene.fresh_zid() * 2)[: zid - 1] + b"\x5a")

    def led(self, state: State) -> tuple[Dialogue, Init]:
        """A link on which the target waits for the answer of that state, and its proposal."""
        us = self.link()
        syn = us.expect(InitSyn, step="not reached: init")
        if state is State.OPEN_SENT:
            us.ask(us.init_ack(syn), expect=OpenSyn, step="not reached: open")
        return us, syn

    def teardown(self) -> None:
        """Let the laws judge."""
        judged(self.scene, Side.INITIATOR, self.known, BREAKS)


def machine(stage: Callable[[], Scene], known: Known = frozenset()) -> type[Initiation]:
    """The machine for a stage: every run of it begins with a new scene."""
    return type("InitiationOnStage", (Initiation,), {"stage": staticmethod(stage), "known": known})
