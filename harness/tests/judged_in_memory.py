"""What a run says of a node in memory: cases, controls and laws as in `zconform run`, without sockets and without a clock."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Any

from zenoh_conformance.cases.case import Case, Parameters, all_cases
from zenoh_conformance.cases.controls import Ground
from zenoh_conformance.judging.engine import judge
from zenoh_conformance.judging.law import all_laws
from zenoh_conformance.judging.verdict import Judgement
from zenoh_conformance.reading.conversation import Side
from zenoh_harness.faulty.table import concerned, provoke, runs_in_memory, sample
from zenoh_harness.files.known import Known
from zenoh_harness.reference import Reference
from zenoh_harness.run.attempt.attempt import AttemptOutcome, Went
from zenoh_harness.run.attempt.options import Options
from zenoh_harness.run.judge.controls import Controls
from zenoh_harness.run.judge.decide import decide
from zenoh_harness.run.plan.plan import Item
from zenoh_harness.run.records import Records
from zenoh_harness.run.write.register import Register
from zenoh_harness.targets import reach
from zenoh_harness.targets.target import open_target


class _Unwritten:
    """A writer that keeps nothing."""

    def judgement(self, judgement: Judgement) -> None:
        pass


class _InMemory(Register):
    """A register without files."""

    def _with_evidence(self, judgement: Judgement, *_more: Any) -> Judgement:
        return judgement


def attempted(item: Item, node: type[Reference], variations: str = "quick") -> AttemptOutcome:
    """One attempt at a case on a node in memory; `variations`: see `provoke`."""
    findings, scene = provoke(item.case, item.parameters, node, variations)
    said = judge(scene.conversation)
    return AttemptOutcome(
        item=item,
        went=Went.DEVIATED if findings else Went.HELD,
        conversation=scene.conversation,
        findings=tuple(findings),
        cause=findings[0].cause if findings else "",
        end=findings[0].end if findings else "",
        laws=tuple(one for one in said if one.sender is item.case.role and (one.subjects or one.findings)),
    )


def items_for(
    node: type[Reference], whole: Collection[str] = (), more: Iterable[Parameters] = (), most: int = 2
) -> list[Item]:
    """The cases that may be red on a node with at most so many parameter sets each; of those in `whole` all."""
    found = []
    for case in all_cases().values():
        named = case.id in whole
        if runs_in_memory(case) and (named or concerned(node, case)):
            chosen = _chosen(case, whole, most)
            found += [Item(case, parameters) for parameters in (*chosen, *(more if named else ()))]
    return found


def _chosen(case: Case, whole: Collection[str], most: int) -> list[Parameters]:
    chosen = list(sample(case, whole))
    if case.id in whole or len(chosen) <= most:
        return chosen
    return [chosen[at * (len(chosen) - 1) // max(1, most - 1)] for at in range(most)]


def judgements_of(
    node: type[Reference],
    items: Iterable[Item],
    name: str = "faulty:accepts-newer-versions",
    full: Collection[str] = (),
) -> list[Judgement]:
    """The judgements of a run of these cases, with laws, in both roles and all profiles.

    `full`: the cases that run in every pair of circumstances.
    """
    register = _InMemory(_Unwritten(), Options(out=Path("nowhere")), reach=name)  # type: ignore[arg-type]
    places: dict[tuple[Side, str], list[Item]] = {}
    for item in items:
        places.setdefault((item.case.role, item.case.profile), []).append(item)
    for (role, profile), these in places.items():
        target = open_target(
            reach.parse(name) if role is Side.RESPONDER else reach.parse(name).with_options(role="client")
        )
        records, controls = Records(target, profile, register, Known(), 0), Controls(all_cases(), Ground(all_cases()))
        heard = records.law_results()
        outcomes = [
            attempted(item, node, "full" if item.case.id in full else "quick") for item in controls.ordered(these)
        ]
        for outcome in outcomes:
            heard.add(outcome)
        for decision in controls.settled(decide(outcome.item, [outcome], role) for outcome in outcomes):
            records.decision(decision)
        records.laws(all_laws().values(), (), heard)
    return register.judgements
