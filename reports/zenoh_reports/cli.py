"""`zconform report`: results through Spark into tables and a page."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from zenoh_conformance.verdict import SEVERITY, Exit, Verdict
from zenoh_harness.files.results import Results, read

from .pages.site import Run, write
from .spark import LOCAL, session


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
@click.option(
    "--master", default=LOCAL, show_default=True, help="The Spark engine: local[*], spark://HOST:PORT, sc://HOST:PORT."
)
def command(results: Sequence[Path], out: Path, master: str) -> None:
    """Make tables and a page from RESULTS: results.jsonl files, or folders that hold them.

    \b
    Example:
      zconform report out/conform/results.jsonl --out report
    """
    files = found(results)
    runs = [run_of(read(file)) for file in files]
    rows = tables([str(file.resolve()) for file in files], out, master)
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


def tables(files: Sequence[str], out: Path, master: str = LOCAL) -> list[dict[str, Any]]:
    """All tables as Parquet under `out`, and the rows of requirement by target: of several profiles and kinds the worst."""
    with session(master=master) as spark:
        from .pipeline.job import MATRIX, report
        from .pipeline.progress import progress
        from .pipeline.store import Store

        with progress(spark) as step:
            click.echo(str(report(spark, files, out / "tables", step)))
        cells = [row.asDict() for row in Store(out / "tables").get(spark, MATRIX).collect()]
    cells.sort(key=lambda row: (row["target"], row["version"], row["requirement"], SEVERITY[Verdict(row["verdict"])]))
    rows = list({(row["target"], row["version"], row["requirement"]): row for row in cells}.values())
    (out / "requirement_by_target.json").write_text(json.dumps(rows, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    return rows
