"""Generates the page of the command line from the help of the commands."""

from __future__ import annotations

from collections.abc import Iterator

import click

from zenoh_harness.cli import command as zconform

HEAD = """# Command line

The output of `zconform --help`, and of `--help` of each subcommand.
"""


def pages() -> Iterator[tuple[str, str]]:
    """Yield the place of the page and its Markdown."""
    context = click.Context(zconform, info_name="zconform")
    yield "generated/commands.md", "\n".join([HEAD, *_sections(zconform, context, 2)])


def _sections(command: click.Command, context: click.Context, depth: int) -> Iterator[str]:
    yield f"{'#' * min(depth, 4)} {context.command_path}\n"
    yield "```text\n" + command.get_help(context) + "\n```\n"
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            child = command.get_command(context, name)
            if child is not None and not child.hidden:
                yield from _sections(child, click.Context(child, info_name=name, parent=context), depth + 1)
