"""Imports all modules of a package, so that their decorators register what they declare."""

from __future__ import annotations

import gc
import importlib
import pkgutil
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType


def import_all(package: str) -> list[ModuleType]:
    """Import every module below a package. Returns the modules sorted by name."""
    root = importlib.import_module(package)
    names = sorted(module.name for module in pkgutil.walk_packages(root.__path__, f"{package}.") if not module.ispkg)
    return [importlib.import_module(name) for name in names]


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
