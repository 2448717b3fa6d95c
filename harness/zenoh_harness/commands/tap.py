"""`zconform tap`: the recording proxy alone, between two nodes that run already."""

from __future__ import annotations

import signal
from collections import Counter
from pathlib import Path
from types import FrameType
from typing import Any

import click

from zenoh_conformance.connection import Decoders
from zenoh_conformance.conversation import Event, Side
from zenoh_conformance.finding import Finding
from zenoh_conformance.law import judge
from zenoh_conformance.verdict import Exit
from zenoh_harness.console import Shell, plain, shell_options
from zenoh_harness.errors import CannotConnect, UsageError
from zenoh_harness.files import conversations
from zenoh_harness.links.changing import Rule, parse_rules
from zenoh_harness.links.locators import Locator
from zenoh_harness.links.relay import Passed
from zenoh_harness.links.tap import Recording, Sink, Tap, change_of


@click.command()
@click.option("--listen", required=True, metavar="LOCATOR", help="Where to listen; port 0 lets the kernel choose.")
@click.option("--to", required=True, metavar="LOCATOR", help="Where the other node listens.")
@click.option(
    "--record",
    default=Path("tap.jsonl"),
    show_default=True,
    metavar="FILE",
    type=click.Path(path_type=Path, dir_okay=False),
    help="The conversation file to write.",
)
@click.option("--force", is_flag=True, help="Write over a recording that is there.")
@click.option("--links", type=click.IntRange(0), default=0, metavar="N", help="Leave after N links (0: never).")
@click.option(
    "--change",
    "changes",
    multiple=True,
    metavar="RULE",
    help="Change what one side says, as in drop:response_final or set:close.reason=0; may be repeated.",
)
@click.option(
    "--of",
    "side",
    type=click.Choice([side.value for side in Side]),
    default=Side.RESPONDER.value,
    show_default=True,
    help="Whose words --change changes.",
)
@click.option("--laws", is_flag=True, help="Judge the recording at the end; exit 1 when a law was broken.")
@shell_options()
def command(
    shell: Shell,
    listen: str,
    to: str,
    record: Path,
    force: bool,
    links: int,
    changes: tuple[str, ...],
    side: str,
    laws: bool,
) -> int:
    """Stand between two nodes, record both directions, change what --change says.

    Each link is told when it ends, with the side that ended it; -v tells each message as it goes by.

    \b
    Example:
      zconform tap --listen tcp/127.0.0.1:7448 --to tcp/127.0.0.1:7447 --record talk.jsonl
      zconform tap --listen tcp/127.0.0.1:7448 --to tcp/127.0.0.1:7447 --change drop:response_final
    """
    if record.exists() and not force:
        raise UsageError(f"{record} is there already", step="--record", hint="--force writes over it")
    rules, met = parse_rules(changes), Counter[Rule]()
    change = change_of(rules, Side(side), met)
    ended: list[Passed] = []

    def at_end(passed: Passed) -> None:
        ended.append(passed)
        shell.note(str(passed))
        if len(ended) == links:
            tap.leave()

    def sink(event: Event) -> None:
        for each in sinks:
            each(event)

    sinks: list[Sink] = []
    tap = Tap(Locator.parse(listen), Locator.parse(to), sink, on_end=at_end, change=change)
    recording = Recording(record)
    sinks.append(recording)
    if shell.verbose:
        sinks.append(_telling(shell, tap))
    _leave_on_signals(tap)
    shell.note(f"listening at {tap.locator}, passing on to {tap.to}, recording {record}")
    try:
        tap.serve()
    finally:
        recording.close(tap.conversation)
    for rule in rules:
        if rule.path and not met[rule]:
            shell.note(f"{rule.action}:{rule.path} met nothing")
    if ended and not any(passed.reached for passed in ended):
        hint = f"does it listen there? what came is kept in {record}"
        raise CannotConnect(f"{to} was never reached", step="connect", seen=ended[-1].how, hint=hint)
    findings = _judge(shell, record) if laws else []
    if shell.as_json:
        shell.print_json(_as_json(ended, record, findings, {rule: met[rule] for rule in rules if rule.path}))
    return int(Exit.NOT_CONFORMING if findings else Exit.CONFORMING)


def _telling(shell: Shell, tap: Tap) -> Sink:
    """A sink that tells a person each message."""
    decoders = Decoders(tap.conversation)

    def tell(event: Event) -> None:
        for seen in decoders.feed(event):
            shell.detail(f"{event.time:10.6f} {event.connection} {event.sender.value:9} {seen.path} {seen.raw.hex()}")

    return tell


def _judge(shell: Shell, record: Path) -> list[Finding]:
    """What the laws say of both sides."""
    findings = [finding for said in judge(conversations.read(record)) for finding in said.findings]
    for found in () if shell.as_json else findings:
        who = f"{found.time:.6f} {found.connection} {found.sender.value}"
        shell.out.print(plain(f"{who} {found.requirement}: {found.cause}"))
    shell.note(f"{len(findings)} findings")
    return findings


def _as_json(ended: list[Passed], record: Path, findings: list[Finding], met: dict[Rule, int]) -> dict[str, Any]:
    """What went by, for programs; the recording holds the rest."""
    return {
        "recording": str(record),
        "links": [
            {
                "name": one.name, "initiator": one.initiator, "reached": one.reached, "how": one.how,
                "sent": {side.value: count for side, count in one.sent.items()},
                "ended_by": one.first.value if one.first else "tap",
            }
            for one in ended
        ],
        "changes": [{"action": rule.action, "path": rule.path, "met": count} for rule, count in met.items()],
        "findings": [
            {
                "time": one.time, "connection": one.connection, "sender": one.sender.value,
                "requirement": one.requirement, "cause": one.cause,
            }
            for one in findings
        ],
    }  # fmt: skip


def _leave_on_signals(tap: Tap) -> None:
    def leave(_number: int, _frame: FrameType | None) -> None:
        tap.leave()

    signal.signal(signal.SIGINT, leave)
    signal.signal(signal.SIGTERM, leave)
