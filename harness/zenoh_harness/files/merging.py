"""Several results of one target made one: shards of a run, repetitions of it, and a run with some of it judged again.

A repetition never makes green what was red: where right and wrong were both seen, the judgement is `flaky`, with its counts.
"""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from zenoh_conformance.judging.verdict import Exit, Judgement, Key, Verdict, exit_code
from zenoh_harness.files import run_ids
from zenoh_harness.files.faults import FileFault
from zenoh_harness.files.results import Header, Results, ResultsWriter

Part = tuple[Path, Results]
"""The folder of a results file, and what is in it."""
Pick = Callable[[Sequence[Judgement]], Judgement]
"""From the judgements of one key, in the order of the parts, to the one that stands."""


def worst(same: Sequence[Judgement]) -> Judgement:
    """Of shards: the judgement that counts."""
    return max(same, key=lambda one: one.verdict.severity)


def newest(same: Sequence[Judgement]) -> Judgement:
    """Of a run and what was judged again: the last one, with what was said before it."""
    if len(same) == 1:
        return same[0]
    before = [{"verdict": one.verdict.value, "cause": one.cause, "attempts": one.attempts} for one in same[:-1]]
    attempts = sum(one.attempts for one in same)
    return replace(same[-1], attempts=attempts, details={**same[-1].details, "before": before})


def steady(same: Sequence[Judgement]) -> Judgement:
    """Of repetitions: the worst one with the counts of all; `flaky` where it was right and wrong."""
    telling = [one for one in same if one.verdict.is_judged] or list(same)
    one = worst(telling)
    counts = Counter(each.verdict.value for each in same)
    details = {**one.details, "repeated": {"times": len(same), "verdicts": dict(sorted(counts.items()))}}
    judgement = replace(one, attempts=sum(each.attempts for each in same), details=details)
    if len({each.verdict.is_right for each in telling}) == 1:
        return judgement
    wrong = sum(not each.verdict.is_right for each in telling)
    cause = f"{wrong} of {len(telling)} times {one.verdict.value}: {one.cause}".removesuffix(": ")
    return replace(judgement, verdict=Verdict.FLAKY, cause=cause)


def same_target(parts: Sequence[Part]) -> Header:
    """The header of the first. Raises FileFault when another is about another target, or was run otherwise."""
    first = parts[0][1].header
    for folder, part in parts[1:]:
        for word, mine, others in (
            (
                "target",
                (first.name, first.version, first.digest),
                (part.header.name, part.header.version, part.header.digest),
            ),
            ("seed", first.seed, part.header.seed),
            ("harness", first.harness, part.header.harness),
        ):
            if mine != others:
                raise FileFault(folder, None, f"has another {word}: {others}, where {parts[0][0]} has {mine}")
    return first


def merge(parts: Sequence[Part], pick: Pick, out: Path, *, strict: bool = False, command: str = "") -> Results:
    """Make one results file of them in `out`, with the evidence of what stands. Raises FileFault."""
    header = replace(same_target(parts), command=command)
    roles = dict.fromkeys(role for _, part in parts for role in part.header.role.split("+"))
    header = replace(
        header, role="+".join(roles), profiles=_together(part.header.profiles for _, part in parts), run=_run(parts)
    )
    chosen = [_brought(pick([one for _, one in same]), same, out) for same in _by_key(parts)]
    planned = _together(part.planned for _, part in parts)
    with ResultsWriter(out / "results.jsonl", header, planned) as writer:
        for judgement in chosen:
            writer.judgement(judgement)
        secret = [part.footer.embargoed if part.footer else 0 for _, part in parts]
        # Shards have no check in common, so that their findings add up; a repetition finds the same ones again.
        writer.withhold(sum(secret) if pick is worst else max(secret))
        footer = writer.footer(_exit(parts, chosen, writer.pending, strict=strict), why=_why(parts))
    return Results(header, planned, chosen, footer)


def _run(parts: Sequence[Part]) -> str:
    """What several runs are called as one: the same again for the same parts; nothing where one has no name."""
    names = [part.header.run for _, part in parts]
    return run_ids.of(parts[0][1].header.date, *names) if all(names) else ""


def _together(parts: Iterable[Iterable[str]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(one for part in parts for one in part))


def _by_key(parts: Sequence[Part]) -> Iterable[list[tuple[Path, Judgement]]]:
    found: dict[Key, list[tuple[Path, Judgement]]] = {}
    for folder, part in parts:
        for judgement in part.judgements:
            found.setdefault(judgement.key, []).append((folder, judgement))
    return found.values()


def _brought(chosen: Judgement, same: Sequence[tuple[Path, Judgement]], out: Path) -> Judgement:
    """The judgement with its evidence in the new place."""
    if chosen.evidence is None:
        return chosen
    folder = next(folder for folder, one in reversed(same) if one.evidence == chosen.evidence)
    source = folder / chosen.evidence
    target = out / chosen.evidence
    if folder.resolve() != out.resolve():
        target.parent.mkdir(parents=True, exist_ok=True)
        for beside in source.parent.glob(f"{source.stem}.*"):
            shutil.copyfile(beside, target.with_name(beside.name))
    return chosen


def _exit(parts: Sequence[Part], chosen: Sequence[Judgement], pending: Sequence[str], *, strict: bool) -> Exit:
    """Of all of it; what is under embargo is in the parts' own codes only."""
    code = exit_code((one.verdict for one in chosen), strict=strict, interrupted=bool(pending))
    secret = any(part.footer and part.footer.embargoed and part.footer.exit == Exit.NOT_CONFORMING for _, part in parts)
    return Exit.NOT_CONFORMING if secret and code in (Exit.CONFORMING, Exit.NOTHING_JUDGED) else code


def _why(parts: Sequence[Part]) -> str:
    return next((part.footer.why for _, part in parts if part.footer and part.footer.why), "")
