"""`zconform known`: compare lists of known deviations with faulty nodes and with a release."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import click

from zenoh_conformance.judging.verdict import Exit
from zenoh_harness.commands import _completing as completing
from zenoh_harness.commands._known import KnownList
from zenoh_harness.commands.run import joined_exit, one_target
from zenoh_harness.console import Shell, out_option, shell_options
from zenoh_harness.faulty import all_faulty_nodes
from zenoh_harness.faulty.excused import Excuse, excuses
from zenoh_harness.files import known
from zenoh_harness.files.known import ListedDeviation
from zenoh_harness.run.attempt.options import Options
from zenoh_harness.targets.lookup import find_checked

OUT: Final = "zconform-known"


@click.group()
def command() -> None:
    """Compare lists of known deviations with faulty nodes and with a release."""


@command.command("check")
@click.argument("paths", metavar="[LIST...]", nargs=-1, type=KnownList())
@click.option("--no-laws", is_flag=True, help="Compare cases only: 2 seconds instead of 15.")
@click.option(
    "--target", shell_complete=completing.targets, help="Also judge this release once: each entry must show as listed."
)
@out_option(OUT)
@shell_options()
def check(shell: Shell, paths: tuple[Path, ...], no_laws: bool, target: str | None, out: Path) -> int:
    """Find entries that excuse too much.

    Compares each entry, whatever its versions, with what the checks of each faulty node find, in memory. A check whose findings are
    all listed detects that fault no longer: name the rows, link or cause more closely or, if the node reproduces the very deviation
    that is excused, name it in `reproduced_by`. LIST is a file or the name of a shipped list; without one, all shipped lists.

    \b
    Example:  zconform known check zenoh-rust --target wheel:1.10.2
    Exit codes: 0 each entry excuses what it means, 1 one does not, 2 a list is wrong.
    """
    lists = paths or tuple(known.shipped_lists())
    faults = [fault for path in lists for fault in faults_of(path, laws=not no_laws)]
    shell.show(faults, map(_line, faults))
    code = Exit.NOT_CONFORMING if faults else Exit.CONFORMING
    if target is None:
        return int(code)
    ran = one_target(shell, find_checked(target), Options(out=out, depth="quick"), lists)
    return joined_exit([code, ran.exit if ran is not None else Exit.NOTHING_JUDGED])


def faults_of(path: Path, *, laws: bool = True) -> list[dict[str, Any]]:
    """Return what is wrong with the entries of a list: what they excuse without saying so, and what they say and is not so."""
    entries = known.read(path)
    found = list(excuses(entries, laws=laws))
    faults = [_fault(path, each.number, each.entry, _too_wide(each)) for each in found if not each.is_meant]
    shown = {(each.number, each.node) for each in found}
    for number, entry in enumerate(entries, 1):
        for node in entry.reproduced_by:
            if node not in all_faulty_nodes():
                faults.append(_fault(path, number, entry, f"there is no faulty node {node}"))
            elif laws and (number, node) not in shown:
                faults.append(_fault(path, number, entry, f"faulty:{node} does not reproduce what it excuses"))
    return faults


def _too_wide(each: Excuse) -> str:
    return f"excuses faulty:{each.node}, on which {each.label} says: {each.cause}"


def _fault(path: Path, number: int, entry: ListedDeviation, text: str) -> dict[str, Any]:
    return {"file": str(path), "entry": number, "name": entry.name, "wrong": text}


def _line(fault: dict[str, Any]) -> str:
    return f"{fault['file']}: entry {fault['entry']} ({fault['name']}) {fault['wrong']}"
