"""A known-deviations file, written for the first time and kept up to date: comments, order and line ends stay as they are."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any, Final, cast

import tomlkit
from tomlkit.items import AoT

from zenoh_conformance.requirement import requirements
from zenoh_conformance.verdict import Judgement, Verdict
from zenoh_harness.errors import UsageError
from zenoh_harness.files.results import check_label
from zenoh_harness.gate.entries import DUE, PlacedEntry, blocks
from zenoh_harness.gate.judging import Held

Row = dict[str, Any]
REASON: Final = f"{DUE}: say why this is accepted, and until when"
OWNER: Final = f"{DUE}: who looks after it"
HEAD: Final = """\
# Where this target is known to deviate from the specification, for `zconform gate`. Strict both ways: an entry that no longer
# shows fails the gate, and so does one that shows for another cause. In a cause, * stands for anything.
"""


def first(held: Held, every: Iterable[Judgement], owner: str) -> str:
    """The text of a first file: one entry a deviation, its reason due, but where a list that ships gives one."""
    return HEAD + "".join("\n" + block(row) for row in rows(held.unlisted, list(every), owner))


def updated(text: str, held: Held, every: Iterable[Judgement], owner: str) -> str:
    """The file's text without what is fixed, with today's cause in what changed, and what is new at its end.

    Raises UsageError where the entries are not `[[deviation]]` blocks.
    """
    lines = text.splitlines(keepends=True)
    end = "\r\n" if "\r\n" in text else "\n"
    edits = held.changed
    taken = [_id(judgement) for judgement in edits.values()]
    for number, place in reversed(list(enumerate(blocks([line.rstrip("\r\n") for line in lines]), 1))):
        here = slice(place.first - 1, place.last)
        if any(one.number == number for one in held.fixed):
            lines[_with_its_comments(lines, here)] = []
        elif number in edits:
            lines[here] = _changed("".join(lines[here]), edits[number]).splitlines(keepends=True)
    fresh = [one for one in held.unlisted if _id(one) not in taken]
    more = "".join(end + block(row).replace("\n", end) for row in rows(fresh, list(every), owner))
    kept = "".join(lines)
    return (kept if not more or not kept or kept.endswith("\n") else kept + end) + more


def _id(judgement: Judgement) -> tuple[object, ...]:
    """Judgements that one edit settles: those that say the same of the same."""
    key = judgement.key
    return (key.role, key.requirement, key.check, judgement.verdict, judgement.cause)


def hold_editable(placed: Sequence[PlacedEntry]) -> None:
    """Raise UsageError for entries whose lines are not known."""
    if any(one.lines is None for one in placed):
        hint = "write each entry as a block that begins with [[deviation]]"
        raise UsageError(f"{placed[0].file} is not in the form that can be edited", step="gate update", hint=hint)


def _with_its_comments(lines: Sequence[str], here: slice) -> slice:
    """A block with the comments right above it, which speak of it, and with the blank lines below; never the file's head."""
    start, stop = here.start, here.stop
    while start > 0 and lines[start - 1].lstrip().startswith("#"):
        start -= 1
    if start == 0:
        start = here.start
    while stop < len(lines) and not lines[stop].strip():
        stop += 1
    return slice(start, stop)


def _changed(text: str, judgement: Judgement) -> str:
    """One entry with today's verdict and cause; its reason was for another one, and is due."""
    document = tomlkit.parse(text)
    entry = cast(AoT, document["deviation"])[0]
    was = str(entry["reason"])
    entry["verdict"], entry["cause"] = judgement.verdict.value, judgement.cause
    if not was.startswith(DUE):
        entry["reason"] = f"{DUE}: the cause has changed; before: {was}"
    return tomlkit.dumps(document)


def block(row: Mapping[str, Any]) -> str:
    """An entry as text, in the order of the row."""
    width = max(len(name) for name in row)
    values = {name: tomlkit.item(dict(value) if name == "parameters" else value) for name, value in row.items()}
    if "parameters" in row:
        inline = tomlkit.inline_table()
        inline.update(dict(row["parameters"]))
        values["parameters"] = inline
    return "[[deviation]]\n" + "".join(f"{name:<{width}} = {value.as_string()}\n" for name, value in values.items())


def rows(unlisted: Iterable[Judgement], every: Sequence[Judgement], owner: str) -> Iterator[Row]:
    """Entries for deviations: one a check, verdict and cause; narrowed to parameters and profile where not all deviate."""

    def alike(one: Judgement) -> tuple[str, ...]:
        return (one.key.requirement, one.key.check, one.key.role, one.verdict.value, one.cause)

    for _, group in groupby(sorted(filter(_listable, unlisted), key=alike), key=alike):
        yield from _narrowed(list(group), every, owner)


def _narrowed(group: Sequence[Judgement], every: Sequence[Judgement], owner: str) -> Iterator[Row]:
    """One entry where everything that was judged of the check deviates so, else one for each place."""
    key = group[0].key
    places = {(one.key.profile, one.key.parameters) for one in group}
    judged = {
        (one.key.profile, one.key.parameters)
        for one in every
        if (one.key.check, one.key.role, one.key.requirement) == (key.check, key.role, key.requirement)
    }
    for profile, parameters in [("", ())] if judged <= places else sorted(places):
        yield _row(group[0], owner, profile, dict(parameters))


def _row(one: Judgement, owner: str, profile: str, parameters: Mapping[str, str]) -> Row:
    key, note = one.key, dict(one.details).get("known", {})
    named = {"requirement": key.requirement if key.requirement in requirements() else "", "check": key.check}
    place = {"role": key.role, "profile": profile, "parameters": parameters}
    what = {"verdict": one.verdict.value, "cause": one.cause, "reason": note.get("reason") or REASON}
    more = {"see": note.get("see"), "public": note.get("public"), "owner": owner}
    row = {**named, **place, **what, **more}
    return {name: value for name, value in row.items() if value}


def left_out(held: Held) -> list[str]:
    """Deviations that are not taken in by themselves: those without a cause, and unsteady ones, which need an end date."""
    return [check_label(one.key.check, one.key.parameters) for one in held.unlisted if not _listable(one)]


def _listable(one: Judgement) -> bool:
    return one.verdict is not Verdict.FLAKY and one.cause.strip("* ") != ""


def write(path: Path, text: str) -> None:
    """Write the file at once, or not at all; its line ends as they are in the text."""
    fresh = path.with_name(f".{path.name}.new")
    try:
        fresh.write_bytes(text.encode("utf-8"))
        fresh.replace(path)
    except OSError as why:
        fresh.unlink(missing_ok=True)
        raise UsageError(f"cannot write {path}", step="write the list", seen=str(why)) from why
