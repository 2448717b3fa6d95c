"""`zconform matrix`: judge many targets, list the changes, and find where a verdict changed."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Callable, Sequence
from itertools import chain
from pathlib import Path
from typing import Final

import click

from zenoh_conformance.judging.verdict import Exit, Verdict
from zenoh_harness.commands import _completing as completing
from zenoh_harness.commands._known import known_option
from zenoh_harness.commands._options import depth_option, only_option, resume_option, vectors_option
from zenoh_harness.commands.run import joined_exit, with_broken
from zenoh_harness.console import Shell, out_option, plain, shell_options
from zenoh_harness.errors import UsageError
from zenoh_harness.files.results import Results
from zenoh_harness.files.writable import check_folders
from zenoh_harness.run.check_names import every_name
from zenoh_harness.run.plan.own_vectors import OwnVectors
from zenoh_harness.run.plan.plan import Selection
from zenoh_harness.scripting.shipped import shipped_scripts
from zenoh_harness.targets.lookup import find_checked
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
AGAIN: Final = "again"
"""The folder for what is judged again; it is gone at the end."""
MOST_LABELS: Final = 500
"""If more checks than these differ, the whole run is repeated."""


@click.command()
@click.argument("targets", nargs=-1, required=True, metavar="TARGET...", shell_complete=completing.targets)
@only_option
@click.option("--jobs", type=click.IntRange(1, 64), help="Targets in parallel. Default: by processors and memory.")
@depth_option("full")
@known_option
@vectors_option
@out_option("zconform-matrix", "Folder for the results, one subfolder per target.")
@click.option(
    "--again",
    type=click.IntRange(0, 20),
    default=2,
    show_default=True,
    help="How often both sides of a change are judged again to confirm it.",
)
@resume_option
@click.option(
    "--bisect",
    metavar="CHECK|SCRIPT",
    shell_complete=completing.checks,
    help="Find the target from which on this check or script has another verdict.",
)
@shell_options()
def command(
    shell: Shell,
    targets: tuple[str, ...],
    only: tuple[str, ...],
    jobs: int | None,
    depth: str,
    known: tuple[Path, ...],
    folder: Path | None,
    out: Path,
    again: int,
    resume: bool,
    bisect: str | None,
) -> int:
    """Judge several versions and print what changed.

    TARGET is a target string, or a range such as wheel:1.0.0..1.10.2. Prints the requirements whose verdict differs, and the
    changes from each target to the next.

    \b
    Example:
      zconform matrix wheel:1.0.0..1.10.2
      zconform matrix 'wheel:1.0.0..1.10.2?as=responder' --only 'session-establishment/*'
      zconform matrix wheel:1.0.0..1.10.2 --bisect scripts/two-frames-in-one-batch
    Exit codes: as for `run`; the most severe of all targets.
    """
    reached = expand(targets)
    for target in reached:
        find_checked(target)
    check_folders(out)
    own = OwnVectors.read(folder)
    options = ["--depth", depth, *(part for file in known for part in ("--known", str(file))), *own.words]
    if bisect:
        return _bisect(shell, reached, bisect, Matrix(out / "bisect", options))
    Selection(only).check(chain(own.names, every_name()))
    options += [part for glob in only for part in ("--only", glob)]
    shutil.rmtree(out / AGAIN, ignore_errors=True)  # of a matrix that was killed
    matrix = Matrix(out, options, min(jobs or room(), len(reached)), resume=resume)
    ordered = asked_again(_run(shell, reached, matrix), _once_more(shell, out, options, bool(only)), again)
    combined = document(ordered)
    (out / COMBINED).write_text(json.dumps(combined, indent=1) + "\n", encoding="utf-8")
    shell.answer(lambda: combined, lambda: _print(shell, ordered, out))
    return with_broken(shell, own, _exit([one.done for one in ordered]))


def _once_more(shell: Shell, out: Path, options: Sequence[str], selected: bool) -> Ask:
    """Return a function that judges a target again, by some checks or all; its results are deleted: `report` counts a target once."""

    def ask(reach: str, labels: Sequence[str]) -> Results | None:
        few = bool(labels) and len(labels) <= MOST_LABELS
        kept = options[: options.index("--only")] if few and selected else options
        more = [part for label in labels for part in ("--only", label)] if few else []
        folder = out / AGAIN
        try:
            done = Matrix(folder, [*kept, *more]).one(reach)
            found = done.results
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        shell.note(f"again  {reach}  {f'{len(labels)} checks' if few else 'all'}  {done.seconds:5.0f} s")
        return found

    return ask


def _run(shell: Shell, reached: Sequence[str], matrix: Matrix) -> list[Done]:
    """Judge all targets, print a line for each as it is done, and return them in the order given."""
    done: dict[str, Done] = {}
    widest = max(map(len, reached))
    for one in matrix.run(reached):
        if matrix.resume and one.code == Exit.USAGE:
            raise UsageError(one.text.removeprefix("zconform: "), step="--resume", hint="leave out --resume")
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
    shell.out.print(f"\n{len(turned)} of {len(every)} requirements have different verdicts on {len(ordered)} targets")
    shell.out.print(
        f"Results in {plain(str(out))}: one folder per target; {COMBINED} has the whole table", soft_wrap=True
    )


def _exit(done: Sequence[Done]) -> int:
    """Return the exit code of all runs: the first of 3, 1, 4 and 0 that occurs; any other code counts as 3.

    A run that met vectors which cannot be used has the code of its results.
    """
    codes = [
        it.results.footer.exit if it.code == Exit.USAGE and it.results and it.results.footer else it.code for it in done
    ]
    return joined_exit(Exit(code) if code in (0, 1, 4) else Exit.CANNOT_GO_ON for code in codes)


def _bisect(shell: Shell, reached: Sequence[str], check: str, matrix: Matrix) -> int:
    """Print where the verdict of a check changes; exit code 4 if it judged nothing on any target."""
    asked: dict[str, Verdict] = {}
    began = time.monotonic()
    found = turns(reached, _asking(shell, check, matrix, asked))
    seconds = time.monotonic() - began
    judged = [verdict for verdict in asked.values() if verdict.is_judged]
    value = {
        "check": check,
        "asked": {reach: verdict.value for reach, verdict in asked.items()},
        "turns": [{"before": turn.before, "after": turn.after, "became": turn.became.value} for turn in found],
        "seconds": round(seconds, 1),
    }
    total = f"judged {len(asked)} of {len(reached)} targets in {seconds:.0f} s"
    shell.show(value, [*_turn_lines(found, reached, check, asked), total])
    return int(Exit.CONFORMING if judged else Exit.NOTHING_JUDGED)


def _asking(shell: Shell, check: str, matrix: Matrix, asked: dict[str, Verdict]) -> Callable[[str], Verdict]:
    """Return a function that judges one target by the check or script, stores the verdict and prints it."""
    script = Path(check) if Path(check).is_file() else None
    name = f"scripts/{check}" if check in shipped_scripts() else check
    if script is None:
        Selection((name,)).check(every_name())

    def ask(reach: str) -> Verdict:
        began = time.monotonic()
        verdict, why = matrix.replayed(reach, script) if script else matrix.verdict(reach, name)
        asked[reach] = verdict
        shell.note(f"{reach}  {verdict.value}  {time.monotonic() - began:.1f} s{f'  {why}' if why else ''}")
        return verdict

    return ask


def _turn_lines(found: Sequence[Turn], reached: Sequence[str], check: str, asked: dict[str, Verdict]) -> list[str]:
    """Return one line per change of verdict, with the targets between that could not be judged, since one of them may be the first."""
    lines = []
    for turn in found:
        between = reached[reached.index(turn.before) + 1 : reached.index(turn.after)]
        unsure = f"; not judged: {', '.join(between)}" if between else ""
        word, other = ("first bad", "last good") if turn.bad else ("first good", "last bad")
        lines.append(f"{word}: {turn.after} ({turn.became.value}); {other}: {turn.before}{unsure}")
    if found:
        return lines
    kinds = sorted({verdict.value for verdict in asked.values()})
    return [f"{check} has the same verdict from {reached[0]} to {reached[-1]}: {', '.join(kinds)}"]
