"""The output side of a command: verbosity, text or JSON, and the progress bar."""

from __future__ import annotations

import json
import re
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

import click

if TYPE_CHECKING:
    from rich.console import Console

Advance = Callable[[int, str], None]
"""Takes the number of steps done and the name of the step."""

REDRAW: Final = 0.1
"""Seconds between two drawings of the progress bar."""

Command = TypeVar("Command", bound=Callable[..., Any])
Item = TypeVar("Item")


@dataclass
class Shell:
    """Output of one command: results on standard output, notes and progress on standard error."""

    quiet: int = 0
    verbose: int = 0
    format: str = "text"

    @cached_property
    def out(self) -> Console:
        """Console for results. Markup and highlighting are off, since targets choose some of the strings."""
        from rich.console import Console

        return Console(markup=False, highlight=False, emoji=False, soft_wrap=not sys.stdout.isatty())

    @cached_property
    def err(self) -> Console:
        """Console for progress and notes, on standard error."""
        from rich.console import Console

        return Console(stderr=True, markup=False, highlight=False, emoji=False, soft_wrap=not sys.stderr.isatty())

    @property
    def as_json(self) -> bool:
        """Whether the output is JSON, for a program."""
        return self.format == "json"

    def note(self, text: str) -> None:
        """Print a note on standard error, unless `-q` is given."""
        if not self.quiet:
            self.err.print(plain(text))

    def detail(self, text: str) -> None:
        """Print a note on standard error if `-v` is given."""
        if self.verbose:
            self.err.print(plain(text))

    def print_json(self, value: object) -> None:
        """Print one JSON document, its keys in the order given."""
        click.echo(json.dumps(value, indent=2, ensure_ascii=False))

    def answer(self, value: Callable[[], object], show: Callable[[], object]) -> None:
        """Print the value as JSON with `--format json`, else let `show` print text."""
        if self.as_json:
            self.print_json(value())
        else:
            show()

    def show(self, value: object, lines: Iterable[str]) -> None:
        """Print the value as JSON with `--format json`, else the lines as text."""
        self.answer(lambda: value, lambda: self.print_lines(lines))

    def print_lines(self, lines: Iterable[str]) -> None:
        """Print lines of text as they are, without a Console: it takes half a millisecond a line, of which there may be thousands."""
        for line in lines:
            click.echo(plain(line))

    def tell(self, value: object, text: str) -> None:
        """Print the value as JSON with `--format json`, else the text as a note."""
        self.answer(lambda: value, lambda: self.note(text))

    def steps(self, items: Sequence[Item], what: str, name: Callable[[Item], str]) -> Iterator[Item]:
        """Yield the items; a progress bar shows the name of the last one that is done."""
        with self.progress(len(items), what) as advance:
            for item in items:
                yield item
                advance(1, name(item))

    @contextmanager
    def progress(self, total: int, what: str) -> Iterator[Advance]:
        """Show a progress bar on standard error if that is a terminal; yield the function that advances it."""
        if self.quiet or not sys.stderr.isatty() or not total:
            yield lambda _step, _where: None
            return
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

        columns = (
            TextColumn(what, markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[where]}", markup=False),
        )
        # It draws itself as it advances: a thread that draws would keep the run from using a second process.
        with Progress(*columns, console=self.err, transient=True, auto_refresh=False) as bar:
            task, drawn = bar.add_task(what, total=total, where=""), -REDRAW

            def advance(step: int, where: str) -> None:
                nonlocal drawn
                bar.update(task, advance=step, where=plain(where))
                if time.monotonic() > drawn + REDRAW:
                    drawn = time.monotonic()
                    bar.refresh()

            yield advance


def plain(text: str) -> str:
    """Return the text with control characters as escapes, since a target may have chosen it."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() or char in "\n\t" else repr(char)[1:-1] for char in text)


def shell_options() -> Callable[[Command], Command]:
    """Return a decorator that adds `-q`, `-v` and `--format`; the command receives them as `shell`."""

    def decorate(function: Command) -> Command:
        @wraps(function)
        def with_shell(*args: Any, quiet: int, verbose: int, format: str = "text", **options: Any) -> Any:  # noqa: A002 - the option's name
            outer = click.get_current_context().find_object(Shell) or Shell()
            shell = Shell(quiet or outer.quiet, verbose or outer.verbose, format)
            return function(*args, shell=shell, **options)

        wrapped: Any = with_shell
        wrapped = click.option(
            "--format",
            type=click.Choice(("text", "json")),
            default="text",
            show_default=True,
            help="Output format.",
        )(wrapped)
        wrapped = click.option("-v", "--verbose", count=True, help="Print more.")(wrapped)
        return cast(Command, click.option("-q", "--quiet", count=True, help="Print less.")(wrapped))

    return decorate


class Verbs(click.Group):
    """A group whose `--help` lists the first sentence of each command in full: click cuts it where the terminal is narrow."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands."""
        found = ((name, self.get_command(ctx, name)) for name in self.list_commands(ctx))
        rows = [(name, each.get_short_help_str(400)) for name, each in found if each is not None and not each.hidden]
        with formatter.section("Commands"):
            formatter.write_dl(rows)


FOLDER: Final = click.Path(path_type=Path, file_okay=False)


class Uri(str):
    """The address of a file or folder in one of Hadoop's file systems, such as `s3a://bucket/nightly`."""

    __slots__ = ()


class PathOrUri(click.Path):
    """A path, or a URI; `file:` is a path."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return a Uri for what begins with a scheme, else what `click.Path` returns."""
        if isinstance(value, str) and re.match(r"(?!file:)[A-Za-z][A-Za-z0-9+.-]+:/", value):
            return Uri(value)
        return super().convert(re.sub(r"^file:(//(?=/))?", "", value) if isinstance(value, str) else value, param, ctx)


def spark_options(function: Command) -> Command:
    """Add `--master` and `--conf`, which Spark reads."""
    for decorate in (
        click.option(
            "--conf",
            "conf",
            metavar="KEY=VALUE",
            multiple=True,
            help="A setting for Spark, as of spark-submit; repeatable.",
        ),
        click.option(
            "--master",
            metavar="URL",
            help="Spark master: local[*], spark://.., sc://.., yarn, k8s://..; implies --spark.",
        ),
    ):
        function = decorate(function)
    return function


def out_option(default: Path | str, text: str = "Folder for the results.") -> Callable[[Command], Command]:
    """`--out`, with the folder that is used without it."""
    return click.option("--out", type=FOLDER, default=Path(default), show_default=True, help=text)
