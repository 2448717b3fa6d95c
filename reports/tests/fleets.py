"""Captures of small fleets for tests, made by the benchmark's own generator."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

MINUTE = 60 * 10**9


def bench(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, Path(__file__).parents[1] / "bench" / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


fleet = bench("fleet")


def captured(folder: Path, name: str = "fleet.pcap", **options: Any) -> Path:
    file = folder / name
    file.parent.mkdir(parents=True, exist_ok=True)
    fleet.write(fleet.fleet(**{"nodes": 6, "frames": 300, **options}), file, count=300, over=3 * MINUTE)
    return file


def wrong_version(index: int, steps: list[tuple[bool, object]]) -> None:
    """One node says that it speaks version 7."""
    if index == 1:
        from zenoh_conformance.reading.codec import encode

        raw = bytearray(encode(steps[0][1]))
        raw[1] = 7
        steps[0] = (True, bytes(raw))
