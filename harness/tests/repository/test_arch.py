"""Each rule of the repository turns red when it is broken: shown on small packages with the real configuration."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest

pytestmark = pytest.mark.long

ROOT = Path(__file__).resolve().parents[3]
ROOMS = ("conformance", "vectors", "harness", "fuzz", "reports")
TOOLS = Path(sys.executable).parent


def furnished(folder: Path) -> Path:
    """Five packages with next to nothing in them."""
    shutil.copy(ROOT / "pyproject.toml", folder)
    for room in ROOMS:
        package = folder / room / f"zenoh_{room}"
        package.mkdir(parents=True)
        (package / "__init__.py").touch()
    put(folder, "zenoh_harness.files.results", "")
    put(folder, "zenoh_harness.run.runner", "")
    return folder


@pytest.fixture
def rooms(tmp_path: Path) -> Path:
    """Such packages of a test's own."""
    return furnished(tmp_path)


def put(rooms: Path, module: str, text: str) -> None:
    """Writes a module, `zenoh_fuzz.deep.inside`, with the packages on its way."""
    room = module.partition(".")[0].removeprefix("zenoh_")
    file = rooms / room / (module.replace(".", "/") + ".py")
    for folder in reversed(list(file.parents)[: module.count(".")]):
        folder.mkdir(exist_ok=True)
        (folder / "__init__.py").touch()
    file.write_text(text)


def check(rooms: Path, *command: str) -> tuple[int, str]:
    path = os.pathsep.join([str(ROOT / ".ci"), *(str(rooms / room) for room in ROOMS)])
    env = os.environ | {"PYTHONPATH": path}
    done = subprocess.run(command, cwd=rooms, env=env, capture_output=True, text=True, check=False)
    return done.returncode, " ".join((done.stdout + done.stderr).split())


def arrows(rooms: Path) -> tuple[int, str]:
    return check(rooms, str(TOOLS / "lint-imports"), "--no-cache")


def test_what_is_allowed_is_green(rooms):
    put(rooms, "zenoh_conformance.models.establishment", "import hypothesis")
    put(rooms, "zenoh_conformance.reading.batch", "import lz4.frame")
    put(rooms, "zenoh_harness.files.results", "import json, jsonschema, zenoh_conformance")
    put(rooms, "zenoh_harness.targets.adapters.docker.engine", "import docker, psutil")
    put(rooms, "zenoh_harness.targets.adapters.docker.user", "import zenoh_harness.targets.adapters.docker.engine")
    put(rooms, "zenoh_harness.errors", "import difflib")
    put(rooms, "zenoh_reports.page", "import pyspark, zenoh_harness.files.results, zenoh_harness.errors, zenoh_vectors")
    put(rooms, "zenoh_fuzz.on_spark", "import pyspark")
    put(rooms, "zenoh_fuzz.decode", "import atheris, zenoh_harness, zenoh_fuzz.on_spark")
    code, said = arrows(rooms)
    assert code == 0, said
    assert "0 broken" in said


BROKEN = [
    ("zenoh_conformance.up", "import zenoh_harness", "Arrows point down only"),
    ("zenoh_fuzz.aside", "import zenoh_reports", "Arrows point down only"),
    ("zenoh_reports.aside", "import zenoh_fuzz", "Arrows point down only"),
    ("zenoh_harness.up", "def late():\n    import zenoh_reports", "Arrows point down only"),
    ("zenoh_conformance.rich", "import rich", "Conformance stands on the standard library, lz4 and hypothesis"),
    ("zenoh_conformance.reading.codec", "import hypothesis", "In conformance, hypothesis lives under models and in strategies"),
    ("zenoh_conformance.other", "import lz4.block", "lz4 lives in one module"),
    ("zenoh_conformance.judging.talks", "import socket", "Conformance has no sockets, no processes and no clock"),
    ("zenoh_conformance.timed", "from time import monotonic", "Conformance has no sockets, no processes and no clock"),
    ("zenoh_vectors.loader", "import zenoh_conformance",
     "The vectors and their builder need nothing of ours: a codec is never its own witness"),
    ("zenoh_harness.links.up", "import zenoh_harness.run.attempt.scenes", "The harness's own floors"),
    ("zenoh_harness.files.run", "import zenoh_harness.links.links",
     "What crosses packages as a file is read without the rest of the harness"),
    ("zenoh_harness.files.talks", "import socket", "Files have no sockets"),
    ("zenoh_reports.run", "import zenoh_harness.links.links", "Reports read files, never a target"),
    ("zenoh_harness.errors", "import zenoh_harness.links.links", "What stops us stands on nothing"),
    ("zenoh_harness.tables", "import pyspark.sql", "Spark lives in reports and in one module of fuzz"),
    ("zenoh_fuzz.tables", "import pyspark", "Spark lives in reports and in one module of fuzz"),
    ("zenoh_harness.fuzz", "import atheris", "Atheris lives in fuzz"),
    ("zenoh_harness.run.store.up", "import zenoh_harness.run.runner", "The floors of a run"),
    ("zenoh_harness.run.images", "import docker", "Docker lives behind its adapter"),
    ("zenoh_fuzz.kill", "import psutil", "Processes and learners live in the harness"),
]  # fmt: skip
"""A module, what it imports, and the contract that it breaks."""


@pytest.fixture(scope="module")
def broken_arrows(tmp_path_factory) -> dict[str, str]:
    """Contract to what is said about it, when all of these are broken at once: one run shows them all."""
    rooms = furnished(tmp_path_factory.mktemp("broken"))
    put(rooms, "zenoh_harness.links.links", "")
    put(rooms, "zenoh_harness.run.attempt.scenes", "")
    for module, text, _ in BROKEN:
        put(rooms, module, text)
    code, said = arrows(rooms)
    assert code == 1
    sections = re.split(r" ?-{3,}(?: -+)* ?", said.partition("Broken contracts ")[2])  # what is under each name's line
    return {contract: section for contract in {row[2] for row in BROKEN} for section in told_about(contract, sections)}


def told_about(contract: str, sections: list[str]) -> list[str]:
    """The section under the contract's name, which ends the section before."""
    return [after for before, after in pairwise(sections) if before.endswith(contract)]


@pytest.mark.parametrize(("module", "text", "contract"), BROKEN)
def test_a_broken_arrow_is_red(broken_arrows, module, text, contract):
    assert module in broken_arrows[contract], text


def sizes(rooms: Path) -> tuple[int, str]:
    return check(rooms, sys.executable, str(ROOT / ".ci/sizes.py"))


def test_sizes_at_the_limit_are_green(rooms):
    put(rooms, "zenoh_harness.long", "x = 0\n" * 500)
    put(rooms, "zenoh_fuzz.deep", "def f():\n" + "    x = 0\n" * 69)
    assert sizes(rooms) == (0, "sizes: 11 files, none too long")


def test_a_file_of_600_lines_is_red(rooms):
    put(rooms, "zenoh_harness.long", "x = 0\n" * 600)
    code, said = sizes(rooms)
    assert (code, said.partition(",")[0]) == (1, "harness/zenoh_harness/long.py: 600 lines")


def test_a_table_may_be_long(rooms):
    put(rooms, "zenoh_vectors.build.rows", "x = 0\n" * 600)
    assert sizes(rooms)[0] == 0


def test_a_function_of_71_lines_is_red(rooms):
    put(rooms, "zenoh_fuzz.deep", "class A:\n    async def f(self):\n" + "        x = 0\n" * 70)
    code, said = sizes(rooms)
    assert (code, said.partition(",")[0]) == (1, "fuzz/zenoh_fuzz/deep.py:2: f has 71 lines")


@pytest.mark.parametrize(("text", "complaint"), [
    ("def double(x):\n    return 2 * x\n", "Function is missing a type annotation"),
    ("def double(x: int) -> str:\n    return 2 * x\n", "Incompatible return value type"),
])  # fmt: skip
def test_an_untyped_function_is_red(rooms, text, complaint):
    put(rooms, "zenoh_fuzz.loose", text)
    code, said = check(rooms, sys.executable, "-m", "mypy", "--cache-dir", os.devnull, "fuzz/zenoh_fuzz")
    assert code == 1
    assert complaint in said


@pytest.mark.parametrize(("text", "rule"), [
    ("import os\n", "F401"),
    ("def double(x):\n    return 2 * x\n", "ANN001"),
    ("try:\n    x = 1\nexcept Exception:\n    x = 2\n", "BLE001"),
])  # fmt: skip
def test_lint_is_red(rooms, text, rule):
    put(rooms, "zenoh_fuzz.loose", text)
    code, said = check(rooms, str(TOOLS / "ruff"), "check", "--no-cache", "--output-format", "concise")
    assert code == 1
    assert rule in said
