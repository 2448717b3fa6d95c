"""`zconform fuzz`: run campaigns on codecs, and work with their findings."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import click

from zenoh_conformance.judging.verdict import Exit
from zenoh_harness.commands import _completing as completing
from zenoh_harness.console import Shell, Verbs, out_option, shell_options
from zenoh_harness.errors import CannotGoOn, UsageError, unknown
from zenoh_harness.files import campaigns
from zenoh_harness.files.campaigns import FindingRow
from zenoh_harness.files.writable import check_folders
from zenoh_harness.targets.lookup import find_checked
from zenoh_harness.targets.reach import Face
from zenoh_harness.version import harness_version

from .live.commands import live, seconds_of, seeds

OUT: Final = Path("fuzz-out")


def _oracles(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[str]:
    """Complete names of oracles."""
    from .oracle import names

    return completing.matching(names(), incomplete)


@click.group("fuzz", cls=Verbs)
def command() -> None:
    """Fuzz codecs and whole nodes, and work with the findings.

    \b
    Example:
      zconform fuzz codec decode --time 20s
      zconform fuzz live wheel:1.10.2 --time 10m
    """


command.add_command(live)
command.add_command(seeds)


def targets_option(function: Any) -> Any:
    """Add the option `--target`."""
    return click.option(
        "--target",
        "targets",
        multiple=True,
        metavar="TARGET",
        shell_complete=completing.targets,
        help="Codec to fuzz: lib:PATH, lib:zenoh-codec@VERSION or stdio:COMMAND; repeatable.",
    )(function)


@command.command("codec")
@click.argument("oracle", shell_complete=_oracles)
@targets_option
@click.option("--time", "duration", default="20s", show_default=True, help="Duration of the campaign: 20s, 5m or 1h.")
@click.option(
    "--cpu", is_flag=True, help="Count --time in CPU seconds of each worker: a busy machine tries as many inputs."
)
@click.option("--jobs", default=1, show_default=True, type=click.IntRange(1, 64), help="Workers that share the corpus.")
@click.option("--seed", default=1, show_default=True, help="Seed of the fuzzing engine.")
@click.option("--layer", "layers", multiple=True, help="Fuzz only inputs of this layer; repeatable. Default: all.")
@click.option(
    "--mutators",
    type=click.Choice(("structure", "bytes")),
    default="structure",
    show_default=True,
    help="Mutate messages by segment, or bytes as the engine does.",
)
@click.option(
    "--corpus",
    "corpora",
    multiple=True,
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Folder with additional seed inputs; repeatable.",
)
@click.option("--no-seeds", is_flag=True, help="Start without the golden vectors as seeds.")
@click.option("--no-merge", is_flag=True, help="Do not minimise the corpus at the end.")
@click.option(
    "--on",
    "engine",
    metavar="URL",
    help="Run on Spark: local[N], spark://HOST:PORT or sc://HOST:PORT, with --jobs parallel shards.",
)
@click.option(
    "--rounds",
    default=2,
    show_default=True,
    type=click.IntRange(1, 1000),
    help="With --on: how often the shards exchange inputs.",
)
@click.option("--no-behaviour", is_flag=True, help="Count only code edges as coverage, not behaviours of the target.")
@out_option(OUT, "Folder for the campaigns, one subfolder per oracle.")
@shell_options()
def codec(
    shell: Shell,
    oracle: str,
    targets: tuple[str, ...],
    duration: str,
    layers: tuple[str, ...],
    mutators: str,
    no_seeds: bool,
    no_merge: bool,
    no_behaviour: bool,
    engine: str | None,
    rounds: int,
    **options: Any,
) -> int:
    """Fuzz codecs with an oracle; continue after findings.

    ORACLE is a property that must hold for every input: decode, roundtrip, differential, keyexpr, explain, files or laws.

    \b
    Example:
      zconform fuzz codec differential --target lib:./mycodec.so --time 10m --jobs 2
    Exit codes: 0 no findings, 1 findings, 2 usage, 3 harness or target failed, 4 no input was run.
    """
    from zenoh_fuzz.campaign.campaign import Campaign, Order
    from zenoh_fuzz.worker.launcher import check_atheris

    from . import inputs
    from .oracle import kind_of

    if strange := [layer for layer in layers if layer not in inputs.LAYERS]:
        raise unknown("layer", strange[0], inputs.LAYERS, step="fuzz codec")
    kind, seconds = kind_of(oracle), seconds_of(duration)
    check_folders(options["out"])
    _check(oracle, targets)
    check_atheris()
    versions = _versions(shell, targets, coverage=True)
    order = Order(
        oracle=oracle,
        targets=targets,
        seconds=seconds,
        layers=layers,
        folder=options.pop("out"),
        structure=mutators == "structure",
        with_seeds=not no_seeds,
        merge=not no_merge,
        behaviour=not no_behaviour,
        **options,
    )
    clock = "CPU s for each worker" if order.cpu else "s"
    shell.note(f"{oracle}: {kind.promise}; {order.seconds:g} {clock}, into {order.folder / oracle}")
    if engine is None:
        campaign = Campaign(order, versions, _shower(shell))
        try:
            outcome = campaign.run()
        except KeyboardInterrupt:
            _tell(shell, order.folder / oracle, campaign.outcome)
            raise
    else:
        from . import on_spark

        with on_spark.engine(engine) as spark:
            outcome = on_spark.run(spark, order, versions, rounds=rounds, show=_shower(shell))
    _tell(shell, order.folder / oracle, outcome)
    return int(Exit.NOT_CONFORMING if outcome.findings else Exit.CONFORMING if outcome.inputs else Exit.NOTHING_JUDGED)


def _check(oracle: str, targets: Sequence[str]) -> None:
    """Raise UsageError for an unknown oracle or codec; nothing is built or started."""
    from .oracle import kind_of

    if kind_of(oracle).wants_targets and not any(text != "reference" for text in targets):
        raise UsageError(
            f"the oracle {oracle} compares codecs, and only the reference codec is named",
            step="fuzz",
            hint="--target lib:zenoh-codec@1.10.2, or lib: and stdio: with your codec",
        )
    for text in targets:
        if Face.CODEC not in find_checked(text).faces:
            raise UsageError(
                f"{text} is not a codec", step="--target", hint="lib:PATH, lib:zenoh-codec@VERSION, stdio:COMMAND"
            )


def _versions(shell: Shell, targets: Sequence[str], *, coverage: bool) -> dict[str, str]:
    """Return the versions of all codecs. Builds what must be built; raises for a codec that is not available."""
    from zenoh_fuzz.compare.targets import identities, library_of
    from zenoh_fuzz.worker.launcher import environment, preload

    for text in targets:
        shell.detail(f"opening {text}")
        library_of(text, coverage=coverage)
    runtime = {"LD_PRELOAD": " ".join(map(str, preload(structure=False)))} if targets and _has_atheris() else {}
    return {"ours": harness_version("unknown"), **identities(targets, environment() | runtime)}


def _has_atheris() -> bool:
    import importlib.util

    return importlib.util.find_spec("atheris") is not None


def _shower(shell: Shell) -> Any:
    watched = sys.stderr.isatty() and not shell.quiet

    def show(outcome: Any) -> None:
        if watched:
            line = f"{outcome.inputs:>9} inputs  {outcome.rate:>7.0f}/s  {outcome.edges} edges  {len(outcome.findings)} findings"
            click.echo(f"\r{line[: shutil.get_terminal_size().columns - 1]}", nl=False, err=True)

    return show


def _tell(shell: Shell, folder: Path, outcome: Any) -> None:
    from zenoh_fuzz.campaign.coverage import report_of
    from zenoh_fuzz.triage.report import lines_of

    if shell.as_json:
        shell.print_json(outcome.to_json() | {"folder": str(folder)})
        return
    if sys.stderr.isatty():
        click.echo("", err=True)
    speed = f"{outcome.inputs} inputs in {outcome.seconds:.0f} s ({outcome.rate:.0f} per second), {outcome.edges} edges"
    findings = f"{len(outcome.findings)} findings ({len(outcome.fresh)} new)"
    shell.out.print(f"{speed}, corpus of {outcome.corpus}, {findings}")
    if outcome.tolerated:
        shell.out.print(
            "known differences: " + ", ".join(f"{name} {count}" for name, count in outcome.tolerated.most_common())
        )
    for row in sorted(outcome.findings.values(), key=lambda one: one.signature):
        for line in lines_of(_with_command(row, folder)):
            shell.out.print(line)
    if shell.verbose:
        for name, used in sorted(outcome.used.items(), key=lambda one: -outcome.brought[one[0]]):
            shell.out.print(f"    {name:<10} found new coverage {outcome.brought[name]} times of {used}")
        for line in report_of(folder).lines():
            shell.out.print(line)


def _with_command(row: FindingRow, folder: Path) -> FindingRow:
    from zenoh_fuzz.triage.report import replay_command as again

    return row if row.embargo else replace(row, repeat=again(row, str(folder / campaigns.FINDINGS / row.id)))


# --- one input --------------------------------------------------------------------------------------------------------


def input_of(text: str) -> tuple[bytes, FindingRow | None]:
    """Return the input of a finding's folder, of a file or of hexadecimal text, and the finding if it is one. Raises UsageError."""
    try:
        return bytes.fromhex(text), None  # of any length, where a file's name has a limit
    except ValueError:
        path = Path(text)
    if path.is_dir() and (path / campaigns.FINDING).exists():
        row = campaigns.read_finding(path)
        return bytes.fromhex(row.input), row
    if path.is_file():
        return path.read_bytes(), None
    raise UsageError(
        f"{text!r} is neither a finding, nor a file, nor hexadecimal",
        step="input",
        hint="write for example fuzz-out/decode/findings/0123456789ab, or 000300",
    )


def findings_in(place: Path) -> list[Path]:
    """Return the folders of findings in a campaign's folder, or `place` itself if it is none. Raises UsageError if there are none."""
    if not (place / campaigns.MANIFEST).is_file():
        return [place]
    found = sorted(each.parent for each in (place / campaigns.FINDINGS).glob(f"*/{campaigns.FINDING}"))
    if not found:
        raise UsageError(f"{place} has no findings", step="input", hint="write the folder of a finding")
    return found


def _split_words(words: Sequence[str]) -> tuple[str, Sequence[str]]:
    """Return the oracle and the inputs of `replay`; folders of findings name their oracle. Raises UsageError."""
    from .oracle import names

    if len(words) > 1 and words[0] in names():
        return words[0], words[1:]  # hexadecimal digits may be longer than a file's name
    words = [str(each) for word in words for each in findings_in(Path(word))]
    if (Path(words[0]) / campaigns.FINDING).is_file():
        return campaigns.read_finding(Path(words[0])).oracle, words
    if len(words) == 1:
        raise UsageError(f"no input after {words[0]!r}", step="fuzz replay", hint="write the folder of a finding")
    return words[0], words[1:]


@command.command("replay")
@click.argument("words", metavar="[ORACLE] INPUT...", nargs=-1, required=True, shell_complete=_oracles)
@targets_option
@shell_options()
def replay(shell: Shell, words: tuple[str, ...], targets: tuple[str, ...]) -> int:
    """Judge inputs again with an oracle.

    INPUT is the folder of a finding, or that of one oracle with all its findings: they know their oracle and targets. It can also be
    a file or hexadecimal text; for these name the ORACLE.

    \b
    Example:
      zconform fuzz replay fuzz-out/differential/findings/0123456789ab
      zconform fuzz replay decode 000300
    Exit codes: 0 no findings, 1 findings, 2 usage, 3 harness or target failed.
    """
    from zenoh_fuzz.live.findings import is_live
    from zenoh_fuzz.triage.judge_process import JudgeProcess
    from zenoh_fuzz.triage.report import explain_finding

    if is_live(Path(words[0])):
        return _replay_live(shell, [Path(word) for word in words], targets)
    oracle, texts = _split_words(words)
    read = [input_of(text) for text in texts]
    targets = targets or tuple(dict.fromkeys(target for _, row in read if row is not None for target in row.targets))
    _check(oracle, targets)
    versions = _versions(shell, targets, coverage=False)
    with JudgeProcess(oracle, targets, versions) as judge:
        found = [explain_finding(row) for data, _ in read for row in judge(data)]
    return _show_replayed(shell, len(read), found)


def _replay_live(shell: Shell, places: Sequence[Path], targets: Sequence[str]) -> int:
    """Run the findings of a live campaign again."""
    from zenoh_fuzz.live.findings import replay

    rows = [campaigns.read_finding(each) for place in places for each in findings_in(place)]
    return _show_replayed(shell, len(rows), [found for row in rows for found in replay(row, targets)])


def _show_replayed(shell: Shell, count: int, found: Sequence[FindingRow]) -> int:
    from zenoh_fuzz.triage.report import lines_of

    if shell.as_json:
        shell.print_json([row.to_json() for row in found])
    else:
        shell.out.print(f"{count} inputs, {len(found)} findings")
        for row in found:
            for line in lines_of(replace(row, embargo=False)):
                shell.out.print(line)
    return int(Exit.NOT_CONFORMING if found else Exit.CONFORMING)


@command.command("minimise")
@click.argument("places", metavar="FINDING...", nargs=-1, required=True, type=click.Path(exists=True, path_type=Path))
@shell_options()
def minimise(shell: Shell, places: tuple[Path, ...]) -> None:
    """Minimise the inputs of findings.

    FINDING is a folder under findings/, or the folder of one oracle with all its findings. Each input is made as small as possible
    while it still causes the same finding.

    \b
    Example:
      zconform fuzz minimise fuzz-out/differential
    """
    from zenoh_fuzz.live.findings import is_live
    from zenoh_fuzz.live.findings import minimise as minimise_live
    from zenoh_fuzz.triage.minimise import minimise_finding
    from zenoh_fuzz.triage.report import lines_of

    rows = []
    for place in [each for given in places for each in findings_in(given)]:
        row = minimise_live(place) if is_live(place) else minimise_finding(place)
        rows.append(row)
        for line in [] if shell.as_json else lines_of(row):
            shell.out.print(line)
    if shell.as_json:
        shell.print_json([row.to_json() for row in rows if not row.embargo])


@command.command("promote")
@click.argument("place", metavar="FINDING", type=click.Path(exists=True, path_type=Path))
@click.option(
    "--as",
    "kind",
    required=True,
    type=click.Choice(("vector", "test", "deviation", "fixed")),
    help="What to make of it; `fixed` only marks it as fixed.",
)
@click.option("--into", type=click.Path(path_type=Path), help="File to write. Default: standard output.")
@shell_options()
def promote(shell: Shell, place: Path, kind: str, into: Path | None) -> None:
    """Turn a finding into a vector, a test or a deviation.

    FINDING is a folder under findings/ that you have reviewed.

    \b
    Example:
      zconform fuzz promote fuzz-out/decode/findings/0123456789ab --as test
    """
    from zenoh_fuzz.triage.promote import promote

    text = promote(place, kind)
    if shell.as_json:
        shell.print_json({"kind": kind, "into": str(into) if into else None, "text": text})
    if into is None:
        click.echo("" if shell.as_json else text, nl=False)
        return
    try:
        with into.open("a" if kind == "deviation" else "x", encoding="utf-8") as out:
            out.write(text)
    except FileExistsError as why:
        raise UsageError(f"{into} exists", step="promote", hint="name another file") from why
    except OSError as why:
        raise CannotGoOn(f"cannot write {into}", step="promote", seen=str(why)) from why


@command.command("coverage")
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@shell_options()
def coverage(shell: Shell, folder: Path) -> None:
    """List the parts of messages that a campaign reached.

    FOLDER is the folder of one oracle. Prints the messages, flags, extensions and fields that its inputs reach, and those that
    they do not.

    \b
    Example:
      zconform fuzz coverage fuzz-out/differential
    """
    from zenoh_fuzz.campaign.coverage import report_of
    from zenoh_fuzz.live.findings import coverage as coverage_of_live
    from zenoh_fuzz.live.findings import is_live

    if is_live(folder):
        lines = coverage_of_live(folder)
        shell.show(lines, lines)
        return
    report = report_of(folder)
    if shell.as_json:
        shell.print_json(report.to_json())
        return
    for line in report.lines():
        shell.out.print(line)


@command.command("merge")
@click.argument("oracle", metavar="FOLDER", shell_complete=_oracles)
@out_option(OUT, "Folder of the campaigns.")
@click.option(
    "--from",
    "others",
    multiple=True,
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Folder with additional inputs to take in; repeatable.",
)
@shell_options()
def merge(shell: Shell, oracle: str, out: Path, others: tuple[Path, ...]) -> None:
    """Minimise the corpus of an oracle.

    Of the inputs with the same coverage only the smallest is kept. FOLDER is the folder of one oracle, as for `coverage`; the name of
    an oracle stands for its folder under --out.

    \b
    Example:
      zconform fuzz merge fuzz-out/decode --from /elsewhere/corpus
    """
    from zenoh_fuzz.campaign.corpus_merge import merge_corpus
    from zenoh_fuzz.campaign.record import lock_folder
    from zenoh_fuzz.campaign.workers import corpus_files
    from zenoh_fuzz.live.findings import is_live
    from zenoh_fuzz.live.findings import merge as merge_live
    from zenoh_fuzz.worker.launcher import check_atheris
    from zenoh_fuzz.worker.plan import WorkerPlan

    from .oracle import oracle_without_targets

    folder = out / oracle
    if live_folder := next((place for place in (Path(oracle), folder) if is_live(place)), None):
        _tell_merged(shell, live_folder, *merge_live(live_folder, others))
        return
    if (Path(oracle) / campaigns.MANIFEST).is_file():
        folder, oracle = Path(oracle), campaigns.read_manifest(Path(oracle))["oracle"]
    made = oracle_without_targets(oracle)
    check_folders(folder)
    check_atheris()
    with lock_folder(folder):
        begun = (folder / campaigns.MANIFEST).exists()
        targets = tuple(campaigns.read_manifest(folder)["targets"]) if begun else ()
        (folder / "corpus").mkdir(exist_ok=True)
        before = len(corpus_files(folder / "corpus"))
        plan = WorkerPlan(
            oracle=oracle,
            folder=folder / "workers" / "merge",
            corpus=folder / "corpus",
            largest=made.largest,
            targets=targets,
            structure=False,
        )
        after = merge_corpus(plan, folder / "corpus", folder, others)
    _tell_merged(shell, folder, before, after)


def _tell_merged(shell: Shell, folder: Path, before: int, after: int) -> None:
    shell.show({"before": before, "after": after, "folder": str(folder)}, [f"{before} inputs before, {after} now"])
