"""Packs `verify.pyz`: one file that verifies proofs and needs only Python."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator
from importlib import resources
from importlib.resources.abc import Traversable
from typing import Final

MAIN: Final = "import sys\nfrom zenoh_reports.proofs.verify import main\nsys.exit(main(sys.argv[1:]))\n"
LEFT_OUT: Final = frozenset({"models", "strategies.py", "tests", "bench", "__pycache__"})
"""Modules that need hypothesis, or that the verifier does not use."""
OTHERS: Final = {
    "zenoh_harness": (
        "__init__.py",
        "errors.py",
        "profiles.py",
        "files/__init__.py",
        "files/faults.py",
        "files/conversations.py",
        "files/labels.py",
        "files/scripts.py",
        "reference/credentials.py",
        "reference/multilink_method.py",
    ),
    "zenoh_reports": (
        "__init__.py",
        "proofs/__init__.py",
        "proofs/derive.py",
        "proofs/replay.py",
        "proofs/verify.py",
    ),
}
"""The files of higher packages that the verifier needs."""


def archive() -> bytes:
    """Return the archive; the same sources give the same bytes."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, data in sorted(contents()):
            packed.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), data, zipfile.ZIP_DEFLATED)
    return b"#!/usr/bin/env python3\n" + out.getvalue()


def contents() -> Iterator[tuple[str, bytes]]:
    """Yield name and bytes of every file in the archive."""
    yield "__main__.py", MAIN.encode()
    yield from _tree(resources.files("zenoh_conformance"), "zenoh_conformance")
    for package, names in OTHERS.items():
        for name in names:
            yield f"{package}/{name}", resources.files(package).joinpath(*name.split("/")).read_bytes()
    for empty in ("zenoh_harness/reference/__init__.py", "lz4/__init__.py"):
        yield empty, b""
    yield "lz4/block.py", resources.files("zenoh_reports.proofs").joinpath("lz4_stand_in.py").read_bytes()


def _tree(folder: Traversable, prefix: str) -> Iterator[tuple[str, bytes]]:
    for each in folder.iterdir():
        if each.name in LEFT_OUT:
            continue
        if each.is_dir():
            yield from _tree(each, f"{prefix}/{each.name}")
        elif each.name.endswith((".py", ".toml", ".lock")):
            yield f"{prefix}/{each.name}", each.read_bytes()
