"""`zconform report`: results to a site in plain Python, and to kept tables through Spark where that is asked for."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from zenoh_conformance.verdict import Exit
from zenoh_harness.console import Shell, shell_options
from zenoh_harness.errors import HarnessError, UsageError
from zenoh_harness.files.places import check_folders
from zenoh_reports.pages import folder
from zenoh_reports.plain import documents, runs

OUT = Path("site")
TABLES = Path("tables")


@click.command("report")
@click.argument("results", nargs=-1, required=True, type=click.Path(exists=True, path_type=Path))
@click.option(
    "--out",
    default=OUT,
    show_default=True,
    type=click.Path(path_type=Path, file_okay=False),
    help="Where the site goes.",
)
@click.option(
    "--since", type=click.Path(exists=True, path_type=Path), metavar="REPORT",
    help="The report before this one: its folder or report.json.",
)  # fmt: skip
@click.option("--check", is_flag=True, help="Check that RESULTS are complete submissions, and write nothing.")
@click.option("--seal", is_flag=True, help="Write digests and the in-toto statement into the submissions in RESULTS.")
@click.option("--parquet", is_flag=True, help="Write the tables as Parquet too.")
@click.option("--force", is_flag=True, help="Write into a folder that holds other files, beside them.")
@click.option(
    "--spark", "with_spark", is_flag=True, help="Keep tables of all RESULTS and campaigns too, through Spark."
)
@click.option(
    "--master", metavar="URL", help="The engine: local[*], spark://HOST:PORT, sc://HOST:PORT; asks for --spark."
)
@click.option(
    "--tables", default=TABLES, show_default=True, type=click.Path(path_type=Path, file_okay=False), help="Where they are kept.",
)  # fmt: skip
@shell_options()
def command(
    shell: Shell, results: Sequence[Path], out: Path, since: Path | None, check: bool, seal: bool, parquet: bool, force: bool,
    with_spark: bool, master: str | None, tables: Path,
) -> None:  # fmt: skip
    """Make a static site from RESULTS: results.jsonl files, folders that hold them, and JSON documents.

    \b
    Example:
      zconform report out/conform --out site
      zconform report results/ probe.json learned.json --since last/report.json --out site
      zconform report nightly/ --spark --tables tables      matrix, history and flake rates of all nights
    Documents are what `probe`, `learn --format json`, campaigns and audits write. Exit codes: 0 the site stands, 2 usage,
    3 some results could not be read and the site says so, 4 nothing was judged in any of them; with --check 1 for what is missing.
    """
    try:
        if seal:
            sealed(results)
        if check or seal:
            code = checked(shell, results)
        else:
            check_folders(tables if with_spark or master else None)
            code = made(shell, results, out, since, parquet=parquet, force=force)
            if with_spark or master:
                keep(shell, results, tables, master)
    except HarnessError as why:
        click.echo(f"zconform: {why}", err=True)
        code = why.exit_code
    click.get_current_context().exit(code)


def made(shell: Shell, results: Sequence[Path], out: Path, since: Path | None, *, parquet: bool, force: bool) -> int:
    """Build and write the site; the exit code."""
    from zenoh_reports.pages.build import build
    from zenoh_reports.pages.site import Report

    before = earlier(since)
    folder.check(out, force=force)
    others = documents.found(results)
    files = [
        file
        for file in results
        if file.suffix != ".json" and not (file.is_dir() and others and not holds_results(file))
    ]
    read, unread = runs.load(runs.found(files) if files else [])
    report = Report(read, unread, documents.load(others), before)
    site = build(report, parquet=parquet)
    folder.write(out, site, force=force)
    for one in unread:
        click.echo(f"zconform: {runs.shown(one.file)}: {runs.shown(one.why, 300)}", err=True)
    page = out / "index.html"
    if shell.as_json:
        beside = [{"file": runs.shown(one.file), "why": runs.shown(one.why, 300)} for one in unread]
        shell.print_json({"runs": len(read), "files": len(site), "index": str(page), "unread": beside})
    elif not shell.quiet:
        click.echo(f"{len(read):,} run{'s' * (len(read) != 1)}, {len(site):,} files: {page}")
    if unread:
        return int(Exit.CANNOT_GO_ON)
    return int(Exit.CONFORMING if any(runs.judged(run) for run in read) or not files else Exit.NOTHING_JUDGED)


def keep(shell: Shell, results: Sequence[Path], folder: Path, master: str | None) -> None:
    """Results and campaigns into the kept tables, and what follows from them. Raises CannotGoOn."""
    from zenoh_reports.spark import LOCAL, session

    with session("zenoh-report", master or LOCAL) as spark:
        from zenoh_reports.pipeline import campaigns
        from zenoh_reports.pipeline.job import report
        from zenoh_reports.pipeline.progress import progress
        from zenoh_reports.pipeline.store import Store

        files = [str(file.resolve()) for file in runs.found([place for place in results if place.suffix != ".json"])]
        with progress(spark) as step:
            text = str(report(spark, files, folder.resolve(), step))
            step("campaigns")
            count = campaigns.keep(spark, [place for place in results if place.is_dir()], Store(folder.resolve()))
        click.echo(text + (f", {count} campaigns" if count else ""), err=shell.as_json)


def holds_results(folder: Path) -> bool:
    """Whether there are results in a folder: one may hold documents only."""
    return next(folder.rglob(runs.RESULTS), None) is not None


def earlier(since: Path | None) -> dict[str, Any] | None:
    """The `report.json` of an earlier report. Raises UsageError for what is none."""
    if since is None:
        return None
    file = since / "report.json" if since.is_dir() else since
    document = documents.read(file)
    if "report" not in document:
        raise UsageError(
            f"{file} is no report.json", step="--since", hint="name the folder that an earlier report wrote"
        )
    return document


def sealed(results: Sequence[Path]) -> None:
    """Write digests and statements."""
    from zenoh_reports.submission import seal

    for file in runs.found(results):
        seal(file.parent)


def checked(shell: Shell, results: Sequence[Path]) -> int:
    """Say what a submission lacks; the exit code."""
    from zenoh_reports.submission import faults

    text = [fault for file in runs.found(results) for fault in faults(file.parent)]
    if shell.as_json:
        shell.print_json({"complete": not text, "faults": [runs.shown(line, 500) for line in text]})
    for line in (
        ()
        if shell.as_json
        else (
            *(runs.shown(line, 500) for line in text),
            f"{len(text)} fault{'s' * (len(text) > 1)}" if text else "complete",
        )
    ):
        click.echo(line)
    return int(Exit.NOT_CONFORMING if text else Exit.CONFORMING)
