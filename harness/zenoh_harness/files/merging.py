"""Merge several results of one target: shards of a run, repetitions of it, or a run and a second one of some checks.

A repetition never turns red into green: if the same check was right and wrong, its verdict is `flaky`, with the counts.
"""

from __future__ import annotations

import re
import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from zenoh_conformance.judging.verdict import Exit, Judgement, Key, Verdict, exit_code
from zenoh_harness.files import run_ids
from zenoh_harness.files.faults import FileFault
from zenoh_harness.files.labels import is_shard, shard_label
from zenoh_harness.files.results import Header, Results, ResultsWriter

Part = tuple[Path, Results]
"""The folder of a results file, and its content."""
Pick = Callable[[Sequence[Judgement]], Judgement]
"""Chooses or computes the resulting judgement from those of one key, which are in the order of the parts."""
_SHARD: Final = re.compile(r"([1-9]\d{0,3})/([1-9]\d{0,3})")
_OPTION: Final = re.compile(r"--shard[ =](\S+)")


def worst(same: Sequence[Judgement]) -> Judgement:
    """Return the judgement with the most severe verdict, for shards."""
    return max(same, key=lambda one: one.verdict.severity)


def newest(same: Sequence[Judgement]) -> Judgement:
    """Return the last judgement with the earlier ones in its details, for a run whose checks were judged again."""
    if len(same) == 1:
        return same[0]
    before = [{"verdict": one.verdict.value, "cause": one.cause, "attempts": one.attempts} for one in same[:-1]]
    attempts = sum(one.attempts for one in same)
    return replace(same[-1], attempts=attempts, details={**same[-1].details, "before": before})


def steady(same: Sequence[Judgement]) -> Judgement:
    """Return the worst judgement with the counts of all verdicts, for repetitions; `flaky` if right and wrong occurred."""
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
    """Return the header of the first part. Raises FileFault if target, seed or harness version of another part differ."""
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
    """Write one results file with its evidence into the folder `out`, and return its content. Raises FileFault.

    `pick`: `worst`, `newest` or `steady`; `strict`: `warn` and `slow` fail the run; `command`: for the header.
    """
    header = replace(same_target(parts), command=command)
    roles = dict.fromkeys(role for _, part in parts for role in part.header.role.split("+"))
    shards, missing = _shards(parts)
    header = replace(
        header,
        role="+".join(roles),
        profiles=_together(part.header.profiles for _, part in parts),
        run=_run(parts),
        shards=shards,
    )
    if pick is not worst:  # a repetition of one shard lacks none; one of merged shards lacks what they lacked
        missing = _together(filter(is_shard, part.pending) for _, part in parts)
    chosen = [_pick_with_evidence(pick, same, out) for same in _by_key(parts)]
    planned = _together(part.planned for _, part in parts)
    with ResultsWriter(out / "results.jsonl", header, planned) as writer:
        for judgement in chosen:
            writer.judgement(judgement)
        secret = [part.footer.embargoed if part.footer else 0 for _, part in parts]
        # Shards have no check in common, so that their findings add up; a repetition finds the same ones again.
        writer.withhold(sum(secret) if pick is worst else max(secret))
        footer = writer.footer(
            _exit(parts, chosen, (*writer.pending, *missing), strict=strict),
            why=_why(parts, missing),
            missing=missing,
        )
    return Results(header, planned, chosen, footer)


def _shards(parts: Sequence[Part]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the shards that the merged results hold, none if they are whole, and the labels of those that are missing."""
    named = [_shards_of(part.header) for _, part in parts]
    held = frozenset().union(*named)
    absent = [
        tuple(shard_label(f"{number}/{of}") for number in range(1, of + 1) if (number, of) not in held)
        for of in sorted({of for _, of in held})
    ]
    if not all(named) or not all(absent):
        return (), ()
    return tuple(f"{number}/{of}" for number, of in sorted(held)), tuple(label for labels in absent for label in labels)


def _shards_of(header: Header) -> frozenset[tuple[int, int]]:
    """Return the shards of a file as number and total; headers of earlier versions have them in their command only."""
    names = header.shards or _OPTION.findall(header.command)
    return frozenset((int(found[1]), int(found[2])) for name in names if (found := _SHARD.fullmatch(name)))


def missing_text(labels: Sequence[str]) -> str:
    """Return the sentence that names missing shards."""
    return f"{', '.join(labels)} {'is' if len(labels) == 1 else 'are'} missing"


def _why(parts: Sequence[Part], missing: Sequence[str]) -> str:
    """Return why the merged run is incomplete; empty if it is not."""
    ended = [
        part.footer for _, part in parts if part.footer and not any(is_shard(label) for label in part.footer.pending)
    ]
    early = next((footer.why for footer in ended if footer.why), "")
    return early or (missing_text(missing) if missing else "")


def _run(parts: Sequence[Part]) -> str:
    """Return the run id of the merged run, which the ids of the parts determine; empty if a part has none."""
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


def _pick_with_evidence(pick: Pick, same: Sequence[tuple[Path, Judgement]], out: Path) -> Judgement:
    """Return the resulting judgement of one key, after copying the evidence of the judgement that was picked into `out`."""
    # The evidence of one check has the same path in each part; the number of the part tells them apart.
    numbered = [
        one if one.evidence is None else replace(one, evidence=f"{number}/{one.evidence}")
        for number, (_, one) in enumerate(same)
    ]
    chosen = pick(numbered)
    if chosen.evidence is None:
        return chosen
    number, _, relative = chosen.evidence.partition("/")
    folder = same[int(number)][0]
    source, target = folder / relative, out / relative
    if folder.resolve() != out.resolve():
        target.parent.mkdir(parents=True, exist_ok=True)
        for beside in source.parent.glob(f"{source.stem}.*"):
            shutil.copyfile(beside, target.with_name(beside.name))
    return replace(chosen, evidence=relative)


def _exit(parts: Sequence[Part], chosen: Sequence[Judgement], pending: Sequence[str], *, strict: bool) -> Exit:
    """Return the exit code of the merged run.

    Judgements under embargo are not in the files; the exit codes of the parts are the only trace of their failure.
    """
    code = exit_code((one.verdict for one in chosen), strict=strict, interrupted=bool(pending))
    secret = any(part.footer and part.footer.embargoed and part.footer.exit == Exit.NOT_CONFORMING for _, part in parts)
    return Exit.NOT_CONFORMING if secret and code in (Exit.CONFORMING, Exit.NOTHING_JUDGED) else code
