"""`zconform completion`: install the shell completion of subcommands, options, targets, checks and lists."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import click
from click.shell_completion import ShellComplete

from zenoh_harness.console import Shell, Verbs, shell_options
from zenoh_harness.errors import CannotGoOn, UsageError
from zenoh_harness.shells import COMPLETES, SHELLS

AFTER: Final[Mapping[str, str]] = {
    "bash": "new shells load it if the package bash-completion is installed; otherwise add to ~/.bashrc: source {file}",
    "zsh": "add to ~/.zshrc, before compinit: fpath=({file.parent} $fpath)",
    "fish": "new shells load it",
}
"""By shell, the step that is left to the user."""


@click.group(cls=Verbs)
def command() -> None:
    """Install shell completion for zconform.

    The shell then completes subcommands, options, targets, checks, requirements and lists.

    \b
    Example:  zconform completion install bash
    """


@command.command("install")
@click.argument("name", metavar="bash|zsh|fish", type=click.Choice(SHELLS))
@shell_options()
def install(shell: Shell, name: str) -> None:
    """Install the completion script for a shell.

    The script goes into the folder where the shell looks for such scripts. No start-up file is changed.

    \b
    Example:  zconform completion install fish
    """
    file = place(name)
    write(file, script(name))
    then = AFTER[name].format(file=file)
    shell.tell({"shell": name, "file": str(file), "then": then}, f"wrote {file}; {then}")


@command.command("show")
@click.argument("name", metavar="bash|zsh|fish", type=click.Choice(SHELLS))
@shell_options()
def show(shell: Shell, name: str) -> None:
    """Print the completion script for a shell.

    \b
    Example:  zconform completion show zsh > ~/.zfunc/_zconform
    """
    if shell.as_json:
        shell.print_json({"shell": name, "file": str(place(name)), "script": script(name)})
        return
    click.echo(script(name), nl=False)


def script(name: str) -> str:
    """Return the script that a shell sources; it calls `zconform` for the completions."""
    kind: type[ShellComplete] = SHELLS[name]
    return kind(command, {}, "zconform", COMPLETES).source()


def place(name: str) -> Path:
    """Return the file in which a shell looks for a user's own completions (XDG base directories; each shell's manual)."""
    data = _folder("XDG_DATA_HOME", ".local/share")
    if name == "bash":
        return Path(os.environ.get("BASH_COMPLETION_USER_DIR") or data / "bash-completion") / "completions" / "zconform"
    if name == "zsh":
        return data / "zsh" / "site-functions" / "_zconform"
    return _folder("XDG_CONFIG_HOME", ".config") / "fish" / "completions" / "zconform.fish"


def _folder(variable: str, default: str) -> Path:
    return Path(os.environ.get(variable) or Path.home() / default)


def write(file: Path, text: str) -> None:
    """Write the script. Raises UsageError if another program wrote the file."""
    try:
        if file.exists() and COMPLETES not in file.read_text(encoding="utf-8", errors="replace"):
            raise UsageError(
                f"{file} exists and was not written by zconform", step="completion", hint="zconform completion show"
            )
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    except OSError as why:
        hint = "zconform completion show prints it"
        raise CannotGoOn(f"cannot write {file}", step="completion", seen=str(why), hint=hint) from why
