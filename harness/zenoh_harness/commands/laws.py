"""`zconform laws`: list the laws, show one in full, judge recordings by them."""

from __future__ import annotations

from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import click

from zenoh_conformance.judging.law import Law, all_laws
from zenoh_conformance.spec.requirement import requirements
from zenoh_harness.commands import _completing as completing
from zenoh_harness.commands.audit import audit, audit_options
from zenoh_harness.console import Shell, Verbs, shell_options
from zenoh_harness.errors import unknown


@click.group(cls=Verbs)
def command() -> None:
    """List and show the laws, or judge recordings by them.

    A law is a property that every conversation must have. A run applies all laws to everything that the target sends.

    \b
    Example:  zconform laws list
    """


@command.command("list")
@click.argument("pattern", metavar="[GLOB]", default="*", shell_complete=completing.laws)
@shell_options()
def list_laws(shell: Shell, pattern: str) -> None:
    """List the laws whose id or requirement matches.

    \b
    Example:  zconform laws list 'session-establishment/*'
    """
    found = [
        law for name, law in all_laws().items() if fnmatchcase(name, pattern) or fnmatchcase(law.requirement, pattern)
    ]
    if not found:
        raise unknown("law", pattern, all_laws(), step="laws list")
    lines = (f"{law.id:<44}  {law.per.value:<12}  {law.requirement}" for law in found)
    shell.show([as_json(law) for law in found], lines)
    shell.note(f"{len(found)} laws")


@command.command("judge")
@click.argument("files", metavar="CONVERSATION|CAPTURE...", nargs=-1, required=True, type=click.Path(path_type=Path))
@audit_options
def judge(shell: Shell, files: tuple[Path, ...], **options: Any) -> int:
    """Judge recordings by the laws.

    A CONVERSATION is a file that the tap or a run recorded, a CAPTURE a pcap or pcapng file.

    \b
    Example:  zconform laws judge zconform-results/evidence/x.jsonl
              zconform laws judge --law law/cookie-echo lo.pcapng
    Exit codes: as for `audit`.
    """
    return audit(shell, files, **options)


@command.command("show")
@click.argument("names", metavar="ID...", nargs=-1, required=True, shell_complete=completing.laws)
@shell_options()
def show(shell: Shell, names: tuple[str, ...]) -> None:
    """Show a law in full.

    \b
    Example:  zconform laws show law/cookie-echo
    """
    laws = [_find(name) for name in names]
    shell.show([as_json(law) for law in laws], (line for law in laws for line in _in_full(law)))


def _find(name: str) -> type[Law]:
    known = all_laws()
    law = known.get(name) or known.get(f"law/{name}")
    if law is None:
        raise unknown("law", name, known, step="laws show")
    return law


def _in_full(law: type[Law]) -> tuple[str, ...]:
    requirement = requirements().get(law.requirement)
    says = f" ({requirement.level}): {requirement.says}" if requirement else ""
    return law.id, f"judges   {law.requirement}{says}", f"state    one for each {law.per.value}", f"\n{law.about}\n"


def as_json(law: type[Law]) -> dict[str, Any]:
    """Return a law as the value that `--format json` prints."""
    return {"id": law.id, "requirement": law.requirement, "per": law.per.value, "about": law.about}
