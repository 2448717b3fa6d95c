"""Judge variants by all checks in memory: no check may be red on a variant, and each unjudged check needs a reason."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from fnmatch import fnmatchcase
from typing import TypeVar
from zlib import crc32

from zenoh_conformance.cases.case import TOLD, Case, Parameters, all_cases, shown_all
from zenoh_conformance.cases.controls import WORKS, Ground
from zenoh_conformance.judging.engine import Judged, judge
from zenoh_conformance.judging.finding import Deviation, Finding
from zenoh_conformance.judging.law import all_laws
from zenoh_conformance.judging.own_side import own_faults
from zenoh_conformance.judging.shares import LACKS
from zenoh_conformance.reading.conversation import Conversation, Side
from zenoh_harness.errors import CannotConnect
from zenoh_harness.files.results import check_label
from zenoh_harness.reference import Reference
from zenoh_harness.reference.configured import CHANGES
from zenoh_harness.reference.memory import MemoryScene, able

from . import Variant

T = TypeVar("T")


HEARD = 6
"""The most conversations of one case that the laws judge, spread over its values, since they are similar.

If not all values of a case are tried, the laws judge one, and only of one case in `APART`.
"""

APART = 3
"""If not all values are tried, the laws judge one case in this many, other cases on each node."""

CROWD = 50
"""If not all values are tried, the laws skip conversations with this many links, which are similar."""

LONG = 250
"""Events from which a conversation is long: a dozen cases have one, and take half of the time of all."""

SELDOM = 4
"""A case with a long conversation can be left out on all nodes but one in this many (`left_out`)."""


class Came(Enum):
    """The outcome of a check."""

    GREEN = "green"
    RED = "red"
    IDLE = "nothing judged"


@dataclass(frozen=True, slots=True)
class Result:
    """One check with one set of values, on one node."""

    check: str
    label: str
    came: Came
    why: str = ""
    requirement: str = ""
    conversation: Conversation | None = None


@dataclass(slots=True)
class NodeResults:
    """The results of all checks on one node."""

    results: list[Result] = field(default_factory=list)

    def of(self, came: Came) -> dict[str, Result]:
        """Return the results with this outcome, by label."""
        return {result.label: result for result in self.results if result.came is came}

    @property
    def long(self) -> frozenset[str]:
        """The checks with a long conversation."""
        talked = [(result.check, result.conversation) for result in self.results]
        return frozenset(check for check, said in talked if said is not None and len(said.events) > LONG)


def in_memory(cases: Iterable[Case] | None = None) -> list[Case]:
    """Return the cases that can judge the reference node in memory, each control before the cases that need it."""
    every = all_cases() if cases is None else {case.id: case for case in cases}
    can = [case for case in every.values() if case.profile in CHANGES and set(case.needs) <= able(case.profile)]
    return sorted(can, key=lambda case: depth(case, every))


def depth(case: Case, cases: Mapping[str, Case]) -> int:
    """Return the number of controls below a case; -1 for the cases that judge whether a session works at all."""
    if case.id in WORKS.values():
        return -1
    below = cases.get(case.control or "")
    return 0 if below is None else 1 + depth(below, cases)


def judged(
    node: type[Reference], cases: Iterable[Case] | None = None, *, most: int | None = None, turn: int = 0
) -> NodeResults:
    """Judge one node in both roles by every case with at most `most` of its values (None: all), and by every law.

    The laws judge some of the conversations. `turn` chooses the values that are tried.
    """
    text, ground, laws = NodeResults(), Ground(all_cases()), Laws()
    for place, case in enumerate(in_memory(cases)):
        values = case.parameters if most is None else spread(case.parameters, most, turn)
        heard = spread(values, HEARD, turn) if most is None else values[: (place + turn) % APART == 0]
        for parameters in values:
            result, conversation = once(case, parameters, node, ground, quick=most is not None)
            if not result.why.startswith(LACKS):
                ground.note(case.id, parameters, result.came is Came.GREEN)
            text.results.append(result)
            crowded = most is not None and conversation is not None and len(conversation.connections) >= CROWD
            if conversation is not None and parameters in heard and not crowded:
                laws.hear(conversation, case)
    text.results += laws.results()
    return text


def spread(values: Sequence[T], most: int, turn: int = 0) -> Sequence[T]:
    """Return at most `most` of the values, in equal steps from the one with the index `turn`."""
    if len(values) <= most:
        return values
    return [values[(turn + step * len(values) // most) % len(values)] for step in range(most)]


def once(
    case: Case, parameters: Parameters, node: type[Reference], ground: Ground, *, quick: bool = False
) -> tuple[Result, Conversation | None]:
    """One case with one set of values on one node, and what was said."""
    label = check_label(case.id, shown_all(parameters))
    if missing := sorted(set(case.needs) - able(case.profile, node)):
        return Result(case.id, label, Came.IDLE, f"{LACKS}{', '.join(missing)}"), None
    depth = "quick" if quick else "full"
    scene = MemoryScene(case.requirement, node, role=case.role, profile=case.profile, quick=quick, variations=depth)
    finding: Finding | None = None
    idle = ""
    try:
        case.run(scene, parameters)
        finding = next(iter(scene.deviations), None)
    except Deviation as deviation:
        finding = deviation.finding
    except CannotConnect as otherwise:
        idle = str(otherwise)
    idle = idle or ground.missing(case, parameters, finding)
    came = Came.IDLE if idle else Came.RED if finding else Came.GREEN
    why = idle or (finding.cause if finding else "")
    requirement = (finding.requirement if finding else "") or case.requirement
    return Result(case.id, label, came, why, requirement, scene.conversation), scene.conversation


class Laws:
    """What the laws say of a node, over many conversations."""

    def __init__(self) -> None:
        self.met: set[str] = set()
        self.red: dict[tuple[str, str], Result] = {}

    def hear(self, conversation: Conversation, case: Case) -> None:
        """Let them judge what the target said, and what we said."""
        self.note(judge(conversation), conversation, case)

    def note(self, every: Sequence[Judged], conversation: Conversation, case: Case) -> None:
        """Take what they said of a conversation."""
        for text in own_faults(conversation, every, case.role.other, case.breaks):
            red = Result(case.id, f"{case.id} (our own side)", Came.RED, text, case.requirement, conversation)
            self.red.setdefault((red.label, text), red)
        for said in every:
            if said.sender is case.role:
                name = f"{said.law.id} ({case.role.value})"
                self.met |= {name} if said.subjects else set()
                for finding in said.findings:
                    red = Result(said.law.id, name, Came.RED, finding.cause, finding.requirement, conversation)
                    self.red.setdefault((name, finding.cause), red)

    def results(self) -> Iterator[Result]:
        """One result a law and role; red ones once for each cause."""
        yield from self.red.values()
        bad = {name for name, _ in self.red}
        for law in all_laws().values():
            for role in Side:
                name = f"{law.id} ({role.value})"
                if name not in bad:
                    came = Came.GREEN if name in self.met else Came.IDLE
                    yield Result(
                        law.id, name, came, "" if name in self.met else "met nothing to judge", law.requirement
                    )


@dataclass(frozen=True, slots=True)
class VariantRow:
    """What one variant showed."""

    variant: Variant
    judged: NodeResults
    plain: frozenset[str]
    """Labels of what is judged on the reference."""

    @property
    def red(self) -> dict[str, Result]:
        """What must not be."""
        return self.judged.of(Came.RED)

    @property
    def idle(self) -> dict[str, Result]:
        """What has nothing to judge here, and has on the reference."""
        return {label: result for label, result in self.judged.of(Came.IDLE).items() if label in self.plain}

    def reason(self, result: Result) -> str:
        """Why it has nothing to judge, as the variant says: what it does not do, or its table; empty where it does not say."""
        if result.why.startswith(LACKS):
            return result.why
        if result.check.startswith("law/") and self.variant.node.lacks:
            return f"{LACKS}{', '.join(sorted(self.variant.node.lacks))}"
        return next((why for glob, why in self.variant.unjudged.items() if takes(glob, result)), "")

    @property
    def unexplained(self) -> dict[str, Result]:
        """What is not judged, and the variant does not say so."""
        return {label: result for label, result in self.idle.items() if not self.reason(result)}

    @property
    def stale(self) -> list[str]:
        """Entries of the variant's table that stand for nothing."""
        text = [one for one in self.idle.values() if not one.why.startswith(LACKS)]
        return [glob for glob in self.variant.unjudged if not any(takes(glob, one) for one in text)]


def takes(glob: str, result: Result) -> bool:
    """Whether a pattern is about a check, or about the one that it is the form in an application of."""
    every = (result.check, result.label)
    names = {*every, *(name.replace(TOLD, "") for name in every)}
    return glob in names or any(fnmatchcase(name, glob) for name in names)


def row(
    variant: Variant, plain: frozenset[str], *, most: int | None = None, without: Collection[str] = ()
) -> VariantRow:
    """Judge one variant; with `most` values of a case, others on each variant; `without` these cases."""
    cases = [case for ident, case in all_cases().items() if ident not in without]
    return VariantRow(variant, judged(variant.node, cases, most=most, turn=crc32(variant.name.encode())), plain)


def left_out(variant: Variant, long: Iterable[str]) -> frozenset[str]:
    """Of the cases with a `long` conversation all but one in `SELDOM`, others for each variant, and none that the variant names."""
    turn = crc32(variant.name.encode())
    return frozenset(case for case in long if (crc32(case.encode()) + turn) % SELDOM) - cases_named_by(variant, long)


def cases_named_by(variant: Variant, cases: Iterable[str]) -> frozenset[str]:
    """Those of the cases that the table of a variant names."""
    return frozenset(case for case in cases if any(fnmatchcase(case, glob) for glob in variant.unjudged))


def on_the_reference() -> frozenset[str]:
    """Labels of what is judged on the reference."""
    return frozenset(judged(Reference).of(Came.GREEN))
