"""Packs our packages into one archive, for workers on other machines."""

from __future__ import annotations

import importlib
import zipfile
from functools import cache
from hashlib import blake2b
from pathlib import Path

PACKAGES = ("zenoh_conformance", "zenoh_harness.files", "zenoh_harness.errors", "zenoh_vectors.loader", "zenoh_reports")
"""The packages that a task imports. Workers also need Python of the same minor version, pyarrow, and lz4."""

SUFFIXES = (".py", ".toml", ".json", ".ceiling", ".lock")


def members() -> list[tuple[Path, str]]:
    """Return each file with its name in the archive, sorted."""
    found: dict[str, Path] = {}
    for package in PACKAGES:
        file = Path(str(importlib.import_module(package).__file__))
        whole = file.name == "__init__.py"
        root = file.parents[package.count(".") + whole]
        for each in [root / package.partition(".")[0] / "__init__.py", *(file.parent.rglob("*") if whole else [file])]:
            if each.is_file() and each.suffix in SUFFIXES:
                found[each.relative_to(root).as_posix()] = each
    return [(file, name) for name, file in sorted(found.items())]


@cache
def code() -> str:
    """Return a digest of the code, since one version cannot always read what another has pickled."""
    digest = blake2b(digest_size=6)
    for file, name in members():
        digest.update(name.encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()


def archive(folder: Path) -> Path:
    """Write the archive under `folder`, named by its digest, so that workers never use an old one. Raises OSError."""
    path = folder / f"zenoh-conformance-{code()}.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as out:
        for file, name in members():
            out.writestr(zipfile.ZipInfo(name), file.read_bytes())
    return path
