"""What a matrix says: one letter a verdict and target, and what changed from each target to the next."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby, pairwise
from typing import Any, Final

from zenoh_conformance.verdict import WORST_FIRST, Verdict, worst
from zenoh_harness.run.compare import Change, Comparison, Way, changes, gathered
from zenoh_harness.run.summary import public
from zenoh_harness.versions.matrix import Done

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
TOLD: Final = (Way.WORSE, Way.BETTER)
"""What is told from version to version; the rest is in the results."""


def line(one: Done) -> str:
    """A run in one line: its verdicts, the gravest first; or why it ended."""
    found = one.results
    if found is None or not found.judgements:
        return f"exit {one.code}: {one.text}"
    counts = Counter(judgement.verdict for judgement in found.judgements)
    text = ", ".join(f"{counts[verdict]} {verdict.value}" for verdict in WORST_FIRST if counts[verdict])
    return text if found.complete else f"incomplete, {one.text}: {text}"


def rows(done: Sequence[Done]) -> dict[str, list[str]]:
    """Requirement to its worst verdict on each target; empty where there is none."""
    worst_of: list[dict[str, Verdict]] = []
    for one in done:
        per: dict[str, list[Verdict]] = {}
        for judgement in public(one.results.judgements) if one.results else ():
            per.setdefault(judgement.key.requirement, []).append(judgement.verdict)
        worst_of.append({requirement: worst(found) for requirement, found in per.items()})
    requirements = sorted({requirement for found in worst_of for requirement in found})
    return {
        requirement: [found[requirement].value if requirement in found else "" for found in worst_of]
        for requirement in requirements
    }


def table(reached: Sequence[str], shown: dict[str, list[str]]) -> Iterator[str]:
    """One column a target, headed by its name from top to bottom, or by a number; one row a requirement."""
    if not shown:
        return
    heads = _heads(reached)
    yield ""
    if max(map(len, heads)) > TALLEST:
        yield from (f"{number}  {one}" for number, one in enumerate(reached, 1))
        heads = [str(number) for number in range(1, len(reached) + 1)]
    tallest = max(map(len, heads))
    for at in range(tallest):
        yield "".join(head.rjust(tallest)[at] for head in heads).rstrip()
    for requirement, row in shown.items():
        yield "".join(MARKS[Verdict(verdict)] if verdict else " " for verdict in row) + f"  {requirement}"


def _heads(reached: Sequence[str]) -> list[str]:
    """The versions, where the targets are one kind's with the same options; else the whole names."""
    parts = [re.fullmatch(r"(\w+):([\w.+-]+)(\?.*)?", one) for one in reached]
    text = [part for part in parts if part]
    alike = len(text) == len(reached) and len({(part[1], part[3]) for part in text}) == 1
    return [part[2] for part in text] if alike else list(reached)


def changes_told(done: Sequence[Done]) -> Iterator[str]:
    """From each target to the next: what deviates anew, what does no more; a requirement's checks under it."""
    for before, after, text in steps(done):
        if text:
            yield f"\n{before} -> {after}"
        for (way, requirement), group in groupby(text, key=lambda one: (one.first.way, one.first.key.requirement)):
            several = list(group)
            word = "worse " if way is Way.WORSE else "better"
            yield f"  {word} {requirement}  ({several[0].first.level}, {several[0].first.key.role})"
            yield from (f"         {text}" for one in several for text in _told(one))


def _told(one: Comparison) -> tuple[str, str]:
    many = f" [{len(one.labels)} of its values]" if len(one.labels) > 1 else ""
    return f"{one.first.key.check}{many}", f"    {one.was}  ->  {one.now}"


def steps(done: Sequence[Done]) -> Iterator[tuple[str, str, list[Comparison]]]:
    """Each target that was judged and the next such, with what changed in either direction."""
    for before, after in pairwise(one for one in done if one.results is not None and one.results.judgements):
        assert before.results is not None
        assert after.results is not None
        yield before.reach, after.reach, gathered(_telling(changes(before.results, after.results)))


def _telling(found: Iterable[Change]) -> list[Change]:
    return [change for change in found if change.way in TOLD and not _a_list_is_wrong(change)]


def _a_list_is_wrong(change: Change) -> bool:
    """Whether it is about the list of known deviations, and not the target."""
    return change.key.check.partition("/")[0] in ("known", "judged")


def document(done: Sequence[Done]) -> dict[str, Any]:
    """All of it as data: targets, requirements by target, steps."""
    return {
        "targets": [
            {
                "reach": one.reach, "exit": one.code, "seconds": round(one.seconds, 1), "summary": line(one),
                "told": line(one),  # the name of 0.1 for `summary`
                "results": str(one.folder),
            }
            for one in done
        ],
        "requirements": rows(done),
        "changes": [
            {"before": before, "after": after, "changes": [one.as_json() for one in text]} for before, after, text in steps(done)
        ],
    }  # fmt: skip
