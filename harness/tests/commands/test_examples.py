"""What README, the documentation and `--help` show as examples can be typed: subcommand, options and names are there."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from zenoh_harness.cli import command, invoke
from zenoh_harness.scripting.shipped import shipped_scripts

ROOT = Path(__file__).resolve().parents[3]
PAGES = [ROOT / "README.md", ROOT / "ARCHITECTURE.md", *sorted((ROOT / "docs/pages").glob("*.md"))]
EXAMPLE = re.compile(r"^(?: {4,}|\s*Example:\s+)(zconform .+)$", re.MULTILINE)
HELP_EXAMPLE = re.compile(r"^\s*(?:Examples?:)?\s*(zconform .+)$", re.MULTILINE)
NOT_HERE = re.compile(r"does not exist|no list of known deviations '\S+\.toml'")
"""A file of the reader's own may be missing here."""


def commands(group: click.Group, path: str = "zconform") -> Iterator[tuple[str, click.Command]]:
    context = click.Context(group, info_name=path)
    for name in group.list_commands(context):
        found = group.get_command(context, name)
        yield f"{path} {name}", found
        if isinstance(found, click.Group):
            yield from commands(found, f"{path} {name}")


def examples() -> list[tuple[str, str]]:
    """Where an example stands, and its line; what follows two spaces is a remark."""
    found = [(path.name, line) for path in PAGES for line in EXAMPLE.findall(path.read_text())]
    found += [(name, line) for name, each in commands(command) for line in HELP_EXAMPLE.findall(each.help or "")]
    return [(where, re.split(r"\s{2,}|\s(?:[>|]|&&)\s", line)[0]) for where, line in found]


def parsed(line: str) -> None:
    """Parses a line as `zconform` would, without doing it. Raises click.UsageError."""
    group, words, context = command, shlex.split(line)[1:], None
    while True:
        context = group.make_context("zconform", words, parent=context) if context is None else context
        name, found, words = group.resolve_command(context, [*context._protected_args, *context.args])
        context = found.make_context(name, words, parent=context)
        if not isinstance(found, click.Group):
            return
        group = found


@pytest.mark.parametrize(("where", "line"), sorted(set(examples())))
def test_an_example_can_be_typed(where, line):
    try:
        parsed(line)
    except click.UsageError as wrong:
        if not NOT_HERE.search(wrong.format_message()):
            pytest.fail(f"{where}: {line}: {wrong.format_message()}")


@pytest.mark.parametrize("line", ["zconform explain --no-such 00", "zconform requirements lists", "zconform no-such"])
def test_a_wrong_example_is_red(line):
    with pytest.raises(click.UsageError):
        parsed(line)


def named(subcommand: str) -> list[str]:
    """The first argument of each example of a subcommand, where it is no option."""
    words = [shlex.split(line) for _, line in examples()]
    return sorted({line[2] for line in words if line[1] == subcommand and line[2:] and not line[2].startswith("-")})


def test_each_example_of_bytes_is_explained(capsys):
    hexadecimal = [word for word in named("explain") if re.fullmatch(r"(?:[0-9a-f]{2})+", word)]
    assert hexadecimal
    assert [word for word in hexadecimal if invoke(["explain", word]) != 0] == []


def test_each_script_that_is_named_ships():
    scripts = [word for word in named("replay") if "/" not in word]
    assert scripts
    assert [name for name in scripts if name not in shipped_scripts()] == []


def verbs() -> set[str]:
    """The verbs of tox that the pages name."""
    text = "".join(path.read_text() for path in [*PAGES, ROOT / "CONTRIBUTING.md"])
    return {verb for words in re.findall(r"\./toxw -e ([a-z,-]+)", text) for verb in words.split(",")}


@pytest.mark.parametrize("verb", sorted(verbs()))
def test_each_verb_that_is_named_is_there(verb):
    assert f"[testenv:{verb}]" in (ROOT / "tox.ini").read_text()
