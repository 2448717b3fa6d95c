"""`zconform`: finds the subcommands, and turns every error into a message and an exit code."""

from __future__ import annotations

import contextlib
import errno
import io
import os
import pkgutil
import re
import signal
import sys
import traceback
import warnings
from collections.abc import Sequence
from functools import cache
from importlib import import_module
from importlib.metadata import EntryPoint, PackageNotFoundError, entry_points, requires
from pathlib import Path
from typing import Any, Final, NoReturn

import click
from click.shell_completion import CompletionItem, shell_complete

from zenoh_conformance.judging.verdict import Exit
from zenoh_conformance.loading import without_collection
from zenoh_harness import commands
from zenoh_harness.commands._texts import SHORT
from zenoh_harness.console import Shell, plain
from zenoh_harness.errors import HarnessError, Renamed, UsageError, current_name, nearest
from zenoh_harness.shells import COMPLETES
from zenoh_harness.version import harness_version

PLUGGED: Final = "zenoh_conformance.commands"
"""Entry-point group in which higher packages register their subcommands."""

EXTRA: Final = re.compile(r"""extra == ["'](?P<name>[^"']+)""")
"""Matches the extra in the marker of a requirement."""

UNWRITABLE: Final = frozenset({errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOSPC, errno.EDQUOT})
"""Errors of a file system that cannot be written or is full; they are reported in one line, without a traceback."""

RENAMED: Final = {"miniatures": "faulty"}
"""Former names of subcommands, which are still accepted."""


@cache
def _own() -> dict[str, str]:
    """Return subcommand to module, for the subcommands of this package."""
    modules = pkgutil.iter_modules(commands.__path__)
    return {
        found.name.replace("_", "-"): f"{commands.__name__}.{found.name}" for found in modules if found.name[0] != "_"
    }


@cache
def _plugged() -> dict[str, EntryPoint]:
    """Return subcommand to entry point, for the subcommands of higher packages."""
    return {found.name: found for found in sorted(entry_points(group=PLUGGED), key=lambda found: found.name)}


class Subcommands(click.Group):
    """A group that imports a subcommand only when it is used."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return all names, sorted."""
        return sorted({*_own(), *_plugged()})

    @without_collection()
    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return the subcommand of that name; None if it does not exist."""
        cmd_name = current_name(cmd_name, RENAMED)
        if cmd_name in _own():
            return _command(import_module(_own()[cmd_name]).command, cmd_name)
        if cmd_name in _plugged():
            return _command(_plugged()[cmd_name].load(), cmd_name)
        return None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list in `--help` from `SHORT`, without imports; a plug-in that is not in `SHORT` is imported."""
        rows = [(name, SHORT.get(name) or self.one_line(ctx, name)) for name in self.list_commands(ctx)]
        with formatter.section("Commands"):
            formatter.write_dl(rows)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem[str]]:
        """Complete names and options without importing the subcommands, whose extras may be missing."""
        names = [CompletionItem(name) for name in self.list_commands(ctx) if name.startswith(incomplete)]
        return [*names, *click.Command.shell_complete(self, ctx, incomplete)]

    def one_line(self, ctx: click.Context, name: str) -> str:
        """Import a subcommand and return the first sentence of its help."""
        try:
            found = self.get_command(ctx, name)
        except ImportError as missing:
            return f"(not available: {missing})"
        return found.get_short_help_str(400) if found else ""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Resolve as click does; suggest the nearest name for an unknown one, and treat `help` as `--help`."""
        if args[0] == "help" and args[1:]:
            args = [*args[1:], "--help"]
        name = args[0]
        if name == "help":
            click.echo(ctx.get_help())
            ctx.exit()
        if not name.startswith("-") and name not in (*self.list_commands(ctx), *RENAMED):
            near = nearest(name, self.list_commands(ctx))
            raise click.UsageError("; ".join(filter(None, (f"no subcommand {name!r}", near))), ctx)
        return super().resolve_command(ctx, args)


def _command(found: Any, name: str) -> click.Command:
    if not isinstance(found, click.Command):
        raise HarnessError(
            f"subcommand {name} is not a click command but {type(found).__name__}", step="load subcommands"
        )
    return found


@click.group(cls=Subcommands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(harness_version("0 (not installed)"), prog_name="zconform", message="%(prog)s %(version)s")
@click.option("-q", "--quiet", count=True, help="Print less.")
@click.option("-v", "--verbose", count=True, help="Print more.")
@click.pass_context
def command(context: click.Context, quiet: int, verbose: int) -> None:
    """Test whether a Zenoh node conforms to the protocol specification.

    Reports each deviation with the requirement, the byte and the version of the node.

    \b
    Example:  zconform run wheel:1.10.2
    Exit codes: 0 conforming, 1 not conforming, 2 usage, 3 harness or target failed, 4 nothing was judged.
    """
    context.obj = Shell(quiet, verbose)


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run as the console script, and exit."""
    sys.exit(invoke(sys.argv[1:] if arguments is None else list(arguments)))


def invoke(arguments: Sequence[str]) -> int:
    """Run `zconform` with these arguments and return its exit code. Raises nothing."""
    printable()
    previous = _terminate_like_interrupt()
    warnings.showwarning = _show_warning
    try:
        result = _run(arguments)
        sys.stdout.flush()
        return int(result) if isinstance(result, int) else 0
    except click.exceptions.Exit as asked:
        return asked.exit_code
    except click.ClickException as wrong:
        return _usage(wrong)
    except (click.Abort, KeyboardInterrupt):
        return _say("interrupted", Exit.CANNOT_GO_ON)
    except HarnessError as stopped:
        if isinstance(stopped, UsageError) and not stopped.hint:
            stopped.hint = f"{_path_of(arguments)} --help"
        return _say(str(stopped), stopped.exit_code)
    except BrokenPipeError:
        return _reader_left()
    except ImportError as missing:
        return _missing(missing, arguments)
    except Exception as why:  # noqa: BLE001 - last resort: a bug of the harness becomes exit code 3 with a traceback
        return _unexpected(why)
    finally:
        if previous is not None:
            signal.signal(signal.SIGTERM, previous)


def _show_warning(message: Warning | str, category: type[Warning], *place: object, **_more: object) -> None:
    """Print a renamed word as a note, and every other warning as Python does."""
    if issubclass(category, Renamed):
        _say(f"note: {message}", 0)
    else:
        click.echo(f"{category.__name__}: {message} ({place[0]}:{place[1]})", err=True)


def _run(arguments: Sequence[str]) -> object:
    """Run the command as click's own `main` does, without ending the process."""
    wanted = os.environ.get(COMPLETES)
    if wanted:
        return _complete(wanted)
    with command.make_context("zconform", list(arguments)) as context:
        return command.invoke(context)


def _unexpected(why: Exception) -> int:
    """Report an unexpected error: in one line if a file cannot be written, else with its traceback, as a bug of ours."""
    if isinstance(why, OSError) and why.errno in UNWRITABLE:
        where = f" {why.filename}" if why.filename else ""
        return _say(f"cannot write{where}: {why.strerror}", Exit.CANNOT_GO_ON)
    return _say(f"a bug of zconform\n{traceback.format_exc()}", Exit.CANNOT_GO_ON)


def printable() -> None:
    """Make standard output and error safe to print to: discard output if closed, escape characters that the encoding lacks."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, Path(os.devnull).open("w", encoding="utf-8"))  # noqa: SIM115 - open until the process ends
        elif isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _complete(wanted: str) -> int:
    """Print completions for a shell. A command line with an error has none, and prints no message."""
    try:
        return shell_complete(command, {}, "zconform", COMPLETES, wanted)
    except (click.ClickException, HarnessError, ImportError):
        return int(Exit.USAGE)


def _terminate_like_interrupt() -> Any:
    """Make the first SIGTERM raise KeyboardInterrupt as Ctrl-C does, so that started processes are ended and results written."""

    def interrupt(number: int, _frame: object) -> None:
        signal.signal(number, lambda *_: None)  # a second one does not end what the first one has us write
        raise KeyboardInterrupt

    try:
        return signal.signal(signal.SIGTERM, interrupt)
    except ValueError:  # not the main thread, which alone may set handlers
        return None


def _reader_left() -> int:
    """Handle a closed pipe: redirect standard output, so that Python's flush at exit does not fail again."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return int(Exit.CANNOT_GO_ON)


def _usage(wrong: click.ClickException) -> int:
    context = getattr(wrong, "ctx", None)
    hint = f"\n  hint   {context.command_path} --help" if context is not None else ""
    return _say(wrong.format_message() + hint, Exit.USAGE)


def _path_of(arguments: Sequence[str]) -> str:
    """Return the subcommand that a command line names, as its user types it: the next step where nothing better is known."""
    group: click.Command = command
    path = ["zconform"]
    for word in (word for word in arguments if not word.startswith("-")):
        inner = group.get_command(click.Context(group), word) if isinstance(group, click.Group) else None
        if inner is None:
            break
        group = inner
        path.append(word)
    return " ".join(path)


def _missing(missing: ImportError, arguments: Sequence[str]) -> int:
    if (missing.name or "").startswith("zenoh_"):
        return _say(f"a bug of zconform\n{traceback.format_exc()}", Exit.CANNOT_GO_ON)
    what = next((word for word in arguments if not word.startswith("-")), "this")
    package = (missing.name or str(missing)).partition(".")[0]
    if not isinstance(missing, ModuleNotFoundError):  # it lacks a shared library, or finds another version of one
        return _say(f"{what} cannot load {missing.name or package}, which is installed: {missing}", Exit.CANNOT_GO_ON)
    return _say(
        f"{what} needs the package {package}, which is not installed: {_install_command(package)}", Exit.CANNOT_GO_ON
    )


def _install_command(package: str) -> str:
    """Return the command that installs a package: the smallest extra of this distribution that contains it."""
    from packaging.requirements import Requirement  # not at the top: `--help` must be fast

    extras: dict[str, set[str]] = {}
    with contextlib.suppress(PackageNotFoundError):
        for line in map(Requirement, requires("zenoh-conformance") or ()):
            if extra := EXTRA.search(str(line.marker)):
                extras.setdefault(extra["name"], set()).add(line.name.replace("-", "_"))
    having = [extra for extra, names in extras.items() if package in names]
    if not having:
        return f"pip install {package}"
    return f"pip install 'zenoh-conformance[{min(having, key=lambda extra: len(extras[extra]))}]'"


def _say(text: str, code: int) -> int:
    with contextlib.suppress(OSError):
        click.echo(f"zconform: {plain(text)}", err=True)
    return int(code)


if __name__ == "__main__":
    main()
