"""Cases of an implementer's own, in files beside his implementation: they register themselves like ours."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

from zenoh_harness.errors import UsageError


def load(path: Path) -> None:
    """Import one file, under its own name, which the ids of its cases begin with. Raises UsageError."""
    name = path.stem
    loaded = sys.modules.get(name)
    if loaded is not None and Path(str(getattr(loaded, "__file__", ""))).resolve() == path.resolve():
        return
    spec = importlib.util.spec_from_file_location(name, path) if path.is_file() else None
    if spec is None or spec.loader is None:
        raise UsageError(f"there is no file of cases {path}", step="--target-cases")
    if loaded is not None:
        raise UsageError(f"there is a module {name} already", step="--target-cases", hint="give the file another name")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except Exception as why:
        del sys.modules[name]
        raise UsageError(
            f"{path} cannot be loaded", step="--target-cases", seen=f"{type(why).__name__}: {why}"
        ) from why
