"""The scripts of `zconform completion` in the shells themselves: zsh at a terminal, fish by its own command."""

import os
import pty
import select
import subprocess
import sys

import pytest

from zenoh_harness.links.timing import Deadline
from zenoh_harness.shells import COMPLETES, SHELLS

LINES = {
    "run faulty:believes-any-coo": "run faulty:believes-any-cookie",
    "run --depth=qu": "run --depth=quick",
    "gate reference --require 1.0.0,": "gate reference --require 1.0.0,1.0.0",
}
"""What is typed, and what stands there after one Tab: a colon, an equals sign, a comma."""

MARKED = "show() { print -r -- \"<$BUFFER>\"; BUFFER=; zle accept-line }; zle -N show; bindkey '^O' show"
"""Control-O prints the line between angle brackets."""


@pytest.fixture
def home(tmp_path):
    """A folder with this zconform on it, and the script of each shell."""
    ours = tmp_path / "zconform"
    ours.write_text(f'#!/bin/sh\nexec {sys.executable} -m zenoh_harness.cli "$@"\n')
    ours.chmod(0o755)
    for name, kind in SHELLS.items():
        (tmp_path / name).write_text(kind(None, {}, "zconform", COMPLETES).source())
    return tmp_path


def environment(home):
    kept = {name: value for name, value in os.environ.items() if name.startswith(("PYTHON", "ZCONFORM", "LC_", "LANG"))}
    return {**kept, "PATH": f"{home}:{os.environ['PATH']}", "HOME": str(home), "TERM": "dumb", "COLUMNS": "200"}


class Terminal:
    """A program at a pseudo-terminal."""

    def __init__(self, command, env):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.execvpe(command[0], command, env)  # noqa: S606  a terminal of its own needs a fork
        self.said = b""

    def type(self, text):
        os.write(self.fd, text.encode())

    def until(self, mark):
        """What it says up to the mark, which is taken away."""
        deadline = Deadline.after(60)
        while mark not in self.said and select.select([self.fd], [], [], deadline.remaining())[0]:
            self.said += os.read(self.fd, 65536)
        before, found, self.said = self.said.partition(mark)
        assert found, f"no {mark!r} in {before!r}"
        return before.decode()

    def close(self):
        os.close(self.fd)
        os.waitpid(self.pid, 0)


@pytest.mark.needs("zsh")
def test_zsh_puts_in_what_is_offered(home):
    shell = Terminal(["zsh", "-f", "-i"], environment(home))
    try:
        shell.type(f"PS1=; autoload -Uz compinit; compinit -u -D; source {home}/zsh; {MARKED}; echo rea''dy\n")
        shell.until(b"ready")
        for typed, there in LINES.items():
            shell.type(f"zconform {typed}\t\x0f")
            shell.until(b"<")
            assert shell.until(b">").rstrip() == f"zconform {there}"
    finally:
        shell.close()


@pytest.mark.needs("fish")
def test_fish_offers_whole_words(home):
    for typed, there in LINES.items():
        lines = f"source {home}/fish; complete -C $argv[1]"
        done = subprocess.run(
            ["fish", "--no-config", "-c", lines, f"zconform {typed}"],
            env=environment(home), capture_output=True, text=True, timeout=120, check=True,
        )  # fmt: skip
        assert done.stdout.split()[:1] == [there.split()[-1]]
