"""`zconform vectors`: the golden vectors, listed, told, held against a codec, and given away."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, cast

import click

from zenoh_conformance.requirement import requirements
from zenoh_conformance.verdict import Verdict, exit_code, worst
from zenoh_harness.codecs.codec import Answer, Codec
from zenoh_harness.codecs.own import OwnCodec
from zenoh_harness.commands import _completing as completing
from zenoh_harness.commands._vectors import Line, agreed, folded
from zenoh_harness.console import Shell, plain, shell_options
from zenoh_harness.errors import UsageError, unknown
from zenoh_harness.foreign.confirm.command import command as confirm
from zenoh_harness.run.vectors import VectorAnswer, of_decoding, of_encoding, requests, writes
from zenoh_harness.targets.adapters import stdio
from zenoh_harness.targets.catalogue import find
from zenoh_harness.targets.target import open_codec
from zenoh_vectors.export import export
from zenoh_vectors.loader import Vector, VectorError, check_covers, load, load_file


@click.group()
def command() -> None:
    """The golden vectors: bytes, and what they must mean or why they must be refused.

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
    help="Only those that cover this requirement (a GLOB).",
)
@click.option("--core", is_flag=True, help="Only those that the author of a codec reads first.")
@click.option("--unconfirmed", is_flag=True, help="Only those that nobody else has confirmed.")
@click.option(
    "--all", "each", is_flag=True, help="A line for each, also of the many numbers at the edges of one field."
)
@shell_options()
def list_vectors(shell: Shell, pattern: str, covering: str | None, core: bool, unconfirmed: bool, each: bool) -> None:
    """The vectors whose id matches, with layer and outcome.

    \b
    Example:  zconform vectors list --covering 'session-establishment/cookie-*'
              zconform vectors list --core
    """
    found = [
        one
        for one in selected(pattern)
        if (covering is None or any(fnmatchcase(r, covering) for r in one.covers))
        and (one.core or not core)
        and not (unconfirmed and one.confirmed_by)
    ]
    if shell.as_json:
        shell.print_json([as_json(vector) for vector in found])
        return
    for line in [Line((vector,)) for vector in found] if each or shell.verbose else folded(found):
        vector = line.vectors[0]
        alone = "" if any(one.confirmed_by for one in line.vectors) else " (nobody has confirmed it)"
        text = f"{line.name:<64} {vector.layer:<12} {outcome(vector):<8} {plain(line.about)}{alone}"
        shell.out.print(text, soft_wrap=True)
    shell.note(summary(found))


@command.command("show")
@click.argument("ids", metavar="ID...", nargs=-1, required=True, shell_complete=completing.vectors)
@shell_options()
def show(shell: Shell, ids: tuple[str, ...]) -> None:
    """All that is known about a vector: its bytes piece by piece, what they mean, what it covers, who agrees.

    \b
    Example:  zconform vectors show open/syn-in-seconds
    """
    known = {vector.id: vector for vector in everything()}
    for ident in ids:
        if ident not in known:
            raise unknown("vector", ident, known, step="vectors show")
    if shell.as_json:
        shell.print_json([as_json(known[ident]) for ident in ids])
        return
    for ident in ids:
        shell.out.print("\n".join(told(known[ident])), soft_wrap=True)


@command.command("check")
@click.argument("target", metavar="[TARGET]", default="reference", shell_complete=completing.targets)
@click.option(
    "--only", metavar="GLOB", default="*", shell_complete=completing.vectors, help="Only vectors whose id matches."
)
@click.option(
    "-V", "--validate", is_flag=True, help="Hold every request and answer of a stdio codec against the schemas."
)
@shell_options()
def check(shell: Shell, target: str, only: str, validate: bool) -> int:
    """Hold a codec against the vectors: each decoded, and each canonical one written again. Our own when none is named.

    TARGET is a target string of a codec, or a folder or file of vectors, which is then read and found well-formed or not.

    \b
    Example:  zconform vectors check 'stdio:./my-codec --stdio'
              zconform vectors check ./my-vectors
    Exit code 0 when all agree, 1 when one does not, 2 for a file that is no good, 3 when the codec cannot be had.
    """
    if Path(target).exists():
        return _files(shell, Path(target))
    chosen = selected(only)
    with _codec(target, validate) as codec:
        results = list(judged(codec, chosen, shell))
    _print(shell, results)
    return int(exit_code(each.verdict for each in results))


@command.command("export")
@click.argument("destination", metavar="DIR|FILE.tar.gz", type=click.Path(path_type=Path))
@shell_options()
def give_away(shell: Shell, destination: Path) -> None:
    """Write the vectors with schema, README and a consumer in plain Python: all that another project needs.

    \b
    Example:  zconform vectors export ./zenoh-vectors
    """
    try:
        count = export(destination)
    except OSError as why:
        raise UsageError(f"cannot write to {destination}", step="vectors export", seen=str(why)) from why
    shell.tell({"files": count, "destination": str(destination)}, f"{count} files in {destination}")


# --- which -----------------------------------------------------------------------------------------------------------


def everything() -> tuple[Vector, ...]:
    """All vectors. Raises UsageError that names file, id and field."""
    try:
        return load(requirements=requirements())
    except VectorError as bad:
        raise UsageError(str(bad), step="read the vectors", hint="`tox -e vectors` writes them anew") from bad


def selected(pattern: str) -> list[Vector]:
    """Those whose id matches. Raises UsageError with the nearest ids when none does."""
    every = everything()
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


# --- the judging -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Result:
    """What one vector came to."""

    vector: Vector
    verdict: Verdict
    cause: str
    reading: str | None


def judged(codec: Codec, vectors: Sequence[Vector], shell: Shell) -> Iterator[Result]:
    """The verdicts, in the order of the vectors; of several steps the worst."""
    answers = iter(codec.ask(request for vector in vectors for request in requests(vector, codec.layers)))
    with shell.progress(len(vectors), "vectors") as advance:
        for vector in vectors:
            parts = [_part(codec, part, answers) for part in vector.parts]
            bad = worst(part.verdict for part in parts)
            part = next(part for part in parts if part.verdict is bad)
            advance(1, vector.id)
            yield Result(vector, part.verdict, part.cause, part.reading)


def _part(codec: Codec, vector: Vector, answers: Iterator[Answer]) -> VectorAnswer:
    if vector.layer not in codec.layers:
        return VectorAnswer(Verdict.UNIMPLEMENTED, f"the codec does not do the {vector.layer} layer")
    decoded = next(answers)
    encoded = next(answers) if writes(vector) else None
    first = of_decoding(vector, decoded)
    if first.verdict is not Verdict.PASS or encoded is None:
        return first
    return of_encoding(vector, decoded, encoded) or first


def _print(shell: Shell, results: Sequence[Result]) -> None:
    counts = Counter(each.verdict.value for each in results)
    if shell.as_json:
        rows = [{"id": each.vector.id, "verdict": each.verdict.value, "cause": each.cause, "reading": each.reading,
                 "bytes": each.vector.data.hex(), "covers": list(each.vector.covers)} for each in results]  # fmt: skip
        shell.print_json({"verdicts": dict(counts), "vectors": rows})
        return
    for each in results:
        if each.verdict is not Verdict.PASS or (shell.verbose and each.cause):
            shell.out.print(f"{each.verdict.value:<14} {each.vector.id}  {plain(each.cause)}", soft_wrap=True)
    shell.out.print(f"{len(results)} vectors: " + ", ".join(f"{count} {word}" for word, count in counts.most_common()))


# --- how they are told -----------------------------------------------------------------------------------------------


def outcome(vector: Vector) -> str:
    """In a word."""
    if vector.steps:
        return f"{len(vector.steps)} steps"
    return "refused" if vector.refuses is not None else "canonical" if vector.canonical else "accepted"


def summary(vectors: Sequence[Vector]) -> str:
    """How many, of each sort, and how many somebody else has confirmed."""
    counts = Counter("refused" if vector.refuses is not None else "understood" for vector in vectors)
    confirmed = sum(bool(vector.confirmed_by) for vector in vectors)
    return (f"{len(vectors)} vectors, {counts['understood']} understood, {counts['refused']} refused, "
            f"{confirmed} confirmed by somebody else")  # fmt: skip


def as_json(vector: Vector) -> dict[str, Any]:
    """A vector as data, without what the files themselves say better."""
    parts = [{"layer": part.layer, "bytes": part.data.hex(), "means": part.means} for part in vector.parts]
    refuses = vector.refuses._asdict() if vector.refuses else None
    return {"id": vector.id, "about": vector.about, "outcome": outcome(vector), "covers": list(vector.covers),
            "refuses": refuses, "parts": parts, "source": vector.source, "errata": [each.id for each in vector.errata],
            "confirmed_by": list(vector.confirmed_by)}  # fmt: skip


def told(vector: Vector) -> Iterator[str]:
    """A vector in lines."""
    yield f"{vector.id}: {vector.about}"
    yield f"  {outcome(vector)}, layer {vector.layer}, from {vector.source}"
    for who, part in vector.steps or (("", vector),):
        if who:
            yield f"  {who}: {part.about}"
        width = max((len(segment.path) for segment in part.segments), default=0)
        for segment in part.segments:
            yield f"    {segment.path:<{width}}  {segment.data.hex(' ')}  {plain(segment.note)}".rstrip()
        if part.means is not None:
            yield f"  means    {plain(str(part.means))}"
    if vector.refuses is not None:
        yield f"  refused  {vector.refuses.why} at byte {vector.refuses.at} ({vector.refuses.path})"
    for erratum in vector.errata:
        yield f"  erratum  {erratum.id} ({erratum.stance}), {erratum.reading}"
    for ident in vector.covers:
        yield f"  covers   {ident}"
    yield from agreed(vector)
