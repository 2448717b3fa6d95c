"""`zconform audit`: what nodes did wrong in a capture or a recording, without any target at hand."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fnmatch import fnmatchcase
from importlib.metadata import entry_points
from itertools import groupby
from pathlib import Path
from typing import Any, TypeVar

import click

from zenoh_conformance.law import Law, all_laws
from zenoh_conformance.verdict import Exit
from zenoh_harness.auditing import Source, excuse, judge_file, write_evidence
from zenoh_harness.commands import _completing as completing
from zenoh_harness.commands._known import known_option
from zenoh_harness.console import Shell, plain, shell_options
from zenoh_harness.errors import CannotGoOn, UsageError, unknown
from zenoh_harness.files import known as deviations
from zenoh_harness.files.audits import Charge
from zenoh_harness.run import embargo, lists

AT_SCALE = "zenoh_conformance.audits"
"""The entry-point group through which the packages above plug in other ways to judge captures."""
SHOWN = 5
"""Findings of one node and law that are shown; the rest is counted."""

Command = TypeVar("Command", bound=Callable[..., Any])


def audit_options(function: Command) -> Command:
    """The options of `audit` and `laws judge`."""
    for decorate in (
        shell_options(),
        click.option("--strict", is_flag=True, help="Warnings count as findings."),
        click.option("--version", "version", metavar="VERSION", default="", help="Of the nodes, for --known."),
        known_option,
        click.option(
            "--out", type=click.Path(path_type=Path, file_okay=False), help="Write findings and evidence there."
        ),
        click.option(
            "--port", "ports", type=click.IntRange(1, 65535), multiple=True, help="Zenoh's, beside 7446 and 7447."
        ),
        click.option(
            "--law", "patterns", metavar="GLOB", multiple=True, shell_complete=completing.laws, help="Only these laws."
        ),
    ):
        function = decorate(function)
    return function


@click.command()
@click.argument("files", metavar="CAPTURE|CONVERSATION...", nargs=-1, type=click.Path(path_type=Path))
@audit_options
@click.option(
    "--spark", "with_spark", is_flag=True, help="Judge captures of any size on Spark, and keep tables and a page."
)
@click.option(
    "--master", metavar="URL", help="The engine: local[*], spark://HOST:PORT, sc://HOST:PORT; asks for --spark."
)
@click.option(
    "--follow",
    metavar="DIR",
    type=click.Path(path_type=Path),
    help="Judge captures and take results as they arrive there.",
)
@click.option("--once", is_flag=True, help="With --follow: take what is there, and end.")
def command(
    shell: Shell,
    files: tuple[Path, ...],
    with_spark: bool,
    master: str | None,
    follow: Path | None,
    once: bool,
    **options: Any,
) -> int:
    """Hold the laws against what nodes said in a CAPTURE (pcap, pcapng) or a recorded CONVERSATION; one process reads it.

    \b
    Example:  zconform audit lo.pcapng
              zconform audit --out found lo.pcapng     with each connection at fault as a capture of its own
              zconform audit --spark captures/         many captures, or large ones, on all cores or a cluster
              zconform audit --follow arriving/ --once what has arrived since the last time; for cron
    TCP is put together; UDP, multicast and scouting are read; sessions may have begun before. TLS and QUIC are counted.
    Exit code 1 when a node is at fault, 3 when a capture is damaged and its rest was not read, 4 when there was nothing to judge.
    """
    if with_spark or master or follow or once:
        return _at_scale(shell, files, master=master, follow=follow, once=once, **options)
    if not files:
        raise UsageError("no capture is named", step="audit", hint="name captures, or a folder with --follow")
    return audit(shell, files, **options)


def _at_scale(
    shell: Shell, files: tuple[Path, ...], *, ports: tuple[int, ...], out: Path | None, **options: Any
) -> int:
    """Hand it to what reports plugs in. Raises CannotGoOn where that is not installed."""
    strange = [name for name in ("known", "patterns", "strict", "version") if options.pop(name, None)]
    if strange:
        raise UsageError("--known, --law, --strict and --version are of the small audit", step="audit --spark",
                         hint="leave them out, or judge the captures one by one")  # fmt: skip
    found = entry_points(group=AT_SCALE, name="spark")
    if not found:
        raise CannotGoOn(
            "what judges on Spark is not installed", step="audit --spark", hint="install zenoh-conformance[spark]"
        )
    judge = next(iter(found)).load()

    def say(line: str) -> None:
        shell.out.print(plain(line), soft_wrap=True)

    return int(judge(files, out=out, ports=ports, as_json=shell.as_json, say=say, **options))


def audit(
    shell: Shell, files: tuple[Path, ...], *, ports: tuple[int, ...], out: Path | None, known: tuple[Path, ...],
    version: str, strict: bool, patterns: tuple[str, ...],
) -> int:  # fmt: skip
    """Read, judge, excuse, write, print; the exit code."""
    laws = _laws(patterns)
    listed = deviations.load(known, kind=lists.CAPTURE)
    sources = []
    for path in files:
        source = judge_file(path, laws=laws, ports=ports)
        excuse(source, listed, version)
        source.secret = embargo.kept_back(path, source.conversation)
        sources.append(source)
    if out is not None:
        write_evidence(sources, out)
    if shell.as_json:
        shell.print_json([source.as_json() for source in sources])
    else:
        for source in sources:
            for line in told(source):
                shell.out.print(plain(line), soft_wrap=True)
    codes = {source.code(strict=strict) for source in sources}
    order = (Exit.CANNOT_GO_ON, Exit.NOT_CONFORMING, Exit.CONFORMING, Exit.NOTHING_JUDGED)
    return int(next(code for code in order if code in codes))


def _laws(patterns: tuple[str, ...]) -> list[type[Law]]:
    every = all_laws()
    for pattern in patterns:
        if not any(fnmatchcase(name, pattern) for name in every):
            raise unknown("law", pattern, every, step="choose the laws")
    return [law for name, law in every.items() if not patterns or any(fnmatchcase(name, one) for one in patterns)]


def told(source: Source) -> Iterator[str]:
    """What was found, by node and rule, in lines for people."""
    packets = f"{source.read} packets, " if source.packets is not None else ""
    of = source.conversation.connections
    yield f"{source.path}: {packets}{len(of)} connections, {len(source.audit.nodes)} nodes, {source.audit.messages} messages"
    for what, count in sorted(source.counted.items()):
        yield f"  beside it: {count} {what}"

    def by(charge: Charge) -> tuple[str, str]:
        return charge.node, charge.law

    for (node, law), group in groupby(sorted(source.audit.charges, key=by), key=by):
        yield from _charges(source, node, law, list(group))
    judged = sum(1 for count in source.audit.subjects.values() if count)
    bad = len(source.open)
    excused = f", {len(source.listed)} known" if source.listed else ""
    if source.secret:
        yield "\nunder embargo: told here, and --out writes nothing of it"
    yield f"{judged} laws had something to judge; " + (f"{bad} findings" if bad else "no findings") + excused


def _charges(source: Source, node: str, law: str, group: list[Charge]) -> Iterator[str]:
    first = group[0]
    word = "known" if first in source.listed else first.verdict.value
    yield f"\n{word:<5} {first.requirement}  ({law})"
    yield f"      {node}  {', '.join(sorted({f'{each.role} {each.address}' for each in group}))}: {len(group)} times"
    for charge in group[:SHOWN]:
        where = f"packet {charge.packet}" if charge.packet else f"{charge.time:.6f} s"
        yield f"      {where}, {charge.connection}: {charge.cause}"
        if charge.data:
            yield f"        {charge.data.hex(' ')}"
    if len(group) > SHOWN:
        yield f"      and {len(group) - SHOWN} more"
    for connection in dict.fromkeys(charge.connection for charge in group):
        if connection in source.evidence:
            yield f"      evidence: {source.evidence[connection]}"
