"""Which faulty nodes a list of known deviations excuses: an entry must not hide a fault that it does not mean.

A node is compared in memory by the checks that must detect its fault. Entries for scripts, models, programs that end and pairs of nodes
have no faulty node in memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from packaging.specifiers import SpecifierSet

from zenoh_conformance.cases.case import Case, all_cases, shown_all
from zenoh_conformance.judging.engine import judge
from zenoh_conformance.judging.finding import Finding
from zenoh_conformance.judging.law import all_laws
from zenoh_conformance.judging.verdict import Key, verdict_for
from zenoh_conformance.spec.requirement import requirements
from zenoh_harness.files.known import ListedDeviation
from zenoh_harness.files.results import check_label

from . import FaultyNode, all_faulty_nodes
from .table import concerned, provoke, runs_in_memory, sample

LINK = "tcp"
"""The link of a run on which an entry would meet the fault."""


@dataclass(frozen=True, slots=True)
class Excuse:
    """An entry that excuses what a check finds on a faulty node."""

    number: int
    """The number of the entry in its list, from 1."""
    entry: ListedDeviation
    node: str
    label: str
    """The check that must detect the node's fault, with its parameters."""
    cause: str

    @property
    def is_meant(self) -> bool:
        """Whether the entry says that the node reproduces the very deviation that it excuses."""
        return self.node in self.entry.reproduced_by


def excuses(
    entries: Sequence[ListedDeviation], nodes: Iterable[FaultyNode] | None = None, *, laws: bool = True
) -> Iterator[Excuse]:
    """Each check that must detect a fault and whose findings on that faulty node are all listed, whatever the release.

    A check of which one finding is not listed still detects the fault. `laws`: also compare laws, which takes most of the time.
    """
    areas = checks_of(entries)
    for node in all_faulty_nodes().values() if nodes is None else nodes:
        for check in node.caught_by:
            if check in areas and (laws or check in all_cases()):
                yield from _excuses_of(node, check, areas[check])


def _excuses_of(node: FaultyNode, check: str, about: Sequence[tuple[int, ListedDeviation]]) -> list[Excuse]:
    """The entries that together excuse all findings of a check, each with the first of them; nothing if one is not listed."""
    found: dict[int, Excuse] = {}
    for key, finding in deviations(node, check):
        match = next((each for each in about if lists(each[1], key, finding)), None)
        if match is None:
            return []
        found.setdefault(match[0], Excuse(*match, node.name, check_label(check, key.parameters), finding.cause))
    return list(found.values())


def checks_of(entries: Sequence[ListedDeviation]) -> Mapping[str, list[tuple[int, ListedDeviation]]]:
    """Check to the entries, with their numbers, that can be about it, by its name or by the requirement that it judges."""
    judges = {case.id: case.requirement for case in all_cases().values()}
    judges |= {law.id: law.requirement for law in all_laws().values()}
    found: dict[str, list[tuple[int, ListedDeviation]]] = {}
    for number, entry in enumerate(entries, 1):
        anywhere = replace(entry, versions=SpecifierSet())
        for check in (
            [entry.check] if entry.check else [ident for ident, what in judges.items() if what == entry.requirement]
        ):
            found.setdefault(check, []).append((number, anywhere))
    return found


def lists(entry: ListedDeviation, key: Key, finding: Finding) -> bool:
    """Whether an entry excuses a finding."""
    known = requirements().get(key.requirement)
    verdict = verdict_for(str(known.level) if known is not None else "MUST")
    return entry.about(key) and entry.expects(verdict, finding.cause)


def deviations(node: FaultyNode, check: str) -> Iterator[tuple[Key, Finding]]:
    """What a case or law finds on a faulty node in memory."""
    case = all_cases().get(check)
    if case is not None:
        yield from _of_case(node, case) if runs_in_memory(case) else ()
    elif check in all_laws():
        yield from _of_law(node, check)


def _of_case(node: FaultyNode, case: Case) -> Iterator[tuple[Key, Finding]]:
    for parameters in (*case.parameters, *node.own(case)):
        key = _key(case, case.id, case.requirement, shown_all(parameters))
        for finding in provoke(case, parameters, node.node)[0]:
            if finding.reached:
                yield replace(key, requirement=finding.requirement or key.requirement), finding


def _of_law(node: FaultyNode, check: str) -> Iterator[tuple[Key, Finding]]:
    law = all_laws()[check]
    for case in all_cases().values():
        if not runs_in_memory(case) or not concerned(node.node, case):
            continue
        for parameters in sample(case, ()):
            conversation = provoke(case, parameters, node.node)[1].conversation
            for said in judge(conversation, [law]):
                for finding in said.findings if said.sender is case.role else ():
                    yield _key(case, check, finding.requirement or law.requirement), finding


def _key(case: Case, check: str, requirement: str, parameters: tuple[tuple[str, str], ...] = ()) -> Key:
    return Key(
        target="",
        version="",
        role=case.role.value,
        profile=case.profile,
        link=LINK,
        requirement=requirement,
        check=check,
        parameters=parameters,
    )
