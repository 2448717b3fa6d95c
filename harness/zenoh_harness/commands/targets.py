"""`zconform targets`: what is known, and what can be made."""

from __future__ import annotations

import click

from zenoh_harness.console import Shell, plain, shell_options
from zenoh_harness.programs.made import Made
from zenoh_harness.targets.build import BUILDERS, builder
from zenoh_harness.targets.catalogue import Catalogue


@click.group()
def command() -> None:
    """Known targets, and what can be built of them.

    \b
    Example:  zconform targets build zenohd --version 1.10.2
    """


@command.command("list")
@shell_options()
def list_targets(shell: Shell) -> None:
    """The targets that come with a file of their own, and how each is reached.

    \b
    Example:  zconform targets list --format json
    """
    known = [{"name": one.name, "about": one.about, "reach": list(one.reach)} for one in Catalogue.load()]
    if shell.as_json:
        shell.print_json(known)
        return
    for about in known:
        shell.out.print(f"{about['name']}  {about['about']}")
        shell.out.print(f"    {', '.join(about['reach'])}")
    for row in BUILDERS.values():
        shell.out.print(f"build {row.name}  {row.about}")


@command.command("build")
@click.argument("name", metavar="NAME")
@click.option("--version", metavar="VERSION", help="The version to build; each thing has its default.")
@click.option("--profile", metavar="PROFILE", help="The build profile: release, or a quicker one where there is one.")
@shell_options()
def build(shell: Shell, name: str, version: str | None, profile: str | None) -> None:
    """Make a target: what is built is kept, and made only once.

    \b
    Example:  zconform targets build zenohd --version 1.10.2
    """
    row = builder(name)
    with shell.progress(1, row.name) as advance:
        made = row.make(version, profile, lambda line: advance(0, line))
    if shell.as_json:
        shell.print_json({"what": made.what, "new": made.new, "seconds": round(made.seconds, 1), **made.facts})
        return
    shell.out.print(plain(_told(made)))


def _told(made: Made) -> str:
    head = f"{made.what}: made in {made.seconds:.0f} s" if made.new else f"{made.what}: was there"
    return "\n".join([head, *(f"    {name:<10}{value}" for name, value in made.facts.items() if value)])
