"""`zconform smoke`: is the adapter honest?"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Final, cast

import click

from zenoh_conformance.verdict import Exit
from zenoh_harness.codecs.codec import Codec
from zenoh_harness.commands import _completing as completing
from zenoh_harness.console import Shell, plain, shell_options
from zenoh_harness.errors import TargetError
from zenoh_harness.probing.smoke import Step, said, smoke_codec, smoke_node
from zenoh_harness.targets.catalogue import Catalogue
from zenoh_harness.targets.reach import Face
from zenoh_harness.targets.target import open_codec

_MARKS: Final = {True: "ok    ", False: "MEND  "}


@click.command()
@click.argument("target", metavar="TARGET", shell_complete=completing.targets)
@shell_options()
def command(target: str, shell: Shell) -> int:
    """Check in a few seconds that TARGET can be started, works, ends, and is honest; say in words what to mend.

    \b
    Example:  zconform smoke 'exec:./mynode --listen {locator}'
    """
    found = []
    for step in _steps(target):
        found.append(step)
        if not shell.as_json:
            shell.out.print(plain(_told(step)))
    bad = sum(not step.well for step in found)
    if not shell.as_json:
        shell.out.print(f"\n{bad} to mend" if bad else "\nNothing to mend: zconform run can judge it")
    if shell.as_json:
        shell.print_json(
            {
                "target": target,
                "well": all(step.well for step in found),
                "steps": [dataclasses.asdict(step) for step in found],
            }
        )
    if any(step.fatal for step in found):
        return int(Exit.CANNOT_GO_ON)
    return int(Exit.CONFORMING if all(step.well for step in found) else Exit.NOT_CONFORMING)


def _steps(text: str) -> Iterator[Step]:
    catalogue = Catalogue.load()
    reach = catalogue.reach(text)
    if Face.NODE in reach.faces:
        yield from smoke_node(catalogue.open(text))
        return
    try:
        codec = cast(Codec, open_codec(reach))
    except TargetError as why:
        hint = why.hint or 'run the command by hand and type {"cmd": "start", "version": 1}'
        yield Step(why.step, said(why), hint, fatal=why.step != "honesty")
        return
    with codec:
        yield from smoke_codec(codec)


def _told(step: Step) -> str:
    head = f"{_MARKS[step.well]}{step.name}"
    if step.well:
        return f"{head}: {step.note}" if step.note else head
    return f"{head}: {step.fault}" + (f"\n      -> {step.mend}" if step.mend else "")
