"""`zconform cases`: list the cases and show one in full."""

from __future__ import annotations

from collections.abc import Iterator
from fnmatch import fnmatchcase
from typing import Any

import click

from zenoh_conformance.cases.case import Case, all_cases
from zenoh_conformance.judging.variation import coverage_of, rows_of
from zenoh_conformance.spec.requirement import requirements
from zenoh_harness.commands import _completing as completing
from zenoh_harness.console import Shell, Verbs, shell_options
from zenoh_harness.errors import unknown
from zenoh_harness.run.attempt.options import DEPTHS
from zenoh_harness.run.plan.plan import Item


@click.group(cls=Verbs)
def command() -> None:
    """List and show the cases.

    A case brings the target into a state, does one odd thing, and judges the answer.

    \b
    Example:  zconform cases list 'establishment-*'
    """


@command.command("list")
@click.argument("pattern", metavar="[GLOB]", default="*", shell_complete=completing.cases)
@click.option(
    "--role", type=click.Choice(["responder", "initiator"]), help="List only the cases for targets in this role."
)
@shell_options()
def list_cases(shell: Shell, pattern: str, role: str | None) -> None:
    """List the cases whose id or requirement matches.

    \b
    Example:  zconform cases list 'session-establishment/*' --role initiator
    """
    found = [case for case in all_cases().values() if _matches(case, pattern) and role in (None, case.role.value)]
    if not found:
        raise unknown("case", pattern, all_cases(), step="cases list")
    shell.show([as_json(case) for case in found], map(_line, found))
    shell.note(f"{len(found)} cases, {sum(len(case.parameters) for case in found)} judgements")


@command.command("show")
@click.argument("names", metavar="ID...", nargs=-1, required=True, shell_complete=completing.cases)
@shell_options()
def show(shell: Shell, names: tuple[str, ...]) -> None:
    """Show a case in full.

    Prints what it does, what it requires, its parameters and its control.

    \b
    Example:  zconform cases show establishment-cookie/a-changed-cookie-is-refused
    """
    found = [find(name) for name in names]
    shell.show([as_json(case) for case in found], (line for case in found for line in _in_full(case)))


def find(name: str) -> Case:
    """Return the case of that id or alias; parameters in brackets are ignored. Raises UsageError with the nearest names."""
    plain = name.partition("[")[0]
    for case in all_cases().values():
        if plain == case.id or plain in case.aliases:
            return case
    raise unknown("case", plain, all_cases(), step="cases")


def as_json(case: Case) -> dict[str, Any]:
    """Return a case as the value that `--format json` prints."""
    return {
        "id": case.id, "requirement": case.requirement, "role": case.role.value, "profile": case.profile,
        "needs": list(case.needs), "twin": case.control, "control": case.control, "alone": case.alone, "timed": case.timed,
        "breaks": list(case.breaks),
        "parameters": [dict(Item(case, parameters).shown) for parameters in case.parameters], "about": case.about,
        "varies": {each.name: list(each.values) for each in case.varies},
        "rows": {depth: len(rows_of(case.varies, depth)) for depth in DEPTHS if case.varies},
    }  # fmt: skip


def _matches(case: Case, pattern: str) -> bool:
    return any(fnmatchcase(name, pattern) for name in (case.id, *case.aliases, case.requirement))


def _line(case: Case) -> str:
    count = f"x{len(case.parameters)}" if len(case.parameters) > 1 else ""
    profile = "" if case.profile == "default" else case.profile
    return f"{case.id:<64} {count:>5}  {case.role.value:<9}  {case.requirement}  {profile}"


def _in_full(case: Case) -> Iterator[str]:
    requirement = requirements().get(case.requirement)
    says = f" ({requirement.level}): {requirement.says}" if requirement else ""
    needs = f", needs {', '.join(case.needs)}" if case.needs else ""
    yield from (
        case.id,
        f"judges   {case.requirement}{says}",
        f"target   {case.role.value}, profile {case.profile}{needs}",
    )
    if case.control:
        yield f"control  {case.control}"
    if case.breaks:
        yield f"breaks   {', '.join(case.breaks)}, on purpose"
    if conditions := [word for word, holds in (("alone", case.alone), ("waits", case.timed)) if holds]:
        yield f"runs     {', '.join(conditions)}"
    yield from _circumstances(case)
    yield from ("", case.about)
    yield from (f"    {Item(case, parameters).label}" for parameters in case.parameters if parameters)
    yield ""


def _circumstances(case: Case) -> Iterator[str]:
    """The dimensions of a varied case, and what each depth has of their combinations."""
    for each in case.varies:
        yield f"varies   {each.name}: {', '.join(map(str, each.values))}"
    for depth in DEPTHS if case.varies else ():
        covered = coverage_of(case.varies, depth)
        kind = {2: "pairs", 3: "triples"}[covered.strength]
        yield f"rows     {depth}: {covered.rows}, with {covered.there:,} of {covered.of:,} {kind} of values"
