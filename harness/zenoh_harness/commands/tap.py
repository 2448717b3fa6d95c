"""`zconform tap`: a recording proxy between two running nodes."""

from __future__ import annotations

import signal
from collections import Counter
from pathlib import Path
from types import FrameType
from typing import Any

import click

from zenoh_conformance.judging.engine import Judge
from zenoh_conformance.judging.finding import Finding
from zenoh_conformance.judging.verdict import Exit
from zenoh_conformance.reading.connection import Decoders
from zenoh_conformance.reading.conversation import Event, Side
from zenoh_harness.commands._options import FILE
from zenoh_harness.console import Shell, plain, shell_options
from zenoh_harness.errors import CannotConnect, UsageError
from zenoh_harness.files import conversations
from zenoh_harness.links.changing import Rule, parse_rules
from zenoh_harness.links.locators import Locator
from zenoh_harness.links.relay import Passed
from zenoh_harness.links.tap import Recording, Sink, Tap, change_of


@click.command()
@click.option(
    "--listen", required=True, metavar="LOCATOR", help="Address to listen on; with port 0 the kernel chooses one."
)
@click.option("--to", required=True, metavar="LOCATOR", help="Address of the listening node.")
@click.option("--record", default=Path("tap.jsonl"), show_default=True, type=FILE, help="Conversation file to write.")
@click.option("--force", is_flag=True, help="Overwrite an existing recording.")
@click.option("--links", type=click.IntRange(0), default=0, metavar="N", help="Exit after N links (0: never).")
@click.option(
    "--change",
    "changes",
    multiple=True,
    metavar="RULE",
    help="Change messages, for example drop:response_final or set:close.reason=0; repeatable.",
)
@click.option(
    "--of",
    "side",
    type=click.Choice([side.value for side in Side]),
    default=Side.RESPONDER.value,
    show_default=True,
    help="Side whose messages --change changes.",
)
@click.option("--laws", is_flag=True, help="Judge the recording by the laws at the end.")
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
    """Record the traffic between two nodes, or change it.

    The connecting node connects to --listen; the tap forwards both directions to --to and records them. Prints each link when
    it ends, with the side that ended it; with -v also each message. TLS ends at the tap: --listen names the certificate of the
    tap, and --to the authority of the listening node's (tls/HOST:PORT#root_ca_certificate_file=FILE).

    \b
    Example:
      zconform tap --listen tcp/127.0.0.1:7448 --to tcp/127.0.0.1:7447 --record talk.jsonl
      zconform tap --listen tcp/127.0.0.1:7448 --to tcp/127.0.0.1:7447 --change drop:response_final
    Exit codes: 0 done, 1 a law was broken (with --laws), 2 usage, 3 the listening node could not be reached.
    """
    if record.exists() and not force:
        raise UsageError(f"{record} exists", step="--record", hint="--force overwrites it")
    rules, met = parse_rules(changes), Counter[Rule]()
    change = change_of(rules, Side(side), met, Locator.parse(to).framing)
    ended: list[Passed] = []

    def at_end(passed: Passed) -> None:
        ended.append(passed)
        decoders.forget(passed.name)
        shell.note(str(passed))
        if len(ended) == links:
            tap.leave()

    def sink(event: Event) -> None:
        for each in sinks:
            each(event)

    sinks: list[Sink] = []
    tap = Tap(Locator.parse(listen), Locator.parse(to), sink, on_end=at_end, change=change)
    decoders = Decoders(tap.conversation)
    recording = Recording(record)
    sinks.append(recording)
    if shell.verbose:
        sinks.append(_telling(shell, decoders))
    _leave_on_signals(tap)
    shell.note(f"listening at {tap.locator}, forwarding to {tap.to}, recording to {record}")
    try:
        tap.serve()
    finally:
        recording.close(tap.conversation)
    for rule in rules:
        if rule.path and not met[rule]:
            shell.note(f"{rule.action}:{rule.path} matched no message")
    if ended and not any(passed.reached for passed in ended):
        hint = f"start the node there first; {record} has what the other side sent"
        raise CannotConnect(f"no connection to {to} succeeded", step="connect", seen=ended[-1].how, hint=hint)
    findings = _judge(shell, record) if laws else []
    if shell.as_json:
        shell.print_json(_as_json(ended, record, findings, {rule: met[rule] for rule in rules if rule.path}))
    return int(Exit.NOT_CONFORMING if findings else Exit.CONFORMING)


def _telling(shell: Shell, decoders: Decoders) -> Sink:
    """Return a sink that prints each message."""

    def tell(event: Event) -> None:
        for seen in decoders.feed(event):
            shell.detail(f"{event.time:10.6f} {event.connection} {event.sender.value:9} {seen.path} {seen.raw.hex()}")

    return tell


def _judge(shell: Shell, record: Path) -> list[Finding]:
    """Judge both sides of the recording by the laws; print the findings. The recording may be larger than the memory."""
    with record.open(encoding="utf-8") as source:
        conversation, events = conversations.stream(source, record)
        judge = Judge(conversation)
        for event in events:
            judge.feed(event)
    findings = [finding for said in judge.finish() for finding in said.findings]
    for found in () if shell.as_json else findings:
        who = f"{found.time:.6f} {found.connection} {found.sender.value}"
        shell.out.print(plain(f"{who} {found.requirement}: {found.cause}"))
    shell.note(f"{len(findings)} findings")
    return findings


def _as_json(ended: list[Passed], record: Path, findings: list[Finding], met: dict[Rule, int]) -> dict[str, Any]:
    """Return links, changes and findings as the value that `--format json` prints."""
    return {
        "recording": str(record),
        "links": [
            {
                "name": link.name,
                "initiator": link.initiator,
                "reached": link.reached,
                "how": link.how,
                "sent": {side.value: count for side, count in link.sent.items()},
                "ended_by": link.first.value if link.first else "tap",
            }
            for link in ended
        ],
        "changes": [{"action": rule.action, "path": rule.path, "met": count} for rule, count in met.items()],
        "findings": [
            {
                "time": finding.time,
                "connection": finding.connection,
                "sender": finding.sender.value,
                "requirement": finding.requirement,
                "cause": finding.cause,
            }
            for finding in findings
        ],
    }


def _leave_on_signals(tap: Tap) -> None:
    def leave(_number: int, _frame: FrameType | None) -> None:
        tap.leave()

    signal.signal(signal.SIGINT, leave)
    signal.signal(signal.SIGTERM, leave)
