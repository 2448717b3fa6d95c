"""Run inputs on a target, and tell what is wrong with it then: a symptom, by which findings are told apart."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from zenoh_conformance.judging.finding import Deviation
from zenoh_conformance.judging.verdict import Verdict
from zenoh_conformance.primitives import WhatAmI, keyexpr
from zenoh_conformance.reading.conversation import Side
from zenoh_fuzz.finding import without_numbers
from zenoh_harness.errors import CannotConnect
from zenoh_harness.links.timing import Deadline
from zenoh_harness.programs.processes import Usage
from zenoh_harness.programs.signs import Sign, grave
from zenoh_harness.run.node.health import Budget, Health, check, death, learn, wrote
from zenoh_harness.targets.target import Grade, NodeInstance, NodeTarget

from .acts import LIVE, Act, Input, is_lawful, rides, runs_of
from .sessions import LOOK, Bystanders, OurSessions, is_router

GROWN: Final = Usage(memory=512 << 20, threads=64, descriptors=128, processes=8)
"""What a target may hold more than at first, once all sessions have ended."""
SETTLED: Final = 2.0
"""Seconds in which it returns what the sessions took."""
RULES: Final = {Verdict.CRASH: "stays-up", Verdict.PANIC: "never-panics", Verdict.HANG: "goes-on"}
"""The promise that a target breaks, by the verdict of its health."""
KEYS: Final = 4
"""Keys of a batch that the bystanders try."""
FOLLOWS_IS_LOST: Final = "what follows in a batch is not answered"
_SITE: Final = re.compile(r"panicked at (?:'.*', )?(\S+?):(\d+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Symptom:
    """What is wrong with a target."""

    rule: str
    """The promise that it breaks, as a phrase."""
    about: str
    """What is the same whenever this comes again: a panic's site, a signal, what is not done any more."""
    verdict: Verdict
    why: str
    wrote: tuple[str, ...] = ()
    """The last lines of its output."""

    @property
    def key(self) -> tuple[str, str]:
        """The identity of the symptom; a panic is one finding, whatever follows from it."""
        return ("panic" if self.about.startswith("panic at ") else self.rule, self.about)


@dataclass(slots=True)
class BatchResult:
    """What a batch of inputs did."""

    symptom: Symptom | None = None
    performed: int = 0
    """Inputs up to the one after which the symptom was seen."""
    sure: bool = False
    """Whether the last of them was seen to cause it."""
    by_keys: bool = False
    """Whether the target panicked only when the bystanders used the keys of the inputs."""
    features: list[frozenset[str]] = field(default_factory=list)
    """What the target did on each input."""


class Trial:
    """One target, started when it is needed and anew after a symptom."""

    def __init__(self, target: NodeTarget, role: WhatAmI = WhatAmI.CLIENT, *, fresh: bool = False) -> None:
        """`fresh`: each input gets sessions of its own."""
        self.target, self.role, self.fresh = target, role, fresh
        self.starts = 0
        self.used = False
        """Whether the instance has run inputs: they may have left something behind that no look has seen."""
        self.hurried = False
        """Whether a target that answered at once so far is waited for as long as it may take, and not longer."""
        self.known: set[tuple[str, str]] = set()
        """Symptoms whose panics need no further look at the target's health."""
        self._node: NodeInstance | None = None
        self._ended_cpu = self._node_cpu = 0.0
        self._budget = Budget(calm=0.0)
        self._first: Usage | None = None
        self._enough: Grade | None = None
        """What the target could do at its first start: what it never did is not missed."""

    @property
    def fences_ride(self) -> bool:
        """Whether fences share batches with what they fence: no more once a target is known to lose them there."""
        return all(about != FOLLOWS_IS_LOST for _, about in self.known)

    @property
    def node(self) -> NodeInstance:
        """The instance. Raises TargetError if it cannot be started."""
        if self._node is None:
            self._node = self.target.start()
            self.starts, self.used = self.starts + 1, False
            learnt = learn(self._node)
            panics = frozenset(sign.cause for sign in self._node.vitals().signs)
            if self._enough is None:
                listens = self._node.side is Side.RESPONDER
                self._enough = check(self._node).grade if listens and is_router(self._node) else Grade.HANDSHAKE
            self._budget = Budget(calm=learnt.calm, enough=self._enough, panics=panics)
            self._first = None
        return self._node

    def stop(self) -> None:
        """End the instance, if there is one."""
        self._ended_cpu, self._node_cpu = self.cpu_seconds(), 0.0
        node, self._node = self._node, None
        if node is not None:
            node.stop()

    def cpu_seconds(self) -> float:
        """Return the CPU seconds of all targets so far; of one that died by itself, those that were seen last."""
        if self._node is not None:
            self._node_cpu = max(self._node_cpu, cpu_of(self._node))
        return self._ended_cpu + self._node_cpu

    def run(
        self,
        inputs: Sequence[Input],
        until: Callable[[], bool] = lambda: False,
        *,
        brief: bool = False,
        try_keys: bool = True,
    ) -> BatchResult:
        """Run inputs in the same sessions, each with a fence, and look at the target's health; after a symptom it is ended.

        `brief`: the symptom was seen before, so that one look is enough, and none once the target has panicked.
        `try_keys`: whether the bystanders use keys of the inputs.
        """
        outcome = BatchResult()
        if self.target.side is Side.INITIATOR:
            inputs = [on_one_link(one) for one in inputs]
        sessions = OurSessions(self.node, self.role, lambda: self._panic() is not None)
        if self.hurried:
            sessions.patience = min(sessions.patience, self._budget.slow)
        bystanders = Bystanders(sessions, routed=self._budget.enough >= Grade.FUNCTIONAL and self.node.role == "router")
        cause, self.used = bystanders.begin(), True
        for one in inputs if not cause else ():
            outcome.performed += 1
            outcome.symptom = self._perform(sessions, one, brief=brief)
            outcome.features.append(frozenset(sessions.features))
            sessions.features.clear()
            outcome.sure = outcome.symptom is not None
            if outcome.symptom or until():
                break
            if self.fresh:
                sessions.leave()
        if outcome.symptom is None:
            keys = keys_of(inputs[: outcome.performed]) if try_keys else frozenset()
            calm = self._panic() is None
            cause = cause or bystanders.look(keys)
            sessions.leave()
            seen = self._panic_symptom()
            outcome.by_keys = bool(keys and calm and seen)
            outcome.symptom = seen if seen and (brief or seen.key in self.known) else self._examine(cause, brief=brief)
        if outcome.symptom is not None:
            self.stop()
        return outcome

    def _perform(self, sessions: OurSessions, one: Input, *, brief: bool) -> Symptom | None:
        """Perform one input and fence it; a symptom that shows at once."""
        for run in runs_of(one):
            if (symptom := self._perform_run(sessions, run, brief=brief)) is not None:
                return symptom
        return None

    def _perform_run(self, sessions: OurSessions, one: Input, *, brief: bool) -> Symptom | None:
        """Perform a part of an input that is fenced at its end."""
        lawful = is_lawful(one)
        riding = self.fences_ride and rides(one)
        links = dict.fromkeys(act.link for act in one if act.stage == LIVE and not act.seconds)
        try:
            sessions.perform(one[: len(one) - riding], lawful=lawful)
            silent = [link for link in links if not self._answers(sessions, link, one[-1] if riding else None)]
        except (Deviation, CannotConnect):
            return self._death() if self._dead() else self._examine(self._without_session(sessions, links), brief=brief)
        if not silent and not any(sessions.live[link].is_over for link in links):
            return None  # one that answers everybody is alive: a look at its process takes as long as a short input
        if self._dead():
            return self._death()
        if symptom := self._panic_symptom():
            return symptom if brief or symptom.key in self.known else self._examine("", brief=brief) or symptom
        if lawful and silent and not sessions.odd & set(silent):
            return self._loss(sessions, silent)
        for link in silent:
            sessions.let_go(link)
        return None

    def _without_session(self, sessions: OurSessions, links: Iterable[str]) -> str:
        """Return what is missing if a link has no session at a second try, either; nothing where it was late once.

        A target that connects may take its time: the look at its health waits for it.
        """
        if sessions.connects:
            return ""
        try:
            for link in links:
                sessions.session(link)
        except (Deviation, CannotConnect):
            return "no new session"
        return ""

    def _answers(self, sessions: OurSessions, link: str, riding: Act | None) -> bool:
        """Return whether a fence is answered or the link has ended; the act `riding` is sent in one batch with the fence."""
        us = sessions.session(link)
        before = riding.batch(us.next_sn) if riding is not None and riding.link == link else b""
        return sessions.fence(link, before) or us.is_over

    def _loss(self, sessions: OurSessions, silent: Sequence[str]) -> Symptom | None:
        """A fence in the batch of a lawful input was not answered: either it was lost, or the session is silent."""
        answered = all(sessions.fence(link) for link in silent if not sessions.live[link].is_over)
        about = FOLLOWS_IS_LOST if answered else "a session is silent after lawful messages"
        return Symptom(rule="nothing-is-lost", about=about, verdict=Verdict.FAIL, why=about)

    # -- health

    def _dead(self) -> bool:
        vitals = self.node.vitals()
        return not vitals.running and not (vitals.in_order and getattr(self.node, "again", None))

    def _death(self) -> Symptom:
        health = check(self.node, self._budget)  # waits until the process and its output have ended
        return self._of_health(health)

    @property
    def _budget_now(self) -> Budget:
        """The budget of a look at its health: in a hurry, a step may take as long as a slow one, and no longer."""
        return replace(self._budget, floor=0.0) if self.hurried else self._budget

    def _examine(self, cause: str, *, brief: bool) -> Symptom | None:
        """Look at the target in all grades, once more if it is ill, unless `brief`; `cause` is what the bystanders miss already."""
        health = check(self.node, self._budget_now)
        if not health.well and not brief:
            again = check(self.node, self._budget)
            health = health if not again.well else again
        if not health.well and not health.verdict.says_nothing:
            return self._of_health(health)
        if (symptom := self._panic_symptom()) is not None:
            return symptom
        if cause:
            return Symptom(
                rule="bystanders-are-served", about=cause, verdict=Verdict.ZOMBIE, why=cause, wrote=wrote(self.node)
            )
        return self._growth()

    def _panic(self) -> Sign | None:
        usual = self._budget.panics
        return grave(sign for sign in self.node.vitals().signs if sign.cause not in usual)

    def _panic_symptom(self) -> Symptom | None:
        """The symptom of a panic that did not show at the start, though the target may go on."""
        if (sign := self._panic()) is None:
            return None
        return Symptom(
            rule="never-panics",
            about=_site(sign),
            verdict=Verdict.PANIC,
            why=f"panic: {sign.cause}",
            wrote=wrote(self.node),
        )

    def _of_health(self, health: Health) -> Symptom:
        sign = self._panic()
        rule = RULES.get(health.verdict, "stays-in-service")
        cause = death(health.vitals) if health.verdict is Verdict.CRASH else health.cause
        about = _site(sign) if sign is not None else without_numbers(cause.partition(", after signs of")[0])
        if health.verdict is Verdict.CRASH and sign is None:
            about = re.sub(r"\d+", "N", cause) if "allocation" in cause else cause
        return Symptom(
            rule=rule, about=about, verdict=health.verdict, why=f"{health.verdict.value}: {cause}", wrote=health.wrote
        )

    def _growth(self) -> Symptom | None:
        """What it holds more than at first, though all sessions have ended."""
        until = time.monotonic() + SETTLED
        while (grown := self._excess()) and time.monotonic() < until:
            assert self.node.program is not None  # only a process is seen to grow
            if self.node.program.wait(Deadline.after(LOOK)) is not None:
                return self._death()
        if not grown:
            return None
        return Symptom(
            rule="returns-what-it-took",
            about=grown,
            verdict=Verdict.FAIL,
            why=f"{grown} grow, though all sessions ended",
        )

    def _excess(self) -> str:
        now = self.node.program.usage() if self.node.program else None
        if now is None:
            return ""
        first = self._first = self._first or now
        grown = {name: getattr(now, name) - getattr(first, name) for name in ("memory", "threads", "descriptors")}
        return next((name for name, count in grown.items() if count > getattr(GROWN, name)), "")


def on_one_link(made: Input) -> Input:
    """Return an input for a target that connects, which has one session: all acts on one link."""
    return tuple(replace(act, link="a") for act in made)


def cpu_of(node: NodeInstance) -> float:
    """Return the CPU seconds of a target's process so far; 0 where it has none."""
    pid = node.program.pid if node.program is not None else 0
    try:
        stat = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split() if pid else []
    except OSError:
        return 0.0
    return sum(map(int, stat[11:13])) / os.sysconf("SC_CLK_TCK") if stat else 0.0


def _site(sign: Sign) -> str:
    """Return the site of a panic without its column, or its text where it has none."""
    found = _SITE.search(sign.line)
    return f"panic at {found[1]}:{found[2]}" if found else f"panic at {without_numbers(sign.cause)}"


def keys_of(inputs: Sequence[Input]) -> frozenset[str]:
    """Return a few literal keys that inputs name in whole."""
    found: dict[str, None] = {}
    for act in (act for one in inputs for act in one):
        for piece in act.segments:
            if piece.path.endswith("key.suffix.bytes") and 0 < len(piece.data) <= 64:
                with suppress(UnicodeDecodeError):
                    found[piece.data.decode()] = None
    return frozenset([name for name in found if _is_literal(name)][-KEYS:])


def _is_literal(name: str) -> bool:
    return keyexpr.is_canonical(name) and keyexpr.plain(name) and not name.startswith("@")


__all__ = ["Act", "BatchResult", "Symptom", "Trial"]
