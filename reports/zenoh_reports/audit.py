"""`zconform audit --spark`: audits any number of captures, or captures as they arrive."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from zenoh_conformance.judging.verdict import Exit
from zenoh_harness.console import Uri
from zenoh_harness.errors import CannotGoOn, UsageError

from .plain import captures as plain
from .plain.captures import AuditTables
from .plain.packets import captures as capture_files
from .plain.traffic import BROKEN
from .spark import session, settings_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

OUT = Path("audit")
"""Default folder for tables and page."""
SHOWN = 20
"""Lines of each list that are printed."""


def at_scale(
    places: Sequence[Path | Uri],
    *,
    out: Path | None,
    ports: Sequence[int],
    master: str | None,
    conf: Sequence[str] = (),
    follow: Path | None,
    once: bool,
    as_json: bool,
    say: Callable[[str], object],
) -> Exit:
    """Audit captures on Spark, or those that arrive in a folder; return the exit code. Raises UsageError, CannotGoOn."""
    out = (out or OUT).resolve()
    if (follow is None) == (not places) or (once and follow is None):
        raise UsageError("name either captures or a folder with --follow", step="audit", hint="--once needs --follow")
    if follow is not None and not follow.is_dir():
        raise UsageError(
            f"{follow} is not a folder of this machine",
            step="audit --follow",
            hint="name the folder in which captures arrive; mount a store, or audit its URIs as they are",
        )
    with session("zenoh-audit", master, settings_of(conf), quiet=True) as spark:
        if follow is not None:
            return _follow(spark, follow, out, ports, once=once, say=say)
        audit = _on_spark(spark, places, out, ports)
    _write(audit, out)
    say(json.dumps(asdict(audit), indent=1) if as_json else text(audit, out))
    return exit_of(audit)


def _on_spark(spark: SparkSession, places: Sequence[Path | Uri], out: Path, ports: Sequence[int]) -> AuditTables:
    from .pipeline import remote
    from .pipeline.captures import audit
    from .pipeline.progress import progress

    here = [place for place in places if isinstance(place, Path)]
    there = [place for place in places if isinstance(place, Uri)]
    if here and there:
        raise UsageError(
            "captures of this machine and of a store are not one audit", step="audit", hint="name URIs alone"
        )
    files = [str(Path(file).resolve()) for file in capture_files(here)]
    files += remote.list_files(spark, there, remote.CAPTURES) if there else []
    if not files:
        raise UsageError("no capture was found", step="audit", hint="name pcap or pcapng files, or folders with them")
    with progress(spark) as step:
        return audit(spark, files, out / "tables", ports, step)


def _follow(
    spark: SparkSession, folder: Path, out: Path, ports: Sequence[int], *, once: bool, say: Callable[[str], object]
) -> Exit:
    from .pipeline.follow import follow

    return follow(spark, folder.resolve(), out, ports, once=once, say=say)


def exit_of(audit: AuditTables) -> Exit:
    """Return 0; 1 if a MUST was broken; 3 if a capture is damaged or none was read completely; 4 if nothing was judged."""
    broken = {row.what.partition(":")[0] for row in audit.left_out} & {*BROKEN.values()}
    if BROKEN["damaged"] in broken or (broken and not audit.subjects):
        return Exit.CANNOT_GO_ON
    if any(row.verdict == "fail" for row in audit.findings):
        return Exit.NOT_CONFORMING
    return Exit.CONFORMING if audit.subjects else Exit.NOTHING_JUDGED


def text(audit: AuditTables, out: Path) -> str:
    """Return the summary for a terminal."""
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
    beside = [row for row in audit.left_out if row.what != plain.PACKETS]
    beside.sort(
        key=lambda row: row.what.partition(":")[0] not in BROKEN.values()
    )  # files that were not read to their end come first
    lines += [f"  {row.amount} {row.what}" for row in beside[:SHOWN]]
    if len(beside) > SHOWN:
        lines.append(f"  and {len(beside) - SHOWN} more on the page")
    said = (
        f"{len(audit.findings)} findings"
        if audit.findings
        else "no finding"
        if audit.subjects
        else "nothing was judged"
    )
    return "\n".join([*lines, f"{said}: {out / 'index.html'}"])


def when(time: int) -> str:
    """Format a time in nanoseconds since 1970 in UTC."""
    return datetime.fromtimestamp(time / 1e9, UTC).strftime("%Y-%m-%d %H:%M:%S")


def _write(audit: AuditTables, out: Path) -> None:
    """Write the page, and `audit.json` with the same data."""
    from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape

    paths = {row.file: Path(row.path).name for row in audit.captures}
    environment = Environment(
        loader=PackageLoader("zenoh_reports.pages"),
        autoescape=select_autoescape(default=True),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters.update(when=when, capture=lambda file: paths.get(file, "?"))
    try:
        out.mkdir(parents=True, exist_ok=True)
        (out / "index.html").write_text(environment.get_template("audit.html").render(audit=audit), encoding="utf-8")
        (out / "audit.json").write_text(json.dumps(asdict(audit), indent=1) + "\n", encoding="utf-8")
    except OSError as why:
        raise CannotGoOn(
            f"cannot write the page: {why}", step="audit", hint="free some space, or name another folder with --out"
        ) from why
