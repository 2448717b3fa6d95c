"""`--known`, as several subcommands take it: a file, or the name of a list that ships; held against what there is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem

from zenoh_harness.commands._completing import or_files
from zenoh_harness.errors import HarnessError
from zenoh_harness.files import known
from zenoh_harness.run import lists


class KnownList(click.ParamType[Path]):
    """A list of known deviations: its path, once it is known to be right."""

    name = "list"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        """The file. Fails, with what is nearest, for a list or an entry that there is not."""
        from zenoh_harness.interop.scenario import all_scenarios

        try:
            path = known.find(str(value))
            lists.read([path], others={"interop/": [scenario.id for scenario in all_scenarios().values()]})
        except HarnessError as why:
            self.fail(str(why), param, ctx)
        return path

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem[str]]:
        """The lists that ship, and files."""
        return or_files((path.name.removesuffix(known.SUFFIX) for path in known.shipped_lists()), incomplete)


known_option = click.option(
    "--known", metavar="FILE|NAME", multiple=True, type=KnownList(),
    help="Further known deviations; a name is a list that ships, as zenoh-rust.",
)  # fmt: skip
