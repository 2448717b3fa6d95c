"""Runs one oracle under Atheris. Started in a process of its own, since libFuzzer ends the process that it runs in.

python -m zenoh_fuzz.engine ORACLE [libFuzzer flags] CORPUS
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable

import atheris

Oracle = Callable[[bytes], None]


def oracle_of(name: str) -> Oracle:
    """The oracle of that name (or of a module given in full), the codec instrumented for coverage."""
    with atheris.instrument_imports(
        include=["zenoh_conformance.wire", "zenoh_conformance.codec", "zenoh_conformance.batch"]
    ):
        from zenoh_conformance import batch, codec  # noqa: F401 - imported here to be instrumented
        from zenoh_conformance.wire import registry
    for cls in (*registry.MESSAGES, *registry.EXTENSIONS):
        declaration = registry.of(cls)
        for function in (declaration.read, declaration.write):
            atheris.instrument_func(function)
    module = name if "." in name else f"zenoh_fuzz.oracles.{name}"
    oracle: Oracle = importlib.import_module(module).one_input
    return oracle


def main(arguments: list[str]) -> None:
    """Fuzz until libFuzzer's own limits say stop; it ends the process."""
    from .mutator import mutate

    oracle = oracle_of(arguments[1])

    def custom(data: bytes, most: int, seed: int) -> bytes:
        return mutate(data, most, seed, atheris.Mutate)

    atheris.Setup([arguments[0], *arguments[2:]], oracle, custom_mutator=custom)
    atheris.Fuzz()


if __name__ == "__main__":
    main(sys.argv)
