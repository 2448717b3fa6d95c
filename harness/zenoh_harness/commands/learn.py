"""`zconform learn`: learn the automaton of a target's handshake, or of a query at a router; draw and compare it."""

from __future__ import annotations

from pathlib import Path

import click

from zenoh_harness.commands import _completing as completing
from zenoh_harness.commands._options import seed_option
from zenoh_harness.console import Shell, out_option, shell_options


@click.command()
@click.argument("target", default="wheel", shell_complete=completing.targets)
@click.argument("other", required=False, shell_complete=completing.targets)
@out_option("zconform-learned", "Folder for the drawings and scripts.")
@click.option(
    "--of", type=click.Choice(("handshake", "query")), default="handshake", show_default=True, help="What to learn."
)
@seed_option
@shell_options()
def command(shell: Shell, target: str, other: str | None, out: Path, of: str, seed: int) -> int:
    """Learn a target's handshake as an automaton.

    Compares the automaton with the table of the specification, and with that of OTHER, and draws it (Mermaid, dot and SVG).
    With --of query, learns a query that the target routes between two sessions. If two targets differ, writes the shortest
    conversation that shows it as a script. Needs the extra `learn`.

    \b
    Example:  zconform learn wheel:1.10.2 wheel:1.0.4
              zconform learn --of query wheel:1.10.2
    Exit codes: 0 as in the table, 1 a target does what the table does not list, 2 usage, 3 harness or target failed.
    """
    from zenoh_harness.commands import _learning  # needs aalpy, which `--help` must not

    return _learning.run(shell, target, other, out, of, seed)
