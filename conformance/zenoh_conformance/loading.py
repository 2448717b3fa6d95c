"""Imports all modules of a package, so that their decorators register what they declare."""

from __future__ import annotations

import gc
import importlib
import pkgutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from types import ModuleType


def import_all(package: str) -> list[ModuleType]:
    """Import every module below a package. Returns the modules sorted by name."""
    root = importlib.import_module(package)
    names = _modules_below(package, tuple(root.__path__))
    return [sys.modules.get(name) or importlib.import_module(name) for name in names]


@cache
def _modules_below(package: str, folders: tuple[str, ...]) -> tuple[str, ...]:
    """Names of the modules below a package, sorted. The folders are read once: every look at the cases or laws asks for them."""
    return tuple(sorted(module.name for module in pkgutil.walk_packages(folders, f"{package}.") if not module.ispkg))


@contextmanager
def without_collection() -> Iterator[None]:
    """Collect no cyclic garbage meanwhile: what is imported stays, and each collection walks over all of it."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
