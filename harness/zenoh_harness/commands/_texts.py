"""The one-line help of each subcommand, so that `zconform --help` need not import them.

python -m zenoh_harness.commands._texts      generates this table from the subcommands' docstrings
"""

from __future__ import annotations

from typing import Final

SHORT: Final[dict[str, str]] = {
    "audit": "Judge captured or recorded traffic by the laws.",
    "cases": "List and show the cases.",
    "codec": "Serve the reference codec on standard input and output.",
    "completion": "Install shell completion for zconform.",
    "diff": "Compare two results and list the verdicts that changed.",
    "explain": "Decode bytes and print the meaning of each field.",
    "faulty": "List the faulty nodes, or judge them (--run).",
    "fuzz": "Fuzz codecs and whole nodes, and work with the findings.",
    "gate": "Judge one target against its list of known deviations.",
    "interop": "Connect real nodes to each other and judge the traffic.",
    "known": "Compare lists of known deviations with faulty nodes and with a release.",
    "laws": "List and show the laws, or judge recordings by them.",
    "learn": "Learn a target's handshake as an automaton.",
    "matrix": "Judge several versions and print what changed.",
    "merge": "Merge the results of one target's shards.",
    "peer": "Run the reference node, a faulty node or a variant.",
    "probe": "Print the capabilities of a target.",
    "replay": "Replay a script against a target.",
    "report": "Build a static site from results.",
    "requirements": "List the requirements and the checks that cover them.",
    "run": "Judge targets; write results and evidence.",
    "smoke": "Check in a few seconds that a target's adapter works.",
    "tap": "Record the traffic between two nodes, or change it.",
    "targets": "List the known targets, and build some of them.",
    "variants": "List the conforming variants, or judge them (--run).",
    "vectors": "List, show, check and export the golden vectors.",
}


def main() -> None:
    """Write the table into this file; a test compares it with the subcommands."""
    import json
    from pathlib import Path

    import click

    from zenoh_harness.cli import Subcommands, command

    assert isinstance(command, Subcommands)
    context = click.Context(command)
    rows = {name: command.one_line(context, name) for name in command.list_commands(context)}
    lines = [f"    {json.dumps(name)}: {json.dumps(text)},\n" for name, text in rows.items()]
    file = Path(__file__)
    head, _, rest = file.read_text(encoding="utf-8").partition("SHORT: Final[dict[str, str]] = {\n")
    tail = rest[rest.index("}\n") :]
    file.write_text(f"{head}SHORT: Final[dict[str, str]] = {{\n{''.join(lines)}{tail}", encoding="utf-8")


if __name__ == "__main__":
    main()
