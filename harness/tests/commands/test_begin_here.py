"""The five entries of README's `Begin here`, followed to the letter from an empty folder."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from zenoh_harness.cli import EXTRA
from zenoh_harness.targets.reach import parse
from zenoh_harness.targets.target import open_target

ROOT = Path(__file__).resolve().parents[3]
README = (ROOT / "README.md").read_text()
SECTION = re.search(r"^## Begin here\n(.*?)^## ", README, re.MULTILINE | re.DOTALL).group(1)
ENTRIES = dict(re.findall(r"^\*\*(.+?)\.\*\*.*?\n\n((?: {4}[^\n]+\n)+)", SECTION, re.MULTILINE | re.DOTALL))
"""The first words of an entry, and its block of commands."""
CODES = {"zconform matrix": (0, 1)}
"""Exit codes of a command that is right with others than 0: two releases may differ."""
ONE_CASE = "establishment-cookie/an-invented-cookie-is-refused"
ONE_VECTOR = "vectors/keep-alive/*"
LONG = ("run", "gate", "matrix")
"""Subcommands that judge a target with all checks; the short test lets them run one."""
PROGRAM = "#!{python}\nfrom zenoh_harness.cli import main\nimport sys\nmain({words})\n"


def lines(entry: str) -> list[str]:
    """Return the commands of an entry, without what follows two blanks as a remark."""
    return [re.split(r"\s{2,}", line.strip())[0] for line in ENTRIES[entry].splitlines()]


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    """An empty folder, but for what a user brings: a node, a codec, a capture."""
    monkeypatch.chdir(tmp_path)
    for name, words in (("mynode", "['peer', '--listen', sys.argv[2]]"), ("codec", "['codec']")):
        (tmp_path / name).write_text(PROGRAM.format(python=sys.executable, words=words))
        (tmp_path / name).chmod(0o755)
    shutil.copy(min((ROOT / "harness/tests/files/captures").glob("*.pcap*")), tmp_path / "capture.pcapng")
    return tmp_path


@pytest.fixture
def running() -> Iterator[str]:
    """The address of a router of zenoh-rust that runs."""
    with open_target(parse("wheel:1.10.2")).start() as node:
        yield str(node.locator)


def follow(line: str, *, short: bool, address: str) -> None:
    """Run a command as a user would; it must do what the entry promises."""
    words = shlex.split(line.replace("tcp/127.0.0.1:7447", address))
    if words[0] == "./toxw":
        assert f"[testenv:{words[2]}]" in (ROOT / "tox.ini").read_text()
        return
    added = ["--only", ONE_VECTOR if "stdio:" in line else ONE_CASE]
    added = added if short and words[1] in LONG and "--only" not in words else []
    command = [sys.executable, "-m", "zenoh_harness.cli", *words[1:], *added]
    done = subprocess.run(command, capture_output=True, text=True, timeout=580, check=False)
    due = CODES.get(" ".join(words[:2]), (0,))
    assert done.returncode in due, f"{line}\n{done.stdout[-2000:]}{done.stderr[-2000:]}"


def test_there_are_five_entries_of_three_commands_and_a_link():
    assert len(ENTRIES) == 5
    assert {len(lines(entry)) for entry in ENTRIES} == {3}
    for entry in ENTRIES:
        paragraph = re.search(rf"^\*\*{re.escape(entry)}\.\*\*.*?\n\n", SECTION, re.MULTILINE | re.DOTALL).group()
        assert re.search(r"\]\((?:docs/pages/|CONTRIBUTING)", paragraph), entry


def test_each_link_leads_to_a_file():
    for link in re.findall(r"\]\(([^)#]+)", SECTION):
        assert (ROOT / link).is_file(), link


def test_the_install_line_names_an_extra_that_there_is():
    from importlib.metadata import requires

    (extra,) = re.findall(r"^    pip install '\.\[(\w+)\]'$", SECTION, re.MULTILINE)
    assert extra in {found["name"] for line in requires("zenoh-conformance") or () if (found := EXTRA.search(line))}


def test_role_is_explained_where_a_target_string_is_first_shown():
    first = README.index("exec:")
    assert 0 < README.index("?role=client") - first < 400


@pytest.mark.parametrize("entry", ENTRIES)
def test_an_entry_is_followed_in_short(entry, folder, running):
    """The twin of the test below: what judges a target runs one check."""
    for line in lines(entry):
        follow(line, short=True, address=running)


@pytest.mark.soak
@pytest.mark.parametrize("entry", ENTRIES)
def test_an_entry_is_followed_to_the_letter(entry, folder, running):
    for line in lines(entry):
        follow(line, short=False, address=running)
