"""A shell's completion: what is offered in each place, and what `zconform completion` writes."""

import os
import subprocess

import pytest
from click.shell_completion import ShellComplete

from zenoh_harness.cli import command, invoke
from zenoh_harness.shells import COMPLETES, SHELLS, Bash


def offered(line):
    """What is offered behind the last word of a line; a space at its end begins a new one."""
    *words, last = line.split(" ")
    return [item.value for item in ShellComplete(command, {}, "zconform", COMPLETES).get_completions(words, last)]


@pytest.mark.parametrize(
    ("line", "has", "has_not"),
    [
        ("", "gate", "miniatures"),
        ("ga", "gate", "run"),
        ("run --last", "--last-failed", "--out"),
        ("run ref", "reference", "wheel"),
        ("run ", "zenoh-rust", "zenoh-pico-none"),
        ("run ex", "exec:", "exec"),
        ("run tc", "tcp/", "tcp"),
        ("run wheel:1.10.", "wheel:1.10.2", "wheel:1.0.4"),
        ("run faulty:believes-any-c", "faulty:believes-any-cookie", "faulty:believes-any-role"),
        ("run variant:", "variant:answers-after-5-ms", "variant:believes-any-cookie"),
        ("run wheel?ro", "wheel?role=", "wheel?as="),
        ("run wheel?role=router&as=", "wheel?role=router&as=initiator", "wheel?role=router&as=router"),
        ("run wheel?profile=", "wheel?profile=default", "wheel?profile="),
        ("run reference --only establishment-cookie/a-ch", "establishment-cookie/a-changed-cookie-is-refused", "x"),
        ("run reference --only session-establishment/cookie-must", "session-establishment/cookie-must-match", "x"),
        ("run reference --only ", "vectors/", "establishment-cookie/a-changed-cookie-is-refused"),
        ("run reference --debug law/cookie-e", "law/cookie-echo", "x"),
        ("run reference --known zenoh", "zenoh-rust", "x"),
        ("gate ", "init", "x"),
        ("gate ref", "reference", "init"),
        ("gate reference --require 1.0.0,", "1.0.0,1.0.0", "1.0.0"),
        ("gate init ref", "reference", "init"),
        ("matrix wheel --bisect law/cookie-e", "law/cookie-echo", "x"),
        ("interop wheel wheel --only re", "reconnecting", "x"),
        ("learn whe", "wheel", "gate"),
        ("requirements show session-establishment/cookie-m", "session-establishment/cookie-must-match", "x"),
        ("cases show establishment-cookie/a-l", "establishment-cookie/a-longer-cookie-is-refused", "x"),
        ("laws show law/cookie-e", "law/cookie-echo", "x"),
        ("peer --fault believes-any-c", "believes-any-cookie", "x"),
        ("fuzz codec diff", "differential", "decode"),
        ("fuzz codec decode --target std", "stdio:", "x"),
        ("completion install z", "zsh", "bash"),
    ],
)
def test_what_is_offered(line, has, has_not):
    found = offered(line)
    assert has in found
    assert has_not not in found


def test_what_is_offered_is_taken():
    """Whatever target is offered whole is one: `find` reads it."""
    from zenoh_harness.targets.catalogue import find

    for line in ("run ", "run wheel:", "run faulty:", "run variant:"):
        for text in offered(line):
            assert text[-1] in ":/" or find(text)


@pytest.fixture
def asked(monkeypatch, capsys):
    """What bash is answered for a line, as its script asks."""

    def ask(line, breaks=":="):
        monkeypatch.setenv(COMPLETES, "bash_complete")
        monkeypatch.setenv("COMP_WORDS", f"zconform {line}")
        monkeypatch.setenv("COMP_WORDBREAKS", breaks)
        code = invoke([])
        told = capsys.readouterr()
        assert told.err == ""
        return code, told.out.split()

    return ask


def test_bash_is_given_what_follows_its_last_break(asked):
    assert asked("run faulty:believes-any-coo") == (0, ["plain,believes-any-cookie"])
    assert asked("run faulty:believes-any-coo", breaks=" ") == (0, ["plain,faulty:believes-any-cookie"])
    assert asked("run --depth=qu") == (0, ["plain,quick"])
    assert "plain,run" in asked("")[1]


def test_a_line_that_is_wrong_already_says_nothing(asked):
    for line in ("nope refer", "gate updat refer"):
        assert asked(line)[1] == []


@pytest.mark.parametrize("name", SHELLS)
def test_install_writes_what_show_prints(name, tmp_path, monkeypatch, capsys):
    for variable in ("XDG_DATA_HOME", "XDG_CONFIG_HOME", "BASH_COMPLETION_USER_DIR"):
        monkeypatch.setenv(variable, str(tmp_path))
    assert invoke(["completion", "show", name]) == 0
    shown = capsys.readouterr().out
    for _ in range(2):  # ours is written over
        assert invoke(["completion", "install", name]) == 0
    (file,) = (path for path in tmp_path.rglob("*") if path.is_file())
    assert file.read_text() == shown
    assert str(file) in capsys.readouterr().err.replace("\n", "")
    file.write_text("mine")
    assert invoke(["completion", "install", name]) == 2
    assert file.read_text() == "mine"


def test_a_folder_that_cannot_be_written_is_said(tmp_path, monkeypatch, capsys):
    (tmp_path / "fish").write_text("no folder")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    assert invoke(["completion", "install", "fish"]) == 3
    assert "zconform completion show prints it" in capsys.readouterr().err


@pytest.mark.needs("bash")
def test_bash_reads_its_script(tmp_path):
    """The script itself, in a bash: it asks a stand-in for zconform, and takes over what that answers."""
    (tmp_path / "script").write_text(Bash(command, {}, "zconform", COMPLETES).source())
    stand_in = tmp_path / "zconform"
    stand_in.write_text('#!/bin/sh\n[ "$COMP_WORDS" = "zconform run fau" ] && echo plain,faulty: && echo plain,other\n')
    stand_in.chmod(0o755)
    lines = (
        f". {tmp_path}/script; COMP_LINE='zconform run faulty'; COMP_POINT=16; _zconform_completion 2>/dev/null;"
        'printf "%s\\n" "${COMPREPLY[@]}"; complete -p zconform'
    )
    path = f"{tmp_path}:{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "--norc", "-c", lines], env={"PATH": path}, capture_output=True, text=True, timeout=20
    )
    assert done.stdout.splitlines()[:2] == ["faulty:", "other"]
    assert "-F _zconform_completion zconform" in done.stdout
    assert done.stderr == ""
