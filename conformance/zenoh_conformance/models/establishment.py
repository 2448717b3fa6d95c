"""The handshake as a Hypothesis state machine over the session table, toward a responder.

It arrives in a drawn reachable state by the shortest path, then takes legal and illegal steps on one link or several, and
after each compares what came with what the table says. At the end every law judges the whole conversation.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from zenoh_conformance import sane
from zenoh_conformance.codec import segments
from zenoh_conformance.conversation import Conversation, Side
from zenoh_conformance.dialogue import SN_MASK, Dialogue
from zenoh_conformance.finding import Departed, Finding
from zenoh_conformance.kinds import InitAck, OpenAck
from zenoh_conformance.law import judge
from zenoh_conformance.messages import Fragment, Frame, Init, KeepAlive, Open
from zenoh_conformance.scene import Scene
from zenoh_conformance.session import RESPONDER, START, Seen, State, path_to, step

REQUIREMENT = "session-establishment/handshake-messages-in-order"
MOST_LINKS = 3


@dataclass(slots=True)
class Modelled:
    """One link and where the model says it stands."""

    us: Dialogue
    state: State = START["responder"]
    syn: Init | None = None
    ack: Init | None = None
    steps: list[Seen] = field(default_factory=list)


init_fields = st.fixed_dictionaries(
    {},
    optional={
        "resolution": st.sampled_from([0x0A, 0x09, 0x08, 0x06, 0x05, 0x02, 0x00]),
        "batch_size": st.sampled_from([65535, 49152, 8192, 2048, 512]),
        "whatami": st.sampled_from([sane.CLIENT, sane.PEER, sane.ROUTER]),
        "exts": st.sampled_from(
            [(), ("QoS",), ("LowLatency",), ("Compression",), ("QoS", "LowLatency"), ("QoS", "Compression")]
        ).map(lambda names: sane.offers(*names)),
    },
)
"""What a sane InitSyn may vary."""


def _version(link: Modelled, value: int) -> Any:
    return link.us.init_syn(version=(sane.VERSION + 1 + value) % 256)


def _reserved_role(link: Modelled, value: int) -> Any:
    syn = segments(link.us.init_syn())
    return syn.replace("init.packed", bytes([syn.get("init.packed").data[0] | 3]))


def _zid_zero(link: Modelled, value: int) -> Any:
    return segments(link.us.init_syn()).replace("init.zid", bytes(len(link.us.zid)))


def _cut_init(link: Modelled, value: int) -> Any:
    whole = segments(link.us.init_syn(exts=())).join()
    return whole[: 1 + value % (len(whole) - 1)]


def _changed_cookie(link: Modelled, value: int) -> Any:
    assert link.ack is not None and link.ack.cookie
    cookie = bytearray(link.ack.cookie)
    cookie[value % len(cookie)] ^= 1 << value % 8
    return link.us.open_syn(link.ack, cookie=bytes(cookie))


def _short_cookie(link: Modelled, value: int) -> Any:
    assert link.ack is not None and link.ack.cookie
    return link.us.open_syn(link.ack, cookie=link.ack.cookie[: value % len(link.ack.cookie)])


def _large_sn(link: Modelled, value: int) -> Any:
    assert link.ack is not None
    code = sane.DEFAULT_RESOLUTION if link.ack.resolution is None else link.ack.resolution
    return link.us.open_syn(link.ack, initial_sn=SN_MASK[min(code & 3, 2)] + 1)


UNACCEPTABLE: dict[State, tuple[Callable[[Modelled, int], Any], ...]] = {
    State.AWAIT_INIT: (_version, _reserved_role, _zid_zero, _cut_init),
    State.INIT_ACKED: (_changed_cookie, _short_cookie, _large_sn),
}
"""The message that is due, with a content that must be refused."""

ABOUT: dict[Callable[[Modelled, int], Any], str] = {_large_sn: "session-establishment/initial-sn-out-of-range-refused"}
"""What has a requirement and cases of its own; left out for a target that is known to depart from it."""

PREMATURE: dict[Seen, Callable[[Modelled], Any]] = {
    Seen.INIT_SYN: lambda link: link.us.init_syn(),
    Seen.INIT_ACK: lambda link: link.us.init_ack(link.us.init_syn()),
    Seen.OPEN_SYN: lambda link: Open(ack=False, lease=1000, initial_sn=0, cookie=b"\x5a" * 16),
    Seen.OPEN_ACK: lambda link: link.us.open_ack(),
    Seen.KEEP_ALIVE: lambda link: KeepAlive(),
    Seen.FRAME: lambda link: Frame(sn=0, messages=()),
    Seen.FRAGMENT: lambda link: Fragment(more=False, sn=0, payload=b"x"),
    Seen.GARBAGE: lambda link: b"\xff\xff\xff",
}
"""Messages for the moments when they are not due."""


class Establishment(RuleBasedStateMachine):
    """Subclass it with a `stage`; see `machine`."""

    stage: ClassVar[Callable[[], Scene]]
    known: ClassVar[frozenset[str]] = frozenset()
    """Requirements from which the target is known to depart: what is about them is not done."""

    def __init__(self) -> None:
        super().__init__()
        self.scene = type(self).stage()
        self.links: list[Modelled] = []

    @initialize(goal=st.sampled_from([State.AWAIT_INIT, State.INIT_ACKED, State.LIVE]), fields=init_fields)
    def arrive(self, goal: State, fields: dict[str, Any]) -> None:
        """A link in a drawn state, by the shortest path."""
        self.reach(goal, fields)

    @precondition(lambda self: len(self.open_links()) < MOST_LINKS)
    @rule(goal=st.sampled_from([State.AWAIT_INIT, State.INIT_ACKED, State.LIVE]), fields=init_fields)
    def another_link(self, goal: State, fields: dict[str, Any]) -> None:
        """One more link beside the others."""
        self.reach(goal, fields)

    def reach(self, goal: State, fields: dict[str, Any]) -> None:
        """A new link, led to a state by the shortest path."""
        link = self.fresh()
        for seen in path_to(RESPONDER, START["responder"], goal):
            self.legal_step(link, seen, fields, 0)

    @precondition(lambda self: bool(self.open_links()))
    @rule(which=st.integers(0, MOST_LINKS - 1), fields=init_fields, sn=st.integers(0, 0x7F))
    def go_on(self, which: int, fields: dict[str, Any], sn: int) -> None:
        """The next legal step of a link; on a live one, work."""
        link = self.pick(which)
        if link.state is State.LIVE:
            link.us.expect_live()
        else:
            seen = next(seen for seen in RESPONDER[link.state] if seen not in (Seen.CLOSE, Seen.LINK_END))
            self.legal_step(link, seen, fields, sn)

    @precondition(lambda self: bool(self.early_links()))
    @rule(which=st.integers(0, MOST_LINKS - 1), what=st.sampled_from(sorted(PREMATURE, key=lambda seen: seen.value)))
    def speak_too_early(self, which: int, what: Seen) -> None:
        """A message that is not due is refused."""
        link = self.pick(which, early=True)
        if what in RESPONDER[link.state] and what is not Seen.OPEN_SYN:
            return
        link.us.send(PREMATURE[what](link))
        self.refused(link, what)

    @precondition(lambda self: bool(self.early_links()))
    @rule(which=st.integers(0, MOST_LINKS - 1), how=st.integers(0, 3), value=st.integers(0, 255))
    def speak_wrongly(self, which: int, how: int, value: int) -> None:
        """The message that is due, wrong, is refused."""
        link = self.pick(which, early=True)
        wrong = [step for step in UNACCEPTABLE[link.state] if ABOUT.get(step) not in self.known]
        link.us.send(wrong[how % len(wrong)](link, value))
        self.refused(link, Seen.UNACCEPTABLE)

    @precondition(lambda self: bool(self.open_links()))
    @rule(which=st.integers(0, MOST_LINKS - 1), politely=st.booleans())
    def leave(self, which: int, politely: bool) -> None:
        """We end a link, with CLOSE or without."""
        link = self.pick(which)
        if politely:
            link.us.send(sane.close(session=True))
            link.us.expect_end(step="after Close")
        link.us.wire.shut()
        link.state = step(RESPONDER, link.state, Seen.CLOSE if politely else Seen.LINK_END)

    @invariant()
    def live_sessions_live(self) -> None:
        """Whatever was done on one link, the live sessions of others work."""
        for link in self.links:
            if link.state is State.LIVE:
                link.us.expect_live()

    def teardown(self) -> None:
        """Let go, and let the laws judge."""
        for link in self.links:
            link.us.wire.shut()
        conversation: Conversation | None = getattr(self.scene, "conversation", None)
        if conversation is not None:
            raise_first(
                [f for judged in judge(conversation) if judged.sender is Side.RESPONDER for f in judged.findings]
            )

    # -- steps

    def fresh(self) -> Modelled:
        link = Modelled(self.scene.dialogue(f"link{len(self.links)}"))
        self.links.append(link)
        return link

    def legal_step(self, link: Modelled, seen: Seen, fields: dict[str, Any], sn: int) -> None:
        """Take a step that the table lists, and hear the answer that it lists."""
        if seen is Seen.INIT_SYN:
            link.syn = link.us.init_syn(**fields)
            link.ack = link.us.ask(link.syn, expect=InitAck, step=f"{link.state.value}: InitSyn")
        elif seen is Seen.OPEN_SYN:
            assert link.ack is not None
            link.us.initial_sn = sn
            link.us.ask(link.us.open_syn(link.ack), expect=OpenAck, step=f"{link.state.value}: OpenSyn")
        link.steps.append(seen)
        link.state = step(RESPONDER, link.state, seen)

    def refused(self, link: Modelled, what: Seen) -> None:
        link.us.expect_refusal(f"{link.state.value}: {what.value}")
        link.us.wire.shut()
        link.steps.append(what)
        link.state = State.CLOSED

    def open_links(self) -> list[Modelled]:
        return [link for link in self.links if link.state is not State.CLOSED]

    def early_links(self) -> list[Modelled]:
        return [link for link in self.open_links() if link.state is not State.LIVE]

    def pick(self, which: int, *, early: bool = False) -> Modelled:
        links = self.early_links() if early else self.open_links()
        return links[which % len(links)]


def raise_first(findings: list[Finding]) -> None:
    """Raise the first finding, if there is one."""
    if findings:
        raise Departed(findings[0])


def machine(stage: Callable[[], Scene], known: frozenset[str] = frozenset()) -> type[Establishment]:
    """The machine for a stage: every run of it begins with a new scene. `known`: requirements left to their own cases."""
    return type("EstablishmentOnStage", (Establishment,), {"stage": staticmethod(stage), "known": known})
