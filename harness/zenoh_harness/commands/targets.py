"""`zconform targets`: list the known targets, and build some of them."""

from __future__ import annotations

import click

from zenoh_harness.console import Shell, Verbs, shell_options
from zenoh_harness.targets.build import BUILDERS, builder
from zenoh_harness.targets.catalogue import Catalogue


@click.group(cls=Verbs)
def command() -> None:
    """List the known targets, and build some of them.

    \b
    Example:  zconform targets build zenohd --version 1.10.2
    """


@command.command("list")
@shell_options()
def list_targets(shell: Shell) -> None:
    """List the targets that have a file, with their target strings.

    \b
    Example:  zconform targets list --format json
    """
    known = [{"name": one.name, "about": one.about, "reach": list(one.reach)} for one in Catalogue.load()]
    lines = [f"{target['name']}  {target['about']}\n    {', '.join(target['reach'])}" for target in known]
    shell.show(known, [*lines, *(f"build {row.name}  {row.about}" for row in BUILDERS.values())])


@command.command("build")
@click.argument("name", metavar="NAME")
@click.option("--version", metavar="VERSION", help="Version to build. The default depends on NAME.")
@click.option("--profile", metavar="PROFILE", help="Build profile: release, or a faster one if NAME has one.")
@shell_options()
def build(shell: Shell, name: str, version: str | None, profile: str | None) -> None:
    """Build a target.

    A finished build is kept and reused.

    \b
    Example:  zconform targets build zenohd --version 1.10.2
    """
    row = builder(name)
    with shell.progress(1, row.name) as advance:
        made = row.make(version, profile, lambda line: advance(0, line))
    head = f"{made.what}: built in {made.seconds:.0f} s" if made.new else f"{made.what}: built before, reused"
    facts = (f"    {name:<10}{value}" for name, value in made.facts.items() if value)
    shell.show({"what": made.what, "new": made.new, "seconds": round(made.seconds, 1), **made.facts}, [head, *facts])
