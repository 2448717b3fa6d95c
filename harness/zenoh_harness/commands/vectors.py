"""`zconform vectors`: list, show and export the golden vectors, check a codec against them, and play them to a node."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from operator import attrgetter
from pathlib import Path
from typing import Any, cast

import click

from zenoh_conformance.judging.verdict import Verdict, exit_code
from zenoh_conformance.spec.requirement import requirements
from zenoh_harness.codecs.codec import Codec
from zenoh_harness.codecs.own import OwnCodec
from zenoh_harness.commands import _completing as completing
from zenoh_harness.commands._options import seed_option, vectors_option
from zenoh_harness.commands._played import carrier_lines, details, hold_back, judge_rows, table, totals
from zenoh_harness.commands._vectors import VectorLine, confirmations, fold_numbers
from zenoh_harness.console import Shell, Verbs, shell_options
from zenoh_harness.errors import UsageError, unknown
from zenoh_harness.files.results import judgement_row
from zenoh_harness.foreign.confirm.command import command as confirm
from zenoh_harness.run.plan.own_vectors import OwnVectors
from zenoh_harness.run.store.embargo import count_line
from zenoh_harness.run.vectors.answers import judge_vector, requests
from zenoh_harness.run.vectors.started import play
from zenoh_harness.targets import lookup
from zenoh_harness.targets.adapters import stdio
from zenoh_harness.targets.catalogue import find
from zenoh_harness.targets.target import open_codec
from zenoh_vectors.export import export
from zenoh_vectors.loader import Vector, VectorError, check_covers, load, load_file


@click.group(cls=Verbs)
def command() -> None:
    """List, show, check and export the golden vectors.

    A vector is bytes with the meaning that a decoder must give, or with the reason why it must refuse them.

    \b
    Example:  zconform vectors list 'open/*'
    """


command.add_command(confirm)


@command.command("list")
@click.argument("pattern", metavar="[GLOB]", default="*", shell_complete=completing.vectors)
@click.option(
    "--covering",
    metavar="REQUIREMENT",
    shell_complete=completing.requirements,
    help="List only the vectors that cover this requirement (a GLOB).",
)
@click.option("--core", is_flag=True, help="List only the basic vectors, with which to begin a codec.")
@click.option("--unconfirmed", is_flag=True, help="List only the vectors that no other implementation has confirmed.")
@click.option("--all", "unfolded", is_flag=True, help="Print one line per vector, also for the numbers of one field.")
@shell_options()
def list_vectors(
    shell: Shell, pattern: str, covering: str | None, core: bool, unconfirmed: bool, unfolded: bool
) -> None:
    """List the vectors whose id matches, with layer and outcome.

    \b
    Example:  zconform vectors list --covering 'session-establishment/cookie-*'
              zconform vectors list --core
    """
    found = [
        vector
        for vector in select(pattern)
        if (covering is None or any(fnmatchcase(ident, covering) for ident in vector.covers))
        and (vector.core or not core)
        and not (unconfirmed and vector.confirmed_by)
    ]
    lines = map(VectorLine, zip(found, strict=True)) if unfolded or shell.verbose else fold_numbers(found)
    shell.show([as_json(vector) for vector in found], map(_row, lines))
    if not shell.as_json:
        shell.note(summary(found))


def _row(line: VectorLine) -> str:
    vector = line.vectors[0]
    alone = "" if any(vector.confirmed_by for vector in line.vectors) else " (not confirmed)"
    return f"{line.name:<64} {vector.layer:<12} {outcome(vector):<8} {line.about}{alone}"


@command.command("show")
@click.argument("ids", metavar="ID...", nargs=-1, required=True, shell_complete=completing.vectors)
@shell_options()
def show(shell: Shell, ids: tuple[str, ...]) -> None:
    """Show a vector in full.

    Prints its bytes by segment, their meaning, the requirements that it covers, and the implementations that confirm it.

    \b
    Example:  zconform vectors show open/syn-in-seconds
    """
    known = {vector.id: vector for vector in everything()}
    for ident in ids:
        if ident not in known:
            raise unknown("vector", ident, known, step="vectors show")
    shell.show([as_json(known[ident]) for ident in ids], (line for ident in ids for line in in_full(known[ident])))


@command.command("check")
@click.argument("target", metavar="[TARGET]", default="reference", shell_complete=completing.targets)
@click.option(
    "--only",
    metavar="GLOB",
    default="*",
    shell_complete=completing.vectors,
    help="Check only the vectors whose id matches.",
)
@click.option(
    "-V", "--validate", is_flag=True, help="Check every request and answer of a stdio codec against the schemas."
)
@shell_options()
def check(shell: Shell, target: str, only: str, validate: bool) -> int:
    """Check a codec against the vectors.

    The codec decodes every vector, and encodes the canonical ones again. TARGET is the target string of a codec (default: the
    reference codec), or a file or folder of vectors, which is then checked to be well-formed. With --quiet only the vectors that
    do not pass are printed, and not those that the codec does not implement.

    \b
    Example:  zconform vectors check 'stdio:./my-codec --stdio'
              zconform vectors check ./my-vectors
    Exit codes: 0 all vectors pass, 1 some do not, 2 a vector file is malformed, 3 the codec cannot be started.
    """
    if Path(target).exists():
        return _files(shell, Path(target))
    chosen = select(only)
    with _codec(target, validate) as codec:
        results = list(judge_all(codec, chosen, shell))
    _print(shell, results)
    return int(exit_code(each.verdict for each in results))


@command.command("play")
@click.argument("target", metavar="TARGET", shell_complete=completing.targets)
@click.argument("pattern", metavar="[GLOB]", default="*", shell_complete=completing.vectors)
@vectors_option
@seed_option
@shell_options()
def play_vectors(shell: Shell, target: str, pattern: str, folder: Path | None, seed: int) -> int:
    """Play the vectors to a node.

    Sends each vector that may stand in a session, and compares what the node forwards with the vector's meaning; what must be refused
    has to end the session. Prints what was judged, what the node only survived, and what was not played.

    \b
    Example:  zconform vectors play wheel:1.10.2 'push/*'
    A vector of DIR that cannot be used is named with its file, line and field; the others are played.

    
    Exit codes: 0 all judged vectors pass, 1 some do not, 2 usage, or a vector that cannot be used, 3 harness or target failed,
    4 nothing was judged.
    """
    own = OwnVectors.read(folder)
    chosen, opened = select(pattern, own.usable), lookup.open_checked(target)
    with shell.progress(len(chosen), "vectors") as advance:
        played = play(opened, chosen, everything(), seed=seed, advance=lambda vector: advance(1, vector.id))
    answers = played.answers
    kept = hold_back(opened, answers)
    code = int(exit_code(each.verdict for _, each in answers))
    judgements = [judgement_row(one) for one in judge_rows(opened, answers, routes=played.routes)]
    answers = [(vector, each) for vector, each in answers if not kept or not each.verdict.is_grave]
    results = [VectorResult(vector, each.verdict, each.cause, each.reading, "") for vector, each in answers]
    found = totals(answer for _, answer in answers)
    value = {
        "target": target,
        "routes": played.routes,
        "carriers": played.carried,
        "totals": found,
        "embargoed": len(kept),
        "broken": [str(error) for error in own.broken],
        "judgements": judgements,
        "vectors": [
            _result_json(result) | details(answer) for result, (_, answer) in zip(results, answers, strict=True)
        ],
    }
    lines = (_result_line(each) for each in results if not each.verdict.is_quiet or shell.verbose)
    shell.show(
        value,
        [
            *lines,
            *own.remarks,
            *table(found),
            *carrier_lines(played.carried),
            *([count_line(len(kept))] if kept else []),
        ],
    )
    return 2 if own.broken else code


@command.command("export")
@click.argument("destination", metavar="DIR|FILE.tar.gz", type=click.Path(path_type=Path))
@shell_options()
def export_vectors(shell: Shell, destination: Path) -> None:
    """Export the vectors for another project.

    Writes the vectors, their schema, a README and an example consumer in Python without dependencies.

    \b
    Example:  zconform vectors export ./zenoh-vectors
    """
    try:
        count = export(destination)
    except OSError as why:
        raise UsageError(f"cannot write to {destination}", step="vectors export", seen=str(why)) from why
    shell.tell({"files": count, "destination": str(destination)}, f"wrote {count} files to {destination}")


def everything() -> tuple[Vector, ...]:
    """Read all vectors. Raises UsageError that names file, id and field."""
    try:
        return load(requirements=requirements())
    except VectorError as bad:
        raise UsageError(str(bad), step="read the vectors", hint="`tox -e vectors` generates them") from bad


def select(pattern: str, own: Sequence[Vector] = ()) -> list[Vector]:
    """Return the vectors, the user's `own` among them, whose id matches. Raises UsageError with the nearest ids if none does."""
    every = (*everything(), *own)
    found = [vector for vector in every if fnmatchcase(vector.id, pattern)]
    if not found:
        raise unknown("vector", pattern, (vector.id for vector in every), step="vectors")
    return found


def _files(shell: Shell, where: Path) -> int:
    try:
        vectors = load(where) if where.is_dir() else load_file(where)
        check_covers(vectors, requirements())
    except VectorError as bad:
        raise UsageError(str(bad), step="read the vectors") from bad
    shell.note(f"{where}: {summary(vectors)}")
    return 0


def _codec(target: str, validate: bool) -> Codec:
    reach = find(target)
    if reach.kind == "reference":
        return OwnCodec()
    if reach.kind == "stdio":
        return stdio.open_codec(reach, validate=validate)
    return cast(Codec, open_codec(reach))


@dataclass(frozen=True, slots=True)
class VectorResult:
    """The verdict of one vector."""

    vector: Vector
    verdict: Verdict
    cause: str
    reading: str | None
    seen: str
    """What the codec read or wrote instead of the vector, as hexadecimal bytes; empty if nothing can be shown."""


def judge_all(codec: Codec, vectors: Sequence[Vector], shell: Shell) -> Iterator[VectorResult]:
    """Yield the verdicts in the order of the vectors; a vector with several steps gets the worst of theirs."""
    answers = iter(codec.ask(request for vector in vectors for request in requests(vector, codec.layers)))
    for vector in shell.steps(vectors, "vectors", attrgetter("id")):
        answer = judge_vector(vector, codec.layers, answers)
        yield VectorResult(vector, answer.verdict, answer.cause, answer.reading, str(answer.seen.get("seen", "")))


def _print(shell: Shell, results: Sequence[VectorResult]) -> None:
    counts = Counter(each.verdict.value for each in results)
    lines = [
        _result_line(each)
        for each in results
        if (not each.verdict.is_quiet if shell.quiet else each.verdict is not Verdict.PASS)
        or (shell.verbose and each.cause)
    ]
    total = f"{len(results)} vectors: " + ", ".join(f"{count} {word}" for word, count in counts.most_common())
    shell.show({"verdicts": dict(counts), "vectors": [_result_json(each) for each in results]}, [*lines, total])


def _result_line(result: VectorResult) -> str:
    return f"{result.verdict.value:<14} {result.vector.id}  {result.cause}"


def _result_json(result: VectorResult) -> dict[str, Any]:
    return {
        "id": result.vector.id,
        "verdict": result.verdict.value,
        "cause": result.cause,
        "reading": result.reading,
        "bytes": result.vector.data.hex(),
        "seen": result.seen,
        "covers": list(result.vector.covers),
    }


def outcome(vector: Vector) -> str:
    """Return `canonical`, `accepted`, `refused`, or the number of steps."""
    if vector.steps:
        return f"{len(vector.steps)} steps"
    return "refused" if vector.refuses is not None else "canonical" if vector.canonical else "accepted"


def summary(vectors: Sequence[Vector]) -> str:
    """Return one line with the number of vectors, by outcome, and of those that another implementation confirms."""
    counts = Counter("refused" if vector.refuses is not None else "understood" for vector in vectors)
    confirmed = sum(bool(vector.confirmed_by) for vector in vectors)
    outcomes = f"{counts['understood']} understood, {counts['refused']} refused"
    return f"{len(vectors)} vectors, {outcomes}, {confirmed} confirmed by another implementation"


def as_json(vector: Vector) -> dict[str, Any]:
    """Return a vector as the value that `--format json` prints."""
    parts = [{"layer": part.layer, "bytes": part.data.hex(), "means": part.means} for part in vector.parts]
    refuses = vector.refuses._asdict() if vector.refuses else None
    return {
        "id": vector.id,
        "about": vector.about,
        "outcome": outcome(vector),
        "covers": list(vector.covers),
        "refuses": refuses,
        "parts": parts,
        "source": vector.source,
        "errata": [erratum.id for erratum in vector.errata],
        "confirmed_by": list(vector.confirmed_by),
    }


def in_full(vector: Vector) -> Iterator[str]:
    """Yield all that is known about a vector, in lines."""
    yield f"{vector.id}: {vector.about}"
    yield f"  {outcome(vector)}, layer {vector.layer}, from {vector.source}"
    for who, part in vector.steps or (("", vector),):
        if who:
            yield f"  {who}: {part.about}"
        width = max((len(segment.path) for segment in part.segments), default=0)
        for segment in part.segments:
            yield f"    {segment.path:<{width}}  {segment.data.hex(' ')}  {segment.note}".rstrip()
        if part.means is not None:
            yield f"  means    {part.means}"
    if vector.refuses is not None:
        yield f"  refused  {vector.refuses.why} at byte {vector.refuses.at} ({vector.refuses.path})"
    for erratum in vector.errata:
        yield f"  erratum  {erratum.id} ({erratum.stance}), {erratum.reading}"
    for ident in vector.covers:
        yield f"  covers   {ident}"
    yield from confirmations(vector)
