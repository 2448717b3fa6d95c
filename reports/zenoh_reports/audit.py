"""`zconform audit`: which node in captured traffic breaks which rule, since when; in one process, on Spark, or as files arrive."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path

import click
from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape

from zenoh_conformance.verdict import Exit
from zenoh_harness.errors import CannotGoOn, UsageError

from .plain import captures as plain
from .plain.captures import Audit
from .plain.packets import captures as capture_files
from .spark import LOCAL, session

SHOWN = 20
"""Lines of each list on a terminal."""


@click.command("audit")
@click.argument("captures", nargs=-1, type=click.Path(exists=True, path_type=Path))
@click.option(
    "--out", default=Path("audit"), show_default=True, type=click.Path(path_type=Path), help="Tables and page."
)
@click.option("--port", "ports", multiple=True, type=click.IntRange(1, 65535), help="A port of Zenoh's beside its own.")
@click.option("--spark", "with_spark", is_flag=True, help="Judge on Spark, and keep the tables.")
@click.option("--master", default=None, help="The Spark engine: local[*], spark://HOST:PORT, sc://HOST:PORT.")
@click.option(
    "--follow", type=click.Path(exists=True, file_okay=False, path_type=Path), help="A folder where captures arrive."
)
@click.option("--once", is_flag=True, help="With --follow: judge what has arrived, and end; for cron.")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
def command(
    captures: Sequence[Path], out: Path, ports: Sequence[int], with_spark: bool, master: str | None, follow: Path | None,
    once: bool, form: str,
) -> None:  # fmt: skip
    """Judge CAPTURES (pcap, pcapng, also compressed; or folders of them) by the laws of the protocol.

    \b
    Examples:
      zconform audit monday.pcapng
      zconform audit captures/ --spark --out audit
      zconform audit --follow /var/captures --out audit --once
    """
    if (follow is None) == (not captures) or (once and follow is None):
        raise UsageError("name captures, or a folder with --follow", step="audit", hint="--once goes with --follow")
    if follow is not None:
        sys.exit(_follow(follow, out, ports, master or LOCAL, once=once))
    files = [str(Path(file).resolve()) for file in capture_files(captures)]
    if not files:
        raise UsageError("there is no capture in what was named", step="audit", hint="pcap and pcapng are read")
    audit = _on_spark(files, out, ports, master or LOCAL) if with_spark or master else plain.audit(files, ports)
    _write(audit, out)
    click.echo(json.dumps(asdict(audit), indent=1) if form == "json" else text(audit, out))
    sys.exit(exit_of(audit))


def _on_spark(files: Sequence[str], out: Path, ports: Sequence[int], master: str) -> Audit:
    with session("zenoh-audit", master) as spark:
        from .pipeline.captures import audit
        from .pipeline.progress import progress

        with progress(spark) as step:
            return audit(spark, files, out / "tables", ports, step)


def _follow(folder: Path, out: Path, ports: Sequence[int], master: str, *, once: bool) -> Exit:
    with session("zenoh-audit", master) as spark:
        from .pipeline.follow import follow

        return follow(spark, folder.resolve(), out.resolve(), ports, once=once, say=click.echo)


def exit_of(audit: Audit) -> Exit:
    """0, 1 where a MUST was broken, 3 where no capture could be read to its end, 4 where nothing was judged."""
    if any(row.verdict == "fail" for row in audit.findings):
        return Exit(1)
    if not audit.subjects:
        return (
            Exit.CANNOT_GO_ON if any(row.what.startswith("cut off") for row in audit.left_out) else Exit.NOTHING_JUDGED
        )
    return Exit.CONFORMING


def text(audit: Audit, out: Path) -> str:
    """What a terminal shows."""
    paths = {row.file: row.path for row in audit.captures}
    lines = [
        f"{audit.messages} messages in {audit.packets} packets of {len(audit.captures)} captures, {len(audit.nodes)} nodes"
    ]
    for row in audit.deviations[:SHOWN]:
        lines += [
            f"  {row.verdict}  {row.node} {row.zid}  {row.requirement}",
            f"        {row.findings} since {when(row.first)}, first in {Path(paths.get(row.file, '?')).name} packet {row.packet}",
            f"        {row.cause}",
        ]
    if len(audit.deviations) > SHOWN:
        lines.append(f"  and {len(audit.deviations) - SHOWN} more on the page")
    lines += [f"  {row.amount} {row.what}" for row in audit.left_out if row.what != plain.PACKETS][:SHOWN]
    said = (
        f"{len(audit.findings)} findings"
        if audit.findings
        else "no finding"
        if audit.subjects
        else "nothing was judged"
    )
    return "\n".join([*lines, f"{said}: {out / 'index.html'}"])


def when(time: int) -> str:
    """A time in nanoseconds since 1970 as people read it, in UTC."""
    return datetime.fromtimestamp(time / 1e9, UTC).strftime("%Y-%m-%d %H:%M:%S")


def _write(audit: Audit, out: Path) -> None:
    """The page, and the same as data."""
    paths = {row.file: Path(row.path).name for row in audit.captures}
    environment = Environment(
        loader=PackageLoader("zenoh_reports.pages"), autoescape=select_autoescape(default=True), undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True,
    )  # fmt: skip
    environment.filters.update(when=when, capture=lambda file: paths.get(file, "?"))
    try:
        out.mkdir(parents=True, exist_ok=True)
        (out / "index.html").write_text(environment.get_template("audit.html").render(audit=audit), encoding="utf-8")
        (out / "audit.json").write_text(json.dumps(asdict(audit), indent=1) + "\n", encoding="utf-8")
    except OSError as why:
        raise CannotGoOn(
            f"cannot write the page: {why}", step="audit", hint="make room, or name another --out"
        ) from why
