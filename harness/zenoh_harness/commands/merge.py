"""`zconform merge`: the results of a run's shards as one."""

from __future__ import annotations

from pathlib import Path

import click

from zenoh_harness.console import Shell, shell_options
from zenoh_harness.errors import UsageError
from zenoh_harness.files import junit as files_junit
from zenoh_harness.files import merging, results
from zenoh_harness.files import sarif as files_sarif
from zenoh_harness.files.places import check_files
from zenoh_harness.run import summary
from zenoh_harness.run.folder import claimed
from zenoh_harness.run.runner import RESULTS, Ran


@click.command()
@click.argument(
    "folders",
    nargs=-1,
    required=True,
    metavar="RESULTS...",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
)
@click.option("--out", required=True, type=click.Path(path_type=Path, file_okay=False), help="Where to.")
@click.option("--junit", type=click.Path(path_type=Path, dir_okay=False), help="Write JUnit XML to this file too.")
@click.option("--sarif", type=click.Path(path_type=Path, dir_okay=False), help="Write SARIF to this file too.")
@click.option("--strict", is_flag=True, help="`warn` and `slow` count as deviations too.")
@shell_options()
def command(
    shell: Shell, folders: tuple[Path, ...], out: Path, junit: Path | None, sarif: Path | None, strict: bool
) -> int:
    """Make one results folder of the RESULTS folders of one target's shards; of what several judged the worst counts.

    \b
    Example:  zconform merge shard-1 shard-2 shard-3 --out whole
    Exit codes as those of `run`, for all of it together.
    """
    check_files(junit, sarif)
    if any(folder.resolve() == out.resolve() for folder in folders):
        raise UsageError(f"{out} is one of the folders that are read", step="--out", hint="--out OTHER")
    parts = [(folder, results.read(folder / RESULTS)) for folder in folders]
    merging.same_target(parts)
    with claimed(out):
        made = merging.merge(parts, merging.worst, out, strict=strict)
    assert made.footer is not None
    ran = Ran(header=made.header, judgements=tuple(made.judgements), footer=made.footer, out=out)
    if junit is not None:
        files_junit.write([made], junit, strict=strict)
    if sarif is not None:
        files_sarif.write([made], sarif)
    if shell.as_json:
        shell.print_json(summary.as_json(ran))
    elif not shell.quiet:
        summary.show(ran, shell.out, verbose=bool(shell.verbose))
    return int(ran.exit)
