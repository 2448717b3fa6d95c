"""Our sessions around a target while inputs run: opened when they are needed, read without pause, fenced after each input."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from itertools import count, groupby
from typing import Any, Final

from zenoh_conformance.judging.finding import Deviation
from zenoh_conformance.messages import (
    DQueryable,
    KeepAlive,
    Push,
    Put,
    Query,
    Reply,
    Request,
    Response,
    ResponseFinal,
    USubscriber,
    sane,
)
from zenoh_conformance.primitives import WhatAmI, WireExpr
from zenoh_conformance.reading.codec import encode
from zenoh_conformance.reading.conversation import Framing, Side
from zenoh_conformance.reading.kinds import InitAck, InitSyn, OpenSyn
from zenoh_conformance.reading.names import undeclared_key
from zenoh_conformance.talking import Dialogue
from zenoh_conformance.talking.budget import ReadBudget
from zenoh_fuzz.finding import without_numbers
from zenoh_harness.errors import CannotConnect
from zenoh_harness.files.scripts import STAYS_UP
from zenoh_harness.links.timing import Deadline, scaled, strain
from zenoh_harness.links.wires import LinkWire, Recorder
from zenoh_harness.reference.credentials import open_session
from zenoh_harness.targets.habits import habits_of
from zenoh_harness.targets.target import NodeInstance

from .acts import GREETED, LIVE, Act

PATIENCE: Final = 1.0
"""Seconds within which a target answers."""
COMES: Final = 5.0
"""Seconds within which a target that connects comes again."""
GLANCE: Final = 0.002
"""Seconds between two looks at the other links while one is waited for."""
LOOK: Final = 0.1
"""Seconds of silence between two looks at the target's output."""
ENDING: Final = 0.05
"""Seconds in which a target may refuse what it got before OPEN."""
ID_BITS: Final = 16
"""Most bits of the id of a fence."""
LANES: Final = tuple((reliable, priority) for priority in range(1, 8) for reliable in (True, False))
"""The channels on which the bystander publishes (message-reference#priority-values)."""
_ZIDS = count(1)


class OurSessions:
    """The links of ours to one node, by name."""

    def __init__(
        self, node: NodeInstance, role: WhatAmI = WhatAmI.CLIENT, has_panicked: Callable[[], bool] = lambda: False
    ) -> None:
        """`has_panicked`: whether the target has, so that nothing more is waited for."""
        self.node, self.role, self.has_panicked = node, role, has_panicked
        self.patience = scaled(PATIENCE) * strain()
        """Seconds within which the target answers; more on an overloaded machine, where a late answer is nobody's fault."""
        self.recorder = Recorder()
        self.live: dict[str, Dialogue] = {}
        self.odd: set[str] = set()
        """Links on whose session something odd was sent: nobody can tell any more which numbers the target expects."""
        self.finals: set[tuple[str, int]] = set()
        self.got: list[tuple[str, bytes]] = []
        """Link and payload of each sample that came."""
        self.features: set[str] = set()
        """What the target did since the campaign looked last: kinds of messages and ends of links."""
        self._names, self._fences = count(1), count(1)

    @property
    def connects(self) -> bool:
        """Whether the target connects to us: it then has one session, whatever a link is called."""
        return self.node.side is Side.INITIATOR

    def session(self, link: str, *, role: WhatAmI | None = None) -> Dialogue:
        """Return the live session of a link, opened if there is none. Raises Deviation or CannotConnect."""
        us = self.live.get(link)
        if us is None or not us.is_live:
            us = self.live[link] = self._open(link, role or self.role)
            self.odd.discard(link)
            self.finals = {
                (name, request) for name, request in self.finals if name != link
            }  # a new session counts ids anew
        return us

    def _wire(self, link: str) -> LinkWire:
        comes = max(scaled(COMES), habits_of(self.node).patience)
        deadline = Deadline.after(comes if self.connects else self.patience)
        return self.recorder.wire(self.node, f"{link}.{next(self._names)}", deadline)

    def _dialogue(self, link: str) -> Dialogue:
        zid = b"\x66" + next(_ZIDS).to_bytes(6, "big") + b"\x7a"
        us = Dialogue(self._wire(link), zid=zid, unit=self.patience, requirement=STAYS_UP)
        us.budget = ReadBudget()
        return us

    def _open(self, link: str, role: WhatAmI) -> Dialogue:
        return open_session(self._dialogue(link), self.node.profile, whatami=role)

    # -- what an input does

    def perform(self, acts: Iterable[Act], *, lawful: bool = True) -> None:
        """Send acts, those in a row on one link in one write. Raises Deviation or CannotConnect if a session cannot be had."""
        for link, row in groupby(acts, lambda act: act.link if act.stage == LIVE and not act.seconds else ""):
            if link:
                us = self.session(link)
                self.odd.update(() if lawful else (link,))  # of this session: a new one begins without
                self._send(us, row)
                continue
            for act in row:
                if act.seconds:
                    self._wait(act.seconds)
                else:
                    self._early(act)

    def _send(self, us: Dialogue, acts: Iterable[Act]) -> None:
        batches = [us.framed(act.batch(us.next_sn)) for act in acts for _ in range(act.times)]
        for data in [b"".join(batches)] if us.wire.framing is Framing.STREAM else batches:
            us.wire.send(data)

    def _wait(self, seconds: float) -> None:
        """Read what the sessions bring for some time; without a session there is nobody whose time would pass."""
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            self.pump()
            open_ones = [us for us in self.live.values() if us.ended is None]
            if not open_ones:
                return
            for us in open_ones:
                if (event := us.wire.receive(left if len(open_ones) == 1 else min(left, GLANCE))) is not None:
                    us._take(event)

    def _early(self, act: Act) -> None:
        """Send an act before OPEN, on a link of its own, and read until the target ends it."""
        if self.connects:
            self.leave()
        us = self._dialogue(f"{act.link}-{act.stage}")
        self._greet(us, act.stage)
        self._send(us, [act])
        us.wire.finish()
        until = time.monotonic() + ENDING
        while us.ended is None and (left := until - time.monotonic()) > 0:
            if (event := us.wire.receive(left)) is not None:
                us._take(event)
        self._read(act.stage, us)
        us.wire.shut()

    def _greet(self, us: Dialogue, stage: str) -> None:
        """Bring a link to a stage before OPEN; a target that connects speaks first."""
        if self.connects:
            syn = us.expect(InitSyn)
            if stage == GREETED:
                us.ask(us.init_ack(syn, whatami=self.role), expect=OpenSyn)
        elif stage == GREETED:
            us.ask(us.init_syn(whatami=self.role), expect=InitAck)

    # -- reading

    def pump(self) -> None:
        """Read what has come on all links, answer what must be answered, and keep the sessions alive."""
        for link, us in self.live.items():
            while us.ended is None and (event := us.wire.receive(0.0)) is not None:
                us._take(event)
            self._read(link, us)
            if us.is_live and us.wire.now() >= us.due:
                us.send(KeepAlive())

    def _read(self, link: str, us: Dialogue) -> None:
        while us._unread:
            seen = us._unread.popleft()
            self.features.add(f"{link[:1]} {seen.kind} {type(getattr(seen.message, 'body', None)).__name__}")
            if seen.kind == "undecodable":
                self.features.add(f"undecodable {without_numbers(str(seen.message))}")
            elif isinstance(seen.message, Request):
                self._answer(us, seen.message)
            elif isinstance(seen.message, ResponseFinal):
                self.finals.add((link, seen.message.id))
            elif isinstance(seen.message, Push) and isinstance(seen.message.body, Put):
                self.got.append((link, seen.message.body.payload))
            elif isinstance(seen.message, Response):
                body = getattr(seen.message.body, "body", None)
                self.got.append((link, getattr(body, "payload", b"")))
        us.heard.clear()
        us.budget = ReadBudget()
        if us.is_over:
            self.features.add(f"{link[:1]} {us.end()}")

    def _answer(self, us: Dialogue, request: Request) -> None:
        """Finish a query: an open one would keep the fences of others from their end."""
        if us.is_live:
            key = request.key.suffix or ""
            if key.startswith(Bystanders.PREFIX):
                us.say(Response(id=request.id, key=_key(key), body=Reply(body=Put(payload=b"answer"))))
            us.say(ResponseFinal(id=request.id))

    def fence(self, link: str, before: bytes = b"") -> bool:
        """Return whether the target answers a query of this link; `before` is sent in the same batch. False for a link that ended."""
        us = self.live[link]
        request = self._fence_id(us)
        self.finals.discard((link, request))
        key = f"zconform/fence/{us.zid.hex()}/{request}"
        us.wire.send(us.framed(before + encode(us.frame(Request(id=request, key=_key(key), body=Query())))))
        return self.wait_for(link, lambda: (link, request) in self.finals)

    def _fence_id(self, us: Dialogue) -> int:
        """Return a request id from the last quarter of those that are settled: the final of an input's query answers no fence."""
        settled = us.theirs.resolution if us.theirs is not None else None
        bits = 8 << ((sane.DEFAULT_RESOLUTION if settled is None else settled) >> 2 & 3)
        quarter = 1 << min(bits, ID_BITS) - 2
        return 3 * quarter + next(self._fences) % quarter

    def wait_for(self, link: str, holds: Any) -> bool:
        """Pump until a condition holds, the link ends, or time is over. Returns whether it holds."""
        us, until = self.live[link], time.monotonic() + self.patience
        look = time.monotonic() + LOOK
        while True:
            self.pump()
            if time.monotonic() >= look:
                look = time.monotonic() + LOOK
                if self.has_panicked():
                    return bool(holds())
            if holds() or us.is_over or time.monotonic() >= until:
                return bool(holds())
            if (event := us.wire.receive(GLANCE)) is not None:
                us._take(event)

    def let_go(self, link: str) -> None:
        """End one session; the next act on its link opens another."""
        with suppress(Deviation, OSError):
            self.live.pop(link).leave()

    def leave(self) -> None:
        """End all sessions."""
        for us in self.live.values():
            with suppress(Deviation, OSError):
                us.leave()
        self.live.clear()


def is_router(node: NodeInstance) -> bool:
    """Return whether a node says in its INIT that it is a router: no other node must pass on what one session sends to another."""
    sessions = OurSessions(node)
    try:
        heard = sessions.session("a").heard
        return any(seen.kind == "init" and seen.message.whatami is WhatAmI.ROUTER for seen in heard)
    except (Deviation, CannotConnect):
        return False
    finally:
        sessions.leave()


class Bystanders:
    """Two sessions that do nothing odd: what one publishes and asks must reach the other, whatever others send."""

    PREFIX: Final = "zconform/bystander/"
    FIRST, SECOND = "Bystander", "Beside"

    def __init__(self, sessions: OurSessions, *, routed: bool = True) -> None:
        """`routed`: whether the target passes on between sessions."""
        self.sessions, self.routed = sessions, routed
        self._payloads = count(1)
        self._first: Dialogue | None = None
        self._second: Dialogue | None = None

    def begin(self) -> str:
        """Open their sessions and declare what the first one serves; return what does not work, or nothing.

        A node that routes nothing owes a bystander only answers, and one with a single session not even a session.
        """
        node = self.sessions.node
        if self.sessions.connects:
            self.sessions.leave()  # what an odd session does not do is no fault: a new one is asked
        elif 1 in (node.profile.sessions, habits_of(node).sessions):
            return ""
        if not self.routed:
            return self._alone()
        try:
            first = self.sessions.session(self.FIRST, role=WhatAmI.CLIENT)
            self._second = self.sessions.session(self.SECOND, role=WhatAmI.CLIENT)
        except (Deviation, CannotConnect) as why:
            return f"no new session: {without_numbers(str(why))}"
        if self._first is first:
            return ""
        self._first = first
        first.subscribe(self._key)
        first.declare(DQueryable(id=first.new_id(), key=_key(self._key)))
        return "" if self.sessions.fence(self.FIRST) else "a bystander's declaration is not dealt with"

    def look(self, keys: frozenset[str] = frozenset()) -> str:
        """Exercise them, over all channels and on `keys`; return what does not work, or nothing."""
        cause = self.begin()
        if cause or self._first is None or self._second is None:
            return cause
        first, second = self._first, self._second
        entities = [(name, first.subscribe(name)) for name in sorted(keys)]
        if not self.sessions.fence(self.FIRST):
            return "a bystander's declaration is not dealt with"
        cause = self._publish(second, self._key, keys) or self._ask(second, self._key)
        for name, entity in entities:
            first.declare(USubscriber(id=entity, exts=undeclared_key(_key(name))))
        return cause

    @property
    def _key(self) -> str:
        assert self._first is not None
        return f"{self.PREFIX}{self._first.zid.hex()}"

    def _alone(self) -> str:
        try:
            self.sessions.session(self.FIRST, role=None if self.sessions.connects else WhatAmI.CLIENT)
        except (Deviation, CannotConnect) as why:
            return f"no new session: {without_numbers(str(why))}"
        served = self.sessions.fence(self.FIRST)
        if self.sessions.connects:
            self.sessions.leave()
        return "" if served else "a bystander's query is not finished"

    def _publish(self, second: Dialogue, key: str, keys: frozenset[str]) -> str:
        due: dict[bytes, str] = {}
        for reliable, priority in LANES:
            payload = b"bystander %d" % next(self._payloads)
            due[payload] = f"a bystander's push on channel {'R' if reliable else 'B'}{priority} does not arrive"
            push = Push(key=_key(key), exts=_qos(priority), body=Put(payload=payload))
            second.say(push, reliable=reliable, priority=priority)
        for name in sorted(keys):
            payload = b"bystander %d" % next(self._payloads)
            due[payload] = "a push to a key that an input used does not arrive"
            second.publish(name, payload, block=True)

        def missing() -> list[str]:
            came = {payload for link, payload in self.sessions.got if link == self.FIRST}
            return [cause for payload, cause in due.items() if payload not in came]

        self.sessions.wait_for(self.FIRST, lambda: not missing())
        self.sessions.got, left = [], missing()
        return left[0] if left else ""

    def _ask(self, second: Dialogue, key: str) -> str:
        request = second.new_id()
        second.say(Request(id=request, key=_key(key), body=Query()))
        done = self.sessions.wait_for(self.SECOND, lambda: (self.SECOND, request) in self.sessions.finals)
        answered = (self.SECOND, b"answer") in self.sessions.got
        return (
            ""
            if done and answered
            else "a bystander's query is not finished"
            if answered
            else "a reply does not arrive"
        )


def _qos(priority: int) -> Any:
    from zenoh_conformance.wire import exts

    return exts(sane.qos(0x08 | priority))


def _key(name: str) -> WireExpr:
    return WireExpr(scope=0, suffix=name, mapping=True)


__all__ = ["Bystanders", "OurSessions"]
