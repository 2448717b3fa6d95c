"""`zconform matrix`: the same against many targets, and where a verdict turned."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

import click

from zenoh_conformance.verdict import Exit, Verdict
from zenoh_harness.commands import _completing as completing
from zenoh_harness.commands._known import known_option
from zenoh_harness.console import Shell, plain, shell_options
from zenoh_harness.files.places import check_folders
from zenoh_harness.files.results import Results
from zenoh_harness.run.checks import every_name
from zenoh_harness.run.compare import BAD, GOOD
from zenoh_harness.run.options import DEPTHS
from zenoh_harness.run.plan import Selection
from zenoh_harness.scripting.shipped import shipped
from zenoh_harness.targets.named import checked
from zenoh_harness.versions.bisect import Turn, turns
from zenoh_harness.versions.matrix import Done, Matrix, expand, room
from zenoh_harness.versions.steady import Ask, Column, asked_again, doubtful
from zenoh_harness.versions.table import (
    LEGEND,
    alike,
    by_cause,
    changes_told,
    document,
    line,
    rows,
    table,
    told_unsteady,
)

COMBINED: Final = "matrix.json"
MOST_LABELS: Final = 500
"""More checks than these are not named one by one: all are asked."""


@click.command()
@click.argument("targets", nargs=-1, required=True, metavar="TARGET...", shell_complete=completing.targets)
@click.option(
    "--only",
    multiple=True,
    metavar="GLOB",
    shell_complete=completing.checks,
    help="Only these checks or requirements; may be repeated.",
)
@click.option(
    "--jobs", type=click.IntRange(1, 64), help="Targets at a time; as many as there are processors, and memory for."
)
@click.option("--depth", type=click.Choice(DEPTHS), default="full", show_default=True, help="How much of each check.")
@known_option
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("zconform-matrix"),
    show_default=True,
    help="Where to; `zconform report` takes the folder as one set of results.",
)
@click.option(
    "--again",
    type=click.IntRange(0, 20),
    default=2,
    show_default=True,
    help="How often both sides of a change are asked again before it is told.",
)
@click.option(
    "--bisect",
    metavar="CHECK|SCRIPT",
    shell_complete=completing.checks,
    help="Find where this check or script turns, over the targets in order.",
)
@shell_options()
def command(
    shell: Shell, targets: tuple[str, ...], only: tuple[str, ...], jobs: int | None, depth: str, known: tuple[Path, ...],
    out: Path, again: int, bisect: str | None,
) -> int:  # fmt: skip
    """Judge each TARGET, ranges such as wheel:1.0.0..1.10.2 included, and print what changed from one to the next.

    \b
    Example:
      zconform matrix wheel:1.0.0..1.10.2
      zconform matrix 'wheel:1.0.0..1.10.2?as=responder' --only 'session-establishment/*'
      zconform matrix wheel:1.0.0..1.10.2 --bisect scripts/two-frames-in-one-batch
    """
    reached = expand(targets)
    for target in reached:
        checked(target)
    check_folders(out)
    options = ["--depth", depth, *(part for file in known for part in ("--known", str(file)))]
    if bisect:
        return _bisect(shell, reached, bisect, Matrix(out / "bisect", options))
    Selection(only).check(every_name())
    options += [part for glob in only for part in ("--only", glob)]
    matrix = Matrix(out, options, min(jobs or room(), len(reached)))
    ordered = asked_again(_run(shell, reached, matrix), _once_more(shell, out, options, bool(only)), again)
    text = document(ordered)
    (out / COMBINED).write_text(json.dumps(text, indent=1) + "\n", encoding="utf-8")
    if shell.as_json:
        shell.print_json(text)
    else:
        _print(shell, ordered, out)
    return int(_exit([one.done for one in ordered]))


def _once_more(shell: Shell, out: Path, options: Sequence[str], selected: bool) -> Ask:
    """Asks a target again, for these checks or for all that was asked; nothing of it stays, so that `report` counts it once."""

    def ask(reach: str, labels: Sequence[str]) -> Results | None:
        few = bool(labels) and len(labels) <= MOST_LABELS
        kept = options[: options.index("--only")] if few and selected else options
        more = [part for label in labels for part in ("--only", label)] if few else []
        folder = out / "again"
        try:
            done = Matrix(folder, [*kept, *more]).one(reach)
            found = done.results
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        shell.note(f"again  {reach}  {f'{len(labels)} checks' if few else 'all'}  {done.seconds:5.0f} s")
        return found

    return ask


def _run(shell: Shell, reached: Sequence[str], matrix: Matrix) -> list[Done]:
    """All of them, each told in one line as it is done; in the order in which they were given."""
    done: dict[str, Done] = {}
    widest = max(map(len, reached))
    for one in matrix.run(reached):
        done[one.reach] = one
        number = f"{len(done):>{len(str(len(reached)))}}/{len(reached)}"
        shell.note(f"{number}  {one.reach:{widest}}  {one.seconds:5.0f} s  {line(one)}")
    return [done[reach] for reach in reached]


def _print(shell: Shell, ordered: Sequence[Column], out: Path) -> None:
    every, shown = rows(ordered), by_cause(ordered)
    turned = [row for row in every.values() if len({*row} - {Verdict.FLAKY.value}) > 1]
    for text in table([one.reach for one in ordered], shown, alike(ordered, shown)):
        shell.out.print(plain(text), soft_wrap=True)
    if shown:
        shell.out.print(LEGEND, soft_wrap=True)
    for text in (*changes_told(ordered), *told_unsteady(doubtful(ordered))):
        shell.out.print(plain(text), soft_wrap=True)
    shell.out.print(f"\n{len(turned)} of {len(every)} requirements changed their verdict over {len(ordered)} targets")
    shell.out.print(f"Results in {plain(str(out))}: one folder a target, all of it in {COMBINED}", soft_wrap=True)


def _exit(done: Sequence[Done]) -> Exit:
    """3 before 1 before 4, over all runs."""
    codes = {one.code for one in done}
    if codes - {int(code) for code in Exit} or Exit.USAGE in codes or Exit.CANNOT_GO_ON in codes:
        return Exit.CANNOT_GO_ON
    return next(code for code in (Exit.NOT_CONFORMING, Exit.NOTHING_JUDGED, Exit.CONFORMING) if code in codes)


def _bisect(shell: Shell, reached: Sequence[str], check: str, matrix: Matrix) -> int:
    """Print where the verdict turns; exit 4 when the check judged nothing anywhere."""
    asked: dict[str, Verdict] = {}
    began = time.monotonic()
    found = turns(reached, _asking(shell, check, matrix, asked))
    seconds = time.monotonic() - began
    judged = [verdict for verdict in asked.values() if verdict in BAD | GOOD]
    if shell.as_json:
        shell.print_json(
            {
                "check": check,
                "asked": {reach: verdict.value for reach, verdict in asked.items()},
                "turns": [{"before": t.before, "after": t.after, "became": t.became.value} for t in found],
                "seconds": round(seconds, 1),
            }
        )
        return int(Exit.CONFORMING if judged else Exit.NOTHING_JUDGED)
    for text in _turns_told(found, reached, check, asked):
        shell.out.print(plain(text), soft_wrap=True)
    shell.out.print(f"{len(asked)} of {len(reached)} were asked, in {seconds:.0f} s")
    return int(Exit.CONFORMING if judged else Exit.NOTHING_JUDGED)


def _asking(shell: Shell, check: str, matrix: Matrix, asked: dict[str, Verdict]) -> Callable[[str], Verdict]:
    """Asks one target for the check or script, notes the answer, tells it in one line."""
    script = Path(check) if Path(check).is_file() else None
    name = f"scripts/{check}" if check in shipped() else check
    if script is None:
        Selection((name,)).check(every_name())

    def ask(reach: str) -> Verdict:
        began = time.monotonic()
        verdict, why = matrix.replayed(reach, script) if script else matrix.verdict(reach, name)
        asked[reach] = verdict
        shell.note(f"{reach}  {verdict.value}  {time.monotonic() - began:.1f} s{f'  {why}' if why else ''}")
        return verdict

    return ask


def _turns_told(found: Sequence[Turn], reached: Sequence[str], check: str, asked: dict[str, Verdict]) -> list[str]:
    """One line a turn; what could not be judged between the two is named, since it may be the first itself."""
    text = []
    for turn in found:
        between = reached[reached.index(turn.before) + 1 : reached.index(turn.after)]
        unsure = f"; not judged: {', '.join(between)}" if between else ""
        word, other = ("first bad", "last good") if turn.bad else ("first good", "last bad")
        text.append(f"{word}: {turn.after} ({turn.became.value}); {other}: {turn.before}{unsure}")
    if found:
        return text
    kinds = sorted({verdict.value for verdict in asked.values()})
    return [f"{check} does not turn from {reached[0]} to {reached[-1]}: {', '.join(kinds)}"]
