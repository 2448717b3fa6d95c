"""Is an adapter honest and complete? A few seconds, and in words what to mend."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Final

from zenoh_conformance.conversation import Side
from zenoh_conformance.sane import VERSION
from zenoh_harness.codecs.codec import AnswerKind, Codec
from zenoh_harness.errors import AgentError, CannotConnect, HarnessError, UsageError
from zenoh_harness.links.links import connect
from zenoh_harness.links.timing import Deadline
from zenoh_harness.probing.habits.study import study
from zenoh_harness.probing.probe import askable, looked_twice, missing, probe
from zenoh_harness.profiles import DEFAULT, PROFILES
from zenoh_harness.run import health
from zenoh_harness.targets.agent import Agent
from zenoh_harness.targets.habits import Habits
from zenoh_harness.targets.target import NodeInstance, NodeTarget

LATE: Final = 0.5
"""Seconds after which a run is felt to wait."""

RETRY: Final = "{ period_init_ms: 2, period_max_ms: 5 }"

MADE_UP: Final = "levitate"
"""A capability that nothing has: whoever claims it claims anything."""

KEEP_ALIVE: Final = bytes([0x04])
GARBAGE: Final = bytes([0x1F, 0xFF, 0xFF])


@dataclass(frozen=True, slots=True)
class Step:
    """One thing that was tried."""

    name: str
    fault: str = ""
    """What is wrong; empty when nothing is."""
    mend: str = ""
    """What to do about it."""
    note: str = ""
    """What was seen where all is well."""
    fatal: bool = False
    """Whether the target cannot be had at all."""

    @property
    def well(self) -> bool:
        """Whether nothing is wrong."""
        return not self.fault


def smoke_node(target: NodeTarget) -> Iterator[Step]:
    """Each step as it falls; after one that nothing can follow, no more."""
    began = time.monotonic()
    try:
        node = target.start(DEFAULT)
    except UsageError:
        raise
    except HarnessError as why:
        yield Step("start", said(why), why.hint or "start it by hand, and see what it says", fatal=True)
        return
    with node:
        yield Step("start", note=f"ready after {time.monotonic() - began:.1f} s, {node.attach()}")
        yield _habits(node)
        yield _profiles(target)
        works = _healthy(node)
        yield works
        yield from _agent(node)
        if works.well:
            yield _claims(target, node)
    yield _ended(node)
    if target.restartable:
        yield _again(target, node)


def said(why: HarnessError) -> str:
    """What stopped us, without the hint: that is what there is to mend."""
    return "\n".join([why.what, *(f"      got {line}" for line in why.seen if line)])


def _habits(node: NodeInstance) -> Step:
    """What it is like, and what would make a run of it faster: no fault, whatever it is."""
    habits = node.habits = study(node)
    if habits.version is not None:
        return Step(
            "habits", f"it speaks protocol version {habits.version}", f"version {VERSION} is judged", fatal=True
        )
    usual = "as with everybody: it answers and comes back at once"
    return Step("habits", note="\n      ".join([*(habits.lines() or [usual]), *_faster(node, habits)]))


def _faster(node: NodeInstance, habits: Habits) -> Iterator[str]:
    """What its owner can do about the time that a run of it takes."""
    if node.side is Side.INITIATOR and (
        habits.longest > LATE or any(one.after is None for one in habits.returns.values())
    ):
        yield f"-> a run waits each time that it comes back: let it try again sooner (zenoh-rust: connect/retry {RETRY})"
    if node.side is Side.RESPONDER and habits.answer > LATE / 2:
        yield "-> a run waits for each of its answers: let it look for new links more often"
    if habits.few:
        yield "-> checks go one by one: let it take more links and sessions at once, if that can be set"


def _profiles(target: NodeTarget) -> Step:
    """In which configurations it can be judged, and how to open the others."""
    if len(target.profiles) > 1:
        return Step("profiles", note=f"{len(target.profiles)} of {len(PROFILES)}")
    how = "put {profile} into the command, or name a command for each in a target file: profiles = { low-latency = 'exec:..' }"
    return Step(
        "profiles", note=f"{', '.join(target.profiles)} only: what needs another does not apply\n      -> {how}"
    )


def _healthy(node: NodeInstance) -> Step:
    found = health.check(node)
    if found.well:
        return Step("works", note=f"declare, push, query and reply in {found.latency * 1000:.0f} ms")
    return Step(
        "works",
        f"{found.verdict.value}: {found.cause}",
        "a session of ours must be able to do this before any case is run",
    )


def _agent(node: NodeInstance) -> Iterator[Step]:
    agent = node.agent
    if agent is None:
        yield Step("agent", note="none: cases that need one do not apply")
        return
    yield _tried("agent: made-up capability", lambda: _made_up(agent))
    yield _tried("agent: unknown command", lambda: _unknown_command(agent))
    yield _tried("agent: capabilities", lambda: _each_capability(agent))


def _tried(name: str, act: Callable[[], Step]) -> Step:
    try:
        return act()
    except AgentError as why:
        return Step(name, str(why), "files/schemas/agent-answer.json says what an answer looks like")


def _made_up(agent: Agent) -> Step:
    name = "agent: made-up capability"
    if agent.knows(MADE_UP):
        return Step(
            name,
            f"it claims {MADE_UP!r}, which does not exist",
            'answer {"ok": false, "unimplemented": true} to what you do not know',
        )
    return Step(name, note="not claimed")


def _unknown_command(agent: Agent) -> Step:
    name = "agent: unknown command"
    try:
        agent.ask(MADE_UP)
    except AgentError as why:
        if why.step == f"agent {MADE_UP}":
            return Step(name, note="refused")
        raise
    return Step(
        name, f"it says that it did {MADE_UP!r}", 'answer {"ok": false, "unimplemented": true} to what you do not know'
    )


def _each_capability(agent: Agent) -> Step:
    name = "agent: capabilities"
    agent.validate()
    denied = sorted(one for one in agent.capabilities if one != "close" and not agent.knows(one))
    if denied:
        return Step(
            name, f"listed at the start, denied when asked: {', '.join(denied)}", "let one list answer both questions"
        )
    return Step(name, note=", ".join(sorted(agent.capabilities)) or "none")


def _claims(target: NodeTarget, node: NodeInstance) -> Step:
    look = partial(probe, node, rates=False)
    facts = looked_twice(look(), target.claims.intersection(askable(target.side, node.profile.name)), look)
    lacking = missing(target.claims, target.side, {node.profile.name: facts})
    if lacking:
        return Step(
            "claims",
            f"claimed and not seen: {', '.join(lacking)}",
            "strike them from the target's file, or mend the node",
        )
    return Step("claims", note=f"seen: {', '.join(sorted(facts.capabilities)) or 'nothing special'}")


def _ended(node: NodeInstance) -> Step:
    if node.program is not None and node.program.poll() is None:
        return Step("stop", "its process still runs", "it must end on SIGTERM or SIGKILL")
    if node.side is Side.INITIATOR or node.program is None:
        return Step("stop", note="ended")
    try:
        connect(node.locator, Deadline.after(1)).close()
    except CannotConnect:
        ended = node.program.ended
        orphans = f", it had left {ended.orphans} processes" if ended and ended.orphans else ""
        return Step("stop", note=f"ended by {ended}{orphans}")
    return Step(
        "stop",
        f"something still listens at {node.locator}",
        "a child of it goes on: start the node itself, not a launcher",
    )


def _again(target: NodeTarget, before: NodeInstance) -> Step:
    try:
        with target.start(DEFAULT) as node:
            if node.zid != before.zid:
                return Step(
                    "start again", f"its ZenohID changed from {before.zid} to {node.zid}", "use {zid}, or keep one"
                )
            return Step("start again", note="the same")
    except HarnessError as why:
        return Step("start again", str(why), "a second start must work as the first: does it keep a lock or a port?")


def smoke_codec(codec: Codec) -> Iterator[Step]:
    """The same for a codec, which is started already and was asked for the made-up capability then."""
    yield Step(
        "start", note=f"{codec.identity.name} {codec.identity.version}, layers {', '.join(sorted(codec.layers))}"
    )
    yield Step("made-up capability", note="not claimed")
    if "transport" not in codec.layers:
        yield Step("layers", "it does not do `transport`", "KEEP_ALIVE alone would do for a beginning")
        return
    good = codec.decode("transport", KEEP_ALIVE)
    if good.kind is not AnswerKind.DECODED:
        yield Step(
            "decode KEEP_ALIVE", f"{good.kind.value}: {good.why}", "the one byte 04 is a KEEP_ALIVE without extensions"
        )
    else:
        yield Step("decode KEEP_ALIVE", note=str(dict(good.means or {})))
        back = codec.encode("transport", good.means or {})
        wrong = back.kind is AnswerKind.ENCODED and back.data != KEEP_ALIVE
        yield Step(
            "encode it again", f"{(back.data or b'').hex()} instead of 04" if wrong else "", note=back.kind.value
        )
    bad = codec.decode("transport", GARBAGE)
    refused = bad.kind in (AnswerKind.REFUSED, AnswerKind.UNIMPLEMENTED)
    yield Step(
        "refuse garbage",
        "" if refused else f"{bad.kind.value}: {bad.why}",
        'answer {"ok": false, "why": ...}',
        note=bad.why,
    )
