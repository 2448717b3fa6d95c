"""The matrix of checks and faulty nodes: which check is red on which node, in memory, and whether that is expected."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cache, cached_property

from zenoh_conformance.cases.case import LAWFUL_TRAFFIC, TOLD, Case, Parameters, all_cases
from zenoh_conformance.judging.engine import judge
from zenoh_conformance.judging.finding import Deviation, Finding
from zenoh_conformance.reading.conversation import Conversation
from zenoh_harness.reference import Reference
from zenoh_harness.reference.configured import CHANGES
from zenoh_harness.reference.declaring import DeclarationHandling
from zenoh_harness.reference.memory import MemoryScene, able
from zenoh_harness.reference.querying import QueryHandling
from zenoh_harness.reference.router import Router

from . import FaultyNode

NOT_REACHED = "not reached"
"""Beginning of the cause of a case that failed before its own step: another case judges that failure."""


@dataclass(slots=True)
class Red:
    """A check that is red on a node, its causes, and the first conversation."""

    check: str
    causes: set[str] = field(default_factory=set)
    elsewhere: set[str] = field(default_factory=set)
    """Those of the causes that are of a step before, filed under that step's own rule."""
    conversation: Conversation | None = None


STEPS_BEFORE = {
    "query/query-reaches-intersecting",
    "reply/final-always-comes",
    "declarations/forwarded-on-interest",
    "session-establishment/refusal-is-close",
}
"""Rules that are judged in checks of something else, where a step that those need is not taken."""


def is_of_a_step_before(case: Case, finding: Finding) -> bool:
    """Whether a finding is no finding about the subject of the case, which was not reached."""
    borrowed = finding.requirement in STEPS_BEFORE and finding.requirement != case.requirement
    return borrowed or finding.path.startswith(LAWFUL_TRAFFIC)


def runs_in_memory(case: Case) -> bool:
    """Whether the reference in memory supports what the case needs."""
    return case.profile in CHANGES and set(case.needs) <= _of_reference(case.profile)


@cache
def _of_reference(profile: str) -> frozenset[str]:
    """The capabilities of the reference in a profile: each faulty node is asked about each case."""
    return able(profile)


def provoke(
    case: Case, parameters: Parameters, node: type[Reference], variations: str = "quick"
) -> tuple[list[Finding], MemoryScene]:
    """Run a case on a node in memory; return its findings, and the scene with its conversation.

    `variations`: the depth that says in how many circumstances a varied case runs.
    """
    scene = MemoryScene(case.requirement, node, role=case.role, profile=case.profile, variations=variations)
    try:
        case.run(scene, parameters)
    except Deviation as deviation:
        return [*scene.deviations, deviation.finding], scene
    return scene.deviations, scene


SAMPLE = 4
"""Number of parameter sets to run of a case that `whole` does not name."""


def sample(case: Case, whole: Collection[str] | None) -> Sequence[Parameters]:
    """The parameter sets of a case to run: all if `whole` names it or is None, else a few over the whole range."""
    every = case.parameters
    if whole is None or case.id in whole or len(every) <= SAMPLE:
        return every if whole is None or case.id in whole or not case.alone else ()
    return [every[at * (len(every) - 1) // (SAMPLE - 1)] for at in range(SAMPLE)]


FORWARDED = "law/forwarded-*"
"""The laws that compare what goes out with what came in, field by field: whatever changes it is red there, too."""

VARIED = "*-varied/*"
"""Cases that repeat a plain exchange in generated circumstances: whatever breaks it in one of them is red there, too."""

ROUTING = "routing"
"""The need of cases that open more than one session to the target."""


def concerned(node: type[Reference], case: Case) -> bool:
    """Whether a case can be red on a node: a node with faults in routing hooks alone opens and keeps sessions as the reference does.

    Those hooks must end a query without queryables correctly, because every case uses such a query as a fence.
    """
    changes = [change for cls in node.__mro__[: node.__mro__.index(Reference)] for change in vars(cls).items()]
    hooks = {name for name, value in changes if not isinstance(value, cached_property)} - set(vars(type))
    hooks -= {"__module__", "__doc__", "__firstlineno__", "__static_attributes__", "changed", "body", "state"}
    if "application_class" in hooks:
        return any(need.startswith("agent.") for need in case.needs)
    return ROUTING in case.needs or not hooks or not hooks <= ROUTED


ROUTED = {name for cls in (Router, QueryHandling, DeclarationHandling) for name in vars(cls)} - set(vars(Reference))
"""Hooks of the reference that only routing calls."""


def reds(
    node: type[Reference],
    cases: Iterable[Case] | None = None,
    *,
    whole: Collection[str] | None = None,
    more: Sequence[Parameters] = (),
) -> dict[str, Red]:
    """Return every case and law that is red on a node, over all cases that run in memory; `whole`: see `sample`.

    `more`: further parameter sets for the cases that `whole` names.
    """
    found: dict[str, Red] = {}
    for case in all_cases().values() if cases is None else cases:
        named = whole is not None and case.id in whole
        if not runs_in_memory(case) or not (named or concerned(node, case)):
            continue
        for parameters in (*sample(case, whole), *(more if named else ())):
            findings, scene = provoke(case, parameters, node, "full" if named else "quick")
            said = [(case.id, finding) for finding in findings]
            for judged in judge(scene.conversation):
                said += [(judged.law.id, finding) for finding in judged.findings if judged.sender is case.role]
            for check, finding in said:
                red = found.setdefault(check, Red(check, conversation=scene.conversation))
                red.causes.add(finding.cause)
                if check == case.id and is_of_a_step_before(case, finding):
                    red.elsewhere.add(finding.cause)
    return found


@dataclass(frozen=True, slots=True)
class Row:
    """The result of one faulty node."""

    faulty_node: FaultyNode
    red: Mapping[str, Red]

    @property
    def missed(self) -> list[str]:
        """Checks that must be red on the node and are not."""
        return [check for check in self.faulty_node.caught_by if check not in self.red]

    @property
    def unexplained(self) -> list[str]:
        """Checks that are red without an explanation, except those that failed before their own step, or whose control is red."""
        own = (*self.faulty_node.caught_by, *self.faulty_node.also)
        expected = (*own, *(f"{check}{TOLD}" for check in own), FORWARDED, VARIED)
        strangers = [check for check in self.red if not any(fnmatchcase(check, pattern) for pattern in expected)]
        strangers = [check for check in strangers if not self._rests_on_red(check)]
        reds = {check: self.red[check] for check in strangers}
        return [
            check
            for check, red in reds.items()
            if not all(cause.startswith(NOT_REACHED) for cause in red.causes - red.elsewhere)
        ]

    def _rests_on_red(self, check: str) -> bool:
        """Whether a control of a case is red: a run does not judge the case then."""
        case = all_cases().get(check)
        control = case.control if case is not None else None
        return control is not None and (control in self.red or self._rests_on_red(control))

    @property
    def stale(self) -> list[str]:
        """Explanations of checks that are not red."""
        return [
            pattern for pattern in self.faulty_node.also if not any(fnmatchcase(check, pattern) for check in self.red)
        ]


def row(faulty_node: FaultyNode) -> Row:
    """Judge one faulty node: with every value of the cases that must catch it, with a few of the others."""
    return Row(faulty_node, reds(faulty_node.node, whole=faulty_node.caught_by, more=faulty_node.values))
