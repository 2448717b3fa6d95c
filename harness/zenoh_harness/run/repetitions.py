"""Runs that are several: repetitions of one, and what was red once more, each made one results file."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from zenoh_harness.errors import UsageError
from zenoh_harness.files import merging, results
from zenoh_harness.files.faults import FileFault
from zenoh_harness.files.labels import is_shard
from zenoh_harness.files.results import Results, check_label
from zenoh_harness.run.attempt.options import Options
from zenoh_harness.run.overload import LONGEST, prevented_judgements, wait_until_calm
from zenoh_harness.run.plan.plan import Selection
from zenoh_harness.run.runner import RESULTS, Ran

Run = Callable[[Options], Ran | None]
"""One run of the target with these options; None when nothing is selected."""

_OF_LISTS: Final = ("known/", "judged/")


def repeated(run: Run, options: Options, times: int, command: str = "") -> Ran | None:
    """Run so many times, each on a target of its own, and make one of it: what was right and wrong is `flaky`.

    The single runs stay under `options.out` as `1`, `2`, ...; one that could not go on ends it.
    """
    ran: list[Ran] = []
    for number in range(1, times + 1):
        one = run(replace(options, out=options.out / str(number)))
        if one is None:
            return None
        ran.append(one)
        if one.stopped is not None:
            break
    return _one(ran, merging.steady, options, command)


def last_failed(run: Run, options: Options, before: Results, command: str = "") -> Ran | None:
    """Judge once more what was red or pending in the results in `options.out`, which are `before`, and put it into them."""
    judgements = [one for one in before.judgements if not _about_lists(one.key.check)]
    return rejudge(run, options, replace(before, judgements=judgements), failed(before), command)


def rejudge(run: Run, options: Options, before: Results, labels: Sequence[str], command: str = "") -> Ran | None:
    """Judge some checks once more, and put them into `before`, the results in `options.out`."""
    place = options.out / "again"
    ran = run(replace(options, out=place, selection=Selection(tuple(labels), options.selection.shard)))
    if ran is None:
        return None
    parts = [(options.out, before), (place, results.read(place))]
    made = merging.merge(parts, merging.newest, options.out, strict=options.strict, command=command)
    shutil.rmtree(place, ignore_errors=True)  # all of it is in the results now
    return _ran(made, options.out, ran)


def failed(before: Results) -> list[str]:
    """What `--only` takes for what was red or pending, each once."""
    again = (one.key for one in before.judgements if one.verdict.is_red() or one.verdict.is_ours)
    red = [check_label(key.check, key.parameters) for key in again]
    pending = [label.split(" ", 2)[2] for label in before.pending if not is_shard(label)]
    return list(dict.fromkeys(label for label in (*red, *pending) if not _about_lists(label)))


def _about_lists(check: str) -> bool:
    return check.startswith(_OF_LISTS)


def alone_when_calm(run: Run, options: Options, first: Ran, told: Callable[[str], None], command: str = "") -> Ran:
    """Judge what met a busy machine once more, one check after the other, when it is calm; `first` where it does not become so."""
    late = prevented_judgements(first.judgements)
    if not late or first.stopped is not None:
        return first
    told(f"{len(late)} checks met a busy machine: waiting until it is calm")
    if not wait_until_calm():
        told(f"the machine was busy for {LONGEST:.0f} s more: they stay as they are")
        return first
    labels = list(dict.fromkeys(check_label(one.key.check, one.key.parameters) for one in late))
    before = results.read(options.out)
    return rejudge(run, replace(options, jobs=1), before, labels, command) or first


def results_before(out: Path) -> Results:
    """The results in a folder. Raises UsageError where there are none, and where nothing in them was red."""
    try:
        before = results.read(out)
    except FileFault as why:
        raise UsageError(
            f"there are no results in {out}", step="--last-failed", seen=str(why), hint="--out FOLDER of the run"
        ) from why
    if not failed(before):
        raise UsageError(f"nothing was red in {out}", step="--last-failed", hint="leave out --last-failed")
    return before


def _one(ran: Sequence[Ran], pick: merging.Pick, options: Options, command: str) -> Ran:
    parts = [(one.out, results.read(one.out / RESULTS)) for one in ran]
    return _ran(merging.merge(parts, pick, options.out, strict=options.strict, command=command), options.out, ran[-1])


def _ran(made: Results, out: Path, last: Ran) -> Ran:
    assert made.footer is not None
    return Ran(
        header=made.header, judgements=tuple(made.judgements), footer=made.footer, out=out, stopped=last.stopped
    )  # fmt: skip
