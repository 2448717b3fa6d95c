"""What the model does with live sessions: work, ends, returns, second links, and leases where time is free. No model of its own."""

from __future__ import annotations

from hypothesis import strategies as st
from hypothesis.stateful import invariant, precondition, rule

from zenoh_conformance.cases.establishing import answered_or_closed
from zenoh_conformance.judging.finding import Deviation
from zenoh_conformance.messages import Close, KeepAlive, sane
from zenoh_conformance.reading import connection
from zenoh_conformance.reading.kinds import InitAck, OpenAck, reason_code
from zenoh_conformance.tables.session import RESPONDER, SessionInput, State, step
from zenoh_conformance.talking import Dialogue

from . import blame
from .blame import PLAIN, TO_SELF, Way
from .manners import TIME_IS_FREE
from .modelled import EARLY, MOST_LINKS, Linked, Modelled, due, unless_known
from .strokes import STEPS, ordered, ways

NEEDS = ("stream",)
"""Its rules see the ends of links."""

STANDING = (State.AWAIT_INIT, State.INIT_ACKED, State.LIVE)
"""States in which something can be done."""
TRIES = 20
"""How often a node tries to come back within one unit of patience."""

which = st.integers(0, MOST_LINKS - 1)


class Living(Linked):
    """Rules over live links."""

    @invariant()
    def live_sessions_live(self) -> None:
        """Whatever was done on one link, the live sessions of others work."""
        for link in self.in_state(State.LIVE):
            self.lives(link)

    @rule(which=which, what=st.sampled_from(ordered(STEPS)))
    def shake_hands_again(self, which: int, what: SessionInput) -> None:
        """A step of the handshake in a session ends it, or is passed over; it is not answered by one."""
        link = self.at(which, State.LIVE)
        heard = len(link.us.heard)
        link.us.send(STEPS[what](link))
        if not link.us.works_or_is_over(step=f"live: {what.value}"):
            self.over(link, what)
        answers = [link.us.text_of(seen) for seen in link.us.heard[heard:] if seen.kind in ("init", "open")]
        link.us.require(not answers, expected="no step", got="".join(answers[:1]), step=f"live: {what.value}")

    @rule(which=which, times=st.integers(1, 3))
    def keep_alive(self, which: int, times: int) -> None:
        """KEEP_ALIVEs are no work and no fault."""
        link = self.at(which, State.LIVE)
        link.us.send(*[KeepAlive()] * times)
        self.lives(link)

    @rule(
        here=st.integers(0, MOST_LINKS),
        there=st.integers(0, MOST_LINKS),
        way=ways,
        size=st.sampled_from([5, 300, 3000]),
    )
    def work_together(self, here: int, there: int, way: Way, size: int) -> None:
        """What a client publishes on a live session comes to another one that subscribed, in fragments where it must."""
        to = self.client(there, way)
        sender = self.client(here, way)
        if sender is to:
            sender = self.reach(State.LIVE, PLAIN)
        key = f"zconform/{to.us.zid.hex()}/{len(to.keys)}"
        to.keys.append(key)
        to.us.subscribe(key)
        self.lives(to, "live: subscribed")
        before = len(to.us.heard)
        sender.us.publish(key, bytes(size if size + 128 < room(sender) else 5), block=True)
        self.lives(sender, "live: published")
        self.lives(to, "live: heard")
        if not self.scene.can("routing"):
            return  # a peer need not forward publications
        with to.us.about("push/push-reaches-intersecting"):
            # it may come after who published was answered
            came = any(map(is_publication, to.us.heard[before:])) or any(map(is_publication, to.us.stream()))
            to.us.require(came, expected="the publication", got="nothing", step="live: work together")

    @rule(
        which=which,
        state=st.sampled_from(STANDING),
        politely=st.booleans(),
        session=st.booleans(),
        reason=st.integers(0, 8),
    )
    def leave(self, which: int, state: State, politely: bool, session: bool, reason: int) -> None:
        """We end a link, with CLOSE or without."""
        link = self.at(which, state)
        if politely:
            link.us.send(sane.close(reason, session=session))
            self.ends(link)
        link.us.hang_up()
        link.state = step(RESPONDER, link.state, SessionInput.CLOSE if politely else SessionInput.LINK_END)

    def ends(self, link: Modelled) -> None:
        """A link on which we said CLOSE is over."""
        with link.us.about(blame.TEARDOWN if link.state is State.LIVE else blame.CLOSED):
            link.us.expect_end(step="after Close")

    @rule(which=which, session=st.booleans(), way=ways)
    def return_after_close(self, which: int, session: bool, way: Way) -> None:
        """A node that left by CLOSE has a session again before long."""
        link = self.at(which, State.LIVE)
        link.us.send(sane.close(session=session))
        self.ends(link)
        self.over(link, SessionInput.CLOSE)
        for tries_left in reversed(range(TRIES)):
            try:
                self.reach(State.LIVE, way, zid=link.us.zid)
                return
            except Deviation as found:
                if not tries_left:
                    raise self.blamed(found, way) from None
                self.over(self.links[-1], SessionInput.LINK_END)
                self.pass_time(link.us.unit / TRIES)

    @rule(which=which, what=st.sampled_from(("open_twice", "open_two_at_once", "be_the_target")))
    def be_several(self, which: int, what: str) -> None:
        """One node on two links, or the target's own."""
        getattr(self, what)(which)

    def open_twice(self, which: int) -> None:
        """A further link of a node that has a session is answered or closed; where it is not let in, it does no harm."""
        first = self.at(which, State.LIVE)
        link = self.link(zid=first.us.zid)
        with link.us.about(blame.REFUSED_BY_CLOSE):
            ack = answered_or_closed(link.us, link.us.init_syn(), InitAck, "init")
            let_in = ack is not None and answered_or_closed(link.us, link.us.open_syn(ack), OpenAck, "open") is not None
        self.over(link, SessionInput.LINK_END)
        if let_in:  # no page says which of the two stays: the node may have come back
            self.over(first, SessionInput.LINK_END)

    def open_two_at_once(self, which: int) -> None:
        """Of two handshakes of one node at once, one at least comes to its end."""
        links = [self.link()]
        links.append(self.link(zid=links[0].us.zid))
        for link in links:
            link.us.requirement = blame.OPEN_IS_ANSWERED
        acks = [answered_or_closed(link.us, link.us.init_syn(), InitAck, "init") for link in links]
        opened = [
            answered_or_closed(link.us, link.us.open_syn(ack), OpenAck, "open") is not None
            for link, ack in zip(links, acks, strict=True) if ack is not None
        ]  # fmt: skip
        links[0].us.require(any(opened), expected="a session", got="none", step="two handshakes of one node")
        for link in links:
            self.over(link, SessionInput.LINK_END)

    def be_the_target(self, which: int) -> None:
        """Who shows the target's own ZenohID is told that he is the target."""
        if self.them is None:
            return
        us = self.link(zid=self.them).us
        with unless_known(us, self.known, TO_SELF):
            ack = answered_or_closed(us, us.init_syn(), InitAck, "init")
            if ack is not None:
                us.send(us.open_syn(ack))
                us.expect_refusal("open", reason=reason_code("CONNECTION_TO_SELF"), never=OpenAck)
            right = us.closed in (None, reason_code("CONNECTION_TO_SELF"))
            us.require(right, expected="Close(CONNECTION_TO_SELF)", got=f"Close({us.closed})", step="stage init")
        self.over(self.links[-1], SessionInput.UNACCEPTABLE)

    # -- time

    @precondition(lambda self: self.scene.fact(TIME_IS_FREE, False))
    @rule(which=which, state=st.sampled_from(STANDING))
    def pause(self, which: int, state: State) -> None:
        """A quarter of our patience is endured by a session, and nothing comes of it in any state."""
        link = self.at(which, state)
        with link.us.about(blame.LIVES if link.state is State.LIVE else blame.ANSWERED[due(link.state)]):
            self.is_endured(link)

    def is_endured(self, link: Modelled) -> None:
        """A pause on a link that is open."""
        for seen in link.us.stream(link.us.unit / 4):
            quiet = isinstance(seen.message, KeepAlive) or link.state is State.LIVE
            link.us.require(quiet, expected="patience", got=link.us.text_of(seen), step=f"{link.state.value}: a pause")
        here = link.us.ended is None
        if not here and link.state in EARLY:  # no page says how long a handshake may take
            self.over(link, SessionInput.LINK_END)
            return
        link.us.require(here, expected="patience", got=link.us.text_of(None), step=f"{link.state.value}: a pause")

    @precondition(lambda self: self.scene.fact(TIME_IS_FREE, False))
    @rule(seconds=st.booleans(), kept=st.booleans())
    def keep_or_lose(self, seconds: bool, kept: bool) -> None:
        """A session with a short lease lives while KEEP_ALIVEs come, and no longer; no handshake waits meanwhile."""
        for link in self.in_state(State.AWAIT_INIT, State.INIT_ACKED):
            self.over(link, SessionInput.LINK_END)
        link = self.reach(State.LIVE, Way(lease={"lease_in_seconds": seconds, "lease": 1 if seconds else 1000}))
        with link.us.about(
            f"session-establishment/{'any-message-renews-lease' if kept else 'lease-expiry-ends-session'}"
        ):
            (self.keep if kept else self.lose)(link.us)
        self.over(link, SessionInput.LINK_END)

    def keep(self, us: Dialogue) -> None:
        """A session in which a KEEP_ALIVE comes in each part of its lease lives on."""
        for _ in range(5):
            us.send(KeepAlive())
            for _ in us.stream(0.3):
                pass
        us.expect_live()

    def lose(self, us: Dialogue) -> None:
        """A session of which nothing is heard for its lease ends; a CLOSE that tells of it says EXPIRED, or nothing."""
        for seen in us.stream(2 + us.unit):
            if isinstance(seen.message, Close):
                break
        over = us.may_be_over
        us.require(over, expected="the session's end", got="a session that lives on", step="live: its lease is over")
        allowed = us.closed in (None, reason_code("GENERIC"), reason_code("EXPIRED"))
        with us.about("close/expired-lease-is-expired"):
            us.require(allowed, expected="Close(EXPIRED)", got=f"Close({us.closed})", step="live: its lease is over")

    def pass_time(self, seconds: float) -> None:
        """Let time pass, on a link that says nothing."""
        idle = self.scene.dialogue("pause")
        idle.next(seconds)
        idle.hang_up()


def is_publication(seen: connection.Seen) -> bool:
    """Whether it is one, or the end of a large one."""
    return seen.kind == "push" or (seen.kind == "fragment" and not seen.message.more)


def room(link: Modelled) -> int:
    """The largest batch that both sides of a link take."""
    stated = (
        sane.DEFAULT_BATCH if init is None or init.batch_size is None else init.batch_size
        for init in (link.syn, link.ack)
    )
    return min(stated)
