"""Who follows a recipe of CONTRIBUTING to the letter, in a copy of the repository, gets green tests."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

pytestmark = pytest.mark.long(40)

ROOT = Path(__file__).resolve().parents[3]
PACKAGES = ("conformance", "vectors", "harness", "fuzz", "reports")
RECIPES = dict(
    re.findall(r"^## (.+?)\n(.*?)(?=^## |\Z)", (ROOT / "CONTRIBUTING.md").read_text(), re.MULTILINE | re.DOTALL)
)
BLOCK = re.compile(r"^ {4,}\S.*\n(?:(?:^\n)*^ {4,}\S.*\n)*", re.MULTILINE)
HEAD = re.compile(r"^(?=# \S+/\S+\.\w+(?:, after: .+)?$|\./toxw )", re.MULTILINE)
"""Where a block begins that follows another one without text between them."""
PLACE = re.compile(r"# (?P<file>\S+/\S+\.\w+)(?:, after: (?P<line>.+))?")

AGREE = (
    "conformance/tests/test_requirements.py",
    "harness/tests/repository/test_inventory.py",
    "harness/tests/requirements/test_requirements_coverage.py",
    "vectors/tests/test_data.py",
    "harness/tests/faulty/test_faulty_table.py::test_every_case_and_every_law_has_a_faulty_node",
)
"""The tests that hold what the recipes change."""


class Copy:
    """A copy of the repository, and a person who does what CONTRIBUTING says."""

    def __init__(self, folder: Path):
        self.folder = folder
        command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
        listed = subprocess.run(command, cwd=ROOT, text=True, capture_output=True, check=True).stdout.splitlines()
        for name in listed:
            if (ROOT / name).exists():
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(ROOT / name, folder / name)
        subprocess.run(["git", "init", "-q", folder], check=True)

    def run(self, command: list[str]) -> str:
        """What a command says in the copy; it must succeed."""
        path = os.pathsep.join(str(self.folder / name) for name in PACKAGES)
        env = {**os.environ, "PYTHONPATH": path, "PYTEST_ADDOPTS": ""}
        env.pop("CI", None)  # there pytest prints whole values, and the name of the test is lost in them
        done = subprocess.run(command, cwd=self.folder, env=env, text=True, capture_output=True, check=False)
        assert done.returncode == 0, f"{shlex.join(command)}\n{done.stdout[-4000:]}{done.stderr[-2000:]}"
        return done.stdout

    def follow(self, recipe: str) -> None:
        """Writes each block that names a file, and runs each that is a command."""
        for text in blocks(recipe):
            first, _, rest = text.partition("\n")
            if place := PLACE.fullmatch(first):
                self.write(self.folder / place["file"], place["line"], rest)
            else:
                for line in text.splitlines():
                    self.run(command(line))

    def write(self, file: Path, line: str | None, text: str) -> None:
        """Puts a text at the end of a file, or with the indent of the line that is named, behind it."""
        before = file.read_text() if file.exists() else ""
        if line is None:
            file.write_text(f"{before}\n{text}" if before else text)
            return
        [found] = [each for each in before.splitlines() if line in each]
        indent = " " * (len(found) - len(found.lstrip()))
        file.write_text(before.replace(found, f"{found}\n{textwrap.indent(text, indent).rstrip()}"))


def blocks(recipe: str) -> Iterator[str]:
    """The indented blocks of a recipe that are followed: those that name a file, or begin with a command."""
    for found in BLOCK.finditer(RECIPES[recipe]):
        for text in HEAD.split(textwrap.dedent(found.group())):
            if PLACE.match(text) or text.startswith("./toxw"):
                yield text.strip("\n") + "\n"


def command(line: str) -> list[str]:
    """A line of the documentation as the command that it comes to, in the environment that we are in."""
    words = shlex.split(line)
    if words[:5] == ["./toxw", "exec", "-e", "test", "--"]:
        program, rest = words[5], words[6:]
        return [sys.executable, *(["-m", "zenoh_harness.cli"] if program == "zconform" else []), *rest]
    assert words[:4] == ["./toxw", "-e", "test", "--"], line
    return [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *words[4:]]


COMMANDS = [
    "Add an adapter", "Add a profile", "Add a subcommand", "Add an oracle", "Add a mutator", "Add a report page",
    "Add a pipeline stage and its plain twin",
]  # fmt: skip
"""Recipes that end with the command that shows what was added."""


@pytest.mark.soak
@pytest.mark.parametrize("recipe", COMMANDS)
def test_a_recipe_shows_what_it_added(tmp_path, recipe):
    Copy(tmp_path).follow(recipe)


def test_a_recipe_shows_what_it_added_in_short(tmp_path):
    """The twin of the test above: the adapter, whose base class is filled in."""
    Copy(tmp_path).follow("Add an adapter")


@pytest.mark.soak
@pytest.mark.parametrize("recipes", [
    ["Add a vector"], ["Add a requirement"], ["Add a requirement", "Add a law"], ["Add a case"],
    ["Add a vector", "Add a requirement", "Add a law", "Add a case"],
], ids=" and ".join)  # fmt: skip
def test_a_recipe_leads_to_green_tests(tmp_path, recipes):
    followed(tmp_path, recipes, AGREE)


def test_a_recipe_leads_to_green_tests_in_short(tmp_path):
    """The twin of the test above: the recipe with the most steps, held by the tests that it can break."""
    followed(tmp_path, ["Add a case"], AGREE[1:3])


def followed(folder: Path, recipes: list[str], tests: tuple[str, ...]) -> None:
    """All that the recipes say, and then the tests."""
    copy = Copy(folder)
    for recipe in [*recipes, "After each recipe"]:
        copy.follow(recipe)
    copy.run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *tests])


@pytest.mark.parametrize("recipe", ["Add a requirement", "Add a law", "Add a case", "Add a vector", *COMMANDS])
def test_each_recipe_has_something_to_follow(recipe):
    assert any(PLACE.match(text) for text in blocks(recipe))


def test_without_its_last_step_a_recipe_is_red(tmp_path):
    """So that what the copy shows is worth something."""
    copy = Copy(tmp_path)
    copy.follow("Add a requirement")
    with pytest.raises(AssertionError, match="test_the_lock_is_what_would_be_written"):
        copy.run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-x", AGREE[0]])
