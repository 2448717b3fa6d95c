"""`zconform report`: build a static site from results and, with --spark, tables of all runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from zenoh_conformance.judging.verdict import Exit
from zenoh_harness.console import PathOrUri, Shell, Uri, out_option, shell_options, spark_options
from zenoh_harness.errors import HarnessError, UsageError
from zenoh_harness.files.writable import check_folders
from zenoh_reports.pages import folder
from zenoh_reports.plain import documents, runs

if TYPE_CHECKING:
    from zenoh_reports.pages.site import Report


@click.command("report")
@click.argument("results", nargs=-1, type=PathOrUri(exists=True, path_type=Path))
@out_option("site", "Folder for the site.")
@click.option(
    "--since",
    type=click.Path(exists=True, path_type=Path),
    metavar="REPORT",
    help="Earlier report to compare with: its folder or its report.json.",
)
@click.option("--check", is_flag=True, help="Only check that RESULTS are complete submissions.")
@click.option("--seal", is_flag=True, help="Write digests and the in-toto statement into the submissions in RESULTS.")
@click.option("--url", default="", metavar="URL", help="Address of the published site, for the text of its badges.")
@click.option("--local-paths", is_flag=True, help="Keep the folders of this machine in commands and target strings.")
@click.option("--parquet", is_flag=True, help="Also write the tables as Parquet.")
@click.option("--force", is_flag=True, help="Write into a folder that contains other files; they stay.")
@click.option("--spark", "with_spark", is_flag=True, help="Also keep tables of all results and campaigns, with Spark.")
@spark_options
@click.option(
    "--tables",
    default="tables",
    show_default=True,
    metavar="FOLDER|URI",
    type=PathOrUri(),
    help="Folder for the kept tables.",
)
@click.option("--compact", is_flag=True, help="Merge the commits of the kept tables, with or without new RESULTS.")
@shell_options()
def command(
    shell: Shell,
    results: Sequence[Path | Uri],
    out: Path,
    since: Path | None,
    check: bool,
    seal: bool,
    url: str,
    local_paths: bool,
    parquet: bool,
    force: bool,
    with_spark: bool,
    master: str | None,
    conf: Sequence[str],
    tables: str | Uri,
    compact: bool,
) -> None:
    """Build a static site from results.

    RESULTS are results.jsonl files, folders that contain them, and JSON documents: what `probe`, `learn --format json`,
    campaigns and audits write.

    A URI such as s3a://bucket/nightly is read by Spark into the tables, and has no place on the site.

    \b
    Example:
      zconform report out/conform --out site
      zconform report results/ probe.json learned.json --since last/report.json --out site
      zconform report nightly/ --spark --tables tables      also keeps matrix, history and flake rates
    Exit codes: 0 the site is written, 1 a submission is incomplete (with --check), 2 usage, 3 some results could not be
    read, and the site names them, 4 nothing was judged in any results.
    """
    try:
        here = [place for place in results if isinstance(place, Path)]
        if seal:
            seal_submissions(here)
        if check or seal:
            code = check_submissions(shell, here)
        else:
            engine = Engine(master, settings(conf), tables, compact=compact) if with_spark or master or conf else None
            check_request(results, engine, compact=compact)
            check_folders(None if engine is None or isinstance(tables, Uri) else Path(tables))
            code = int(Exit.CONFORMING)
            if here:
                folder.check(out, force=force)
                report = read_report(here, since, url=url, local_paths=local_paths)
                code = write_site(shell, report, out, parquet=parquet, force=force)
            if engine is not None:
                keep(shell, results, engine)
    except HarnessError as why:
        click.echo(f"zconform: {why}", err=True)
        code = why.exit_code
    click.get_current_context().exit(code)


@dataclass(frozen=True, slots=True)
class Engine:
    """What Spark is asked for."""

    master: str | None
    settings: Mapping[str, str]
    tables: str
    compact: bool


def settings(conf: Sequence[str]) -> dict[str, str]:
    """The settings of `--conf`. Raises UsageError."""
    from zenoh_reports.spark import settings_of

    return settings_of(conf)


def check_request(results: Sequence[Path | Uri], engine: Engine | None, *, compact: bool) -> None:
    """Raise UsageError for results that nothing reads."""
    if not results and not compact:
        raise UsageError("no results are named", step="report", hint="name results.jsonl files or folders with them")
    if engine is None and (compact or any(isinstance(place, Uri) for place in results)):
        raise UsageError("only Spark reads a URI and compacts tables", step="report", hint="add --spark")


def read_report(results: Sequence[Path], since: Path | None, *, url: str, local_paths: bool) -> Report:
    """Read what the pages are made of. Raises UsageError and FileFault."""
    from zenoh_reports.pages.site import Report

    before = read_earlier(since)
    others = documents.found(results)
    files = [file for file in results if not holds_documents_alone(file)]
    read, unread = runs.load(runs.found(files) if files else [], local_paths=local_paths)
    return Report(read, unread, documents.load(others), before, url=url)


def write_site(shell: Shell, report: Report, out: Path, *, parquet: bool, force: bool) -> int:
    """Build and write the site; return the exit code."""
    from zenoh_reports.pages.build import build

    site = build(report, parquet=parquet)
    folder.write(out, site, force=force)
    read, unread = report.runs, report.unread
    for one in unread:
        click.echo(f"zconform: {runs.shown(one.file)}: {runs.shown(one.why, 300)}", err=True)
    page = out / "index.html"
    if shell.as_json:
        unreadable = [{"file": runs.shown(one.file), "why": runs.shown(one.why, 300)} for one in unread]
        shell.print_json({"runs": len(read), "files": len(site), "index": str(page), "unread": unreadable})
    elif not shell.quiet:
        click.echo(f"{len(read):,} run{'s' * (len(read) != 1)}, {len(site):,} files: {page}")
    if unread:
        return int(Exit.CANNOT_GO_ON)
    return int(Exit.CONFORMING if any(map(runs.judged, read)) or not read else Exit.NOTHING_JUDGED)


def keep(shell: Shell, results: Sequence[Path | Uri], engine: Engine) -> None:
    """Add results and campaigns to the kept tables, and update what is derived from them. Raises CannotGoOn."""
    from zenoh_reports.spark import session

    with session("zenoh-report", engine.master, engine.settings, quiet=not shell.verbose) as spark:
        from zenoh_reports.pipeline import campaigns, job, remote
        from zenoh_reports.pipeline.progress import progress
        from zenoh_reports.pipeline.store import Store

        here = [place for place in results if isinstance(place, Path)]
        there = [place for place in results if isinstance(place, Uri)]
        places = [place for place in here if not holds_documents_alone(place)]
        files = [str(file.resolve()) for file in runs.found(places)] if places else []
        files += remote.list_files(spark, there, remote.OF_RESULTS) if there else []
        store = Store(engine.tables)
        with progress(spark) as step:
            said = [str(job.report(spark, files, store.folder, step))] if files else []
            step("campaigns")
            count = campaigns.keep(spark, [place for place in here if place.is_dir()], store)
            said += [f"{count} campaigns"] if count else []
            if engine.compact:
                step("compact")
                said.append(f"{job.compact(spark, store)} commits merged")
        click.echo(", ".join(said) or "no results", err=shell.as_json)


def holds_documents_alone(place: Path) -> bool:
    """Whether a file is a document, or a folder contains documents and no results."""
    if place.is_dir():
        return next(place.rglob(runs.RESULTS), None) is None and bool(documents.found([place]))
    return place.suffix == ".json" or place.name == documents.FINDINGS


def read_earlier(since: Path | None) -> dict[str, Any] | None:
    """Read the `report.json` of an earlier report. Raises UsageError if it is not one."""
    if since is None:
        return None
    file = since / "report.json" if since.is_dir() else since
    document = documents.read(file)
    if "report" not in document:
        raise UsageError(f"{file} is not a report.json", step="--since", hint="name the folder of an earlier report")
    return document


def seal_submissions(results: Sequence[Path]) -> None:
    """Write the digests and the statement of each submission."""
    from zenoh_reports.submission import seal

    for file in runs.found(results):
        seal(file.parent)


def check_submissions(shell: Shell, results: Sequence[Path]) -> int:
    """Print what the submissions lack; return the exit code."""
    from zenoh_reports.submission import faults

    lines = [runs.shown(fault, 500) for file in runs.found(results) for fault in faults(file.parent)]
    total = f"{len(lines)} fault{'s' * (len(lines) > 1)}" if lines else "complete"
    shell.show({"complete": not lines, "faults": lines}, [*lines, total])
    return int(Exit.NOT_CONFORMING if lines else Exit.CONFORMING)
