"""`zconform audit`: judge captured or recorded traffic by the laws, without a target."""

from __future__ import annotations

from collections.abc import Iterator
from fnmatch import fnmatchcase
from importlib.metadata import entry_points
from itertools import groupby
from pathlib import Path
from typing import Any, Final

import click

from zenoh_conformance.judging.law import Law, all_laws
from zenoh_conformance.judging.verdict import Exit
from zenoh_harness.auditing import AuditedFile, excuse, judge_file, write_evidence
from zenoh_harness.commands import _completing as completing
from zenoh_harness.commands._known import known_option
from zenoh_harness.commands._options import Command
from zenoh_harness.console import PathOrUri, Shell, Uri, plain, shell_options, spark_options
from zenoh_harness.errors import CannotGoOn, UsageError, unknown
from zenoh_harness.files import known as deviations
from zenoh_harness.files.audits import Charge
from zenoh_harness.run import known_deviations
from zenoh_harness.run.store import embargo

AT_SCALE = "zenoh_conformance.audits"
"""Entry-point group in which higher packages register other ways to audit captures."""
SHOWN = 5
"""Findings of one node and law that are printed; the rest is counted."""
EXIT_ORDER: Final = (Exit.CANNOT_GO_ON, Exit.NOT_CONFORMING, Exit.CONFORMING, Exit.NOTHING_JUDGED)
"""If several files are audited, the first of these codes that occurs is the exit code."""


def audit_options(function: Command) -> Command:
    """Add the options of `audit` and `laws judge`."""
    for decorate in (
        shell_options(),
        click.option("--strict", is_flag=True, help="Count warnings as findings."),
        click.option("--version", "version", metavar="VERSION", default="", help="Version of the nodes, for --known."),
        known_option,
        click.option(
            "--out", type=click.Path(path_type=Path, file_okay=False), help="Folder for findings and evidence."
        ),
        click.option(
            "--port",
            "ports",
            type=click.IntRange(1, 65535),
            multiple=True,
            help="A Zenoh port besides 7446 and 7447; repeatable.",
        ),
        click.option(
            "--law",
            "patterns",
            metavar="GLOB",
            multiple=True,
            shell_complete=completing.laws,
            help="Apply only the laws whose id matches; repeatable.",
        ),
    ):
        function = decorate(function)
    return function


@click.command()
@click.argument("files", metavar="CAPTURE|CONVERSATION...", nargs=-1, type=PathOrUri(path_type=Path))
@audit_options
@click.option(
    "--spark", "with_spark", is_flag=True, help="Audit on Spark, for captures of any size; write tables and a page."
)
@spark_options
@click.option(
    "--follow",
    metavar="DIR",
    type=click.Path(path_type=Path),
    help="Audit captures as they arrive in this folder; implies --spark.",
)
@click.option("--once", is_flag=True, help="With --follow: audit what has arrived so far, then exit.")
def command(
    shell: Shell,
    files: tuple[Path | Uri, ...],
    with_spark: bool,
    master: str | None,
    conf: tuple[str, ...],
    follow: Path | None,
    once: bool,
    **options: Any,
) -> int:
    """Judge captured or recorded traffic by the laws.

    A CAPTURE is a pcap or pcapng file, a CONVERSATION a file that the tap or a run recorded. TCP streams are reassembled;
    UDP, multicast and scouting are read; a capture may begin in the middle of a session. TLS and QUIC are only counted.

    \b
    Example:  zconform audit lo.pcapng
              zconform audit --out found lo.pcapng      writes each faulty connection as a capture of its own
              zconform audit --spark captures/          uses all cores, or a cluster
              zconform audit --follow arriving/ --once  reads what has arrived since the last call
    Exit codes: 0 no findings, 1 a node broke a law, 2 usage, 3 a capture is damaged and was read in part,
    4 nothing was judged.
    """
    if with_spark or master or conf or follow or once:
        return _at_scale(shell, files, master=master, conf=conf, follow=follow, once=once, **options)
    if not files:
        raise UsageError("no file is named", step="audit", hint="name captures, or a folder with --follow")
    here = tuple(file for file in files if isinstance(file, Path))
    if len(here) < len(files):
        raise UsageError("only Spark reads a URI", step="audit", hint="add --spark")
    return audit(shell, here, **options)


def _at_scale(
    shell: Shell, files: tuple[Path | Uri, ...], *, ports: tuple[int, ...], out: Path | None, **options: Any
) -> int:
    """Audit on Spark. Raises CannotGoOn if the package that does it is not installed."""
    unsupported = [options.pop(name) for name in ("known", "patterns", "strict", "version")]
    if any(unsupported):
        raise UsageError(
            "--known, --law, --strict and --version cannot be used on Spark",
            step="audit --spark",
            hint="leave them out, or leave out --spark, --master and --follow",
        )
    plugins = entry_points(group=AT_SCALE, name="spark")
    if not plugins:
        raise CannotGoOn(
            "the audit on Spark is not installed", step="audit --spark", hint="pip install 'zenoh-conformance[spark]'"
        )

    def say(line: str) -> None:
        shell.out.print(plain(line), soft_wrap=True)

    return int(next(iter(plugins)).load()(files, out=out, ports=ports, as_json=shell.as_json, say=say, **options))


def audit(
    shell: Shell,
    files: tuple[Path, ...],
    *,
    ports: tuple[int, ...],
    out: Path | None,
    known: tuple[Path, ...],
    version: str,
    strict: bool,
    patterns: tuple[str, ...],
) -> int:
    """Judge the files by the laws, write and print the findings; return the exit code."""
    laws = _laws(patterns)
    listed = deviations.load(known, kind=known_deviations.CAPTURE)
    sources = []
    with shell.progress(len(files), "audit") as advance:
        for path in files:

            def note(read: int, name: str = path.name) -> None:
                advance(0, f"{read:,} packets of {name}")

            source = judge_file(path, laws=laws, ports=ports, note=note)
            excuse(source, listed, version)
            source.secret = embargo.kept_back(path, source.conversation)
            sources.append(source)
            advance(1, path.name)
    if out is not None:
        write_evidence(sources, out)
    shell.show([source.as_json() for source in sources], (line for source in sources for line in summary(source)))
    return int(min((source.code(strict=strict) for source in sources), key=EXIT_ORDER.index))


def _laws(patterns: tuple[str, ...]) -> list[type[Law]]:
    every = all_laws()
    for pattern in patterns:
        if not any(fnmatchcase(name, pattern) for name in every):
            raise unknown("law", pattern, every, step="choose the laws")
    return [law for name, law in every.items() if not patterns or any(fnmatchcase(name, one) for one in patterns)]


def summary(source: AuditedFile) -> Iterator[str]:
    """Yield the findings in a file by node and law, as lines of text."""
    packets = f"{source.read} packets, " if source.capture is not None else ""
    of = source.conversation.connections
    yield f"{source.path}: {packets}{len(of)} connections, {len(source.audit.nodes)} nodes, {source.audit.messages} messages"
    yield from (f"  also in the file: {count} {traffic}" for traffic, count in sorted(source.counted.items()))

    def by(charge: Charge) -> tuple[str, str]:
        return charge.node, charge.law

    for (node, law), group in groupby(sorted(source.audit.charges, key=by), key=by):
        yield from _charges(source, node, law, list(group))
    judged = sum(1 for count in source.audit.subjects.values() if count)
    excused = f", {len(source.listed)} known" if source.listed else ""
    found = {charge.connection for charge in source.audit.charges}
    if 0 < len(source.evidence) < len(found):
        yield f"\nevidence was written of {len(source.evidence)} of the {len(found)} connections with findings"
    if source.secret:
        yield "\nThese findings are under embargo: they are printed here, and --out does not write them."
    yield f"{judged} laws had something to judge; {len(source.open) or 'no'} findings{excused}"


def _charges(source: AuditedFile, node: str, law: str, group: list[Charge]) -> Iterator[str]:
    first = group[0]
    word = "known" if first in source.listed else first.verdict.value
    yield f"\n{word:<5} {first.requirement}  ({law})"
    yield f"      {node}  {', '.join(sorted({f'{each.role} {each.address}' for each in group}))}: {len(group)} times"
    for charge in group[:SHOWN]:
        where = f"packet {charge.packet}" if charge.packet else f"{charge.time:.6f} s"
        yield f"      {where}, {charge.connection}: {charge.cause}"
        if charge.data:
            place = f"at byte {charge.at} of its FRAME: " if charge.at else ""
            yield f"        {place}{charge.data.hex(' ')}"
    if len(group) > SHOWN:
        yield f"      and {len(group) - SHOWN} more"
    for connection in dict.fromkeys(charge.connection for charge in group):
        if connection in source.evidence:
            yield f"      evidence: {source.evidence[connection]}"
