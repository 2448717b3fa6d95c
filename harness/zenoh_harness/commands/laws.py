"""`zconform laws`: what judges every conversation, listed and told."""

from __future__ import annotations

from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import click

from zenoh_conformance.law import Law, all_laws
from zenoh_conformance.requirement import requirements
from zenoh_harness.commands import _completing as completing
from zenoh_harness.commands.audit import audit, audit_options
from zenoh_harness.console import Shell, shell_options
from zenoh_harness.errors import unknown


@click.group()
def command() -> None:
    """The laws: each is held against everything that a target ever says.

    \b
    Example:  zconform laws list
    """


@command.command("list")
@click.argument("pattern", metavar="[GLOB]", default="*", shell_complete=completing.laws)
@shell_options()
def list_laws(shell: Shell, pattern: str) -> None:
    """The laws whose id or requirement matches.

    \b
    Example:  zconform laws list 'session-establishment/*'
    """
    found = [
        law for name, law in all_laws().items() if fnmatchcase(name, pattern) or fnmatchcase(law.requirement, pattern)
    ]
    if not found:
        raise unknown("law", pattern, all_laws(), step="laws list")
    if shell.as_json:
        shell.print_json([as_json(law) for law in found])
        return
    for law in found:
        shell.out.print(f"{law.id:<44}  {law.per.value:<12}  {law.requirement}", soft_wrap=True)
    shell.note(f"{len(found)} laws")


@command.command("judge")
@click.argument("files", metavar="CONVERSATION|CAPTURE...", nargs=-1, required=True, type=click.Path(path_type=Path))
@audit_options
def judge(shell: Shell, files: tuple[Path, ...], **options: Any) -> int:
    """Hold the laws against everybody in a recorded CONVERSATION (of the tap, of a run's evidence) or a CAPTURE.

    \b
    Example:  zconform laws judge zconform-results/evidence/x.jsonl
              zconform laws judge --law law/cookie-echo lo.pcapng
    Exit code 1 when somebody is at fault, 3 when a capture is damaged and its rest was not read, 4 when there was nothing to judge.
    """
    return audit(shell, files, **options)


@command.command("show")
@click.argument("names", metavar="ID...", nargs=-1, required=True, shell_complete=completing.laws)
@shell_options()
def show(shell: Shell, names: tuple[str, ...]) -> None:
    """All that is known about a law.

    \b
    Example:  zconform laws show law/cookie-echo
    """
    known = all_laws()
    found = [known.get(name) or known.get(f"law/{name}") for name in names]
    for name, law in zip(names, found, strict=True):
        if law is None:
            raise unknown("law", name, known, step="laws show")
    whole = [law for law in found if law is not None]
    if shell.as_json:
        shell.print_json([as_json(law) for law in whole])
        return
    for law in whole:
        requirement = requirements().get(law.requirement)
        shell.out.print(law.id, style="bold")
        says = f" ({requirement.level}): {requirement.says}" if requirement else ""
        shell.out.print(f"judges   {law.requirement}{says}", soft_wrap=True)
        shell.out.print(f"looks at each {law.per.value}")
        shell.out.print(f"\n{law.about}\n", soft_wrap=True)


def as_json(law: type[Law]) -> dict[str, Any]:
    """A law as data."""
    return {"id": law.id, "requirement": law.requirement, "per": law.per.value, "about": law.about}
