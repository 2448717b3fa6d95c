"""What does not fit in the results themselves: told first, so that nobody reads past it."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from zenoh_conformance.judging.verdict import Judgement, Key, Verdict
from zenoh_conformance.spec.requirement import requirements
from zenoh_reports.plain import codec_and_node
from zenoh_reports.plain.fold import EXTRA
from zenoh_reports.plain.runs import Run, Unread, shown


@dataclass(frozen=True, slots=True)
class Anomaly:
    """One thing that does not fit."""

    what: str
    """A sentence."""
    run: Run | None = None


def anomalies(runs: Sequence[Run], unread: Sequence[Unread]) -> list[Anomaly]:
    """All of them: files that cannot be read, then each run's own, then those between runs."""
    found = [Anomaly(f"{shown(one.file)} cannot be read: {shown(one.why, 300)}") for one in unread]
    if not runs:
        found.append(Anomaly("There is no run to show."))
    for run in runs:
        found += [Anomaly(text, run) for text in of_run(run)]
    return found + [Anomaly(text) for text in (*between(runs), *codec_and_node.sentences(runs))]


def of_run(run: Run) -> Iterator[str]:
    """What does not fit within one run."""
    if not run.complete:
        yield f"The run is incomplete: {shown(run.why_incomplete, 300)}."
    if not run.results.judgements:
        yield "The file holds no judgement."
    yield from _contradictions(run.judgements)
    footer = run.results.footer
    if footer is not None:
        counted = Counter(one.verdict.value for one in run.judgements)
        if dict(counted) != {name: n for name, n in footer.verdicts.items() if n}:
            yield "The footer counts other verdicts than the file holds."
        if int(run.exit) != footer.exit:
            yield f"The footer says exit {footer.exit}, and the judgements say {int(run.exit)}."
    strangers = {shown(one.key.requirement) for one in run.judgements if not _known(one.key)}
    if strangers:
        some = ", ".join(sorted(strangers)[:5])
        yield f"{len(strangers)} requirements are unknown to this version of the harness: {some}."
    if not run.interop and any(_of_another(one, run) for one in run.judgements):
        yield "Some judgements name another target or version than the header."
    errors = sum(one.verdict is Verdict.ERROR for one in run.judgements)
    if errors:
        are = "judgement is an error" if errors == 1 else "judgements are errors"
        yield f"{errors:,} {are} of the harness, and nothing is said about the target."


def _known(key: Key) -> bool:
    every = requirements()
    return (
        key.requirement in every or key.requirement in every.aliases() or key.requirement in EXTRA
        or key.requirement.partition("/")[0] in ("interop", "target", "known", "judged")
    )  # fmt: skip


def _of_another(one: Judgement, run: Run) -> bool:
    """A node's own codec may bear a name of its own."""
    header = run.results.header
    return one.key.role != "codec" and (one.key.target, one.key.version) != (header.name, header.version)


def _contradictions(judgements: Sequence[Judgement]) -> Iterator[str]:
    verdicts: dict[Key, set[Verdict]] = defaultdict(set)
    times: Counter[Key] = Counter()
    for one in judgements:
        verdicts[one.key].add(one.verdict)
        times[one.key] += 1
    apart = [key for key, said in verdicts.items() if len(said) > 1]
    if apart:
        yield f"{times_of(len(apart))} twice with different verdicts; the worse counts. The first is {shown(apart[0].check)}."
    twice = sum(n > 1 for n in times.values()) - len(apart)
    if twice:
        yield f"{times_of(twice)} twice."


def times_of(count: int) -> str:
    """`1 judgement stands`, `2 judgements stand`."""
    return "1 judgement stands" if count == 1 else f"{count:,} judgements stand"


def between(runs: Sequence[Run]) -> Iterator[str]:
    """Runs of the same target in the same state that disagree."""
    alike: dict[tuple[object, ...], list[Run]] = defaultdict(list)
    for run in runs:
        header = run.results.header
        alike[header.name, header.version, header.kind, header.reach, header.digest, header.harness].append(run)
    for same in alike.values():
        for first, second in pairwise(same):
            apart = disagree(first, second)
            if apart:
                yield (
                    f"{first.label} and {second.label} are runs of the same target and disagree on {len(apart)} judgements;"
                    f" the first is {shown(apart[0].check)}."
                )


def disagree(first: Run, second: Run) -> list[Key]:
    """The judgements on which two runs of the same target say different things."""
    said: Mapping[Key, Verdict] = {one.key: one.verdict for one in first.judgements}
    return [
        one.key for one in second.judgements
        if one.key in said and said[one.key] is not one.verdict and not (said[one.key].says_nothing or one.verdict.says_nothing)
    ]  # fmt: skip
