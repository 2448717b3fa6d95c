"""The option `--known`: a file of known deviations, or the name of a list that ships with the harness."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem

from zenoh_harness.commands._completing import or_files
from zenoh_harness.errors import HarnessError
from zenoh_harness.files import known
from zenoh_harness.run import known_deviations


class KnownList(click.ParamType[Path]):
    """Parameter type: a list of known deviations, read and checked when the command line is parsed."""

    name = "list"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        """Return the path of the list. Fails with the nearest name if the list, or the check of an entry, does not exist."""
        from zenoh_harness.interop.scenario import all_scenarios

        try:
            path = known.find(str(value))
            known_deviations.read([path], others={"interop/": [scenario.id for scenario in all_scenarios().values()]})
        except HarnessError as why:
            self.fail(str(why), param, ctx)
        return path

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem[str]]:
        """Complete names of shipped lists, and files."""
        return or_files((path.name.removesuffix(known.SUFFIX) for path in known.shipped_lists()), incomplete)


known_option = click.option(
    "--known",
    metavar="FILE|NAME",
    multiple=True,
    type=KnownList(),
    help="List of known deviations: a file, or a shipped list such as zenoh-rust; repeatable.",
)
