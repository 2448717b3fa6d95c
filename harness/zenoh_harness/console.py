"""What a command prints to: how loud, in which form, and whether a person watches."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property, wraps
from typing import TYPE_CHECKING, Any, TypeVar, cast

import click

if TYPE_CHECKING:
    from rich.console import Console

Advance = Callable[[int, str], None]
"""How far, and a word about where."""

Command = TypeVar("Command", bound=Callable[..., Any])


@dataclass
class Shell:
    """The terminal, file or pipe on the other side."""

    quiet: int = 0
    verbose: int = 0
    format: str = "text"

    @cached_property
    def out(self) -> Console:
        """Where results are printed: markup and highlighting are off, since targets choose some of the strings."""
        from rich.console import Console

        return Console(markup=False, highlight=False, emoji=False, soft_wrap=not sys.stdout.isatty())

    @cached_property
    def err(self) -> Console:
        """Where the progress and remarks go."""
        from rich.console import Console

        return Console(stderr=True, markup=False, highlight=False, emoji=False, soft_wrap=not sys.stderr.isatty())

    @property
    def as_json(self) -> bool:
        """Whether a program reads."""
        return self.format == "json"

    def note(self, text: str) -> None:
        """A remark for people, on standard error; not with `-q`."""
        if not self.quiet:
            self.err.print(plain(text))

    def detail(self, text: str) -> None:
        """A remark that only `-v` shows."""
        if self.verbose:
            self.err.print(plain(text))

    def print_json(self, value: object) -> None:
        """One JSON document, keys in the order given."""
        click.echo(json.dumps(value, indent=2, ensure_ascii=False))

    def tell(self, value: object, text: str) -> None:
        """What came of it: one JSON document where a program reads, else a remark for people."""
        if self.as_json:
            self.print_json(value)
        else:
            self.note(text)

    @contextmanager
    def progress(self, total: int, what: str) -> Iterator[Advance]:
        """A bar on standard error while a person watches there; silence otherwise."""
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
        with Progress(*columns, console=self.err, transient=True) as bar:
            task = bar.add_task(what, total=total, where="")
            yield lambda step, where: bar.update(task, advance=step, where=plain(where))


def plain(text: str) -> str:
    """Text that a target may have chosen, made harmless for a terminal: control characters are shown as escapes."""
    return "".join(char if char.isprintable() or char in "\n\t" else repr(char)[1:-1] for char in text)


def shell_options() -> Callable[[Command], Command]:
    """Give a command `-q`, `-v` and `--format`; it receives them as `shell`."""

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
            help="For people or for programs.",
        )(wrapped)
        wrapped = click.option("-v", "--verbose", count=True, help="Say more.")(wrapped)
        return cast(Command, click.option("-q", "--quiet", count=True, help="Say less.")(wrapped))

    return decorate
