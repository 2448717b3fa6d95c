"""`zconform probe`: what a target is and can do."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any, Final

import click

from zenoh_conformance.verdict import Exit
from zenoh_harness.commands import _completing as completing
from zenoh_harness.console import Shell, plain, shell_options
from zenoh_harness.files import probes
from zenoh_harness.files.places import check_files
from zenoh_harness.probing.probe import Facts, askable, looked_twice, missing, probe
from zenoh_harness.profiles import DEFAULT
from zenoh_harness.targets.catalogue import Catalogue
from zenoh_harness.targets.target import NodeTarget, known_profile

_WIDTH: Final = 36


@click.command()
@click.argument("target", metavar="TARGET", shell_complete=completing.targets)
@click.option(
    "--profile",
    "profiles",
    multiple=True,
    metavar="NAME",
    shell_complete=completing.profiles,
    help="Only this profile; may be given again.",
)
@click.option(
    "--out", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE", help="Write the JSON there too."
)
@click.option("--no-rates", is_flag=True, help="Measure no rates and no limits.")
@click.option(
    "--patience", is_flag=True, help="Measure how long it waits for us, and how it comes back (half a minute)."
)
@shell_options()
def command(
    target: str, profiles: tuple[str, ...], out: Path | None, no_rates: bool, patience: bool, shell: Shell
) -> int:
    """Print what TARGET is and can do: version, role, extensions, resolutions, sizes, lease, authentication, rates.

    \b
    Example:  zconform probe wheel:1.9.0 --format json
    A capability that the target's own file claims and that two looks do not see is exit code 1.
    """
    check_files(out)
    node = Catalogue.load().open(target)
    pinned = node.reach.options.get("profile")
    wanted = [known_profile(name).name for name in profiles] or ([pinned] if pinned else list(node.profiles))
    probed: dict[str, Facts] = {}
    with shell.progress(len(wanted), "probe") as advance:
        for name in wanted:
            with node.start(name) as instance:
                first = name == wanted[0]
                claimed = node.claims.intersection(askable(instance.side, instance.profile.name))
                facts = probe(instance, rates=not no_rates and first, waits=patience and first)
                probed[instance.profile.name] = looked_twice(facts, claimed, partial(probe, instance, rates=False))
            advance(1, name)
    result = _result(node, probed)
    if out is not None:
        probes.write(result, out)
    if shell.as_json:
        shell.print_json(result.to_json())
    else:
        shell.out.print(plain(_told(result)))
    return int(Exit.NOT_CONFORMING if result.missing else Exit.CONFORMING)


def _result(node: NodeTarget, probed: dict[str, Facts]) -> probes.Probed:
    return probes.Probed(
        reach=str(node.reach),
        name=node.reach.called(node.identity.name),
        version=node.identity.version,
        role=node.role,
        side=node.side.value,
        profiles={
            name: {"seen": facts.seen, "capabilities": sorted(facts.capabilities)} for name, facts in probed.items()
        },
        claimed=sorted(node.claims),
        missing=missing(node.claims, node.side, probed),
    )


def _told(result: probes.Probed) -> str:
    first = DEFAULT if DEFAULT in result.profiles else next(iter(result.profiles))
    rows = [f"{result.reach}: {result.name} {result.version}, {result.role}, {result.side}".replace(" ,", ","), ""]
    for name, value in result.profiles[first]["seen"].items():
        rows += _rows(name, value)
    rows += ["", f"{'profile':<{_WIDTH}} capabilities seen"]
    rows += [f"{name:<{_WIDTH}} {' '.join(one['capabilities']) or '-'}" for name, one in result.profiles.items()]
    if result.missing:
        rows += ["", f"claimed, and not seen: {', '.join(result.missing)}"]
    return "\n".join(rows)


def _rows(name: str, value: Any) -> list[str]:
    if isinstance(value, dict):
        return [row for inner, one in value.items() for row in _rows(f"{name}: {inner}", one)]
    shown = " ".join(value) if isinstance(value, list) else str(value)
    return [f"{name:<{_WIDTH}} {shown}"]
