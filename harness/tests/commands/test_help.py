"""`--help` of every command works without its extra, and no text in it is cut."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import requires

import click
import pytest
from click.testing import CliRunner
from packaging.requirements import Requirement

from zenoh_harness.cli import EXTRA, command
from zenoh_harness.console import Verbs

BASE = {"zenoh-conformance", "pytest", "construct"}
"""Packages that are no part of what a subcommand needs."""
WITHOUT = """
import sys
from click.testing import CliRunner

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {names!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Missing())
from zenoh_harness.cli import command
for words in {paths!r}:
    done = CliRunner().invoke(command, [*words, "--help"])
    assert done.exit_code == 0 and done.output.startswith("Usage:"), (words, done.output, done.exception)
print("all of them")
"""


def paths(group: click.Group, above: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Yield the words of every command, groups first."""
    context = click.Context(group)
    for name in group.list_commands(context):
        yield (*above, name)
        found = group.get_command(context, name)
        if isinstance(found, click.Group):
            yield from paths(found, (*above, name))


EVERY = [(), *paths(command)]


def extras() -> set[str]:
    """Return the modules of all extras."""
    named = [Requirement(line) for line in requires("zenoh-conformance") or () if EXTRA.search(line)]
    return {one.name.replace("-", "_") for one in named if one.name not in BASE} | {"py4j", "numpy"}


def test_every_help_works_without_its_extra():
    code = WITHOUT.format(names=extras(), paths=EVERY)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300, check=False)
    assert (done.stdout, done.returncode) == ("all of them\n", 0), done.stderr[-2000:]
    assert {"aalpy", "jinja2", "atheris", "pyspark", "docker"} <= extras()


def cut(words: tuple[str, ...], width: int = 80) -> list[str]:
    """Return the lines of a command list that end in the middle of a sentence, or are cut."""
    output = CliRunner().invoke(command, [*words, "--help"], terminal_width=width).output
    listed = re.split(r"^  (?=\S)", output.partition("\nCommands:\n")[2], flags=re.MULTILINE)[1:]
    texts = (" ".join(row.split()) for row in listed)
    return [text for text in texts if text.endswith("...") or not text.endswith((".", ")"))]


@pytest.mark.parametrize("width", [60, 80, 110])
@pytest.mark.parametrize("words", EVERY, ids=lambda words: " ".join(words) or "zconform")
def test_no_text_of_a_group_is_cut(words, width):
    assert cut(words, width) == []


@pytest.mark.parametrize("words", EVERY, ids=lambda words: " ".join(words) or "zconform")
def test_each_help_begins_with_one_sentence_and_says_more_only_below(words):
    output = CliRunner().invoke(command, [*words, "--help"], terminal_width=110).output
    first = output.split("\n\n")[1]
    assert re.fullmatch(r"\s*[A-Z][^.]*(?:\.\S[^.]*)*\.\s*", first), first


def test_a_cut_text_is_red(monkeypatch):
    """What click does by itself with a text that does not fit."""
    monkeypatch.delattr(Verbs, "format_commands")
    assert cut(("targets",), 60) == ["list List the targets that have a file, with their..."]
