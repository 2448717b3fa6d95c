"""`zconform variants`: list the conforming variants, and what is judged on each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from fnmatch import fnmatchcase
from operator import attrgetter
from typing import Any

import click

from zenoh_conformance.judging.verdict import Exit
from zenoh_harness.commands import _completing as completing
from zenoh_harness.console import Shell, shell_options
from zenoh_harness.errors import unknown
from zenoh_harness.variants import all_variants
from zenoh_harness.variants.table import Came, VariantRow, on_the_reference, row


@click.command()
@click.argument("pattern", metavar="[GLOB]", default="*", shell_complete=completing.variants)
@click.option(
    "--run", is_flag=True, help="Judge each variant by every case and law, in memory; print what is not judged and why."
)
@shell_options()
def command(shell: Shell, pattern: str, run: bool) -> int:
    """List the conforming variants, or judge them (--run).

    A variant is the reference node with one permitted peculiarity; no check may be red on it. Each is a target, variant:NAME.

    \b
    Example:  zconform variants 'answers-*' --run
    Exit codes: 0 as declared, 1 a check is red on a variant, or judges nothing and the variant does not say why.
    """
    found = [variant for name, variant in all_variants().items() if fnmatchcase(name, pattern)]
    if not found:
        raise unknown("variant", pattern, all_variants())
    if not run:
        listed = [{"name": variant.name, "about": variant.about, "permitted": variant.permitted} for variant in found]
        shell.show(listed, (f"{variant.name:38} {' '.join(variant.about.split())}" for variant in found))
        return int(Exit.CONFORMING)
    plain_ones = on_the_reference()
    rows = [row(variant, plain_ones) for variant in shell.steps(found, "variants", attrgetter("name"))]
    shell.show([as_json(each) for each in rows], (line for each in rows for line in lines_of(each)))
    bad = sum(bool(wrong_with(each)) for each in rows)
    green = sum(len(each.judged.of(Came.GREEN)) for each in rows)
    if not shell.as_json:
        shell.note(f"{len(rows)} variants, {green} judgements green; {bad} variants are not as declared")
    return int(Exit.NOT_CONFORMING if bad else Exit.CONFORMING)


def lines_of(each: VariantRow) -> Iterator[str]:
    """Yield the lines of one variant: the number of green judgements, what is not judged and why, and what is wrong."""
    yield f"{each.variant.name}: {' '.join(each.variant.about.split())} ({each.variant.permitted})"
    yield f"    {len(each.judged.of(Came.GREEN)):>6} green"
    for (check, why), count in idle_checks(each).items():
        yield f"    {count:>6} not judged  {check}: {why}"
    yield from (f"    WRONG  {fault}" for fault in wrong_with(each))


def idle_checks(each: VariantRow) -> Counter[tuple[str, str]]:
    """Return (check, why) to the number of its parameter sets that judged nothing."""
    return Counter((one.check, each.reason(one) or one.why) for one in each.idle.values())


def wrong_with(each: VariantRow) -> list[str]:
    """Return what is not as the variant declares."""
    return [
        *(f"{red.label} ({red.why}) is red" for red in each.red.values()),
        *(
            f"{idle.label} ({idle.why}) judges nothing, and the variant does not say why"
            for idle in each.unexplained.values()
        ),
        *(f"the variant explains {glob}, and every such check is judged" for glob in each.stale),
    ]


def as_json(each: VariantRow) -> dict[str, Any]:
    """Return one variant as the value that `--format json` prints."""
    return {
        "name": each.variant.name,
        "about": each.variant.about,
        "permitted": each.variant.permitted,
        "green": len(each.judged.of(Came.GREEN)),
        "not_judged": [
            {"check": check, "why": why, "count": count} for (check, why), count in idle_checks(each).items()
        ],
        "wrong": wrong_with(each),
    }
