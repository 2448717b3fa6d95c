"""What ARCHITECTURE.md says of folders and floors is what stands: compared with the tree and with the import contracts."""

from __future__ import annotations

import re
import tomllib
from itertools import pairwise
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
TEXT = (ROOT / "ARCHITECTURE.md").read_text()
CONTRACTS = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
PACKAGES = {name: ROOT / name / f"zenoh_{name}" for name in ("conformance", "vectors", "harness", "fuzz", "reports")}
SMALL = {
    "_moved",
    "loading",
    "cli",
    "conform",
    "pytest_needs",
    "pytest_plugin",
    "console",
    "errors",
    "identity",
    "version",
}
"""Modules at the top of a package that the page need not name."""


def layers(name: str) -> list[set[str]]:
    """Return the floors of a contract, the uppermost first."""
    (contract,) = [one for one in CONTRACTS if one["name"] == name]
    return [set(re.findall(r"\w+", re.sub(r"zenoh_\w+\.", "", row))) for row in contract["layers"]]


def folders(package: Path) -> set[str]:
    """Return the folders of a package that hold code or data."""
    return {each.name for each in package.iterdir() if each.is_dir() and each.name not in ("__pycache__", "static")}


def table(text: str, heading: str) -> list[list[str]]:
    """Return the cells of the table whose head begins with these words."""
    rows = text[text.index(heading) :].split("\n\n")[0].splitlines()[2:]
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]


def names(cell: str) -> list[str]:
    """Return the folders, files and modules that stand in backquotes."""
    return [word.rstrip("/") for word in re.findall(r"`([a-z_/.]+?)`", cell)]


def floors_of(text: str) -> list[set[str]]:
    """Return the floors of a sentence such as "`a` over `b` and `c`, over `d`"."""
    return [set(re.findall(r"`(\w+)`", part)) for part in re.split(r"\bover\b", text)]


def missing(rows: list[list[str]], column: int, folder: Path) -> list[str]:
    """Return the names in a column that are neither in the folder nor in one that the same cell names."""
    lacking = []
    for row in rows:
        places = [folder, *(folder / name for name in names(row[column]) if (folder / name).is_dir())]
        lacking += [name for name in names(row[column]) if not any((place / name).exists() for place in places)]
    return lacking


def below(rows: list[set[str]], told: list[set[str]]) -> list[str]:
    """Return the neighbours of which the contract does not put the first on a floor above the second."""
    floor = {name: number for number, row in enumerate(rows) for name in row}
    return [
        f"{sorted(upper)} over {sorted(lower)}"
        for upper, lower in pairwise(told)
        if max(floor[name] for name in upper) >= min(floor[name] for name in lower)
    ]


def test_the_packages_are_those_of_the_first_table():
    rows = table(TEXT, "| package | question")
    assert [row[0].strip("`/") for row in rows] == list(PACKAGES)
    assert all(path.is_dir() for path in PACKAGES.values())


def test_the_folders_of_conformance_are_those_of_the_table():
    rows = table(TEXT, "| folder | what is in it")
    named = {name for row in rows for name in names(row[0])}
    assert folders(PACKAGES["conformance"]) == named
    assert {name for row in layers("The floors of conformance") for name in row} - SMALL - {"strategies"} == named


def test_the_table_of_conformance_stands_in_the_order_of_its_floors():
    pairs = [set(names(row[0])) for row in table(TEXT, "| folder | what is in it")]
    rows = layers("The floors of conformance")
    floor = {name: number for number, row in enumerate(rows) for name in row}
    order = [min(floor[name] for name in row) for row in pairs]
    assert order == sorted(order)


def test_the_areas_of_cases_are_those_that_the_table_names():
    (cell,) = [row[1] for row in table(TEXT, "| folder | what is in it") if names(row[0]) == ["cases"]]
    areas = set(re.findall(r"\b[a-z]+\b", cell.partition("by area:")[2]))
    assert folders(PACKAGES["conformance"] / "cases") == areas


def test_what_the_table_of_the_harness_names_is_there():
    rows = table(TEXT, "| question | folder in")
    assert missing(rows, 1, PACKAGES["harness"]) == []
    assert {name.partition("/")[0] for row in rows for name in names(row[1])} >= folders(PACKAGES["harness"])


@pytest.mark.parametrize(("contract", "begins"), [
    ("The harness's own floors", "The folders stand on floors, and no import runs up:"),
    ("The floors of fuzz", "The same in `fuzz/`:"),
])  # fmt: skip
def test_the_floors_that_the_text_tells_are_those_of_the_contract(contract, begins):
    sentence = TEXT[TEXT.index(begins) + len(begins) :].partition(".\n" if "fuzz" not in begins else ".\nA module")[0]
    told = floors_of(sentence.replace("/`", "`").replace(".py`", "`"))
    assert {name for row in told for name in row} <= {name for row in layers(contract) for name in row}
    assert below(layers(contract), told) == []


def test_each_python_module_that_is_named_is_there():
    """`run/plan.py` and the like, from the root, from the harness, from a package, or from a folder of one."""
    places = [ROOT, *PACKAGES.values(), *(path.parent for path in PACKAGES.values())]
    places += [each for path in PACKAGES.values() for each in path.rglob("*") if each.is_dir()]
    named = set(re.findall(r"`([a-z_]+(?:/[a-z_]+)*\.py)`", TEXT))
    assert len(named) > 30
    assert [name for name in sorted(named) if not any((place / name).exists() for place in places)] == []


def test_what_is_wrong_is_red(tmp_path):
    assert missing([["x", "`nowhere/`, `here.py`"]], 1, tmp_path) == ["nowhere", "here.py"]
    assert below([{"a"}, {"b"}], floors_of("`b` over `a`")) == ["['b'] over ['a']"]
    assert below([{"a"}, {"b"}], floors_of("`a` over `b`")) == []
