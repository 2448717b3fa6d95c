"""Do scripts convict? Each red of a faulty node, recorded, is said to that node again, and to the healthy one.

In memory, with other random numbers than when it was recorded. Reds that do not come again by themselves are left out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from fnmatch import fnmatchcase

from zenoh_conformance.cases.case import Case, Parameters, all_cases, shown_all
from zenoh_conformance.judging.engine import judge
from zenoh_conformance.judging.finding import Deviation, Finding
from zenoh_conformance.judging.law import all_laws
from zenoh_conformance.reading.conversation import Side
from zenoh_harness.errors import CannotConnect
from zenoh_harness.faulty import FaultyNode
from zenoh_harness.faulty.table import concerned, runs_in_memory, sample
from zenoh_harness.files.results import check_label
from zenoh_harness.files.scripts import Script, parse, text
from zenoh_harness.reference import Reference
from zenoh_harness.reference.memory import MemoryScene
from zenoh_harness.scripting.binder import Elsewhere, case_of
from zenoh_harness.scripting.recorder import is_scriptable, record

FEW = 2
"""Values of a case that are tried where only a law may be red."""


class Says(Enum):
    """What a script says of a node."""

    RED = "red"
    GREEN = "green"
    NOTHING = "not observed"


@dataclass(frozen=True, slots=True)
class Convicts:
    """One red, and what its script says of the node that it was recorded of, and of the healthy one."""

    node: str
    label: str
    cause: str
    faulty: Says
    healthy: Says
    why: str = ""
    """What the script says that is not as it should be."""

    @property
    def holds(self) -> bool:
        """Whether it tells the two apart: red on the one, not on the other."""
        return self.faulty is Says.RED and self.healthy is not Says.RED


@dataclass(frozen=True, slots=True)
class _Red:
    label: str
    requirement: str
    profile: str
    finding: Finding
    scene: MemoryScene


def convictions(node: FaultyNode) -> Iterator[Convicts]:
    """Yield every red that the faulty node explains, as a script."""
    for red in _reds(node):
        header = {"requirement": red.requirement, "check": red.label, "profile": red.profile}
        script = parse(text(record(red.scene.conversation, header=header, finding=red.finding)))
        (bad, said), (good, otherwise) = said_to(script, node.node), said_to(script, Reference)
        why = said if bad is not Says.RED else otherwise if good is Says.RED else ""
        yield Convicts(node.name, red.label, red.finding.cause, bad, good, why)


def said_to(script: Script, node: type[Reference], seed: int = 2) -> tuple[Says, str]:
    """Return what a script says of a node, and the reason."""
    findings, scene = _findings_on(case_of(script, "scripts/recorded"), {}, node, seed)
    if findings:
        return Says.RED, findings[0].cause
    return (Says.NOTHING, scene) if isinstance(scene, str) else (Says.GREEN, "")


def counts_of(convictions_of_all: Iterable[Convicts]) -> Counter[tuple[Says, Says]]:
    """Count the pairs of answers: on the faulty node, on the healthy one."""
    return Counter((one.faulty, one.healthy) for one in convictions_of_all)


def _findings_on(
    case: Case, parameters: Parameters, node: type[Reference], seed: int, variations: str = "quick"
) -> tuple[list[Finding], MemoryScene | str]:
    """Return the findings of a case on a node, and the scene; or the reason why it judged nothing."""
    scene = MemoryScene(case.requirement, node, role=case.role, profile=case.profile, seed=seed, variations=variations)
    try:
        case.run(scene, parameters)
    except Deviation as deviation:
        return [*scene.deviations, deviation.finding], scene
    except (Elsewhere, CannotConnect) as otherwise:
        return scene.deviations, str(otherwise)
    return scene.deviations, scene


def _reds(node: FaultyNode) -> Iterator[_Red]:
    """What is red on it and comes again: the cases that it names, and once in each role and profile the laws that it names."""
    wanted = (*node.caught_by, *node.also)
    laws = [law for law in all_laws().values() if _takes(wanted, law.id)]
    missing = {check for check in node.caught_by if check in all_laws()}
    shown: set[tuple[str, Side, str]] = set()
    for case, parameters in _cases_to_try(node, wanted, missing):
        depth = "full" if case.id in node.caught_by else "quick"
        findings, scene = _findings_on(case, parameters, node.node, 0, depth)
        if isinstance(scene, str) or not is_scriptable(scene.conversation):
            continue
        if findings and _takes(wanted, case.id) and _findings_on(case, parameters, node.node, 1, depth)[0]:
            requirement = findings[0].requirement or case.requirement
            yield _Red(check_label(case.id, shown_all(parameters)), requirement, case.profile, findings[0], scene)
        for said in judge(scene.conversation, laws):
            key = (said.law.id, case.role, case.profile)
            if said.sender is case.role and said.findings and key not in shown:
                shown.add(key)
                missing.discard(said.law.id)
                yield _Red(said.law.id, said.law.requirement, case.profile, said.findings[0], scene)


def _cases_to_try(node: FaultyNode, wanted: Sequence[str], missing: set[str]) -> Iterator[tuple[Case, Parameters]]:
    """Yield the cases that the node names, then others as long as a law that it names has no finding."""
    cases = [case for case in all_cases().values() if runs_in_memory(case)]
    named = [case for case in cases if _takes(wanted, case.id)]
    for case in named:
        yield from ((case, parameters) for parameters in (*sample(case, node.caught_by), *node.own(case)))
    for case in cases:
        if not missing:
            return
        if case not in named and concerned(node.node, case):
            yield from ((case, parameters) for parameters in case.parameters[:FEW])


def _takes(patterns: Sequence[str], check: str) -> bool:
    return any(fnmatchcase(check, pattern) for pattern in patterns)
