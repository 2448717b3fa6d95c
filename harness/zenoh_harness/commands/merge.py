"""`zconform merge`: merge the results of one target's shards."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from zenoh_harness.commands._exports import Exports, export_options
from zenoh_harness.commands._options import strict_option
from zenoh_harness.console import FOLDER, Shell, shell_options
from zenoh_harness.errors import CannotGoOn, UsageError
from zenoh_harness.files import merging, results
from zenoh_harness.files.labels import is_shard
from zenoh_harness.run.report import summary
from zenoh_harness.run.runner import RESULTS, Ran
from zenoh_harness.run.store.run_folder import claimed


@click.command()
@click.argument(
    "folders",
    nargs=-1,
    required=True,
    metavar="RESULTS...",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
)
@click.option("--out", required=True, type=FOLDER, help="Folder for the merged results.")
@export_options
@strict_option
@shell_options()
def command(shell: Shell, folders: tuple[Path, ...], out: Path, exports: Exports, strict: bool) -> int:
    """Merge the results of one target's shards.

    Writes one results folder from the RESULTS folders of all shards. If several shards judged a requirement, the worst verdict
    wins.

    \b
    Example:  zconform merge shard-1 shard-2 shard-3 --out whole
    Exit codes: as for `run`, for the merged results; 3 if a shard is missing.
    """
    exports.check()
    if any(folder.resolve() == out.resolve() for folder in folders):
        raise UsageError(f"{out} is also one of RESULTS", step="--out", hint="name another folder")
    parts = [(folder, results.read(folder / RESULTS)) for folder in folders]
    merging.same_target(parts)
    with claimed(out):
        made = merging.merge(parts, merging.worst, out, strict=strict)
    assert made.footer is not None
    missing = [label for label in made.footer.pending if is_shard(label)]
    ran = Ran(
        header=made.header,
        judgements=tuple(made.judgements),
        footer=made.footer,
        out=out,
        stopped=_missing(missing) if missing else None,
    )
    exports.write(shell, [(made, out / RESULTS)], strict=strict)
    shell.answer(
        lambda: summary.as_json(ran),
        lambda: None if shell.quiet else summary.show(ran, shell.out, verbose=bool(shell.verbose)),
    )
    if ran.stopped is not None:
        click.echo(f"zconform: {ran.stopped}", err=True)
    return int(ran.exit)


def _missing(shards: Sequence[str]) -> CannotGoOn:
    """Return the error that names the shards whose results were not given."""
    of = "its results" if len(shards) == 1 else "their results"
    return CannotGoOn(merging.missing_text(shards), step="merge", hint=f"merge {of} too; what is there was merged")
