"""Check in a few seconds whether an adapter is honest and complete, and say what to change."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Final

from zenoh_conformance.messages.sane import VERSION
from zenoh_conformance.reading.conversation import Framing, Side
from zenoh_harness.codecs.codec import AnswerKind, Codec
from zenoh_harness.errors import AgentError, HarnessError, TargetError, UsageError
from zenoh_harness.links.opening import connect
from zenoh_harness.links.timing import Deadline, stretched
from zenoh_harness.probing.habits.study import study
from zenoh_harness.probing.probe import missing_claims, probe, probe_twice, probed_capabilities
from zenoh_harness.profiles import DEFAULT, PROFILES
from zenoh_harness.run.node import health
from zenoh_harness.targets.agent import AgentClient
from zenoh_harness.targets.greeting import greet
from zenoh_harness.targets.habits import TargetHabits
from zenoh_harness.targets.target import NodeInstance, NodeTarget

LATE: Final = 0.5
"""Seconds from which a wait makes a run noticeably longer."""

RETRY: Final = "{ period_init_ms: 2, period_max_ms: 5 }"

MADE_UP: Final = "levitate"
"""A capability that does not exist: an adapter that claims it cannot be believed."""

REFUSE_UNKNOWN: Final = 'answer {"ok": false, "unimplemented": true} to every unknown name'
KEEP_ALIVE: Final = bytes([0x04])
GARBAGE: Final = bytes([0x1F, 0xFF, 0xFF])


@dataclass(frozen=True, slots=True)
class SmokeStep:
    """The result of one check."""

    name: str
    fault: str = ""
    """What is wrong; empty if nothing is."""
    mend: str = ""
    """How to fix it; the key in the JSON form."""
    note: str = ""
    """What was seen, where nothing is wrong."""
    fatal: bool = False
    """Whether the target cannot be judged at all."""

    @property
    def well(self) -> bool:
        """Whether the check passed."""
        return not self.fault


def smoke_node(target: NodeTarget) -> Iterator[SmokeStep]:
    """Yield the result of each check of a node; a fatal one is the last."""
    began = time.monotonic()
    try:
        node = target.start(DEFAULT)
    except UsageError:
        raise
    except HarnessError as why:
        yield SmokeStep("start", error_text(why), why.hint or "start it by hand and read its output", fatal=True)
        return
    with node:
        yield SmokeStep("start", note=f"ready after {time.monotonic() - began:.1f} s, {node.attach()}")
        habits = _check_habits(node)
        yield habits
        yield _check_profiles(target)
        works = _check_health(node) if habits.well else habits
        if works is not habits:
            yield works
        yield from _agent(node)
        if works.well:
            yield _check_claims(target, node)
        worked = node.vitals().running
    yield _check_stop(node, worked=worked)
    if target.restartable:
        yield _check_restart(target, node)


def error_text(why: HarnessError) -> str:
    """Return an error's text without its hint, which goes into `mend`."""
    return "\n".join([why.what, *(f"      got {line}" for line in why.seen if line)])


def _check_habits(node: NodeInstance) -> SmokeStep:
    """Study the node, and say what would make a run of it faster; habits are never a fault."""
    habits = node.habits = study(node)
    if habits.version is not None:
        return SmokeStep(
            "habits", f"it speaks protocol version {habits.version}", f"version {VERSION} is judged", fatal=True
        )
    if died := _death(node, "habits", "sane sessions and plain refusals"):
        return died
    usual = "nothing unusual: it answers and reconnects at once"
    if not habits.answer:
        usual = "none was learnt: no sane handshake came to its end"
        usual += f"\n      its InitAck states {habits.states}" if habits.states else ""
    return SmokeStep("habits", note="\n      ".join([*(habits.lines() or [usual]), *_faster(node, habits)]))


def _death(node: NodeInstance, step: str, during: str) -> SmokeStep | None:
    """Return the step of a program that died during it; None if it runs, or exited by itself."""
    vitals = node.vitals()
    if vitals.running or vitals.ended is None or vitals.in_order:
        return None
    return SmokeStep(step, f"it died during {during}: {health.death(vitals)}", "zconform run records the conversation")


def _faster(node: NodeInstance, habits: TargetHabits) -> Iterator[str]:
    """Yield what its owner can do to make a run shorter."""
    if node.side is Side.INITIATOR and (
        habits.longest > LATE or any(one.after is None for one in habits.returns.values())
    ):
        yield f"-> a run waits each time until it reconnects: shorten its retry period (zenoh-rust: connect/retry {RETRY})"
    if node.side is Side.RESPONDER and habits.answer > LATE / 2:
        yield "-> a run waits for each of its answers: poll for new links more often"
    if habits.impatient:
        yield "-> a busy machine answers it too late: let it wait seconds for a message of the handshake, if it has such a setting"
    elif habits.few:
        yield "-> checks run one after the other: let it accept more links and sessions, if it has such a setting"


def _check_profiles(target: NodeTarget) -> SmokeStep:
    """List the profiles that it can be started in, and how to add others."""
    if len(target.profiles) > 1:
        return SmokeStep("profiles", note=f"{len(target.profiles)} of {len(PROFILES)}")
    how = "put {profile} into the command, or name a command for each in a target file: profiles = { low-latency = 'exec:..' }"
    return SmokeStep(
        "profiles",
        note=f"{', '.join(target.profiles)} only: checks that need another profile do not apply\n      -> {how}",
    )


def _check_health(node: NodeInstance) -> SmokeStep:
    health_now = health.check(node)
    if health_now.well:
        return SmokeStep("works", note=f"declare, push, query and reply in {health_now.latency * 1000:.0f} ms")
    return SmokeStep(
        "works",
        f"{health_now.verdict.value}: {health_now.cause}",
        "the harness runs cases only on a node that can do this",
    )


def _agent(node: NodeInstance) -> Iterator[SmokeStep]:
    agent = node.agent
    if agent is None:
        yield SmokeStep("agent", note="none: cases that need one do not apply")
        return
    yield _run_agent_check("agent: made-up capability", lambda: _check_made_up_capability(agent))
    yield _run_agent_check("agent: unknown command", lambda: _check_unknown_command(agent))
    yield _run_agent_check("agent: capabilities", lambda: _check_capabilities(agent))


def _run_agent_check(name: str, act: Callable[[], SmokeStep]) -> SmokeStep:
    try:
        return act()
    except AgentError as why:
        return SmokeStep(name, str(why), "files/schemas/agent-answer.json says what an answer looks like")


def _check_made_up_capability(agent: AgentClient) -> SmokeStep:
    name = "agent: made-up capability"
    if agent.knows(MADE_UP):
        return SmokeStep(
            name,
            f"it claims the capability {MADE_UP!r}, which does not exist",
            REFUSE_UNKNOWN,
        )
    return SmokeStep(name, note="not claimed")


def _check_unknown_command(agent: AgentClient) -> SmokeStep:
    name = "agent: unknown command"
    try:
        agent.ask(MADE_UP)
    except AgentError as why:
        if why.step == f"agent {MADE_UP}":
            return SmokeStep(name, note="refused")
        raise
    return SmokeStep(
        name,
        f"it answers ok to the command {MADE_UP!r}, which does not exist",
        REFUSE_UNKNOWN,
    )


def _check_capabilities(agent: AgentClient) -> SmokeStep:
    name = "agent: capabilities"
    agent.validate()
    denied = sorted(name for name in agent.capabilities if name != "close" and not agent.knows(name))
    if denied:
        return SmokeStep(
            name,
            f"listed at the start, denied when asked: {', '.join(denied)}",
            "answer `start` and `capability` from the same list",
        )
    return SmokeStep(name, note=", ".join(sorted(agent.capabilities)) or "none")


def _check_claims(target: NodeTarget, node: NodeInstance) -> SmokeStep:
    look = partial(probe, node, rates=False)
    facts = probe_twice(look(), target.claims.intersection(probed_capabilities(target.side, node.profile.name)), look)
    if node.program is not None:
        node.program.wait(Deadline.after(stretched(LATE)))  # a death of the last question takes a moment to be seen
    if died := _death(node, "claims", "questions about what it offers"):
        return died
    lacking = missing_claims(target.claims, target.side, {node.profile.name: facts})
    if lacking:
        return SmokeStep(
            "claims",
            f"claimed and not seen: {', '.join(lacking)}",
            "remove them from the target's file, or fix the node",
        )
    return SmokeStep("claims", note=f"seen: {', '.join(sorted(facts.capabilities)) or 'nothing special'}")


def _check_stop(node: NodeInstance, *, worked: bool) -> SmokeStep:
    if node.program is not None and node.program.poll() is None:
        return SmokeStep("stop", "its process is still running", "it must exit on SIGTERM or SIGKILL")
    ended = node.program.ended if node.program else None
    crash = ", which is a crash: no check is about the end of a program" if worked and ended and ended.crashed else ""
    how = f"ended by {ended}{crash}" if ended else "ended"
    if node.side is Side.INITIATOR or node.program is None:
        return SmokeStep("stop", note=how)
    try:
        with contextlib.closing(connect(node.locator, Deadline.after(1))) as link:
            if link.framing is Framing.DATAGRAM:
                greet(link, Deadline.after(1))  # a datagram alone shows nobody
    except TargetError:
        orphans = f", and left {ended.orphans} processes behind" if ended and ended.orphans else ""
        return SmokeStep("stop", note=f"{how}{orphans}")
    return SmokeStep(
        "stop",
        f"something still listens at {node.locator}",
        "a child process of it still runs: start the node itself, not a launcher",
    )


def _check_restart(target: NodeTarget, before: NodeInstance) -> SmokeStep:
    try:
        with target.start(DEFAULT) as node:
            if node.zid != before.zid:
                return SmokeStep(
                    "start again", f"its ZenohID changed from {before.zid} to {node.zid}", "use {zid}, or keep one"
                )
            return SmokeStep("start again", note="the same")
    except HarnessError as why:
        return SmokeStep(
            "start again", str(why), "a second start must work like the first: does the node keep a lock or a port?"
        )


def smoke_codec(codec: Codec) -> Iterator[SmokeStep]:
    """Yield the result of each check of a codec, which is started already."""
    yield SmokeStep(
        "start", note=f"{codec.identity.name} {codec.identity.version}, layers {', '.join(sorted(codec.layers))}"
    )
    yield SmokeStep("made-up capability", note="not claimed")
    if "transport" not in codec.layers:
        yield SmokeStep("layers", "it does not have the layer `transport`", "KEEP_ALIVE alone is enough to begin with")
        return
    good = codec.decode("transport", KEEP_ALIVE)
    if good.kind is not AnswerKind.DECODED:
        yield SmokeStep(
            "decode KEEP_ALIVE", f"{good.kind.value}: {good.why}", "the byte 04 is a KEEP_ALIVE without extensions"
        )
    else:
        yield SmokeStep("decode KEEP_ALIVE", note=str(dict(good.means or {})))
        back = codec.encode("transport", good.means or {})
        wrong = back.kind is AnswerKind.ENCODED and back.data != KEEP_ALIVE
        yield SmokeStep(
            "encode it again", f"{(back.data or b'').hex()} instead of 04" if wrong else "", note=back.kind.value
        )
    bad = codec.decode("transport", GARBAGE)
    refused = bad.kind in (AnswerKind.REFUSED, AnswerKind.UNIMPLEMENTED)
    yield SmokeStep(
        "refuse garbage",
        "" if refused else f"{bad.kind.value}: {bad.why}",
        'answer {"ok": false, "why": ...}',
        note=bad.why,
    )
