"""Where a node and its codec are both judged by vectors, and differ."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from zenoh_conformance.judging.verdict import Verdict, worst
from zenoh_reports.plain.runs import Run, shown

CODEC: Final = "codec"
"""The role of a codec in the key of its judgements."""

VECTORS: Final = "vectors/"
"""What the names of these checks begin with."""


@dataclass(frozen=True, slots=True)
class FaceDifference:
    """One requirement that a node meets and its codec does not, or the other way round."""

    target: str
    version: str
    requirement: str
    node: Verdict
    codec: Verdict


def differences(runs: Sequence[Run]) -> list[FaceDifference]:
    """Return where nodes and codecs differ, sorted: those of one name and version, and those of one run."""
    verdicts: dict[tuple[str, str, str], dict[bool, list[Verdict]]] = defaultdict(lambda: defaultdict(list))
    for run in runs:
        header = run.results.header
        for one in run.judgements:
            if one.key.check.startswith(VECTORS) and one.verdict.is_judged:
                is_codec = one.key.role == CODEC
                for name in {one.key.target, header.name if is_codec else one.key.target}:
                    verdicts[name, one.key.version, one.key.requirement][is_codec].append(one.verdict)
    found = []
    for (name, version, requirement), by_face in sorted(verdicts.items()):
        if len(by_face) == 2:
            node, codec = (worst(by_face[is_codec]) for is_codec in (False, True))
            if node.is_wrong != codec.is_wrong:
                found.append(FaceDifference(name, version, requirement, node, codec))
    return found


def sentences(runs: Sequence[Run]) -> Iterator[str]:
    """Yield a sentence for each target whose node and codec differ."""
    by_target: dict[tuple[str, str], list[FaceDifference]] = defaultdict(list)
    for one in differences(runs):
        by_target[one.target, one.version].append(one)
    for (name, version), some in by_target.items():
        first = some[0]
        yield (
            f"{shown(name)} {shown(version)} and its codec differ (requirements judged by vectors: {len(some)}); the first is"
            f" {shown(first.requirement)}: {first.node.value} of the node, {first.codec.value} of the codec."
        )
