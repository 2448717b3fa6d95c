"""`zconform cases`: what provokes a judgement, listed and told."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import Any

import click

from zenoh_conformance.case import Case, all_cases
from zenoh_conformance.requirement import requirements
from zenoh_harness.commands import _completing as completing
from zenoh_harness.console import Shell, shell_options
from zenoh_harness.errors import unknown
from zenoh_harness.run.plan import Item


@click.group()
def command() -> None:
    """The cases: each reaches a state, does one odd thing, and judges what the target makes of it.

    \b
    Example:  zconform cases list 'establishment-*'
    """


@command.command("list")
@click.argument("pattern", metavar="[GLOB]", default="*", shell_complete=completing.cases)
@click.option("--role", type=click.Choice(["responder", "initiator"]), help="Only cases for targets in this role.")
@shell_options()
def list_cases(shell: Shell, pattern: str, role: str | None) -> None:
    """The cases whose id or requirement matches.

    \b
    Example:  zconform cases list 'session-establishment/*' --role initiator
    """
    found = [case for case in all_cases().values() if _matches(case, pattern) and role in (None, case.role.value)]
    if not found:
        raise unknown("case", pattern, all_cases(), step="cases list")
    if shell.as_json:
        shell.print_json([as_json(case) for case in found])
        return
    for case in found:
        count = f"x{len(case.parameters)}" if len(case.parameters) > 1 else ""
        where = "" if case.profile == "default" else case.profile
        shell.out.print(f"{case.id:<64} {count:>5}  {case.role.value:<9}  {case.requirement}  {where}", soft_wrap=True)
    shell.note(f"{len(found)} cases, {sum(len(case.parameters) for case in found)} judgements")


@command.command("show")
@click.argument("names", metavar="ID...", nargs=-1, required=True, shell_complete=completing.cases)
@shell_options()
def show(shell: Shell, names: tuple[str, ...]) -> None:
    """All that is known about a case: what it does, what it asks for, its parameters and its control.

    \b
    Example:  zconform cases show establishment-cookie/a-changed-cookie-is-refused
    """
    found = [find(name) for name in names]
    if shell.as_json:
        shell.print_json([as_json(case) for case in found])
        return
    for case in found:
        _tell(shell, case)


def find(name: str) -> Case:
    """The case of that id or alias, parameters aside. Raises UsageError with the nearest names."""
    plain = name.partition("[")[0]
    for case in all_cases().values():
        if plain == case.id or plain in case.aliases:
            return case
    raise unknown("case", plain, all_cases(), step="cases")


def as_json(case: Case) -> dict[str, Any]:
    """A case as data."""
    return {
        "id": case.id, "requirement": case.requirement, "role": case.role.value, "profile": case.profile,
        "needs": list(case.needs), "twin": case.control, "control": case.control, "alone": case.alone, "timed": case.timed,
        "breaks": list(case.breaks),
        "parameters": [dict(Item(case, parameters).shown) for parameters in case.parameters], "about": case.about,
    }  # fmt: skip


def _matches(case: Case, pattern: str) -> bool:
    return any(fnmatchcase(name, pattern) for name in (case.id, *case.aliases, case.requirement))


def _tell(shell: Shell, case: Case) -> None:
    out = shell.out
    known = requirements().get(case.requirement)
    out.print(case.id, style="bold")
    out.print(f"judges   {case.requirement}" + (f" ({known.level}): {known.says}" if known else ""), soft_wrap=True)
    out.print(
        f"target   {case.role.value}, profile {case.profile}"
        + (f", needs {', '.join(case.needs)}" if case.needs else "")
    )
    if case.control:
        out.print(f"twin     {case.control}")
    if case.breaks:
        out.print(f"breaks   {', '.join(case.breaks)}, on purpose", soft_wrap=True)
    how = [word for word, holds in (("alone", case.alone), ("waits", case.timed)) if holds]
    if how:
        out.print(f"runs     {', '.join(how)}")
    out.print()
    out.print(case.about, soft_wrap=True)
    labels = [Item(case, parameters).label for parameters in case.parameters if parameters]
    for label in labels:
        out.print(f"    {label}", soft_wrap=True)
    out.print()
