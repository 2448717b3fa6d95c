"""`verify.pyz`: the part of us that judges a proof, as one file that needs Python alone."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator
from importlib import resources
from importlib.resources.abc import Traversable
from typing import Final

MAIN: Final = "import sys\nfrom zenoh_reports.proofs.verify import main\nsys.exit(main(sys.argv[1:]))\n"
LEFT_OUT: Final = frozenset({"models", "strategies.py", "tests", "bench", "__pycache__"})
"""What needs hypothesis, or nobody needs there."""
OTHERS: Final = {
    "zenoh_harness": (
        "__init__.py", "errors.py", "profiles.py", "files/__init__.py", "files/faults.py", "files/conversations.py",
        "files/results.py", "files/scripts.py", "reference/credentials.py", "reference/multilink_method.py",
    ),
    "zenoh_reports": (
        "__init__.py", "proofs/__init__.py", "proofs/derive.py", "proofs/replay.py", "proofs/verify.py",
    ),
}  # fmt: skip
"""The files of the rooms above that the verifier needs."""


def archive() -> bytes:
    """The file's bytes; the same sources make the same ones."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, data in sorted(contents()):
            packed.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), data, zipfile.ZIP_DEFLATED)
    return b"#!/usr/bin/env python3\n" + out.getvalue()


def contents() -> Iterator[tuple[str, bytes]]:
    """Name and bytes of every file inside."""
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
