"""What the models of the handshake share: a link and where the model says it stands, and how it is led. No model of its own."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import count, repeat
from typing import Any, ClassVar

from hypothesis.stateful import RuleBasedStateMachine

from zenoh_conformance.judging.engine import judge
from zenoh_conformance.judging.finding import Deviation, Finding
from zenoh_conformance.judging.law import all_laws
from zenoh_conformance.judging.own_side import OwnFault, own_faults
from zenoh_conformance.messages import Close, Init, KeepAlive, sane
from zenoh_conformance.reading.conversation import Conversation, Side
from zenoh_conformance.reading.kinds import InitAck, M, MessageKind, OpenAck
from zenoh_conformance.reading.pieces import SN_MASK
from zenoh_conformance.spec.requirement import is_must
from zenoh_conformance.tables.session import RESPONDER, START, SessionInput, State, path_to, step
from zenoh_conformance.talking import Dialogue, Scene
from zenoh_conformance.talking.refusal import Refusal

from . import blame
from .blame import PLAIN, Way, guilty, parts_of

Known = Mapping[str, Collection[str]] | Collection[str]
"""Requirements from which the target is known to deviate, with patterns of the causes; without them, for every cause."""

KEPT = frozenset({"batch-size-is-receive-limit", "initial-sn-own-start", "qos-needs-both"})
"""Requirements of the handshake's page that are about what follows it."""

OUT_OF_TURN = (
    "law/expired-needs-a-lease", "law/frames-are-not-empty", "law/join-on-multicast-only", "law/to-self-needs-one-zid",
    "law/what-is-said-decodes",
    *(
        law.id for law in all_laws().values()
        if law.requirement.startswith("session-establishment/") and law.requirement.partition("/")[2] not in KEPT
    ),
)  # fmt: skip
"""Laws that wrong, odd and untimely strokes break on purpose: all of the handshake. What was settled is kept to nevertheless."""

EARLY = (State.AWAIT_INIT, State.INIT_ACKED)
"""Where a handshake is under way: no page says how long the target waits there."""

MOST_LINKS = 3
"""Links that are kept open side by side."""


@dataclass(slots=True)
class Modelled:
    """One link and where the model says it stands."""

    us: Dialogue
    state: State = START["responder"]
    syn: Init | None = None
    ack: Init | None = None
    steps: list[SessionInput] = field(default_factory=list)
    way: Way = PLAIN
    """How its handshake is said."""
    returns: bool = False
    """Whether its node was there before: it may need a while, and blame is looked for at last."""
    keys: list[str] = field(default_factory=list)
    """What was subscribed to on it."""
    born: float = field(init=False)
    """When it was opened, on the conversation's clock."""

    def __post_init__(self) -> None:
        self.born = self.us.wire.now()

    @property
    def stale(self) -> bool:
        """Whether it stands in a handshake for so long that the target may have given it up."""
        return self.state in EARLY and self.us.wire.now() - self.born > self.us.unit


FIRSTS: Mapping[str, Callable[[int], int]] = {
    "zero": lambda mask: 0, "one": lambda mask: 1, "middle": lambda mask: mask // 2 + 1, "last": lambda mask: mask,
}  # fmt: skip
"""First numbers by name, from the mask of the resolution."""


def mask_of(init: Init | None) -> int:
    """What an INIT lets a first number be at most."""
    code = sane.DEFAULT_RESOLUTION if init is None or init.resolution is None else init.resolution
    return SN_MASK[min(code & 3, 2)]


class Linked(RuleBasedStateMachine):
    """A machine over links to a responder; its rules are its subclasses'."""

    stage: ClassVar[Callable[[], Scene]]
    known: ClassVar[Known] = frozenset()
    """Requirements from which the target is known to deviate, with patterns of their causes: a finding with another cause counts."""

    def __init__(self) -> None:
        super().__init__()
        self.scene = type(self).stage()
        self.links: list[Modelled] = []
        self.them: bytes | None = None
        """The target's ZenohID, once it was told."""
        self.ways: Iterator[Way] = repeat(PLAIN)
        """How handshakes are said that are needed on the way to something else."""

    def teardown(self) -> None:
        """Let go, and let the laws judge."""
        for link in self.links:
            link.us.hang_up()
        judged(self.scene, Side.RESPONDER, self.known, OUT_OF_TURN)

    # -- steps

    def link(self, way: Way = PLAIN, zid: bytes | None = None) -> Modelled:
        """A new link, before anything is said."""
        mine = zid or (self.scene.fresh_zid() * 2)[: way.zid - 1] + b"\x5a"
        us = self.scene.dialogue(f"link{len(self.links)}", zid=mine)
        self.links.append(Modelled(us, way=way, returns=zid is not None))
        return self.links[-1]

    def reach(self, goal: State, way: Way, zid: bytes | None = None) -> Modelled:
        """A new link, led to a state by the shortest path."""
        link = self.link(way, zid)
        for seen in path_to(RESPONDER, START["responder"], goal):
            self.legal_step(link, seen, way)
        return link

    def legal_step(
        self, link: Modelled, seen: SessionInput, way: Way, dress: Callable[[Any], Any] | None = None
    ) -> None:
        """Take a step that the table lists, and hear the answer that it lists."""
        link.way, said = way, dress or (lambda message: message)
        try:
            with link.us.about(blame.SKIPPED if dress else blame.ANSWERED.get(seen, blame.IN_ORDER)):
                if seen is SessionInput.INIT_SYN:
                    link.syn = link.us.init_syn(**way.init)
                    link.ack = self.asked(link, said(link.syn), InitAck, way.pieces)
                    self.compare(link)
                elif seen is SessionInput.OPEN_SYN:
                    assert link.ack is not None
                    link.us.initial_sn = FIRSTS[way.first](mask_of(link.ack))
                    self.asked(link, said(link.us.open_syn(link.ack, **way.lease)), OpenAck, way.pieces)
        except Deviation as found:
            if link.returns:
                raise
            raise self.blamed(found, way) from None
        link.steps.append(seen)
        link.state = step(RESPONDER, link.state, seen)

    def blamed(self, found: Deviation, way: Way) -> Deviation:
        """The fault of a handshake that was said in a special way: what of it alone is enough to bring it about.

        Asked of new links: where the plain handshake fails too, or only several things together bring it about, it stays as it was.
        """
        requirement = guilty(parts_of(way), PLAIN, self.comes_through)
        return Deviation(replace(found.finding, requirement=requirement)) if requirement else found

    def comes_through(self, way: Way) -> bool:
        """Whether a handshake said in that way makes a session that works."""
        before = len(self.links)
        try:
            link = self.link(way)
            ack = self.asked(link, link.us.init_syn(**way.init), InitAck, way.pieces)
            link.us.initial_sn = FIRSTS[way.first](mask_of(ack))
            self.asked(link, link.us.open_syn(ack, **way.lease), OpenAck, way.pieces)
            link.us.fence()
            link.us.fence()  # numbers go on behind the first one
        except Deviation:
            return False
        finally:
            for link in self.links[before:]:
                link.us.hang_up()
            del self.links[before:]
        return True

    def asked(self, link: Modelled, message: Any, answer: MessageKind[M], pieces: int) -> M:
        """Say a message, whole or in pieces, and hear its answer."""
        us = link.us
        us.send_cut(message, count(pieces, pieces) if pieces else ())
        return us.expect(answer, step=f"{link.state.value}: {'InitSyn' if answer is InitAck else 'OpenSyn'}")

    def compare(self, link: Modelled) -> None:
        """What every InitAck must be, beside what the laws see."""
        ack, us = link.ack, link.us
        assert ack is not None
        us.require(bool(ack.cookie), expected="a cookie", got="none", step="init.cookie")
        self.them = self.them or ack.zid.raw
        with us.about("session-establishment/init-zid"):
            same = self.them == ack.zid.raw
            us.require(same, expected="the ZenohID of before", got="another", step="init.zid")

    def refused(self, link: Modelled, what: SessionInput) -> Refusal:
        """CLOSE or the link's end, and nothing else."""
        refusal = link.us.expect_refusal(f"{link.state.value}: {what.value}")
        self.over(link, what)
        return refusal

    def lives(self, link: Modelled, step: str = "the session works") -> None:
        """The session does work."""
        try:
            with link.us.about(blame.LIVES):
                link.us.expect_live(step)
        except Deviation as found:
            raise self.blamed(found, link.way) from None

    def no_step(self, link: Modelled, what: SessionInput) -> None:
        """CLOSE, the link's end, or nothing: a second message then tells that nothing was opened."""
        for seen in link.us.stream(link.us.unit / 4):
            if isinstance(seen.message, Close):
                break
            if not isinstance(seen.message, KeepAlive):
                got = link.us.text_of(seen)
                link.us.deviate(expected="no step forward", got=got, step=f"{link.state.value}: {what.value}")
        self.over(link, what)

    def over(self, link: Modelled, what: SessionInput) -> None:
        """The link is of no more use."""
        link.us.hang_up()
        link.steps.append(what)
        link.state = State.CLOSED

    # -- links

    def in_state(self, *states: State) -> list[Modelled]:
        """Those that stand there; a handshake that was left standing for long is given up first."""
        for link in self.links:
            if link.stale:
                self.over(link, SessionInput.LINK_END)
        return [link for link in self.links if link.state in states]

    def at(self, which: int, state: State) -> Modelled:
        """A link in that state: one that is there, or a new one, led there by the shortest path."""
        there = self.in_state(state)
        return pick(there, which) if there else self.reach(state, next(self.ways))

    def client(self, which: int, way: Way) -> Modelled:
        """A live link of a client: one that is there, or a new one."""
        clients = [link for link in self.in_state(State.LIVE) if is_client(link)]
        if clients and which < MOST_LINKS:
            return pick(clients, which)
        return self.reach(State.LIVE, replace(way, init={**way.init, "whatami": sane.CLIENT}))


def pick(links: Sequence[Modelled], which: int) -> Modelled:
    """One of them, whatever was drawn."""
    return links[which % len(links)]


def is_client(link: Modelled) -> bool:
    """Whether we are a client there: a router carries what is published between clients."""
    return link.syn is not None and link.syn.whatami == sane.CLIENT


def due(state: State) -> SessionInput:
    """The step of the handshake that a state waits for."""
    return next(seen for seen in RESPONDER[state] if seen not in (SessionInput.CLOSE, SessionInput.LINK_END))


def is_known(known: Known, finding: Finding) -> bool:
    """Whether a finding is a known deviation: of its requirement, and with what came and what was due, at whatever step.

    Requirements without patterns are known for every cause.
    """
    if finding.requirement not in known:
        return False
    patterns = known[finding.requirement] if isinstance(known, Mapping) else ("*",)
    without_step = f"{finding.got} where {finding.expected} is required"
    whole = any(matches_pattern(pattern, finding.cause) for pattern in patterns)
    return whole or any(matches_pattern(pattern.rpartition(": ")[2], without_step) for pattern in patterns)


def matches_pattern(pattern: str, text: str) -> bool:
    """Whether a text matches a pattern, in which `*` stands for any text."""
    return re.fullmatch(".*".join(map(re.escape, pattern.split("*"))), text, re.DOTALL) is not None


@contextmanager
def unless_known(us: Dialogue, known: Known, requirement: str) -> Iterator[None]:
    """What deviates meanwhile deviates from this requirement; it is passed over if it is known."""
    try:
        with us.about(requirement):
            yield
    except Deviation as found:
        if not is_known(known, found.finding):
            raise


def judged(scene: Any, side: Side, known: Known, breaks: Collection[str] = ()) -> None:
    """Let the laws judge the whole conversation. Raises Deviation for the earliest finding against a MUST that is not known.

    Raises OwnFault where we broke another law than those in `breaks`, and the target none.
    """
    conversation: Conversation | None = getattr(scene, "conversation", None)
    said = judge(conversation) if conversation is not None else []
    findings = [finding for one in said if one.sender is side for finding in one.findings]
    musts = [one for one in findings if not is_known(known, one) and is_must(one.requirement)]
    if musts:
        raise Deviation(min(musts, key=lambda one: one.time))
    for fault in own_faults(conversation or Conversation(), said, side.other, breaks):
        raise OwnFault(fault)
