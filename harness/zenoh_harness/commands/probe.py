"""`zconform probe`: measure and print the capabilities of a target."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any, Final

import click

from zenoh_conformance.judging.verdict import Exit
from zenoh_harness.commands import _completing as completing
from zenoh_harness.console import Shell, shell_options
from zenoh_harness.files import probes
from zenoh_harness.files.writable import check_files
from zenoh_harness.probing.probe import ProbeFacts, missing_claims, probe, probe_twice, probed_capabilities
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
    help="Probe only this profile; repeatable.",
)
@click.option(
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Write the result to this file as JSON.",
)
@click.option("--no-rates", is_flag=True, help="Skip the measurement of rates and limits.")
@click.option("--patience", is_flag=True, help="Measure the target's timeouts and how it reconnects; takes 30 s.")
@shell_options()
def command(
    target: str, profiles: tuple[str, ...], out: Path | None, no_rates: bool, patience: bool, shell: Shell
) -> int:
    """Print the capabilities of a target.

    Prints version, role, extensions, resolutions, sizes, lease, authentication and rates, for each profile.

    \b
    Example:  zconform probe wheel:1.9.0 --format json
    Exit codes: 0 done, 1 the target's file claims a capability that two probes did not see, 2 usage, 3 no target.
    """
    check_files(out)
    node = Catalogue.load().open(target)
    pinned = node.reach.options.get("profile")
    wanted = [known_profile(name).name for name in profiles] or ([pinned] if pinned else list(node.profiles))
    probed: dict[str, ProbeFacts] = {}
    with shell.progress(len(wanted), "probe") as advance:
        for name in wanted:
            with node.start(name) as instance:
                first = name == wanted[0]
                claimed = node.claims.intersection(probed_capabilities(instance.side, instance.profile.name))
                facts = probe(instance, rates=not no_rates and first, waits=patience and first)
                probed[instance.profile.name] = probe_twice(facts, claimed, partial(probe, instance, rates=False))
            advance(1, name)
    result = _result(node, probed)
    if out is not None:
        probes.write(result, out)
    shell.show(result.to_json(), _lines(result))
    return int(Exit.NOT_CONFORMING if result.missing else Exit.CONFORMING)


def _result(node: NodeTarget, probed: dict[str, ProbeFacts]) -> probes.Probed:
    return probes.Probed(
        reach=str(node.reach),
        name=node.reach.reported_name(node.identity.name),
        version=node.identity.version,
        role=node.role,
        side=node.side.value,
        profiles={
            name: {"seen": facts.seen, "capabilities": sorted(facts.capabilities)} for name, facts in probed.items()
        },
        claimed=sorted(node.claims),
        missing=missing_claims(node.claims, node.side, probed),
    )


def _lines(result: probes.Probed) -> list[str]:
    first = DEFAULT if DEFAULT in result.profiles else next(iter(result.profiles))
    rows = [f"{result.reach}: {result.name} {result.version}, {result.role}, {result.side}".replace(" ,", ","), ""]
    for name, value in result.profiles[first]["seen"].items():
        rows += _rows(name, value)
    rows += ["", f"{'profile':<{_WIDTH}} capabilities seen"]
    rows += [f"{name:<{_WIDTH}} {' '.join(one['capabilities']) or '-'}" for name, one in result.profiles.items()]
    if result.missing:
        rows += ["", f"claimed but not seen: {', '.join(result.missing)}"]
    return rows


def _rows(name: str, value: Any) -> list[str]:
    if isinstance(value, dict):
        return [row for inner, one in value.items() for row in _rows(f"{name}: {inner}", one)]
    shown = " ".join(value) if isinstance(value, list) else str(value)
    return [f"{name:<{_WIDTH}} {shown}"]
