"""`zconform matrix`: the same against many targets, and where a verdict turned."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import click

from zenoh_conformance.verdict import SEVERITY, Exit, Verdict, worst
from zenoh_harness.console import Shell, plain, shell_options
from zenoh_harness.errors import UsageError
from zenoh_harness.matrix import RED, Done, Matrix, expand, turns, verdict_of

MARKS: Final = {Verdict.PASS: ".", Verdict.KNOWN: "k", Verdict.WARN: "w", Verdict.FAIL: "F", Verdict.CRASH: "C", Verdict.ZOMBIE: "Z",
                Verdict.HANG: "H", Verdict.FLAKY: "~", Verdict.SLOW: "s", Verdict.ERROR: "E"}  # fmt: skip
"""One letter a verdict; a blank for what was not judged."""


@click.command()
@click.argument("targets", nargs=-1, required=True, metavar="TARGET...")
@click.option("--only", multiple=True, metavar="GLOB", help="Only these checks or requirements; may be repeated.")
@click.option("--jobs", type=click.IntRange(1, 32), default=2, show_default=True, help="Targets at a time.")
@click.option("--depth", default="full", show_default=True, help="As for `run`.")
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("zconform-matrix"),
    show_default=True,
    help="Where to.",
)
@click.option("--bisect", metavar="CASE", help="Find where the verdict of this check turns, over the targets in order.")
@shell_options()
def command(
    shell: Shell, targets: tuple[str, ...], only: tuple[str, ...], jobs: int, depth: str, out: Path, bisect: str | None
) -> int:
    """Judge each TARGET, ranges such as wheel:1.0.0..1.10.2 included, and print what differs from one to the next.

    \b
    Example:
      zconform matrix wheel:1.0.0..1.10.2
      zconform matrix wheel:1.0.0..1.10.2 --bisect establishment-init/an-unknown-version-is-unsupported
    """
    reached = [reach for target in targets for reach in expand(target)]
    if bisect:
        return _bisect(shell, reached, bisect, out)
    options = [part for glob in only for part in ("--only", glob)] + ["--depth", depth]
    done: dict[str, Done] = {}
    for one in Matrix(out, options, jobs).run(reached):
        done[one.reach] = one
        shell.note(f"{len(done)}/{len(reached)} {one.reach:24} {_line(one)}")
    ordered = [done[reach] for reach in reached]
    rows = table(ordered)
    if shell.as_json:
        shell.print_json({"targets": reached, "requirements": rows})
    else:
        _print(shell, reached, rows)
    return int(_exit(ordered))


def _line(one: Done) -> str:
    found = one.results
    if found is None:
        return f"exit {one.code}: {one.told}"
    counts: dict[str, int] = {}
    for judgement in found.judgements:
        counts[judgement.verdict.value] = counts.get(judgement.verdict.value, 0) + 1
    told = ", ".join(f"{count} {verdict}" for verdict, count in sorted(counts.items()))
    return told if found.complete else f"incomplete: {told}"


def table(done: Sequence[Done]) -> dict[str, list[str]]:
    """Requirement to its worst verdict on each target, for those that are not the same on all; empty where not judged."""
    worst_of: list[dict[str, Verdict]] = []
    for one in done:
        per: dict[str, list[Verdict]] = {}
        for judgement in one.results.judgements if one.results else ():
            per.setdefault(judgement.key.requirement, []).append(judgement.verdict)
        worst_of.append({requirement: worst(found) for requirement, found in per.items()})
    requirements = sorted({requirement for found in worst_of for requirement in found})
    rows = {
        requirement: [found[requirement].value if requirement in found else "" for found in worst_of]
        for requirement in requirements
    }
    return {requirement: row for requirement, row in rows.items() if len(set(row)) > 1}


def _print(shell: Shell, reached: Sequence[str], rows: dict[str, list[str]]) -> None:
    for number, reach in enumerate(reached):
        shell.out.print(plain(f"{'|' * number:{len(reached)}} {reach}"))
    for requirement, row in rows.items():
        marks = "".join(MARKS.get(Verdict(verdict), " ") if verdict else " " for verdict in row)
        shell.out.print(plain(f"{marks} {requirement}"))
    legend = "  ".join(f"{mark} {verdict.value}" for verdict, mark in MARKS.items())
    shell.out.print(plain(f"{len(rows)} requirements differ.  {legend}"))


def _exit(done: Sequence[Done]) -> Exit:
    """3 before 1 before 4, over all runs."""
    codes = {one.code for one in done}
    if codes - {int(code) for code in Exit} or Exit.USAGE in codes or Exit.CANNOT_GO_ON in codes:
        return Exit.CANNOT_GO_ON
    return next(code for code in (Exit.DEPARTED, Exit.NOTHING_JUDGED, Exit.CONFORMING) if code in codes)


def _bisect(shell: Shell, reached: Sequence[str], check: str, out: Path) -> int:
    """Print where the verdict turns; exit 4 when the check judged nothing anywhere."""
    matrix = Matrix(out / "bisect", ["--only", check], 1)
    asked: dict[str, Any] = {}

    def ask(reach: str) -> Verdict:
        began = time.monotonic()
        done = matrix.one(reach)
        if done.code == Exit.USAGE:
            raise UsageError(done.told.removeprefix("zconform: ") or f"no check {check}", step="bisect")
        verdict = verdict_of(done)
        asked[reach] = verdict.value
        shell.note(f"{reach:24} {verdict.value:12} {time.monotonic() - began:5.1f} s")
        return verdict

    found = turns(reached, ask)
    if shell.as_json:
        shell.print_json(
            {
                "check": check,
                "asked": asked,
                "turns": [{"before": t.before, "after": t.after, "became": t.became.value} for t in found],
            }
        )
    for turn in found if not shell.as_json else ():
        word = "first bad" if SEVERITY[turn.became] > RED else "first good"
        shell.out.print(plain(f"{word}: {turn.after} ({turn.became.value}); before it: {turn.before}"))
    if not found and not shell.as_json:
        shell.out.print(plain(f"{check} does not turn between {reached[0]} and {reached[-1]}"))
    return int(Exit.NOTHING_JUDGED if set(asked.values()) <= {Verdict.ERROR.value} else Exit.CONFORMING)
