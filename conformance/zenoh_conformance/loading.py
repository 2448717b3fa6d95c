"""Imports all modules of a package, so that their decorators register what they declare."""

from __future__ import annotations

import importlib
import pkgutil
from types import ModuleType


def import_all(package: str) -> list[ModuleType]:
    """Import every module below a package. Returns the modules sorted by name."""
    root = importlib.import_module(package)
    names = sorted(module.name for module in pkgutil.walk_packages(root.__path__, f"{package}.") if not module.ispkg)
    return [importlib.import_module(name) for name in names]
