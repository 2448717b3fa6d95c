"""`zconform report`: results through Spark into tables and a page."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from zenoh_conformance.requirement import requirements
from zenoh_conformance.verdict import Exit
from zenoh_harness.files.results import Results, read

from .pages.site import Run, write
from .spark import session


@click.command("report")
@click.argument("results", nargs=-1, required=True, type=click.Path(exists=True, path_type=Path))
@click.option(
    "--out",
    "out",
    default=Path("report"),
    show_default=True,
    type=click.Path(path_type=Path),
    help="Where tables and page go.",
)
def command(results: Sequence[Path], out: Path) -> None:
    """Make tables and a page from RESULTS: results.jsonl files, or folders that hold them.

    \b
    Example:
      zconform report out/conform/results.jsonl --out report
    """
    files = found(results)
    runs = [run_of(read(file)) for file in files]
    rows = tables([str(file) for file in files], out)
    page = write(out, runs, rows)
    click.echo(f"{len(files)} results, {len(rows)} rows of requirement by target: {page}")
    sys.exit(Exit.CONFORMING)


def found(places: Sequence[Path]) -> list[Path]:
    """Every results file that the arguments name, sorted. Raises UsageError for a folder without any."""
    files: list[Path] = []
    for place in places:
        inside = sorted(place.rglob("results.jsonl")) if place.is_dir() else [place]
        if not inside:
            raise click.UsageError(f"{place} holds no results.jsonl")
        files += inside
    return files


def run_of(results: Results) -> Run:
    """What a results file says of itself."""
    header, footer = results.header, results.footer
    why = ""
    if not results.complete:
        reason = footer.why if footer and footer.why else "it was ended before it could say why"
        why = f"{reason}; {len(results.pending)} checks were pending"
    return Run(
        reach=header.reach, name=header.name, version=header.version, complete=results.complete, why=why,
        embargoed=footer.embargoed if footer else 0,
    )  # fmt: skip


def tables(files: Sequence[str], out: Path) -> list[dict[str, Any]]:
    """Both tables as Parquet under `out`, and the rows of requirement by target."""
    with session() as spark:
        from .pipeline.coverage import by_requirement, requirement_rows
        from .pipeline.judgements import judgements

        judged = judgements(spark, files).cache()
        coverage = by_requirement(judged, requirement_rows(spark, requirements().values())).cache()
        for name, table in (("judgements", judged), ("requirement_by_target", coverage)):
            table.coalesce(1).write.mode("overwrite").parquet(str((out / "tables" / name).resolve()))
        rows = [row.asDict() for row in coverage.collect()]
    (out / "requirement_by_target.json").write_text(json.dumps(rows, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    return rows
