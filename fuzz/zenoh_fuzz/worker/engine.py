"""The worker: one oracle under Atheris, which goes on after a finding. Started by `zenoh_fuzz.worker.launcher` in its own process.

libFuzzer restarts its own program for some work (merging); the launcher is an executable file for that.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, Final

import atheris

READERS: Final = (
    "zenoh_conformance.wire",
    "zenoh_conformance.reading.codec",
    "zenoh_conformance.reading.batch",
    "zenoh_conformance.primitives",
)
PASSED_BY: Final = tuple(
    f"zenoh_conformance.wire.{name}"
    for name in ("compiler", "declare", "describe", "layer", "notes", "registry", "segment", "source")
)
"""Modules that run once, or only for people and mutators: coverage of them would cost time and say nothing."""

INSTRUMENTED: Final = {
    "roundtrip": ("zenoh_conformance.reading.connection", "zenoh_conformance.reading.explain"),
    "explain": ("zenoh_conformance.reading.explain",),
    "laws": (
        "zenoh_conformance.reading.connection",
        "zenoh_conformance.judging.law",
        "zenoh_conformance.judging.engine",
        "zenoh_conformance.laws",
        "zenoh_conformance.reading.fragments",
    ),
    "keyexpr": ("zenoh_conformance.primitives.keyexpr",),
    "files": (
        "zenoh_harness.files",
        "zenoh_vectors.loader",
        "zenoh_harness.targets.reach",
        "zenoh_harness.codecs.compact",
    ),
}
"""Further modules whose coverage counts, by oracle."""


def instrument(oracle: str) -> None:
    """Instrument the code that the oracle runs: modules at import, then the code compiled from declarations."""
    with atheris.instrument_imports(include=[*READERS, *INSTRUMENTED.get(oracle, ())], exclude=[*PASSED_BY]):
        from zenoh_conformance.reading import codec  # noqa: F401  imported here to be instrumented
        from zenoh_conformance.wire import registry

        for name in INSTRUMENTED.get(oracle, ()):
            __import__(name)
    for cls in (*registry.MESSAGES, *registry.EXTENSIONS):
        declaration = registry.of(cls)
        traced = (declaration.trace,) if oracle in ("explain", "roundtrip") else ()
        for function in (declaration.read, declaration.write, *traced):
            atheris.instrument_func(function)


def main(plan_file: str, arguments: list[str]) -> None:
    """Fuzz until libFuzzer's limits are reached; it exits the process."""
    import json

    instrument(json.loads(Path(plan_file).read_text(encoding="utf-8"))["oracle"])
    from . import plan as plans
    from .loop import begin

    plan = plans.read_plan(Path(plan_file))
    worker = begin(plan)
    mutators: dict[str, Any] = {}
    if plan.structure and worker.oracle.structured:
        worker.mutate_with(lambda data, most: atheris.Mutate(data, most))  # set up only later
        mutators = {"custom_mutator": worker.mutate, "custom_crossover": worker.cross}
    if plan.first and not any(argument.startswith("-merge") for argument in arguments):
        worker.first()
    atheris.Setup(arguments, worker.one_input, **mutators)
    atheris.Fuzz()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
