"""Is it alive? Grades from process to function, with a latency budget learnt while all was calm.

A router can be dead to its users while it still answers handshakes; only new sessions that carry data show it.
"""

from __future__ import annotations

import contextlib
import itertools
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from threading import Event
from typing import Any, Final

from zenoh_conformance.judging.engine import judge
from zenoh_conformance.judging.finding import Deviation
from zenoh_conformance.judging.kept_waiting import kept_waiting
from zenoh_conformance.judging.verdict import Verdict
from zenoh_conformance.laws.session_terms import ExpiredNeedsALease
from zenoh_conformance.messages import DQueryable, Push, Put, Query, Reply, Request, Response, ResponseFinal
from zenoh_conformance.primitives import WhatAmI, WireExpr
from zenoh_conformance.reading.conversation import Conversation, Side
from zenoh_conformance.talking import Dialogue, Fence, settle
from zenoh_conformance.talking.budget import KEPT
from zenoh_conformance.talking.patience import longer
from zenoh_harness.errors import AgentError, AgentGone, AgentUnimplemented, CannotConnect
from zenoh_harness.files.scripts import STAYS_UP
from zenoh_harness.links.timing import Deadline, scaled
from zenoh_harness.links.wires import LinkWire, Recorder
from zenoh_harness.programs.processes import Usage
from zenoh_harness.programs.signs import Sign, grave
from zenoh_harness.reference.credentials import open_session
from zenoh_harness.targets.agent import SILENT, AgentClient
from zenoh_harness.targets.habits import SessionEnd, TargetHabits, habits_of
from zenoh_harness.targets.target import Grade, NodeInstance, Vitals

PATIENCE: Final = 3.0
"""Seconds that a node which never was measured may take for one step."""

FLOOR: Final = 0.25
"""Seconds below which nothing is slow."""

LAST: Final = 10
"""Lines of each stream that are kept of a program that ended or is ill."""

SETTLE: Final = 0.5
"""Seconds in which a process that shut its links ends, if that is why."""

LETS_GO: Final = (0.05, 0.5)
"""Seconds that a node gets to let go of an earlier session, after each one of ours that it left at once."""

TIMES_CALM: Final = 20
"""How many times its calm latency a healthy node may take."""

TOLD: Final[Mapping[str, str]] = {"query": "declare_queryable", "sample": "declare_subscriber"}
"""What an application is told, and the agent's command without which it is not."""

READY_EVERY: Final = 0.02
"""Seconds after which an application that refused a command is asked again."""

TELLS: Final[Mapping[str, str]] = {"query": "Request", "sample": "Push"}
"""What an application is told, and the message of which it is told."""

PLANS: Final[Mapping[str, Mapping[str, Any]]] = {"query": {"plan": [{"reply": b"alive".hex()}]}}
"""What it is to do then."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """How long a functional check may take."""

    calm: float
    """Seconds that it took while nothing else went on (median)."""
    enough: Grade = Grade.FUNCTIONAL
    """The best that it ever was: what it never could is not looked for again."""
    panics: frozenset[str] = frozenset()
    """Panics that its kind writes from the start."""
    floor: float = PATIENCE
    """Seconds that one step may take at least before it is a hang."""

    @property
    def slow(self) -> float:
        """Seconds past which a healthy answer is slow."""
        return max(scaled(FLOOR), TIMES_CALM * self.calm)

    @property
    def patience(self) -> float:
        """Seconds past which one step is a hang."""
        return max(scaled(self.floor), 2 * self.slow)


@dataclass(frozen=True, slots=True, kw_only=True)
class Health:
    """How a node was found."""

    grade: Grade
    """The highest grade that it reached."""
    verdict: Verdict
    """PASS, SLOW, PANIC, ZOMBIE, HANG or CRASH; NOT_OBSERVED where we kept an impatient node waiting, or it took a lease for over."""
    cause: str
    """Why, in one line, free of times; empty for PASS."""
    latency: float
    """Seconds that the check took."""
    vitals: Vitals
    usage: Usage | None = None
    """Memory, threads and descriptors after the check; None where they cannot be seen."""
    conversation: Conversation
    """What was said during the check: evidence."""
    wrote: tuple[str, ...] = ()
    """The last lines of its output, where it is ill."""
    awaited: str = ""
    """The message that did not come, where it is a zombie."""

    @property
    def well(self) -> bool:
        """Whether the run can go on with it."""
        return self.verdict.is_right


_ZIDS = itertools.count(1)


def check(node: NodeInstance, budget: Budget | None = None) -> Health:
    """Look at `node` from its process up to its function; never raises for what the node does."""
    return _Check(node, budget).run()


def learn(node: NodeInstance, times: int = 3) -> Budget:
    """The budget from a few checks while nothing else goes on; CannotGoOn is not raised: an ill node has a default."""
    found = [check(node) for _ in range(times)]
    return Budget(calm=statistics.median(one.latency for one in found) if all(one.well for one in found) else 0.0)


class _Ill(Exception):  # noqa: N818  carries a verdict out of a step
    def __init__(self, verdict: Verdict, cause: str) -> None:
        super().__init__(cause)
        self.verdict = verdict
        self.cause = cause


class _Check:
    """One look at a node; the grade rises step by step."""

    def __init__(self, node: NodeInstance, budget: Budget | None) -> None:
        self.node = node
        self.budget = budget
        self.habits = habits_of(node)
        self.unit = longer(budget.patience if budget else scaled(PATIENCE), self.habits.unit)
        self.recorder = Recorder()
        self.grade = Grade.GONE
        self.awaited = ""
        self.open: list[Dialogue] = []

    def run(self) -> Health:
        began = time.monotonic()
        if self.node.agent is not None:
            self.node.agent.rest()
        # A latency is looked at only after all works. A node that was slow once, while sessions of an earlier case were let go,
        # is no finding: what counts is what stays slow (`lifecycle.py` looks again).
        verdict, cause = Verdict.PASS, ""
        try:
            self._steps()
        except _Ill as unhealthy:
            verdict, cause = unhealthy.verdict, unhealthy.cause
        latency = time.monotonic() - began
        late = kept_waiting(self.recorder.conversation, self.node.side, self.habits.waits)
        self._leave()
        if any(dialogue.budget.spent for dialogue in self.open):
            self.recorder.conversation.cut(sum(dialogue.budget.sent for dialogue in self.open) + KEPT)
        if verdict.is_stuck and late is not None:
            verdict, cause = Verdict.NOT_OBSERVED, late.cause
        elif verdict.is_stuck and expired_early(self.recorder.conversation, self.node.side):
            verdict, cause = (
                Verdict.NOT_OBSERVED,
                f"{cause}, before a lease was over, which {ExpiredNeedsALease.id} judges",
            )
        if self.budget and verdict is Verdict.PASS and latency > self.budget.slow:
            verdict, cause = Verdict.SLOW, "works, past its latency budget"
        return self._health(verdict, cause, latency)

    def _health(self, verdict: Verdict, cause: str, latency: float) -> Health:
        if verdict.is_stuck and self.node.program is not None:
            self.node.program.wait(Deadline.after(SETTLE))  # the kernel shuts links before it tells us of the end
        vitals = self.node.vitals()
        panic = self._panic(vitals)
        if verdict is not Verdict.PASS and not vitals.running:
            verdict, cause, self.grade = Verdict.CRASH, death(vitals), Grade.GONE
        elif verdict is Verdict.ZOMBIE and vitals.signs:
            cause = f"{cause}, after signs of {vitals.signs[0].kind} in its output"
        elif panic is not None:
            verdict, cause = Verdict.PANIC, panic.cause
        return Health(
            grade=self.grade, verdict=verdict, cause=cause, latency=latency, vitals=vitals,
            usage=self.node.program.usage() if self.node.program else None,
            conversation=self.recorder.conversation, awaited=self.awaited, wrote=wrote(self.node) if verdict.is_grave else (),
        )  # fmt: skip

    def _panic(self, vitals: Vitals) -> Sign | None:
        """The first panic in its output that it did not have from the start."""
        usual = self.budget.panics if self.budget else frozenset()
        return grave(sign for sign in vitals.signs if sign.cause not in usual)

    def _steps(self) -> None:
        vitals = self.node.vitals()
        if not vitals.running and not (vitals.in_order and getattr(self.node, "again", None)):
            raise _Ill(Verdict.CRASH, death(self.node.vitals()))
        self.grade = Grade.PROCESS
        # Handshakes alone show nothing: an old release is dead to its users, routes no more, and still answers every INIT.
        if self.budget and self.budget.enough <= Grade.SOCKET:  # it opened no session even while nothing was odd
            self._link("first").shut()
            return
        first = self._session("first")
        if self.budget and self.grade >= self.budget.enough:
            return
        single = 1 in (self.node.profile.sessions, self.habits.sessions)
        alone = single or self.node.side is Side.INITIATOR or self.node.role != "router"
        if not alone and not _says_otherwise(first):
            self._function(first, self._session("second"))
        elif self.node.agent is not None and self.node.agent.capabilities:
            self._work(first, self._function_of_agent)
        else:
            self._work(first, self._plain)
        self.grade = Grade.FUNCTIONAL

    def _session(self, name: str) -> Dialogue:
        """A new session: a node that answers none hangs; one that refuses it, or answers some, is a zombie."""
        wire = self._link(name)
        dialogue = Dialogue(wire, zid=_zid(), unit=self.unit, requirement=STAYS_UP)
        self.habits.prepare(dialogue)
        self.open.append(dialogue)
        dialogue.beside_us = self.open
        try:
            open_session(dialogue, self.node.profile)
        except Deviation as why:
            # Silence before any handshake ever came is a hang. Who shook hands before, and now refuses or falls silent, is at work
            # somewhere and no use to anybody: a zombie.
            silent = not dialogue.is_over and why.finding.got == "silence"
            self.awaited = why.finding.expected
            hangs = silent and self.grade < Grade.HANDSHAKE
            raise self._ill(Verdict.HANG if hangs else Verdict.ZOMBIE, f"no new session: {why.finding.cause}") from why
        self.grade = max(self.grade, Grade.HANDSHAKE)
        return dialogue

    def _link(self, name: str) -> LinkWire:
        """A new link: a node of which none is to be had hangs."""
        try:
            patience = max(self.unit, self.habits.patience) if self.node.side is Side.INITIATOR else self.unit
            wire = self.recorder.wire(self.node, name, Deadline(time.monotonic() + patience))
        except CannotConnect as why:
            raise self._ill(Verdict.HANG, _unreachable(self.node)) from why
        self.grade = max(self.grade, Grade.SOCKET)
        return wire

    def _ill(self, verdict: Verdict, cause: str) -> _Ill:
        """A process that a signal stopped hangs, whatever was waited for."""
        if self.node.vitals().suspended:
            return _Ill(Verdict.HANG, "its process is stopped by a signal")
        return _Ill(verdict, cause)

    def _step(self, act: Callable[[], object], else_: str) -> None:
        """Do one step of the work; a node that does not is a zombie."""
        try:
            act()
        except Deviation as why:
            self.awaited = why.finding.expected
            raise self._ill(Verdict.ZOMBIE, f"{else_}: {why.finding.got}") from why

    def _function(self, near: Dialogue, far: Dialogue) -> None:
        """Declare, push, receive; query, reply, final; between two sessions of ours."""
        key = f"zconform/health/{near.zid.hex()}"
        near.subscribe(key)
        self._step(near.fence, "a declaration is not dealt with")
        far.publish(key, b"alive")
        self._step(lambda: near.expect(Push, where=_carries(b"alive")), "a push does not arrive")
        near.declare(DQueryable(id=near.new_id(), key=_key(key)))
        self._step(near.fence, "a declaration is not dealt with")
        request = far.new_id()
        far.say(Request(id=request, key=_key(key), body=Query()))
        self._step(lambda: self._serve(near, key), "a query does not arrive")
        self._step(lambda: far.expect(Response, where=lambda one: one.id == request), "a reply does not arrive")
        if far.fencing.how is Fence.QUERY:  # else it was seen to finish none: that is judged by itself
            self._step(
                lambda: far.expect(ResponseFinal, where=lambda one: one.id == request), "a query is not finished"
            )

    def _serve(self, near: Dialogue, key: str) -> None:
        asked = near.expect(Request)
        near.say(Response(id=asked.id, key=_key(key), body=Reply(body=Put(payload=b"alive"))))
        near.say(ResponseFinal(id=asked.id))

    def _work(self, us: Dialogue, work: Callable[[Dialogue], None]) -> None:
        """Its work, in another session when it ends the first one: it may not have let go of an earlier one yet."""
        # A client still holds its last session when it refuses the next one: it is at work, and no zombie. One that ends
        # every session is one.
        for number, later in enumerate(LETS_GO):
            try:
                return work(us)
            except _Ill:
                program = self.node.program
                if (
                    self.node.side is not Side.INITIATOR
                    or not us.is_over
                    or program is None
                    or program.poll() is not None
                ):
                    raise
                self._take_back(us)
                program.wait(Deadline.after(later))
                us = self._session(f"again{number or ''}")
        return work(us)

    def _plain(self, us: Dialogue) -> None:
        """What a node does for which nobody speaks."""
        self._step(us.fence, f"{us.fencing.how.value} is not finished")
        self._step(lambda: settle([us]), "it does not end a link that we closed")

    def _take_back(self, us: Dialogue) -> None:
        """A session that came to nothing, and what the application declared for it."""
        us.leave()
        if self.node.agent is None:
            return
        with contextlib.suppress(AgentError):
            for event in TOLD:
                self.node.agent.ask("undeclare", id=f"zconform/health/{us.zid.hex()}/{event}")

    def _function_of_agent(self, us: Dialogue) -> None:
        """The same through the application above the node, where the node does not carry between two of ours: what its agent can do."""
        key, agent = f"zconform/health/{us.zid.hex()}", self.node.agent
        assert agent is not None
        due = {event for event, command in TOLD.items() if command in agent.capabilities}
        try:
            for event in sorted(due):
                self._ask_until_ready(agent, TOLD[event], id=f"{key}/{event}", key=key, **PLANS.get(event, {}))
            us.publish(key, b"alive")
            self._step(us.fence, "a query that nobody serves is not finished")
            if "query" in due:
                self._ask_application(us, key)
            text = self._told(agent, key, len(due))
            for event in sorted(due if "undeclare" in agent.capabilities else ()):
                agent.ask("undeclare", id=f"{key}/{event}")
        except AgentError as why:
            seen = ": ".join((why.what, *why.seen))
            self.awaited = "an answer of the agent" if SILENT in why.seen else ""
            raise self._ill(Verdict.ZOMBIE, f"the application does not answer: {seen}") from why
        if text != due:
            self.awaited = TELLS.get(max(due - text, default=""), "")
            wanted = " and ".join(f"a {event}" for event in sorted(due, reverse=True))
            are = "are" if len(due) > 1 else "is"
            raise _Ill(Verdict.ZOMBIE, f"the application was told {sorted(text)} where {wanted} {are} due")

    def _ask_until_ready(self, agent: AgentClient, command: str, **arguments: Any) -> None:
        """Ask an application for something; a library that has reconnected by itself may refuse it, with a reason, for a moment."""
        deadline, pause = Deadline.after(self.unit), Event()
        while True:
            try:
                agent.ask(command, **arguments)
            except AgentError as why:
                if deadline.passed or SILENT in why.seen or isinstance(why, AgentGone | AgentUnimplemented):
                    raise
                pause.wait(READY_EVERY)
            else:
                return

    def _ask_application(self, us: Dialogue, key: str) -> None:
        """A query that the application serves."""
        request = us.new_id()
        us.say(Request(id=request, key=_key(key), body=Query()))
        self._step(lambda: us.expect(Response, where=lambda one: one.id == request), "a reply does not arrive")
        self._step(lambda: us.expect(ResponseFinal, where=lambda one: one.id == request), "a query is not finished")

    def _told(self, agent: AgentClient, key: str, count: int) -> set[str]:
        """What the application was told of this look; what it is still told of other things does not count."""
        deadline, text = Deadline.after(self.unit), set[str]()
        while len(text) < count and not deadline.passed:
            mine = (event for event in agent.events(1, deadline.remaining()) if str(event.get("id")).startswith(key))
            text |= {event["event"] for event in mine}
        return text

    def _leave(self) -> None:
        for dialogue in self.open:
            leave(dialogue, self.habits)


def expired_early(conversation: Conversation, side: Side) -> bool:
    """Whether a node said EXPIRED before a lease was over: it lives, and a look at it shows nothing else."""
    said = judge(conversation, [ExpiredNeedsALease])
    return any(one.findings and one.sender is side for one in said)


def leave(us: Dialogue, habits: TargetHabits) -> None:
    """End a session of ours, in the way after which the target comes back soonest."""
    if habits.way is SessionEnd.RST:
        us.wire.reset()
    us.leave()


def _says_otherwise(us: Dialogue) -> bool:
    """Whether a target states that it is no router: a peer or client passes nothing on between two sessions."""
    return us.theirs is not None and us.theirs.whatami is not WhatAmI.ROUTER


def death(vitals: Vitals) -> str:
    """How a process of ours ended, and the first sign of death that it wrote."""
    first = vitals.signs[0].cause if vitals.signs else ""
    ended = str(vitals.ended) if vitals.ended else "gone"
    return f"{ended}: {first}" if first else ended


def wrote(node: NodeInstance) -> tuple[str, ...]:
    """The last lines that a program of ours wrote, of each stream; nothing of one that is not ours."""
    program = node.program
    return tuple(line for name in ("stdout", "stderr") for line in program.last_lines(LAST, name)) if program else ()


def _unreachable(node: NodeInstance) -> str:
    return "it accepts no link" if node.side is Side.RESPONDER else "it does not come back to us"


def _zid() -> bytes:
    """Eight bytes that no other session of ours has, in wire order."""
    return b"\x68" + next(_ZIDS).to_bytes(6, "big") + b"\x7a"


def _key(name: str) -> WireExpr:
    return WireExpr(scope=0, suffix=name, mapping=True)


def _carries(payload: bytes) -> Callable[[Push], bool]:
    return lambda push: isinstance(push.body, Put) and push.body.payload == payload
