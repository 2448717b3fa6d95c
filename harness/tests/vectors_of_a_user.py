"""Folders of vectors as a user would write them."""

from __future__ import annotations

import json

from zenoh_vectors.loader import data_folder

REFUSED = {"means": None, "also": None, "canonical": None, "refuses": {"why": "truncated", "at": 1, "path": "push"}}


def write_vectors(folder, *changes):
    """A file of vectors like the first of `put`, each with other fields."""
    document = json.loads((data_folder() / "put.json").read_text(encoding="utf-8"))
    plain = next(one for one in document["vectors"] if one.get("means") and one["canonical"])
    rows = [{**plain, "id": f"mine/number-{at}", "core": False, **change} for at, change in enumerate(changes)]
    rows = [{name: value for name, value in row.items() if value is not None} for row in rows]
    (folder / "mine.json").write_text(json.dumps({**document, "vectors": rows}, indent=1), encoding="utf-8")
