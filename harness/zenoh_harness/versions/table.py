"""What a matrix says: one letter a verdict and target, and what changed from each target to the next."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any, Final

from zenoh_conformance.judging.verdict import WORST_FIRST, Judgement, Verdict, worst
from zenoh_harness.files.results import check_label
from zenoh_harness.run.report.compare import ChangeKind, Comparison, gathered, told
from zenoh_harness.versions.matrix import Done
from zenoh_harness.versions.steady import Column, Unsteady, behaviour, doubtful, judged, standing

MARKS: Final = {
    Verdict.PASS: ".", Verdict.KNOWN: "k", Verdict.WARN: "w", Verdict.FAIL: "F", Verdict.CRASH: "C", Verdict.ZOMBIE: "Z",
    Verdict.PANIC: "P", Verdict.HANG: "H", Verdict.FLAKY: "~", Verdict.SLOW: "s", Verdict.ERROR: "E", Verdict.NOT_OBSERVED: "-",
    Verdict.NOT_APPLICABLE: "-", Verdict.UNIMPLEMENTED: "-",
}  # fmt: skip
"""One letter a verdict; a blank for what is not among the results."""
LEGEND: Final = (
    ". pass  k known  w warn  F fail  C crash  Z zombie  P panic  H hang  ~ flaky  s slow  E error  - not judged"
)
TALLEST: Final = 12
"""The longest name that heads a column."""
WORDS: Final = {ChangeKind.WORSE: "worse ", ChangeKind.BETTER: "better", ChangeKind.OTHER: "other "}
"""How a change is headed."""


def line(one: Done) -> str:
    """A run in one line: its verdicts, the gravest first; or why it ended."""
    found = one.results
    if found is None or not found.judgements:
        return f"exit {one.code}: {one.text}"
    counts = Counter(judgement.verdict for judgement in found.judgements)
    text = ", ".join(f"{counts[verdict]} {verdict.value}" for verdict in WORST_FIRST if counts[verdict])
    return text if found.complete else f"incomplete, {one.text}: {text}"


def rows(columns: Sequence[Column]) -> dict[str, list[str]]:
    """Requirement to its worst verdict on each target; empty where there is none."""
    found = [_by_requirement(column) for column in columns]
    requirements = sorted({requirement for one in found for requirement in one})
    return {
        requirement: [worst(each.verdict for each in one[requirement]).value if requirement in one else "" for one in found]
        for requirement in requirements
    }  # fmt: skip


def _by_requirement(column: Column) -> dict[str, list[Judgement]]:
    """What it said first, but for what it did not stand by."""
    found: dict[str, list[Judgement]] = {}
    for place, one in column.judgements.items():
        found.setdefault(one.key.requirement, []).append(
            one if len(set(map(told, column.answers(place)))) <= 1 else replace(one, verdict=Verdict.FLAKY, cause="")
        )
    return found


def by_cause(columns: Sequence[Column]) -> dict[str, list[str]]:
    """The rows that are not the same on all targets: one a requirement, or one a cause where those came and went apart."""
    found = [_by_requirement(column) for column in columns]
    shown: dict[str, list[str]] = {}
    for requirement, row in rows(columns).items():
        troubles = _troubles([one.get(requirement, []) for one in found])
        if len(troubles) < 2:
            shown[requirement] = row
        else:
            shown |= {f"{requirement}  {text}": cells for text, cells in troubles.items()}
    return {text: row for text, row in shown.items() if len({cell for cell in row if cell != Verdict.FLAKY.value}) > 1}


def _troubles(of_target: Sequence[Sequence[Judgement]]) -> dict[str, list[str]]:
    """What is wrong with a requirement, check and cause, to a row: those that came and went together as one."""
    seen: dict[tuple[str, str], list[Verdict | None]] = {}
    for at, judgements in enumerate(of_target):
        for one in judgements:
            if one.verdict.is_wrong and one.cause:
                row = seen.setdefault((one.key.check, one.cause), [None] * len(of_target))
                row[at] = max(one.verdict, row[at] or one.verdict, key=lambda verdict: verdict.severity)
    together: dict[tuple[bool, ...], list[tuple[str, str]]] = {}
    for what, row in seen.items():
        together.setdefault(tuple(cell is not None for cell in row), []).append(what)
    return {_name(whats): _cells(whats, seen, of_target) for whats in together.values()}


def _name(whats: Sequence[tuple[str, str]]) -> str:
    (check, cause), more = min(whats), len(whats) - 1
    return f"{check}: {cause}{f', and {more} more' if more else ''}"


def _cells(
    whats: Sequence[tuple[str, str]], seen: dict[tuple[str, str], list[Verdict | None]],
    of_target: Sequence[Sequence[Judgement]],
) -> list[str]:  # fmt: skip
    """The verdict where one of these causes shows; else how its checks came out otherwise."""
    checks = {check for check, _ in whats}
    cells = []
    for at, judgements in enumerate(of_target):
        bad = [verdict for what in whats if (verdict := seen[what][at]) is not None]
        others = [
            one.verdict for one in judgements if one.key.check in checks and not (one.verdict.is_wrong and one.cause)
        ]
        cells.append(worst(bad).value if bad else worst(others).value if others else "")
    return cells


def alike(columns: Sequence[Column], shown: dict[str, list[str]]) -> list[list[int]]:
    """The targets in groups of neighbours between which nothing changed."""
    groups: list[list[int]] = []
    for at, column in enumerate(columns):
        before = groups[-1][-1] if groups else None
        if before is not None and _same(columns[before], column, [(row[before], row[at]) for row in shown.values()]):
            groups[-1].append(at)
        else:
            groups.append([at])
    return groups


def _same(before: Column, after: Column, cells: Sequence[tuple[str, str]]) -> bool:
    both = bool(before.judgements) and bool(after.judgements)
    return both and all(one == other for one, other in cells) and not standing(before, after)


def table(reached: Sequence[str], shown: dict[str, list[str]], groups: Sequence[Sequence[int]] = ()) -> Iterator[str]:
    """One column a target (or group of them), headed by its name from top to bottom, or by a number; one row a requirement."""
    if not shown:
        return
    groups = groups or [[at] for at in range(len(reached))]
    heads = _heads(reached)
    yield ""
    if max(map(len, heads)) > TALLEST or len(groups) < len(reached):
        yield from (
            f"{number}  {reached[one[0]]}{f' .. {heads[one[-1]]}, {len(one)} that behave alike' if len(one) > 1 else ''}"
            for number, one in enumerate(groups, 1)
        )
        heads = [str(number) for number in range(1, len(groups) + 1)]
    tallest = max(map(len, heads))
    for at in range(tallest):
        yield "".join(head.rjust(tallest)[at] for head in heads).rstrip()
    for requirement, row in shown.items():
        cells = [row[one[0]] for one in groups]
        yield "".join(MARKS[Verdict(verdict)] if verdict else " " for verdict in cells) + f"  {requirement}"


def _heads(reached: Sequence[str]) -> list[str]:
    """The versions, where the targets are one kind's with the same options; else the whole names."""
    parts = [re.fullmatch(r"(\w+):([\w.+-]+)(\?.*)?", one) for one in reached]
    text = [part for part in parts if part]
    alike = len(text) == len(reached) and len({(part[1], part[3]) for part in text}) == 1
    return [part[2] for part in text] if alike else list(reached)


def changes_told(columns: Sequence[Column]) -> Iterator[str]:
    """From each target to the next: what deviates anew, what does no more, what else changed; a requirement's checks under it."""
    for before, after, text in steps(columns):
        if text:
            yield f"\n{before} -> {after}"
        for (way, requirement), group in groupby(text, key=lambda one: (one.first.way, one.first.key.requirement)):
            several = list(group)
            yield f"  {WORDS[way]} {requirement}  ({several[0].first.level}, {several[0].first.key.role})"
            yield from (f"         {text}" for one in several for text in _told(one))


def _told(one: Comparison) -> tuple[str, str]:
    many = f" [{len(one.labels)} of its values]" if len(one.labels) > 1 else ""
    return f"{one.first.key.check}{many}", f"    {one.was}  ->  {one.now}"


def steps(columns: Sequence[Column]) -> Iterator[tuple[str, str, list[Comparison]]]:
    """Each target that was judged and the next such, with what changed in either direction and stood when both were asked again."""
    for before, after in judged(columns):
        found = standing(before, after)
        verdicts = [change for change in found if change.way is not ChangeKind.OTHER]
        others = [change for change in found if change.way is ChangeKind.OTHER]
        yield before.reach, after.reach, [*gathered(verdicts), *gathered(others, behaviour)]


def told_unsteady(found: Sequence[Unsteady]) -> Iterator[str]:
    """What was said now so, now otherwise: each with its rate."""
    if found:
        yield "\nAsked again, and not the same each time: no change from one to the next"
    for one in found:
        times = sum(number for _, number in one.said)
        yield f"  {one.reach}  {one.key.requirement}"
        yield f"         {check_label(one.key.check, one.key.parameters)}"
        yield from (f"             {number} of {times}: {text}" for text, number in one.said)


def document(columns: Sequence[Column]) -> dict[str, Any]:
    """All of it as data: targets, requirements by target, what differs by cause, steps, and what did not stand."""
    shown = by_cause(columns)
    return {
        "targets": [
            {
                "reach": one.reach, "exit": one.done.code, "seconds": round(one.done.seconds, 1), "summary": line(one.done),
                "told": line(one.done),  # the name of 0.1 for `summary`
                "results": str(one.done.folder),
            }
            for one in columns
        ],
        "requirements": rows(columns),
        "causes": shown,
        "alike": [[columns[at].reach for at in group] for group in alike(columns, shown)],
        "changes": [
            {"before": before, "after": after, "changes": [one.as_json() for one in text]} for before, after, text in steps(columns)
        ],
        "unsteady": [one.as_json() for one in doubtful(columns)],
    }  # fmt: skip
