"""Files that cannot be used: an input without an end, a name that is too long, an output that cannot be written."""

import os
import sys

import pytest

from zenoh_harness import cli

COMMANDS = (
    "audit {}",
    "diff {} {}",
    "explain {}",
    "replay {} reference",
    "run reference --judged {}",
    "run reference --known {}",
)


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(("kind", "name"), [("a FIFO", "endless.jsonl"), ("a device", "/dev/zero")])
def test_an_input_without_an_end_is_refused(command, kind, name, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    os.mkfifo("endless.jsonl")
    assert cli.invoke([word.format(name) for word in command.split()]) == 2
    assert f"{kind}, not a file" in capsys.readouterr().err


@pytest.mark.parametrize(("kind", "name"), [("a FIFO", "endless.jsonl"), ("a device", "/dev/zero")])
def test_a_report_goes_on_without_an_input_that_has_no_end(kind, name, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    os.mkfifo("endless.jsonl")
    assert cli.invoke(["report", name, "--out", "site"]) == 3
    assert f"{kind}, not a file" in capsys.readouterr().err


def test_a_report_of_a_folder_with_an_earlier_report_leaves_its_schemas_out(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "old" / "schema").mkdir(parents=True)
    (tmp_path / "old" / "schema" / "audit.schema.json").write_text("{}")
    assert cli.invoke(["report", ".", "--out", "site"]) == 2
    assert "holds no results.jsonl" in capsys.readouterr().err


def test_a_long_message_is_explained_and_not_taken_for_a_file(capsys):
    assert cli.invoke(["explain", "0500" + "41" * 200]) in (0, 1)
    assert "refused at byte 7" in capsys.readouterr().out


def test_a_report_that_cannot_be_written_is_refused_before_the_run(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert cli.invoke(["run", "reference", "--only", "establishment-sane/*", "--sarif", "/proc/x.sarif"]) == 2
    assert "cannot write /proc/x.sarif" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("source", ["argument", "file", "standard input"])
def test_a_long_message_is_explained_without_a_console_that_measures_each_line(source, tmp_path, monkeypatch, capsys):
    text = (b"\x84" + b"".join(bytes([0xA0 | i % 15 + 1, i % 128]) for i in range(4000)) + b"\x01").hex()
    path = tmp_path / "long.hex"
    path.write_text(text)
    monkeypatch.setattr(sys, "stdin", path.open())
    monkeypatch.setattr(
        "rich.console.Console.print", lambda *_args, **_options: pytest.fail("half a millisecond a line")
    )
    assert cli.invoke(["explain", {"argument": text, "file": str(path), "standard input": "-"}[source]]) == 0
    assert len(capsys.readouterr().out.splitlines()) > 8000
