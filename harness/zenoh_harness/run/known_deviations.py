"""A list of known deviations held against what there is: an entry that names nothing, or can never match, is an error.

An entry that is wrong excuses nothing and is never seen to have gone; so it is refused when the list is read.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Final

from packaging.specifiers import SpecifierSet
from packaging.version import InvalidVersion, Version

from zenoh_conformance.cases.case import Case, all_cases, shown
from zenoh_conformance.judging.law import all_laws
from zenoh_conformance.judging.shown_rows import READ, WRITTEN
from zenoh_conformance.judging.verdict import Verdict, verdict_for
from zenoh_conformance.reading.conversation import Side
from zenoh_conformance.spec.requirement import Level, requirements
from zenoh_harness.errors import nearest
from zenoh_harness.files import known
from zenoh_harness.files.faults import FileFault
from zenoh_harness.files.known import ListedDeviation
from zenoh_harness.files.scripts import STAYS_UP
from zenoh_harness.profiles import PROFILES
from zenoh_harness.run.judge.decide import level_of
from zenoh_harness.scripting.shipped import script_cases
from zenoh_harness.targets.reach import KINDS

CAPTURE: Final = "capture"
"""The kind that entries name which show in captures and recordings only."""
NODES: Final = ("router", "peer", "client")
ROLES: Final = (*(side.value for side in Side), "codec")
ELSEWHERE: Final = ("interop/",)
"""Checks of commands that stand above a run: they are known here only when they are told."""
_OF_LEVEL: Final = frozenset(verdict_for(level) for level in Level)


def read(paths: Iterable[Path], *, others: Mapping[str, Collection[str]] | None = None) -> list[ListedDeviation]:
    """The entries of these lists, each file once. Raises FileFault for one that is wrong, with what is nearest.

    `others`: names of checks by their prefix in `ELSEWHERE`; without one, any name with that prefix is taken.
    """
    entries: list[ListedDeviation] = []
    for path in dict.fromkeys(path.resolve() for path in paths):
        found = known.read(path)
        for number, one in enumerate(found, 1):
            _hold(f"{path}: entry {number}", one, others or {})
        known.no_doubles(path, [*entries, *found], since=len(entries))
        entries += found
    return entries


def remarks(entries: Iterable[ListedDeviation], today: dt.date | None = None) -> list[str]:
    """What is to be said of entries that are right, and do nothing any more, or cannot both show."""
    entries, now = list(entries), today or dt.datetime.now(dt.UTC).date()
    return [
        *_contradictions(entries),
        *(
            f"known deviation {one.name}: expired on {one.expires}, it excuses nothing"
            for one in entries
            if one.expires is not None and one.expires <= now
        ),
    ]


def _contradictions(entries: Iterable[ListedDeviation]) -> Iterator[str]:
    """Entries that expect steady verdicts that differ, of one judgement: a case without parameters, told apart by nothing else."""
    expected: dict[str, Verdict] = {}
    for one in entries:
        case = _cases().get(one.check)
        if case is None or len(case.every_parameters) > 1 or one.verdict.is_unsteady:
            continue
        place = repr((one.check, str(one.versions), one.role, one.profile, one.link, one.kind, one.node))
        other = expected.setdefault(place, one.verdict)
        if other is not one.verdict:
            yield f"known deviation {one.name}: one entry expects {other.value}, another {one.verdict.value}; only one can show"


def _hold(where: str, one: ListedDeviation, others: Mapping[str, Collection[str]]) -> None:
    """Raise FileFault for what an entry names and there is not, and for an entry that can never match."""
    _among(where, "requirement", one.requirement, requirements())
    _hold_check(where, one.check, others)
    _among(where, "role", one.role, ROLES)
    _among(where, "profile", one.profile, PROFILES)
    _among(where, "kind", one.kind, (*KINDS, CAPTURE))
    _among(where, "node", one.node, NODES)
    if not satisfiable(one.versions):
        raise FileFault(where, None, f"can never match: no version is in {str(one.versions)!r}")
    case = _cases().get(one.check)
    if case is not None:
        _hold_case(where, one, case)
    elif not one.check:
        for name in one.parameters:
            _among(where, "parameters", name, _parameters())
    law = all_laws().get(one.check)
    if law is not None and one.requirement not in ("", law.requirement):
        raise FileFault(where, None, f"can never match: {one.check} judges {law.requirement}")
    requirement = one.requirement or (case.requirement if case else law.requirement if law else "")
    due = verdict_for(level_of(requirement))
    if requirement and one.verdict in _OF_LEVEL and one.verdict is not due:
        raise FileFault(
            where, None, f"can never match: {requirement} is {level_of(requirement)}, so that it is {due.value!r}"
        )


def _hold_check(where: str, check: str, others: Mapping[str, Collection[str]]) -> None:
    for prefix in ELSEWHERE:
        if check.startswith(prefix):
            if prefix in others:
                _among(where, "check", check, others[prefix])
            return
    if check and check not in _cases() and check not in all_laws() and check != STAYS_UP:
        _among(where, "check", check, _every_check(check))


def _hold_case(where: str, one: ListedDeviation, case: Case) -> None:
    """What a case is about: its requirement, role, and the values of its parameters."""
    if one.requirement not in ("", case.requirement):
        raise FileFault(where, None, f"can never match: {case.id} judges {case.requirement}")
    if one.role not in ("", case.role.value):
        raise FileFault(where, None, f"can never match: in {case.id} the target is the {case.role.value}")
    for name, value in one.parameters.items():
        taken = {shown(values[name]) for values in case.every_parameters if name in values}
        if value not in taken:
            hint = (
                nearest(value, taken)
                if taken
                else nearest(name, {each for values in case.every_parameters for each in values})
            )
            raise FileFault(where, None, f"can never match: {case.id} has no {name} = {value!r}", hint=hint)


def _among(where: str, field: str, value: str, names: Collection[str]) -> None:
    if value and value not in names:
        raise FileFault(where, None, f"{field!r}: there is no {value!r}", hint=nearest(value, names))


@cache
def _cases() -> Mapping[str, Case]:
    """Cases and shipped scripts, by id and by the ids that they had before."""
    every = {case.id: case for case in (*all_cases().values(), *script_cases())}
    return {alias: case for case in every.values() for alias in case.aliases} | every


@cache
def _parameters() -> frozenset[str]:
    """The names of all parameters that any case has: which of them shows a requirement's deviation, is the entry's to say."""
    return frozenset(name for case in _cases().values() for values in case.every_parameters for name in values)


def _every_check(check: str) -> Sequence[str]:
    """All checks; models and vectors are imported for those that name one only."""
    names = [*_cases(), *all_laws(), STAYS_UP]
    if check.startswith("models/"):
        from zenoh_harness.run.attempt.model_cases import model_cases

        names += [case.id for case in model_cases("quick", 0)]
    if check.startswith(("vectors/", WRITTEN, READ)):
        from zenoh_harness.run.check_names import of_rows
        from zenoh_harness.run.vectors.codec_run import golden

        names += [*(f"vectors/{vector.id}" for vector in golden()), *of_rows()]
        if check.split("/")[1] not in {name.split("/")[1] for name in names if name.startswith("vectors/")}:
            names.append(check)  # a vector of the user's own, of a family of his own
    return names


def satisfiable(versions: SpecifierSet | known.Commits) -> bool:
    """Whether any version is in a range: tried are those that it names, what lies right after, and both ends."""
    if isinstance(versions, known.Commits):
        return True
    named = [each.version.removesuffix(".*") for each in versions]
    tried = ["0", "99999", *named, *(f"{name}.1" for name in named), *(f"{name}.post1" for name in named)]
    return any(versions.contains(version, prereleases=True) for version in _versions(tried))


def _versions(texts: Iterable[str]) -> Iterable[Version]:
    for text in texts:
        try:
            yield Version(text)
        except InvalidVersion:
            continue
