"""Lists the components that the distribution needs at run time, as CycloneDX 1.5: name, version, licence as its author states it.

python .ci/sbom.py FILE [EXTRA ..]      of what is installed here; without extras, the base dependencies

It says what the metadata of the installed packages say. Compiled parts inside their wheels are not looked into, and no licence was
checked by a person. Same environment, same bytes: there is no time and no random number in it.
"""

from __future__ import annotations

import json
import sys
from importlib.metadata import Distribution, distribution
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

NAME = "zenoh-conformance"


def needed(name: str, extras: tuple[str, ...] = ()) -> dict[str, Distribution]:
    """Return the installed distributions that one needs, by their normal name. Raises PackageNotFoundError if one is missing."""
    found: dict[str, Distribution] = {}
    queue = [(name, extras)]
    seen: set[tuple[str, tuple[str, ...]]] = set()
    while queue:
        key = queue.pop()
        if key in seen:
            continue
        seen.add(key)
        one = distribution(key[0])
        found[canonicalize_name(key[0])] = one
        for line in map(Requirement, one.requires or ()):
            wanted = line.marker is None or any(line.marker.evaluate({"extra": extra}) for extra in (key[1] or ("",)))
            if wanted:
                queue.append((line.name, tuple(sorted(line.extras))))
    return found


def component(name: str, one: Distribution) -> dict[str, Any]:
    """Return the entry of one package."""
    kind = "application" if name == NAME else "library"
    purl = f"pkg:pypi/{name}@{one.version}"
    entry: dict[str, Any] = {"type": kind, "bom-ref": purl, "name": name, "version": one.version, "purl": purl}
    if "License-Expression" in one.metadata:
        return entry | {"licenses": [{"expression": one.metadata["License-Expression"]}]}
    stated = [
        line.rpartition(":: ")[2] for line in one.metadata.get_all("Classifier") or () if line.startswith("License")
    ]
    return entry | ({"licenses": [{"license": {"name": text}} for text in stated]} if stated else {})


def bill(extras: tuple[str, ...] = ()) -> dict[str, Any]:
    """Return the document."""
    found = needed(NAME, extras)
    parts = [component(name, found[name]) for name in sorted(found) if name != NAME]
    about = {
        "component": component(NAME, found[NAME]),
        "tools": {"components": [{"type": "file", "name": ".ci/sbom.py"}]},
    }
    return {"bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1, "metadata": about, "components": parts}


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(json.dumps(bill(tuple(sys.argv[2:])), indent=2) + "\n", encoding="utf-8")
