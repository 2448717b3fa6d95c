"""The handshake as a Hypothesis state machine over the session table, toward a responder.

It arrives in a drawn reachable state by the shortest path, then takes legal, odd and illegal steps on one link or several, and
after each compares what came with what the table says. At the end every law judges the whole conversation.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import cycle
from typing import Final

from hypothesis import strategies as st
from hypothesis.stateful import initialize, precondition, rule

from zenoh_conformance.cases.establishing import answered_or_closed
from zenoh_conformance.cases.establishment.circumstances import HANDSHAKE, REFUSED
from zenoh_conformance.cases.establishment.varied import (
    a_changed_cookie_is_refused_in_any_circumstances,
    a_handshake_is_accepted_in_any_circumstances,
)
from zenoh_conformance.judging.variation import Variation
from zenoh_conformance.messages import Frame, Push, Put
from zenoh_conformance.primitives import WireExpr
from zenoh_conformance.reading.codec import encode
from zenoh_conformance.reading.kinds import InitAck, OpenAck
from zenoh_conformance.tables.session import RESPONDER, SessionInput, State
from zenoh_conformance.talking import Scene, Sendable

from . import blame
from .blame import PLAIN, Way
from .living import STANDING, Living, which
from .manners import VariedExchange, rows_of
from .modelled import MOST_LINKS, OUT_OF_TURN, Known, Modelled, due, pick, unless_known
from .strokes import ODD, STEPS, TRAFFIC, UNACCEPTABLE, invented, odd, ordered, ways

REQUIREMENT = "session-establishment/handshake-messages-in-order"
ALSO = (
    "session-establishment/init-ack-answers-init-syn", "session-establishment/open-ack-answers-open-syn",
    "session-establishment/session-live-after-open-ack", "session-establishment/refusal-is-close",
    "session-establishment/no-data-before-open", "session-establishment/teardown-by-close",
    "session-establishment/unknown-version-is-unsupported", "session-establishment/resolution-not-raised",
    "session-establishment/cookie-must-match", "session-establishment/cookie-prevents-replay",
    "session-establishment/init-zid", "session-establishment/init-zid-length", "session-establishment/init-flag-s",
    "close/malformed-is-invalid", "close/own-zid-is-connection-to-self",
)  # fmt: skip
"""Requirements whose breach it finds as well; each was shown to it once."""
NEEDS = ("stream", "several-links", "several-sessions")
CONTROL = "establishment-sane/a-sane-handshake-is-accepted"
"""The check on which it rests; a model that does not say rests on the one that judges whether a session works."""
BREAKS = OUT_OF_TURN
"""Laws that our own side breaks in it on purpose."""

EXCHANGES: Final = (
    VariedExchange(blame.LIVES, a_handshake_is_accepted_in_any_circumstances, HANDSHAKE),
    VariedExchange(
        "session-establishment/cookie-must-match", a_changed_cookie_is_refused_in_any_circumstances, REFUSED
    ),
)
ALL: Final = tuple(dict.fromkeys((*HANDSHAKE, *REFUSED)))
"""The dimensions of a handshake."""

early = st.sampled_from((State.AWAIT_INIT, State.INIT_ACKED))
byte = st.integers(0, 255)


class Establishment(Living):
    """Subclass it with a `stage`; see `machine`."""

    @initialize(
        goal=st.sampled_from(STANDING),
        several=st.lists(ways, min_size=4, max_size=8),
        rows=st.lists(rows_of(ALL), min_size=2, max_size=2),
        which=st.sampled_from(EXCHANGES),
    )
    def arrive(self, goal: State, several: list[Way], rows: list[Variation], which: VariedExchange) -> None:
        """A link in a drawn state, by the shortest path; handshakes later on go in the drawn ways in turn.

        Beyond a quick run, handshakes in drawn circumstances come before: a step of many is seldom drawn.
        """
        for v in rows if self.scene.fact("variations", "quick") != "quick" else ():
            which.run(self.scene, self.known, v)
        self.ways = cycle(several)
        self.reach(goal, next(self.ways))

    @precondition(lambda self: len(self.in_state(*STANDING)) < MOST_LINKS)
    @rule(goal=st.sampled_from(STANDING), way=ways)
    def another_link(self, goal: State, way: Way) -> None:
        """One more link beside the others."""
        self.reach(goal, way)

    @rule(which=which)
    def go_on(self, which: int) -> None:
        """The next legal step of a link; of a live one, work. The cheapest rule has the fewest arguments: it is drawn most."""
        links = self.in_state(*STANDING)
        link = pick(links, which) if links else self.reach(State.AWAIT_INIT, next(self.ways))
        if link.state is State.LIVE:
            self.lives(link)
        else:
            self.legal_step(link, due(link.state), next(self.ways))

    @rule(v=rows_of(ALL), which=st.sampled_from(EXCHANGES))
    def shake_hands_in_circumstances(self, v: Variation, which: VariedExchange) -> None:
        """A handshake in circumstances of all dimensions; with a changed cookie it is refused in each of them."""
        which.run(self.scene, self.known, v)

    @rule(which=which, state=early, way=ways)
    def go_on_another_way(self, which: int, state: State, way: Way) -> None:
        """The next legal step of a link, in one of many ways."""
        self.legal_step(self.at(which, state), due(state), way)

    @rule(which=which, state=early, value=byte)
    def go_on_with_more(self, which: int, state: State, value: int) -> None:
        """The next legal step, with an extension that is to be skipped."""
        link = self.at(which, state)
        self.legal_step(link, due(link.state), PLAIN, lambda message: odd(message, value, mandatory=False))

    @rule(which=which, state=early, how=st.integers(0, 4), value=byte)
    def go_on_oddly(self, which: int, state: State, how: int, value: int) -> None:
        """The next step, with something that may be taken or not: it is answered, and goes on, or closed."""
        link = self.at(which, state)
        odd_ones, stage = ODD[link.state], link.state.value
        message = odd_ones[how % len(odd_ones)](link, value)
        with link.us.about(blame.REFUSED_BY_CLOSE):
            self.is_answered_or_closed(link, message, stage)
        self.over(link, SessionInput.UNACCEPTABLE)

    def is_answered_or_closed(self, link: Modelled, message: Sendable, stage: str) -> None:
        """What is odd is answered, and all goes on, or closed."""
        if link.state is State.AWAIT_INIT:
            ack = answered_or_closed(link.us, message, InitAck, stage)
            last = None if ack is None else answered_or_closed(link.us, link.us.open_syn(ack), OpenAck, "init-acked")
        else:
            last = answered_or_closed(link.us, message, OpenAck, stage)
        if last is not None:
            link.us.expect_live()

    @rule(which=which, state=early, choice=st.integers(0, len(STEPS) - 1))
    def speak_out_of_turn(self, which: int, state: State, choice: int) -> None:
        """A step that is not due, or garbage, is refused."""
        link = self.at(which, state)
        wrong = [what for what in ordered(STEPS) if what is SessionInput.OPEN_SYN or what not in RESPONDER[link.state]]
        what = wrong[choice % len(wrong)]
        link.us.send(STEPS[what](link))
        self.refused(link, what)

    @rule(which=which, state=early, what=st.sampled_from(ordered(TRAFFIC)))
    def speak_too_early(self, which: int, state: State, what: SessionInput) -> None:
        """What belongs to a session opens none."""
        link = self.at(which, state)
        link.us.send(TRAFFIC[what](link))
        self.no_step(link, what)

    @rule(which=which, state=early, other=which)
    def publish_too_early(self, which: int, state: State, other: int) -> None:
        """What is published before OPEN comes to nobody."""
        link, there = self.at(which, state), self.client(other, PLAIN)
        key = f"zconform/early/{there.us.zid.hex()}"
        there.us.subscribe(key)
        self.lives(there, "live: subscribed")
        push = Push(key=WireExpr(scope=0, suffix=key, mapping=True), body=Put(payload=b"early"))
        link.us.send(Frame(sn=0, messages=(push,)))
        self.no_step(link, SessionInput.FRAME)
        came = [seen for seen in there.us.fence() if seen.kind == "push"]
        with there.us.about("session-establishment/no-data-before-open"):
            there.us.require(not came, expected="nothing", got="the publication", step=f"{state.value}: Frame")

    @rule(which=which, how=st.integers(0, len(UNACCEPTABLE[State.AWAIT_INIT]) - 1), value=byte)
    def propose_wrongly(self, which: int, how: int, value: int) -> None:
        """A wrong InitSyn is refused."""
        self.speak_wrongly(self.at(which, State.AWAIT_INIT), how, value)

    @rule(which=which, how=st.integers(0, len(UNACCEPTABLE[State.INIT_ACKED]) - 1), value=byte)
    def open_wrongly(self, which: int, how: int, value: int) -> None:
        """A wrong OpenSyn is refused."""
        self.speak_wrongly(self.at(which, State.INIT_ACKED), how, value)

    def speak_wrongly(self, link: Modelled, how: int, value: int) -> None:
        """The message that is due, wrong, is refused; where a page says for which reason, for that one."""
        wrong = UNACCEPTABLE[link.state]
        stroke, stage = wrong[how % len(wrong)], f"{link.state.value}: {SessionInput.UNACCEPTABLE.value}"
        link.us.send(stroke.make(link, value))
        reason: int | None = None
        with unless_known(link.us, self.known, stroke.about):
            reason = self.refused(link, SessionInput.UNACCEPTABLE).reason
        if link.state is not State.CLOSED:  # it is known to take this
            self.over(link, SessionInput.UNACCEPTABLE)
        if reason is not None:
            with unless_known(link.us, self.known, stroke.why):
                link.us.expect_reason(reason, stroke.reasons, stage)

    @rule(which=which, kept=st.integers(1, 60))
    def stop_in_the_middle(self, which: int, kept: int) -> None:
        """A proposal of which the link ends half-way is not answered."""
        link = self.at(which, State.AWAIT_INIT)
        whole = link.us.framed(encode(link.us.init_syn()))
        link.us.send_bytes(whole[: min(kept, len(whole) - 1)])
        link.us.wire.finish()
        self.reach(State.INIT_ACKED, PLAIN)
        seen = link.us.next(0)
        right, got = seen is None or seen.kind == "close", link.us.text_of(seen)
        with link.us.about("primitives/truncated-is-refused"):
            link.us.require(right, expected="no answer", got=got, step="await-init: half a batch")
        self.over(link, SessionInput.LINK_END)

    @rule(which=which, together=st.booleans())
    def open_too_soon(self, which: int, together: bool) -> None:
        """InitSyn and an OpenSyn with a cookie that was not issued yet, at once, and no more: they open nothing."""
        link = self.at(which, State.AWAIT_INIT)
        (link.us.send if together else link.us.send_each)(link.us.init_syn(), invented())
        link.us.wire.finish()  # its end of the link tells that it has read them: silence need not be waited for
        for seen in link.us.stream(link.us.unit / 4):
            opened = OpenAck.matches(seen.message)
            link.us.require(not opened, expected="no OpenAck", got="OpenAck", step="await-init: InitSyn, OpenSyn")
        self.over(link, SessionInput.OPEN_SYN)

    @rule(which=which)
    def take_the_cookie_of_another(self, which: int) -> None:
        """A cookie opens its own link only: one that is issued beside it does not."""
        link = self.at(which, State.INIT_ACKED)
        donor = self.scene.dialogue("donor")
        with donor.about(blame.INIT_IS_ANSWERED):
            ack = donor.ask(donor.init_syn(), expect=InitAck, step="await-init: InitSyn")
        link.us.send(link.us.open_syn(ack))
        with link.us.about("session-establishment/cookie-prevents-replay"):
            self.refused(link, SessionInput.UNACCEPTABLE)
        donor.hang_up()


def machine(stage: Callable[[], Scene], known: Known = frozenset()) -> type[Establishment]:
    """The machine for a stage: every run of it begins with a new scene. `known`: requirements left to their own cases."""
    return type("EstablishmentOnStage", (Establishment,), {"stage": staticmethod(stage), "known": known})
