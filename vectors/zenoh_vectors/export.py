"""The vectors as an archive that needs no other code of ours: data, schema, a one-page README, a consumer."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Iterator
from pathlib import Path

from zenoh_vectors.loader import data_folder
from zenoh_vectors.names import table

FOLDER = "zenoh-vectors-1.0.0"
"""The folder in the archive, with the revision of the specification."""


def files() -> Iterator[tuple[str, bytes]]:
    """The path inside the archive and the content of each file, sorted."""
    home = data_folder().parent
    paths = {f"data/{path.name}": path for path in data_folder().glob("*.json")}
    paths["vectors.schema.json"] = home / "vectors.schema.json"
    paths |= {name: home / "archive" / name for name in ("README.md", "consumer.py")}
    content = {name: path.read_bytes() for name, path in paths.items()}
    content["NAMES.md"] = table().encode()
    yield from sorted(content.items())


def export(destination: Path) -> int:
    """Write the archive, as a folder or as a `.tar.gz` file by its name; return the number of files in it.

    The same input gives the same bytes.  Raises FileExistsError for a folder with other content.
    """
    if destination.name.endswith(".tar.gz"):
        return _tar(destination)
    if destination.is_dir() and any(destination.iterdir()) and not (destination / "vectors.schema.json").is_file():
        raise FileExistsError(f"{destination} is not empty and holds no vectors")
    count = 0
    for name, content in files():
        path = destination / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        count += 1
    return count


def _tar(destination: Path) -> int:
    import gzip

    count = 0
    destination.parent.mkdir(parents=True, exist_ok=True)
    with destination.open("wb") as raw, gzip.GzipFile("", "wb", 9, raw, 0) as packed:
        with tarfile.open(fileobj=packed, mode="w", format=tarfile.USTAR_FORMAT) as tar:
            for name, content in files():
                entry = tarfile.TarInfo(f"{FOLDER}/{name}")
                entry.size, entry.mode = len(content), 0o644
                tar.addfile(entry, io.BytesIO(content))
                count += 1
    return count
