"""The one-line text of each subcommand, so that `zconform --help` need not import what it lists.

python -m zenoh_harness.commands._texts      write this table anew from the subcommands' own texts
"""

from __future__ import annotations

from typing import Final

SHORT: Final[dict[str, str]] = {
    "audit": "Hold the laws against what nodes said in a CAPTURE (pcap, pcapng) or a recorded CONVERSATION; one process reads it.",
    "cases": "The cases: each reaches a state, does one odd thing, and judges what the target makes of it.",
    "codec": "Serve our codec over the stdio codec protocol: one JSON object a line, requests in, answers out.",
    "completion": "Let a shell complete zconform: subcommands, options, targets, checks, requirements, lists.",
    "diff": "Which requirements changed verdict from results BEFORE to results AFTER, and what shows it.",
    "explain": "Say what bytes mean: offset, bytes, field, meaning; what is odd, and where reading had to stop.",
    "faulty": "The faulty nodes whose name matches: the reference with one fault each, and what catches them.",
    "fuzz": "Look for the inputs that nobody thought of.",
    "gate": "Judge one target for a build: red for what is not as its list of known deviations says, and for nothing else.",
    "interop": "Let A listen and B connect to it through our tap, with applications on both sides; judge what arrives and the wire.",
    "laws": "The laws: each is held against everything that a target ever says.",
    "learn": "Learn the automaton of TARGET's handshake, compare it with our table and with that of OTHER, and draw it.",
    "matrix": "Judge each TARGET, ranges such as wheel:1.0.0..1.10.2 included, and print what changed from one to the next.",
    "merge": "Make one results folder of the RESULTS folders of one target's shards; of what several judged the worst counts.",
    "peer": "Run the reference node until it is told to stop.",
    "probe": "Print what TARGET is and can do: version, role, extensions, resolutions, sizes, lease, authentication, rates.",
    "replay": "Do what SCRIPT says to TARGET, say what came of it, and look at the target's health afterwards.",
    "report": "Make a static site from RESULTS: results.jsonl files, folders that hold them, and JSON documents.",
    "requirements": "What the specification asks for, and what judges it.",
    "run": "Judge each TARGET; the default is the real zenoh-rust, `wheel`.",
    "smoke": "Check in a few seconds that TARGET can be started, works, ends, and is honest; say in words what to mend.",
    "tap": "Stand between two nodes, record both directions, change what --change says.",
    "targets": "Known targets, and what can be built of them.",
    "variants": "The variants whose name matches: the reference with one permitted peculiarity each.",
    "vectors": "The golden vectors: bytes, and what they must mean or why they must be refused.",
}


def main() -> None:
    """Write the table into this file; a test holds it equal to what the subcommands say."""
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
