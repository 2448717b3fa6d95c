"""`zconform smoke`: check that an adapter works."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Final, cast

import click

from zenoh_conformance.judging.verdict import Exit
from zenoh_harness.codecs.codec import Codec
from zenoh_harness.commands import _completing as completing
from zenoh_harness.console import Shell, plain, shell_options
from zenoh_harness.errors import TargetError
from zenoh_harness.probing.smoke import SmokeStep, error_text, smoke_codec, smoke_node
from zenoh_harness.targets.catalogue import Catalogue
from zenoh_harness.targets.reach import Face
from zenoh_harness.targets.target import open_codec

_MARKS: Final = {True: "ok    ", False: "FIX   "}


@click.command()
@click.argument("target", metavar="TARGET", shell_complete=completing.targets)
@shell_options()
def command(target: str, shell: Shell) -> int:
    """Check in a few seconds that a target's adapter works.

    Starts the target, works with it, ends it, and asks it for a capability that does not exist. Prints what to fix.

    \b
    Example:  zconform smoke 'exec:./mynode --listen {locator}'
    Exit codes: 0 nothing to fix, 1 something to fix, 2 usage, 3 the target cannot be started or reached.
    """
    found = []
    for step in _steps(target):
        found.append(step)
        if not shell.as_json:
            shell.out.print(plain(_line(step)))
    bad = sum(not step.well for step in found)
    summary = f"\n{bad} to fix" if bad else "\nNothing to fix: zconform run can judge this target."
    shell.answer(
        lambda: {"target": target, "well": not bad, "steps": [dataclasses.asdict(step) for step in found]},
        lambda: shell.out.print(summary),
    )
    if any(step.fatal for step in found):
        return int(Exit.CANNOT_GO_ON)
    return int(Exit.CONFORMING if not bad else Exit.NOT_CONFORMING)


def _steps(text: str) -> Iterator[SmokeStep]:
    catalogue = Catalogue.load()
    reach = catalogue.reach(text)
    if Face.NODE in reach.faces:
        yield from smoke_node(catalogue.open(text))
        return
    try:
        codec = cast(Codec, open_codec(reach))
    except TargetError as why:
        hint = why.hint or 'start the command by hand and type {"cmd": "start", "version": 1}'
        yield SmokeStep(why.step, error_text(why), hint, fatal=why.step != "honesty")
        return
    with codec:
        yield from smoke_codec(codec)


def _line(step: SmokeStep) -> str:
    head = f"{_MARKS[step.well]}{step.name}"
    if step.well:
        return f"{head}: {step.note}" if step.note else head
    return f"{head}: {step.fault}" + (f"\n      -> {step.mend}" if step.mend else "")
