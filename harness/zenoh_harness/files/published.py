"""The JSON schemas that are derived from record classes; `python -m zenoh_harness.files.published` writes `schemas/`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

from zenoh_harness.files import campaigns, probes, results
from zenoh_harness.files.faults import Row

FOLDER: Final = Path(__file__).with_name("schemas")


def schemas() -> dict[str, Row]:
    """Return the schemas by the name of their files."""
    others = {"results.schema.json": results.schema(), "probe.schema.json": probes.schema()}
    return others | campaigns.schemas()


def text(schema: Row) -> str:
    """Return the text of a schema's file."""
    return json.dumps(schema, indent=1) + "\n"


if __name__ == "__main__":
    for name, schema in schemas().items():
        (FOLDER / name).write_text(text(schema), encoding="utf-8")
