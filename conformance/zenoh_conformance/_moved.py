"""Module names of releases before 0.2: a user's own cases still import them.

Importing an old name gives the module that stands under the new one, with a DeprecationWarning.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Mapping, Sequence
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Final

PACKAGE: Final = "zenoh_conformance"

FOLDERS: Final[Mapping[str, Sequence[str]]] = {
    "cases": ("case", "controls"),
    "judging": ("finding", "kept_waiting", "law", "own_side", "talks", "verdict"),
    "messages": ("sane",),
    "primitives": ("keyexpr",),
    "reading": ("batch", "codec", "connection", "conversation", "explain", "fragments", "kinds", "names", "opened", "pieces", "terms"),
    "spec": ("coverage", "errata", "lock", "requirement", "specification"),
    "tables": ("query", "session"),
    "talking": ("dialogue", "fences", "party", "refusal", "scene"),
}  # fmt: skip
"""The folder to the modules that once stood at the top of the package."""

MOVED: Final[Mapping[str, str]] = {
    f"{PACKAGE}.{name}": f"{PACKAGE}.{folder}.{name}" for folder, names in FOLDERS.items() for name in names
} | {
    f"{PACKAGE}.cases.{old}": f"{PACKAGE}.cases.{new}"
    for old, new in {
        "application_terms": "application.terms",
        "close_scope": "session.close_scope",
        "congestion": "push.congestion",
        "qos_defaults": "push.qos_defaults",
        "settled_terms": "session.settled_terms",
    }.items()
}
AREAS: Final = ("establishment", "initiator", "interest", "push", "query", "reply", "routing", "session")
"""Areas of cases: `cases.<area>_<name>` became `cases.<area>.<name>`."""


def new_name(old: str) -> str | None:
    """Return the module name that replaced an old one, or None if the name is no old one."""
    package, _, name = old.rpartition(".")
    area, _, rest = name.partition("_")
    if package == f"{PACKAGE}.cases" and area in AREAS and rest:
        return f"{package}.{area}.{rest}"
    return MOVED.get(old)


class _Moved(MetaPathFinder, Loader):
    """Finds a module under its old name."""

    def find_spec(self, fullname: str, path: object = None, target: object = None) -> ModuleSpec | None:
        return ModuleSpec(fullname, self) if new_name(fullname) else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        name = new_name(spec.name) or spec.name
        warnings.warn(f"{spec.name} is now {name}", DeprecationWarning, stacklevel=2)
        self._specs[spec.name] = (module := import_module(name)).__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Give the module back its own spec, which the import system has replaced by that of the old name."""
        if module.__spec__ is not None:
            module.__spec__ = self._specs.pop(module.__spec__.name)

    def __init__(self) -> None:
        self._specs: dict[str, ModuleSpec | None] = {}


def install() -> None:
    """Let the import system find the old names, after everything that exists."""
    if not any(isinstance(finder, _Moved) for finder in sys.meta_path):
        sys.meta_path.append(_Moved())
