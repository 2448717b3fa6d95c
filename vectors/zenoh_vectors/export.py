"""The vectors as an archive that needs no other code of ours: data, schema, a one-page README, a consumer."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Iterator
from pathlib import Path

from zenoh_vectors.loader import data_folder, load
from zenoh_vectors.names import table

VERSION = "1.0.0+2"
"""The revision of the specification, and the edition of the vectors, which rises when vectors or files of the archive change."""

FOLDER = f"zenoh-vectors-{VERSION}"
"""The folder in the archive."""

COPIED = ("README.md", "consumer.py", "consumer.c", "Consumer.java")
"""The files of the archive that are copied as they are."""


def files() -> Iterator[tuple[str, bytes]]:
    """The path inside the archive and the content of each file, sorted."""
    home = data_folder().parent
    paths = {f"data/{path.name}": path for path in data_folder().glob("*.json")}
    paths["vectors.schema.json"] = home / "vectors.schema.json"
    paths |= {name: home / "archive" / name for name in COPIED}
    content = {name: path.read_bytes() for name, path in paths.items()}
    content["NAMES.md"] = table().encode()
    content["VERSION"] = f"{VERSION}\n".encode()
    content["vectors.tsv"] = lines().encode()
    yield from sorted(content.items())


def lines() -> str:
    """The vectors as lines, for a reader without JSON: id, layer, bytes, outcome, and `open` where another outcome is no fault."""
    rows = ["# id\tlayer\tbytes\toutcome\tother outcomes"]
    for vector in load():
        for part in vector.parts:
            outcome = "refused" if part.refuses else "canonical" if part.canonical else "accepted"
            other = "open" if vector.acceptable or vector.needs else "binding"
            rows.append(f"{vector.id}\t{part.layer}\t{part.data.hex()}\t{outcome}\t{other}")
    return "\n".join(rows) + "\n"


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
