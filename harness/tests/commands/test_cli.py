"""The front door: names, help, and what each kind of failure says to the shell."""

import subprocess
import sys
from itertools import permutations

import click
import pytest

from zenoh_conformance.judging.verdict import Exit, Judgement, Key, Verdict
from zenoh_harness import cli
from zenoh_harness.commands.run import accept_judged, joined_exit
from zenoh_harness.console import Shell
from zenoh_harness.errors import CannotGoOn, CannotStart, Enough, UsageError
from zenoh_harness.files.results import Footer, Header
from zenoh_harness.run.runner import Ran


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


@pytest.mark.parametrize(
    ("codes", "due"), [((0,), 0), ((0, 4), 4), ((0, 1), 1), ((1, 4), 1), ((1, 3), 3), ((0, 1, 3, 4), 3)]
)
def test_of_several_targets_the_exit_code_is_the_first_of_3_1_4_and_0(codes, due):
    assert {joined_exit(map(Exit, order)) for order in permutations(codes)} == {due}


@pytest.mark.parametrize(
    ("stopped", "accepted"),
    [(None, True), (CannotGoOn("interrupted"), False), (Enough("ended after 1 deviation", step="--max-fail"), False)],
    ids=["complete", "interrupted", "--max-fail"],
)
def test_only_a_complete_run_becomes_the_list_of_what_is_judged(tmp_path, capsys, stopped, accepted):
    """Else the next run is held to what this one came to."""
    header = Header(reach="x", name="t", version="1", role="responder", kind="exec")
    place = {"target": "t", "version": "1", "role": "responder", "profile": "default", "link": "tcp"}
    judged = [
        Judgement(
            key=Key(requirement=f"close/{verdict.value}", check="close/one", **place), level="MUST", verdict=verdict
        )
        for verdict in Verdict
    ]
    footer = Footer(judged=len(judged), verdicts={}, exit=1)
    path = tmp_path / "mine.judged"
    path.write_text("responder default close/before\n")

    accept_judged(
        Shell(), path, Ran(header=header, judgements=tuple(judged), footer=footer, out=tmp_path, stopped=stopped)
    )

    listed = [line.rpartition("/")[2] for line in path.read_text().splitlines() if not line.startswith("#")]
    assert listed == (sorted(one.value for one in Verdict if one.is_judged) if accepted else ["before"])
    assert ("wrote mine.judged" if accepted else "mine.judged is unchanged") in capsys.readouterr().err


def test_an_unknown_subcommand_offers_the_nearest(plugged, capsys):
    plugged(lambda: None)
    assert cli.invoke(["plantd"]) == 2
    assert "did you mean planted?" in capsys.readouterr().err


def test_one_that_is_near_to_nothing_leaves_no_ragged_end(capsys):
    assert cli.invoke(["xyzzyx"]) == 2
    assert "no subcommand 'xyzzyx'\n" in capsys.readouterr().err


def test_help_as_a_word_is_help(capsys):
    assert cli.invoke(["help"]) == 0
    assert "Usage: zconform" in capsys.readouterr().out
    assert cli.invoke(["help", "run"]) == 0
    assert "zconform run" in capsys.readouterr().out
    assert cli.invoke(["help", "prob"]) == 2
    assert "did you mean probe?" in capsys.readouterr().err


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
        (RuntimeError("surprise"), 3, "a bug of zconform"),
        (ModuleNotFoundError("No module named 'pyspark'", name="pyspark"), 3, "zenoh-conformance[spark]"),
    ],
)
def test_what_goes_wrong_has_a_message_and_a_code(plugged, capsys, error, code, word):
    plugged(raising(error))
    assert cli.invoke(["planted"]) == code
    assert word in capsys.readouterr().err


@pytest.mark.parametrize(
    ("package", "words", "install"),
    [("aalpy", ["learn", "reference"], "zenoh-conformance[learn]"), ("jinja2", ["report", "."], "zenoh-conformance[report]")],
)  # fmt: skip
def test_a_missing_extra_is_one_line(package, words, install, tmp_path):
    """Asked of a new interpreter, which has imported nothing yet."""
    code = f"""
import sys
sys.modules[{package!r}] = None
from zenoh_harness import cli
cli.requires = lambda name: ["aalpy>=2.0; extra == 'learn'", "jinja2>=3.1; extra == 'report'"]
sys.exit(cli.invoke({words!r}))
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
    needs = f"zconform: {words[0]} needs the package {package}, which is not installed: pip install '{install}'"
    assert (done.returncode, done.stderr.splitlines()) == (3, [needs])


def test_a_package_that_is_here_and_cannot_be_loaded_is_not_called_missing(plugged, capsys):
    """As where a base image lacks a library of the C compiler."""
    why = "libgcc_s.so.1: cannot open shared object file"
    plugged(raising(ImportError(why, name="hypothesis._native")))
    assert cli.invoke(["planted"]) == 3
    assert capsys.readouterr().err == f"zconform: planted cannot load hypothesis._native, which is installed: {why}\n"


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


def test_the_table_of_one_line_texts_is_what_the_subcommands_say():
    """`python -m zenoh_harness.commands._texts` writes it."""
    context = cli.click.Context(cli.command)
    assert {name: cli.command.one_line(context, name) for name in cli.command.list_commands(context)} == cli.SHORT


def test_help_imports_no_subcommand():
    """Listing twenty subcommands must not cost what importing them costs."""
    code = "import sys\nfrom zenoh_harness import cli\ncli.invoke(['--help'])\nprint('zenoh_harness.commands.run' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.endswith("False\n")


@pytest.mark.parametrize(
    ("words", "note"),
    [(["miniatures", "no-such-*"], "'miniatures' is now called 'faulty'"),
     (["requirements", "settle", "/no/such/folder"], "'settle' is now called 'update'"),
     (["run", "wrong:no-such-fault", "--out", "/no/such/folder"], "'wrong' is now called 'faulty'")],
)  # fmt: skip
def test_an_old_name_is_taken_and_the_new_one_is_named_once(words, note, capfd):
    cli.invoke(words)
    assert capfd.readouterr().err.count(note) == 1
