"""A target that lives in a variable, and cases that do things to it: what the run is tested with, without any link."""

from __future__ import annotations

import threading
from collections import Counter
from pathlib import Path

from zenoh_conformance.cases.case import Case
from zenoh_conformance.judging.finding import Deviation, Finding
from zenoh_conformance.judging.verdict import Verdict
from zenoh_conformance.reading.conversation import Conversation, Side
from zenoh_harness.errors import CannotStart
from zenoh_harness.identity import Identity
from zenoh_harness.links.locators import Locator
from zenoh_harness.probing.probe.asker import ProbeFacts
from zenoh_harness.profiles import DEFAULT, PROFILES
from zenoh_harness.programs.processes import ProcessEnd
from zenoh_harness.run.attempt.options import Options
from zenoh_harness.run.node.health import Health
from zenoh_harness.run.nodes import NodeRun
from zenoh_harness.run.plan.plan import Selection
from zenoh_harness.run.runner import run_target
from zenoh_harness.targets.reach import parse
from zenoh_harness.targets.target import Grade, Vitals

REQUIREMENT = "session-establishment/cookie-must-match"
SHOULD = "session-establishment/cookie-must-match"


class FakeNode:
    """One instance; cases set `state`."""

    agent = None
    program = None
    groups = ()
    zid = "ff"
    role = "router"

    def __init__(self, target, profile):
        self.target, self.profile, self.side = target, PROFILES[profile], target.side
        self.locator = Locator.tcp("127.0.0.1", 1)
        self.state = Verdict.PASS
        self.stopped = False

    def vitals(self):
        dead = self.state is Verdict.CRASH
        return Vitals(running=not dead, ended=ProcessEnd(-9, 0) if dead else None)

    def attach(self):
        return "process 1"

    def stop(self):
        self.stopped = True


class FakeTarget:
    """Counts what it starts; `starts_left` limits it."""

    role = "router"
    claims = frozenset({"routing"})

    def __init__(
        self, *, side=Side.RESPONDER, profiles=(DEFAULT,), starts_left=99, current=False, restartable=True, without=()
    ):
        self.reach = parse("wheel:1.0.0")
        self.identity = Identity(name="fake", version="1.0.0", kind="wheel")
        self.side, self.embargo, self.restartable = side, "upstream" if current else "own", restartable
        self.can_run_beside = False
        self.profiles = {name: PROFILES[name] for name in profiles}
        self.shows = {"qos", "routing"}
        self.nodes = []
        self.starts_left, self.without = starts_left, without

    def start(self, profile=DEFAULT):
        if self.starts_left == 0 or profile in self.without:
            raise CannotStart("it does not start any more", step="start")
        self.starts_left -= 1
        self.nodes.append(FakeNode(self, profile))
        return self.nodes[-1]

    @property
    def now(self):
        return self.nodes[-1]


def examine(node, budget=None):
    """The look that the run takes."""
    grade = {Verdict.CRASH: Grade.GONE, Verdict.HANG: Grade.PROCESS, Verdict.ZOMBIE: Grade.HANDSHAKE}
    return Health(
        grade=grade.get(node.state, Grade.FUNCTIONAL),
        verdict=node.state,
        cause="" if node.state is Verdict.PASS else f"seen {node.state.value}",
        latency=0.0,
        vitals=node.vitals(),
        conversation=Conversation(),
    )


def look(node):
    """What the probe sees."""
    return ProbeFacts(node.profile.name, capabilities=set(node.target.shows))


class World:
    """A target and its cases; each case is told how often it ran before."""

    def __init__(self, tmp_path: Path, **target):
        self.target = FakeTarget(**target)
        self.cases = []
        self.ran = Counter()
        self.here = threading.local()
        """`here.node` is the instance that the case which asks has."""
        self.out = tmp_path / "out"

    def case(self, name, act=lambda times, world: None, *, requirement=REQUIREMENT, **more):
        """A case that does `act(how often before, world)`; returning text deviates with it as the cause."""

        def function(scene, **parameters):
            self.here.node = scene._node
            label = (name, *parameters.values())
            times, self.ran[label] = self.ran[label], self.ran[label] + 1
            why = act(times, self)
            if why:
                raise Deviation(Finding(requirement=requirement, sender=self.target.side, why=why))

        made = Case(
            id=f"fake/{name}", requirement=requirement, function=function, about=name, role=self.target.side, **more
        )
        self.cases.append(made)
        return made

    def kills(self, state=Verdict.CRASH):
        """An act that ends the target."""

        def act(_times, world):
            world.here.node.state = state

        return act

    def part(self, only=(), laws=(), **options):
        options.setdefault("data_folder", self.out.parent / "data")  # what other tests keep back is not our business
        options = Options(out=self.out, selection=Selection(tuple(only)), jobs=options.pop("jobs", 4), **options)
        return NodeRun(self.target, options, cases=self.cases, laws=laws, examine=examine, look=look)

    def run(self, only=(), laws=(), **options):
        part = self.part(only, laws, **options)
        return run_target(self.target.reach, part.options, [part])

    def verdicts(self, **options):
        """Check with parameters to verdict."""
        ran = self.run(**options)
        return {(one.key.check, *(v for _, v in one.key.parameters)): one.verdict.value for one in ran.judgements}
