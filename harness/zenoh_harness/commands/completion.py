"""`zconform completion`: shells complete subcommands, options, targets, checks and lists."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import click
from click.shell_completion import ShellComplete

from zenoh_harness.console import Shell, shell_options
from zenoh_harness.errors import CannotGoOn, UsageError
from zenoh_harness.shells import COMPLETES, SHELLS

AFTER: Final[Mapping[str, str]] = {
    "bash": "a new bash has it where the package bash-completion is; elsewhere add to ~/.bashrc: source {file}",
    "zsh": "add to ~/.zshrc, before compinit: fpath=({file.parent} $fpath)",
    "fish": "a new fish has it",
}
"""What is left to do."""


@click.group()
def command() -> None:
    """Let a shell complete zconform: subcommands, options, targets, checks, requirements, lists.

    \b
    Example:  zconform completion install bash
    """


@command.command("install")
@click.argument("name", metavar="bash|zsh|fish", type=click.Choice(SHELLS))
@shell_options()
def install(shell: Shell, name: str) -> None:
    """Write the script for this shell where it looks for such scripts; no start-up file of yours is touched.

    \b
    Example:  zconform completion install fish
    """
    file = place(name)
    write(file, script(name))
    if shell.as_json:
        shell.print_json({"shell": name, "file": str(file), "then": AFTER[name].format(file=file)})
        return
    shell.note(f"{file}: written; {AFTER[name].format(file=file)}")


@command.command("show")
@click.argument("name", metavar="bash|zsh|fish", type=click.Choice(SHELLS))
@shell_options()
def show(shell: Shell, name: str) -> None:
    """Print the script, to put it where you like.

    \b
    Example:  zconform completion show zsh > ~/.zfunc/_zconform
    """
    if shell.as_json:
        shell.print_json({"shell": name, "file": str(place(name)), "script": script(name)})
        return
    click.echo(script(name), nl=False)


def script(name: str) -> str:
    """What the shell reads: it asks `zconform` itself at each key."""
    kind: type[ShellComplete] = SHELLS[name]
    return kind(command, {}, "zconform", COMPLETES).source()


def place(name: str) -> Path:
    """Where a shell looks for a user's own completions (XDG base directories; each shell's manual)."""
    data = _folder("XDG_DATA_HOME", ".local/share")
    if name == "bash":
        return Path(os.environ.get("BASH_COMPLETION_USER_DIR") or data / "bash-completion") / "completions" / "zconform"
    if name == "zsh":
        return data / "zsh" / "site-functions" / "_zconform"
    return _folder("XDG_CONFIG_HOME", ".config") / "fish" / "completions" / "zconform.fish"


def _folder(variable: str, default: str) -> Path:
    return Path(os.environ.get(variable) or Path.home() / default)


def write(file: Path, text: str) -> None:
    """Write the script; never over a file that somebody else wrote."""
    try:
        if file.exists() and COMPLETES not in file.read_text(encoding="utf-8", errors="replace"):
            raise UsageError(f"{file} is there, and is not ours", step="completion", hint="zconform completion show")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    except OSError as why:
        hint = "zconform completion show prints it"
        raise CannotGoOn(f"cannot write {file}", step="completion", seen=str(why), hint=hint) from why
