"""What all cases and laws say of the reference in memory, with all values: found once for all tests and all workers of a run."""

from __future__ import annotations

import json
import os
from collections import defaultdict
from dataclasses import asdict, dataclass, field
from pathlib import Path

from filelock import FileLock

from zenoh_conformance.cases.case import all_cases
from zenoh_conformance.cases.controls import Ground
from zenoh_conformance.judging.engine import judge
from zenoh_conformance.judging.own_side import own_faults
from zenoh_harness.reference import Reference
from zenoh_harness.variants.table import HEARD, LACKS, Came, Laws, NodeResults, in_memory, once, spread


@dataclass
class OnReference:
    """What is judged on the reference, as labels and causes."""

    green: list[str] = field(default_factory=list)
    """Labels of what `judged` has green."""
    red: dict[str, str] = field(default_factory=dict)
    """Label to the first cause of each case that is red, and of each law in any of the conversations."""
    long: list[str] = field(default_factory=list)
    """Cases with a long conversation."""
    ours: dict[str, dict[str, str]] = field(default_factory=dict)
    """Case to the laws that our own side breaks in it, with the first cause of each."""


def look() -> OnReference:
    """Judge the reference as `variants.table.judged` does, and by every law in every conversation besides."""
    found, ground = NodeResults(), Ground(all_cases())
    some, every, ours = Laws(), Laws(), defaultdict[str, dict[str, str]](dict)
    for case in in_memory():
        heard = spread(case.parameters, HEARD)
        for parameters in case.parameters:
            result, said = once(case, parameters, Reference, ground)
            found.results.append(result)
            if not result.why.startswith(LACKS):
                ground.note(case.id, parameters, result.came is Came.GREEN)
            if said is None:
                continue
            judged = judge(said)
            every.note(judged, said, case)
            if parameters in heard:
                some.note(judged, said, case)
            for text in own_faults(said, judged, case.role.other, ()):
                ours[case.id].setdefault(text.split()[2].rstrip(","), text)
    long = sorted(found.long)
    red = {label: one.why for label, one in found.of(Came.RED).items()} | {
        one.label: one.why for one in every.red.values()
    }
    found.results += some.results()
    return OnReference([*found.of(Came.GREEN)], red, long, dict(ours))


def looked_up(root: Path) -> OnReference:
    """What is on the reference; `root`: the run's folder for temporary files."""
    file = (root.parent if "PYTEST_XDIST_WORKER" in os.environ else root) / "on-the-reference.json"
    with FileLock(file.with_suffix(".lock")):
        if not file.exists():
            file.write_text(json.dumps(asdict(look())), encoding="utf-8")
    return OnReference(**json.loads(file.read_text(encoding="utf-8")))
