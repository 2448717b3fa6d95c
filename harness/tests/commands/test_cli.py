"""The front door: names, help, and what each kind of failure says to the shell."""

import subprocess
import sys

import click
import pytest

from zenoh_harness import cli
from zenoh_harness.errors import CannotStart, UsageError


@pytest.fixture
def plugged(monkeypatch):
    """Plug a function in as subcommand `planted`."""

    def plug(function):
        monkeypatch.setattr(cli, "_own", lambda: {"planted": "planted"})
        monkeypatch.setattr(cli, "_plugged", dict)
        module = type(sys)("planted")
        module.command = click.command("planted")(function)
        monkeypatch.setitem(sys.modules, "planted", module)

    return plug


def raising(error):
    def body():
        raise error

    return body


def test_an_unknown_subcommand_offers_the_nearest(plugged, capsys):
    plugged(lambda: None)
    assert cli.invoke(["plantd"]) == 2
    assert "did you mean planted?" in capsys.readouterr().err


def test_an_unknown_option_offers_the_nearest(capsys):
    assert cli.invoke(["--verbos"]) == 2
    assert "--verbose" in capsys.readouterr().err


def test_help_lists_what_is_plugged_in(plugged, capsys):
    plugged(lambda: None)
    assert cli.invoke(["--help"]) == 0
    assert "planted" in capsys.readouterr().out


def test_a_command_says_its_exit_code(plugged):
    plugged(lambda: 4)
    assert cli.invoke(["planted"]) == 4


@pytest.mark.parametrize(
    ("error", "code", "word"),
    [
        (UsageError("no such thing", hint="try another"), 2, "hint   try another"),
        (CannotStart("it ended", step="start", seen="exit code 1"), 3, "(step: start)"),
        (KeyboardInterrupt(), 3, "interrupted"),
        (RuntimeError("surprise"), 3, "a fault of ours"),
        (ModuleNotFoundError("No module named 'pyspark'", name="pyspark"), 3, "pyspark"),
    ],
)
def test_what_goes_wrong_has_a_message_and_a_code(plugged, capsys, error, code, word):
    plugged(raising(error))
    assert cli.invoke(["planted"]) == code
    assert word in capsys.readouterr().err


def test_control_characters_of_others_do_not_reach_the_terminal(plugged, capsys):
    plugged(raising(UsageError("evil \x1b[2J name")))
    cli.invoke(["planted"])
    text = capsys.readouterr().err
    assert "\x1b" not in text
    assert "\\x1b[2J" in text


def test_a_reader_that_leaves_is_no_fault_of_ours():
    code = "import sys; from zenoh_harness.cli import main; main(['--help'])"
    # stdout is a pipe that nobody reads any more
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.close()
        text = process.stderr.read()
    assert b"Traceback" not in text
    assert b"Exception ignored" not in text
    assert process.returncode == 3
