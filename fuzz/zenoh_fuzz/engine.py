"""The worker: one oracle under Atheris, which goes on after a finding.  Started by `zenoh_fuzz.launcher`, in its own process.

libFuzzer starts its own program again for some of its work (merging); the launcher is a file that can be.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, Final

import atheris

READERS: Final = (
    "zenoh_conformance.wire", "zenoh_conformance.codec", "zenoh_conformance.batch", "zenoh_conformance.primitives",
)  # fmt: skip
PASSED_BY: Final = tuple(
    f"zenoh_conformance.wire.{name}"
    for name in ("compiler", "declare", "describe", "layer", "notes", "registry", "segment", "source")
)
"""Runs once, or for people and mutators alone: counting it would tell nothing and cost time."""

INSTRUMENTED: Final = {
    "roundtrip": ("zenoh_conformance.connection", "zenoh_conformance.explain"),
    "explain": ("zenoh_conformance.explain",),
    "laws": ("zenoh_conformance.connection", "zenoh_conformance.law", "zenoh_conformance.laws", "zenoh_conformance.fragments"),
    "keyexpr": ("zenoh_conformance.keyexpr",),
    "files": ("zenoh_harness.files", "zenoh_vectors.loader", "zenoh_harness.targets.reach", "zenoh_harness.codecs.compact"),
}  # fmt: skip
"""What else is counted, by oracle."""


def instrument(oracle: str) -> None:
    """Count the edges of what the oracle runs: modules as they are imported, then the code compiled from declarations."""
    with atheris.instrument_imports(include=[*READERS, *INSTRUMENTED.get(oracle, ())], exclude=[*PASSED_BY]):
        from zenoh_conformance import codec  # noqa: F401  imported here to be instrumented
        from zenoh_conformance.wire import registry

        for name in INSTRUMENTED.get(oracle, ()):
            __import__(name)
    for cls in (*registry.MESSAGES, *registry.EXTENSIONS):
        declaration = registry.of(cls)
        traced = (declaration.trace,) if oracle in ("explain", "roundtrip") else ()
        for function in (declaration.read, declaration.write, *traced):
            atheris.instrument_func(function)


def main(plan_file: str, arguments: list[str]) -> None:
    """Fuzz until libFuzzer's own limits say stop; it ends the process."""
    import json

    oracle_name = json.loads(Path(plan_file).read_text(encoding="utf-8"))["oracle"]
    instrument(oracle_name)
    from zenoh_fuzz import plan as plans
    from zenoh_fuzz.worker import begin

    plan = plans.read(Path(plan_file))
    worker = begin(plan)
    mutators: dict[str, Any] = {}
    if plan.structure and worker.oracle.structured:
        worker.mutate_with(lambda data, most: atheris.Mutate(data, most))  # set up only later
        mutators = {"custom_mutator": worker.mutated, "custom_crossover": worker.crossed}
    if plan.first and not any(argument.startswith("-merge") for argument in arguments):
        worker.first()
    atheris.Setup(arguments, worker.one_input, **mutators)
    atheris.Fuzz()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
