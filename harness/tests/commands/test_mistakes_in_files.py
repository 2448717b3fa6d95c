"""Each command with each file that it cannot use: no traceback, the documented exit code, the reason first, a next step."""

from __future__ import annotations

import random
import shlex
from pathlib import Path

import pytest

from zenoh_harness.cli import invoke

CONTENTS = {
    "empty": b"",
    "binary": bytes(random.Random(3).randrange(128, 256) for _ in range(500)),
    "text": b"all is well\n",
    "other.json": b'{"a": 1}\n',
    "list.json": b"[1, 2]\n",
    "half.json": b'{"a": \n',
    "wide": "hello".encode("utf-16"),
    "right.known.toml": b"",
}
EVERY = ("missing", "folder", *CONTENTS)
UNREADABLE = ("missing", "folder", "empty", "binary", "text", "other.json", "list.json", "half.json", "wide")
NO_LIST = ("folder", "binary", "text", "other.json", "list.json", "half.json", "wide")
NO_FOLDER = ("empty", "text")
READERS = {
    "audit {}": UNREADABLE,
    "laws judge {}": UNREADABLE,
    "explain {}": ("missing", "folder", "text", "other.json", "list.json", "half.json"),
    "replay {} reference": UNREADABLE,
    "replay two-frames-in-one-batch reference --against {}": ("missing", "binary", "text"),
    "diff {} {}": UNREADABLE,
    "report {} --out site": ("missing", "folder", "other.json", "list.json", "half.json"),
    "merge {} --out o": ("missing", "folder", "empty"),
    "gate results {} --known right.known.toml": UNREADABLE,
    "gate reference --known {}": ("missing", *NO_LIST),
    "gate update reference --known {}": ("missing", *NO_LIST),
    "gate init reference --known {}": ("folder", "text"),
    "gate check {}": ("missing", *NO_LIST),
    "gate flakes {}": UNREADABLE,
    "run reference --known {}": ("missing", *NO_LIST),
    "run reference --judged {}": ("missing", "folder", "binary", "text", "other.json", "wide"),
    "run stdio:./{}": ("missing", "folder", "text", "binary"),
    "run lib:./{}": ("missing", "folder"),
    "run python:{}": ("missing", "text"),
    "run exec:./{}": ("missing", "text"),
    "requirements table {}": ("missing", "folder", "text"),
    "fuzz minimise {}": ("missing", "text"),
    "fuzz promote {}": ("missing", "text"),
    "fuzz coverage {}": ("missing", "text"),
    "run reference --junit {}/x.xml": ("missing", "empty"),
    "run reference --sarif {}/x.sarif": ("missing", "empty"),
    "run reference --sarif {}": ("folder",),
    "gate reference --known right.known.toml --summary {}/s.md": ("missing", "empty"),
    "run reference --out {}": NO_FOLDER,
    "probe reference --out {}/x.json": ("missing", "empty"),
    "interop reference reference --out {}": NO_FOLDER,
    "learn reference --out {}": NO_FOLDER,
    "matrix reference --out {}": NO_FOLDER,
}
"""A command line, and the files with which it is a mistake."""
MISTAKES = [(line, name) for line, names in READERS.items() for name in names]

WORDS = {
    "0" + "1" * 300: "odd number",
    "0g" * 200: "neither hexadecimal nor a file",
    "zz": "neither hexadecimal nor a file",
}
"""A word for `explain`, and what is said of it."""

FIELDS = {
    "reach = 5": "reach", "reach = []": "how t is reached", "reach = [5]": "reach", "reach = true": "reach",
    'reach = "nope"': "'nope'", 'reach = "exec:./x"': "names no address", "reach = { a = 1 }": "reach",
    'reach = "reference"\nclaims = "qos"': "claims", 'reach = "reference"\nclaims = 7': "claims",
    'reach = "reference"\nclaims = [7]': "claims", 'reach = "reference"\nprofiles = 7': "profiles",
    'reach = "reference"\nprofiles = { default = 7 }': "profiles", 'reach = "reference"\nprofiles = { nope = "reference" }': "nope",
    'reach = "reference"\nembargo = 7': "embargo", 'reach = "reference"\nembargo = "never"': "embargo",
    'reach = "reference"\npanics = "x"': "panics", 'reach = "reference"\npanics = [1]': "panics",
    'reach = "reference"\nabout = 1': "about", 'reach = "reference"\nlanguage = []': "language",
    'reach = "reference"\nhomepage = 1979-05-27': "homepage", 'reech = "reference"': "did you mean reach",
    'about = "nothing else"': "how t is reached", "reach = ": "Invalid value",
}  # fmt: skip
"""What a target's table says, and what of it is named in the message."""


@pytest.fixture(scope="module")
def desk(tmp_path_factory) -> Path:
    """A folder with one file of each kind."""
    folder = tmp_path_factory.mktemp("desk")
    (folder / "folder").mkdir()
    for name, content in CONTENTS.items():
        (folder / name).write_bytes(content)
    return folder


def check_message(said: str, code: int) -> None:
    """The reason comes first, a next step follows, and nothing looks like a bug."""
    lines = said.splitlines()
    assert code in (2, 3)
    assert "Traceback" not in said
    assert "a bug of zconform" not in said
    assert lines[0].startswith("zconform: ")
    assert len(lines) <= 8
    assert any(line.startswith("  hint   ") for line in lines), said


@pytest.mark.parametrize(("line", "name"), MISTAKES, ids=[line.format(*[name] * 2) for line, name in MISTAKES])
def test_a_file_that_cannot_be_used_is_told_with_a_next_step(line, name, desk, monkeypatch, capsys):
    monkeypatch.chdir(desk)
    before = sorted(desk.rglob("*"))
    code = invoke(shlex.split(line.format(name, name)))
    check_message(capsys.readouterr().err, code)
    assert sorted(desk.rglob("*")) == before


@pytest.mark.parametrize("word", WORDS)
def test_a_word_that_is_no_hexadecimal_is_told(word, capsys):
    assert invoke(["explain", word]) == 2
    said = capsys.readouterr().err
    check_message(said, 2)
    assert WORDS[word] in said


@pytest.mark.parametrize("text", FIELDS)
@pytest.mark.parametrize("where", ["zconform.toml", "targets/t.toml"])
def test_a_wrong_table_of_a_target_is_told(text, where, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "targets").mkdir()
    (tmp_path / where).write_text(f"[{'target' if '/' in where else 'targets.t'}]\n{text}\n")
    assert invoke(["run", "t"]) == 2
    said = capsys.readouterr().err
    check_message(said, 2)
    assert FIELDS[text] in said
