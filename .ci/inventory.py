"""What users and files of theirs name: ids, fields, exit codes, target kinds, and the files that ship. Held by a list.

    python .ci/inventory.py             what has vanished and what is new; exit code 1 when there is any
    python .ci/inventory.py --update    write what is new into the list, and the files as they are

An id lives for ever, so that --update drops none. One that is renamed keeps its old name as an alias. One that is really to
go is taken out of the list by hand, and CHANGELOG.md says so.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib.resources import files
from pathlib import Path, PurePosixPath
from typing import Any

from zenoh_conformance.cases.case import all_cases
from zenoh_conformance.judging.law import all_laws
from zenoh_conformance.judging.verdict import Exit, Verdict
from zenoh_conformance.spec.errata import errata
from zenoh_conformance.spec.requirement import requirements
from zenoh_harness.faulty import all_faulty_nodes
from zenoh_harness.interop.scenario import all_scenarios
from zenoh_harness.profiles import PROFILES
from zenoh_harness.run.attempt.model_cases import model_cases
from zenoh_harness.scripting.shipped import shipped_scripts
from zenoh_harness.targets.reach import KINDS, RENAMED
from zenoh_vectors.loader import load

ROOT = Path(__file__).resolve().parent.parent
LIST = ROOT / "harness/tests/inventory.json"
PACKAGES = ("zenoh_conformance", "zenoh_vectors", "zenoh_harness", "zenoh_fuzz", "zenoh_reports")
MAY_GO = frozenset({"folders of the wheel", "data in the wheel"})
"""Parts that nobody outside names: --update writes them as they are."""

UPDATE = "python .ci/inventory.py --update    (./toxw exec -e test -- python .ci/inventory.py --update)"

Inventory = Mapping[str, Iterable[str]]


def _case_ids() -> Iterator[str]:
    for case in all_cases().values():
        yield from (case.id, *case.aliases)


def _kind_options() -> Iterator[str]:
    """Each option of each kind, under the kind's former names too."""
    for name in (*KINDS, *RENAMED):
        yield from (f"{name}?{option}" for option in KINDS[RENAMED.get(name, name)].options)


def _packaged() -> list[PurePosixPath]:
    """The files of the packages, known to git or new, without the folder of their package: what a wheel holds."""
    folders = [f"*/{name}/*" for name in PACKAGES]
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", *folders]
    listed = subprocess.run(command, cwd=ROOT, text=True, capture_output=True, check=True).stdout.splitlines()
    return [PurePosixPath(name.partition("/")[2]) for name in listed if (ROOT / name).exists()]


def _fields() -> Iterator[str]:
    """Each field of each schema, `file: path`, and each word that it may be, `file: path=word`."""
    schemas = [*(Path(str(files("zenoh_harness.files"))) / "schemas").glob("*.json")]
    schemas += Path(str(files("zenoh_vectors"))).glob("*.schema.json")
    for path in schemas:
        yield from (f"{path.name}: {field}" for field in fields_of(json.loads(path.read_text(encoding="utf-8"))))


def fields_of(schema: Any, path: str = "") -> Iterator[str]:
    """The fields of a JSON schema as dotted paths; `[]` for what stands in a list; enumerated words as `path=word`."""
    if isinstance(schema, list):
        for each in schema:
            yield from fields_of(each, path)
        return
    if not isinstance(schema, dict):
        return
    words = [*schema.get("enum", ()), *([schema["const"]] if "const" in schema else ())]
    yield from (f"{path}={json.dumps(word)}" for word in words)
    for name, below in schema.get("properties", {}).items():
        here = f"{path}.{name}".lstrip(".")
        yield here
        yield from fields_of(below, here)
    for name, below in schema.get("$defs", {}).items():
        yield from fields_of(below, f"{path}#{name}")
    for keyword, mark in (("items", "[]"), ("prefixItems", "[]"), ("additionalProperties", ".*")):
        yield from fields_of(schema.get(keyword), path + mark)
    for keyword in ("anyOf", "oneOf", "allOf", "if", "then", "else"):
        yield from fields_of(schema.get(keyword), path)


PARTS: Mapping[str, Callable[[], Iterable[str]]] = {
    "requirements": lambda: (*requirements(), *requirements().aliases()),
    "errata": errata,
    "cases": _case_ids,
    "laws": all_laws,
    "models": lambda: (case.id for case in model_cases("quick", 0)),
    "scenarios": lambda: (one.id for one in all_scenarios().values()),
    "vectors": lambda: (vector.id for vector in load()),
    "scripts": shipped_scripts,
    "faulty nodes": all_faulty_nodes,
    "verdicts": lambda: (verdict.value for verdict in Verdict),
    "exit codes": lambda: (str(int(code)) for code in Exit),
    "target kinds": lambda: {**KINDS, **RENAMED},
    "options of target kinds": lambda: _kind_options(),
    "profiles": lambda: PROFILES,
    "fields of schemas": _fields,
    "folders of the wheel": lambda: (str(path.parent) for path in _packaged()),
    "data in the wheel": lambda: (str(path) for path in _packaged() if path.suffix != ".py"),
}  # fmt: skip
"""What is listed; aliases count as names, since they are read."""


def now() -> dict[str, list[str]]:
    """The inventory of this checkout, sorted."""
    return {part: sorted(set(names())) for part, names in PARTS.items()}


def kept() -> dict[str, list[str]]:
    """The inventory as it is listed."""
    listed: dict[str, list[str]] = json.loads(LIST.read_text(encoding="utf-8")) if LIST.exists() else {}
    return listed


def lacking(some: Inventory, other: Inventory) -> list[str]:
    """What stands in the first and not in the second, as `part: name`."""
    return [f"{part}: {name}" for part in some for name in sorted(set(some[part]) - set(other.get(part, ())))]


def updated(before: Inventory, here: Inventory) -> dict[str, list[str]]:
    """What the list is to be: all that is here, and what has vanished of all parts but those that may go."""
    return {part: sorted({*here[part], *(() if part in MAY_GO else before.get(part, ()))}) for part in here}


def main() -> int:
    """Exit code 0 when nothing has vanished and, unless it was written now, nothing is new."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--update", action="store_true")
    before, here = kept(), now()
    if parser.parse_args().update:
        before = updated(before, here)
        LIST.write_text(json.dumps(before, indent=0, ensure_ascii=False) + "\n", encoding="utf-8")
    vanished, new = lacking(before, here), lacking(here, before)
    for head, lines in (("vanished", vanished), ("new", new)):
        if lines:
            print(f"{head}:", *lines, sep="\n  ")
    return 1 if vanished or new else 0


if __name__ == "__main__":
    sys.exit(main())
