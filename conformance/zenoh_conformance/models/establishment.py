"""The handshake as a Hypothesis state machine over the session table, toward a responder.

It arrives in a drawn reachable state by the shortest path, then takes legal and illegal steps on one link or several, and
after each compares what came with what the table says. At the end every law judges the whole conversation.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from zenoh_conformance import sane
from zenoh_conformance.conversation import Side
from zenoh_conformance.kinds import InitAck, OpenAck
from zenoh_conformance.messages import Close, KeepAlive
from zenoh_conformance.scene import Scene
from zenoh_conformance.session import RESPONDER, START, Seen, State, path_to, step

from .strokes import (
    ABOUT,
    STEPS,
    TRAFFIC,
    UNACCEPTABLE,
    Modelled,
    init_fields,
    judged,
    odd,
    open_fields,
    ordered,
)

REQUIREMENT = "session-establishment/handshake-messages-in-order"
MOST_LINKS = 3
GOALS = (State.AWAIT_INIT, State.INIT_ACKED, State.LIVE)

which = st.integers(0, MOST_LINKS - 1)


class Establishment(RuleBasedStateMachine):
    """Subclass it with a `stage`; see `machine`."""

    stage: ClassVar[Callable[[], Scene]]
    known: ClassVar[frozenset[str]] = frozenset()
    """Requirements from which the target is known to depart: what is about them is not done."""

    def __init__(self) -> None:
        super().__init__()
        self.scene = type(self).stage()
        self.links: list[Modelled] = []

    # -- rules

    @initialize(goal=st.sampled_from(GOALS), fields=init_fields, opening=open_fields)
    def arrive(self, goal: State, fields: dict[str, Any], opening: dict[str, Any]) -> None:
        """A link in a drawn state, by the shortest path."""
        self.reach(goal, fields, opening)

    @precondition(lambda self: len(self.open_links()) < MOST_LINKS)
    @rule(goal=st.sampled_from(GOALS), fields=init_fields, opening=open_fields)
    def another_link(self, goal: State, fields: dict[str, Any], opening: dict[str, Any]) -> None:
        """One more link beside the others."""
        self.reach(goal, fields, opening)

    @precondition(lambda self: bool(self.open_links()))
    @rule(which=which, fields=init_fields, opening=open_fields)
    def go_on(self, which: int, fields: dict[str, Any], opening: dict[str, Any]) -> None:
        """The next legal step of a link; on a live one, work."""
        link = self.pick(which)
        if link.state is State.LIVE:
            link.us.expect_live()
        else:
            self.legal_step(link, due(link.state), fields, opening)

    @precondition(lambda self: bool(self.early_links()))
    @rule(which=which, value=st.integers(0, 255))
    def go_on_oddly(self, which: int, value: int) -> None:
        """The next legal step, with an extension that is to be skipped."""
        link = self.pick(which, early=True)
        self.legal_step(
            link, due(link.state), {}, {"initial_sn": 0}, lambda message: odd(message, value, mandatory=False)
        )

    @precondition(lambda self: bool(self.early_links()))
    @rule(which=which, choice=st.integers(0, len(STEPS) - 1))
    def speak_out_of_turn(self, which: int, choice: int) -> None:
        """A step that is not due, or garbage, is refused."""
        link = self.pick(which, early=True)
        wrong = [what for what in ordered(STEPS) if what is Seen.OPEN_SYN or what not in RESPONDER[link.state]]
        what = wrong[choice % len(wrong)]
        link.us.send(STEPS[what](link))
        self.refused(link, what)

    @precondition(lambda self: bool(self.early_links()))
    @rule(which=which, what=st.sampled_from(ordered(TRAFFIC)))
    def speak_too_early(self, which: int, what: Seen) -> None:
        """What belongs to a session opens none."""
        link = self.pick(which, early=True)
        link.us.send(TRAFFIC[what](link))
        self.no_step(link, what)

    @precondition(lambda self: bool(self.early_links()))
    @rule(which=which, how=st.integers(0, 5), value=st.integers(0, 255))
    def speak_wrongly(self, which: int, how: int, value: int) -> None:
        """The message that is due, wrong, is refused."""
        link = self.pick(which, early=True)
        wrong = [stroke for stroke in UNACCEPTABLE[link.state] if ABOUT.get(stroke) not in self.known]
        link.us.send(wrong[how % len(wrong)](link, value))
        self.refused(link, Seen.UNACCEPTABLE)

    @precondition(lambda self: bool(self.waiting()))
    @rule(which=which)
    def take_the_cookie_of_another(self, which: int) -> None:
        """A cookie opens its own link only: one that is issued beside it does not."""
        waiting = self.waiting()
        link = waiting[which % len(waiting)]
        donor = self.scene.dialogue("donor")
        ack = donor.ask(donor.init_syn(), expect=InitAck, step="await-init: InitSyn")
        link.us.send(link.us.open_syn(ack))
        self.refused(link, Seen.UNACCEPTABLE)
        donor.wire.shut()

    @precondition(lambda self: bool(self.open_links()))
    @rule(which=which, politely=st.booleans(), session=st.booleans(), reason=st.integers(0, 8))
    def leave(self, which: int, politely: bool, session: bool, reason: int) -> None:
        """We end a link, with CLOSE or without."""
        link = self.pick(which)
        if politely:
            link.us.send(sane.close(reason, session=session))
            link.us.expect_end(step="after Close")
        link.us.wire.shut()
        link.state = step(RESPONDER, link.state, Seen.CLOSE if politely else Seen.LINK_END)

    @precondition(lambda self: len(self.live_clients()) > 1)
    @rule(which=which, other=which)
    def work_together(self, which: int, other: int) -> None:
        """What a client publishes on a live session comes to another one that subscribed."""
        live = self.live_clients()
        here, there = live[which % len(live)], live[other % len(live)]
        if here is there:
            return
        key = f"zconform/{there.us.zid.hex()}/{len(there.keys)}"
        there.keys.append(key)
        there.us.subscribe(key)
        there.us.fence(step="live: subscribed")
        here.us.publish(key, b"model")
        here.us.fence(step="live: published")
        heard = there.us.fence(step="live: heard")
        came = any(seen.kind == "push" for seen in heard)
        there.us.require(came, expected="the publication", got="nothing", step="live: work together")

    @invariant()
    def live_sessions_live(self) -> None:
        """Whatever was done on one link, the live sessions of others work."""
        for link in self.live_links():
            link.us.expect_live()

    def teardown(self) -> None:
        """Let go, and let the laws judge."""
        for link in self.links:
            link.us.wire.shut()
        judged(self.scene, Side.RESPONDER, self.known)

    # -- steps

    def reach(self, goal: State, fields: dict[str, Any], opening: dict[str, Any]) -> None:
        """A new link, led to a state by the shortest path."""
        link = Modelled(self.scene.dialogue(f"link{len(self.links)}"))
        self.links.append(link)
        for seen in path_to(RESPONDER, START["responder"], goal):
            self.legal_step(link, seen, fields, opening)

    def legal_step(
        self, link: Modelled, seen: Seen, fields: dict[str, Any], opening: dict[str, Any],
        dress: Callable[[Any], Any] = lambda message: message,
    ) -> None:  # fmt: skip
        """Take a step that the table lists, and hear the answer that it lists."""
        if seen is Seen.INIT_SYN:
            link.syn = link.us.init_syn(**fields)
            link.ack = link.us.ask(dress(link.syn), expect=InitAck, step=f"{link.state.value}: InitSyn")
            told = "a cookie" if link.ack is not None and link.ack.cookie else "none"
            link.us.require(told == "a cookie", expected="a cookie", got=told, step="init.cookie")
        elif seen is Seen.OPEN_SYN:
            assert link.ack is not None
            link.us.initial_sn = opening["initial_sn"]
            open_ = link.us.open_syn(link.ack, **opening.get("lease", {}))
            link.us.ask(dress(open_), expect=OpenAck, step=f"{link.state.value}: OpenSyn")
        link.steps.append(seen)
        link.state = step(RESPONDER, link.state, seen)

    def refused(self, link: Modelled, what: Seen) -> None:
        """CLOSE or the link's end, and nothing else."""
        link.us.expect_refusal(f"{link.state.value}: {what.value}")
        self.over(link, what)

    def no_step(self, link: Modelled, what: Seen) -> None:
        """CLOSE, the link's end, or nothing: a second message then tells that nothing was opened."""
        for seen in link.us.stream(link.us.unit / 4):
            if isinstance(seen.message, Close):
                break
            if not isinstance(seen.message, KeepAlive):
                got = link.us.told(seen)
                link.us.depart(expected="no step forward", got=got, step=f"{link.state.value}: {what.value}")
        self.over(link, what)

    def over(self, link: Modelled, what: Seen) -> None:
        """The link is of no more use."""
        link.us.wire.shut()
        link.steps.append(what)
        link.state = State.CLOSED

    # -- links

    def open_links(self) -> list[Modelled]:
        return [link for link in self.links if link.state is not State.CLOSED]

    def early_links(self) -> list[Modelled]:
        return [link for link in self.open_links() if link.state is not State.LIVE]

    def waiting(self) -> list[Modelled]:
        return [link for link in self.links if link.state is State.INIT_ACKED]

    def live_links(self) -> list[Modelled]:
        return [link for link in self.links if link.state is State.LIVE]

    def live_clients(self) -> list[Modelled]:
        return [link for link in self.live_links() if link.syn is not None and link.syn.whatami == sane.CLIENT]

    def pick(self, which: int, *, early: bool = False) -> Modelled:
        links = self.early_links() if early else self.open_links()
        return links[which % len(links)]


def due(state: State) -> Seen:
    """The step of the handshake that a state waits for."""
    return next(seen for seen in RESPONDER[state] if seen not in (Seen.CLOSE, Seen.LINK_END))


def machine(stage: Callable[[], Scene], known: frozenset[str] = frozenset()) -> type[Establishment]:
    """The machine for a stage: every run of it begins with a new scene. `known`: requirements left to their own cases."""
    return type("EstablishmentOnStage", (Establishment,), {"stage": staticmethod(stage), "known": known})
