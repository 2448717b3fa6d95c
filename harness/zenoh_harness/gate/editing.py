"""Write a file of known deviations, and update it without touching its comments, order and line ends."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any, Final, cast

import tomlkit
from tomlkit.items import AoT

from zenoh_conformance.judging.verdict import Judgement, Verdict
from zenoh_conformance.spec.requirement import requirements
from zenoh_harness.errors import UsageError
from zenoh_harness.files.results import check_label
from zenoh_harness.gate.comparison import GateResult
from zenoh_harness.gate.entries import DUE, PlacedEntry, find_blocks

Row = dict[str, Any]
REASON: Final = f"{DUE}: say why this is accepted, and until when"
OWNER: Final = f"{DUE}: name the person responsible"
HEAD: Final = """\
# Known deviations of this target from the specification, for `zconform gate`. The gate fails if an entry no longer occurs,
# and if it occurs with another cause. In a cause, * stands for any text.
"""


def new_list(held: GateResult, every: Iterable[Judgement], owner: str) -> str:
    """Return the text of a new file: one entry per deviation, its reason from a shipped list, else marked as due."""
    return HEAD + "".join("\n" + entry_text(row) for row in new_rows(held.unlisted, list(every), owner))


def updated_list(text: str, held: GateResult, every: Iterable[Judgement], owner: str) -> str:
    """Return the text without fixed entries, with the new cause in changed ones, and with new entries at the end.

    Raises UsageError where the entries are not `[[deviation]]` blocks.
    """
    lines = text.splitlines(keepends=True)
    end = "\r\n" if "\r\n" in text else "\n"
    edits = held.changed
    taken = [_id(judgement) for judgement in edits.values()]
    for number, place in reversed(list(enumerate(find_blocks([line.rstrip("\r\n") for line in lines]), 1))):
        here = slice(place.first - 1, place.last)
        if any(one.number == number for one in held.fixed):
            lines[_with_its_comments(lines, here)] = []
        elif number in edits:
            lines[here] = _with_new_cause("".join(lines[here]), edits[number]).splitlines(keepends=True)
    fresh = [one for one in held.unlisted if _id(one) not in taken]
    more = "".join(end + entry_text(row).replace("\n", end) for row in new_rows(fresh, list(every), owner))
    kept = "".join(lines)
    return (kept if not more or not kept or kept.endswith("\n") else kept + end) + more


def _id(judgement: Judgement) -> tuple[object, ...]:
    """Return what judgements share that one edit covers."""
    key = judgement.key
    return (key.role, key.requirement, key.check, judgement.verdict, judgement.cause)


def check_editable(placed: Sequence[PlacedEntry]) -> None:
    """Raise UsageError for entries whose lines are not known."""
    if any(one.lines is None for one in placed):
        hint = "write each entry as a block that begins with [[deviation]]"
        raise UsageError(f"{placed[0].file} has an entry that cannot be edited", step="gate update", hint=hint)


def _with_its_comments(lines: Sequence[str], here: slice) -> slice:
    """Extend a block by the comments right above it and the blank lines below; the head of the file stays."""
    start, stop = here.start, here.stop
    while start > 0 and lines[start - 1].lstrip().startswith("#"):
        start -= 1
    if start == 0:
        start = here.start
    while stop < len(lines) and not lines[stop].strip():
        stop += 1
    return slice(start, stop)


def _with_new_cause(text: str, judgement: Judgement) -> str:
    """Return an entry with the verdict and cause of this run; its reason was for another cause, and is due again."""
    document = tomlkit.parse(text)
    entry = cast(AoT, document["deviation"])[0]
    was = str(entry["reason"])
    entry["verdict"], entry["cause"] = judgement.verdict.value, judgement.cause
    if not was.startswith(DUE):
        entry["reason"] = f"{DUE}: the cause has changed; before: {was}"
    return tomlkit.dumps(document)


def entry_text(row: Mapping[str, Any]) -> str:
    """Return an entry as TOML, with the fields in the order of the row."""
    width = max(len(name) for name in row)
    values = {name: tomlkit.item(dict(value) if name == "parameters" else value) for name, value in row.items()}
    if "parameters" in row:
        inline = tomlkit.inline_table()
        inline.update(dict(row["parameters"]))
        values["parameters"] = inline
    return "[[deviation]]\n" + "".join(f"{name:<{width}} = {value.as_string()}\n" for name, value in values.items())


def new_rows(unlisted: Iterable[Judgement], every: Sequence[Judgement], owner: str) -> Iterator[Row]:
    """Yield one entry per check, verdict and cause; narrowed to parameters and profile where other judgements pass."""

    def group_key(item: Judgement) -> tuple[str, ...]:
        return (item.key.requirement, item.key.check, item.key.role, item.verdict.value, item.cause)

    for _, group in groupby(sorted(filter(_listable, unlisted), key=group_key), key=group_key):
        yield from _entries_of_check(list(group), every, owner)


def _entries_of_check(group: Sequence[Judgement], every: Sequence[Judgement], owner: str) -> Iterator[Row]:
    """Yield one entry if every judgement of the check deviates like this, otherwise one per profile and parameters."""
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


def unlistable(held: GateResult) -> list[str]:
    """Return the labels of deviations that need an entry by hand: those without a cause, and flaky ones."""
    return [check_label(one.key.check, one.key.parameters) for one in held.unlisted if not _listable(one)]


def _listable(one: Judgement) -> bool:
    return one.verdict is not Verdict.FLAKY and one.cause.strip("* ") != ""


def write_list(path: Path, text: str) -> None:
    """Replace the file atomically, with the line ends of the text."""
    fresh = path.with_name(f".{path.name}.new")
    try:
        fresh.write_bytes(text.encode("utf-8"))
        fresh.replace(path)
    except OSError as why:
        fresh.unlink(missing_ok=True)
        raise UsageError(f"cannot write {path}", step="write the list", seen=str(why)) from why
